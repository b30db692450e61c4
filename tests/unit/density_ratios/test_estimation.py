"""`density_ratio`: what must be right whatever the method, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import distfreeuq as dfu
from distfreeuq import InputError
from distfreeuq._base.random_streams import stream
from distfreeuq.density_ratios import kliep, ulsif
from distfreeuq.density_ratios.cross_fitting import deal, fit_inverse_temperature
from distfreeuq.density_ratios.gaussian_kernels import gaussian, squared_distances
from tests.unit.base.test_argument_odd_values import FORM
from tests.unit.odd_values import odd_values

METHODS = ["logistic", "mlp", "knn", "ulsif", "rulsif", "kliep"]
N, M = 400, 300


def gaussians(shift=1.0, n=N, m=M, d=2, seed=0):
    rng = np.random.default_rng(seed)
    source, target = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    target[:, 0] += shift
    return source, target


SOURCE, TARGET = gaussians()
TRUE = np.exp(SOURCE[:, 0] - 0.5)


def fit(source=SOURCE, target=TARGET, **options):
    return dfu.density_ratio(source, target, **{"rng": 0} | options)


class NearestMean:
    """A user's own discriminator, which knows of us nothing but fit and predict."""

    def fit(self, x, y):
        assert set(np.unique(y)) == {0, 1}
        self.prior = y.mean()
        self.means = np.array([x[y == k].mean(axis=0) for k in (0, 1)])

    def predict_proba(self, x):
        far = ((x[:, None] - self.means) ** 2).sum(axis=2)
        odds = self.prior / (1 - self.prior) * np.exp((far[:, 0] - far[:, 1]) / 2)
        return np.column_stack([1 / (1 + odds), odds / (1 + odds)])


# ------------------------------------------------------------------- must be right


@pytest.mark.parametrize(
    "method",
    [*METHODS, NearestMean()],
    ids=lambda m: m if isinstance(m, str) else "own",
)
def test_weights_follow_the_true_ratio(method):
    result = fit(method=method)
    assert result.source_weight.shape == (N,) and result.target_weight.shape == (M,)
    assert result.source_weight.mean() == pytest.approx(1.0)
    assert np.corrcoef(result.source_weight, TRUE)[0, 1] > 0.7
    new = result.weight([[-1.0, 0.0], [0.5, 0.0], [2.0, 0.0]])
    assert new[0] < 0.6 < new[1] < 1.7 < new[2]
    assert result.upper >= max(new.max(), result.source_weight.max())
    # AUC of two unit normals at distance 1
    assert result.auc.low < 0.7602 < result.auc.high + 0.03


@pytest.mark.parametrize("method", METHODS)
def test_identical_laws_have_weights_about_one(method):
    source, target = gaussians(shift=0.0, n=1000, m=700, seed=1)
    result = fit(source, target, method=method)
    assert result.ess > 0.8 * 1000
    assert result.auc.low < 0.53 and abs(result.auc.estimate - 0.5) < 0.05
    assert result.uncovered == 0.0
    assert abs(np.median(result.weight(target)) - 1.0) < 0.2
    assert result.renyi(2) < 1.25


def test_unequal_sample_sizes_are_corrected():
    """Twenty times as many target rows are no reason for larger weights."""
    for n, m in ((200, 4000), (4000, 200)):
        source, target = gaussians(n=n, m=m, seed=2)
        raw = fit(source, target, normalize=False)
        at_half = float(raw.weight([[0.5, 0.0]])[0])
        assert at_half == pytest.approx(1.0, abs=0.25)
        assert raw.conditioning.mean == 1.0


@pytest.mark.parametrize("method", METHODS)
def test_scale_and_origin_of_features_are_irrelevant(method):
    scale, origin = np.array([1e-6, 1e5]), np.array([3.0, -2e6])
    plain = fit(method=method)
    moved = fit(SOURCE * scale + origin, TARGET * scale + origin, method=method)
    np.testing.assert_allclose(
        moved.source_weight, plain.source_weight, rtol=2e-3, atol=1e-6
    )


@pytest.mark.parametrize("method", METHODS)
def test_constant_columns_change_nothing(method):
    def padded(x):
        return np.column_stack([x, np.full(len(x), 7.1), np.zeros(len(x))])

    if method == "mlp":  # whose starting weights are drawn anew: only that it works
        result = fit(padded(SOURCE), padded(TARGET), method=method)
        assert np.corrcoef(result.source_weight, TRUE)[0, 1] > 0.7
        return
    np.testing.assert_allclose(
        fit(padded(SOURCE), padded(TARGET), method=method).source_weight,
        fit(method=method).source_weight,
        rtol=1e-5,
    )


@pytest.mark.parametrize("method", METHODS)
def test_nothing_but_constant_columns(method):
    result = fit(np.full((40, 2), 3.0), np.full((60, 2), 3.0), method=method)
    np.testing.assert_allclose(result.source_weight, 1.0, rtol=1e-9)
    np.testing.assert_allclose(result.weight([[3.0, 3.0]]), 1.0, rtol=0.1)


@pytest.mark.parametrize("method", METHODS)
def test_one_coin(method):
    """Ratios of a feature with two values: 0.5 / 0.8 and 0.5 / 0.2, ties everywhere."""
    source, target = np.arange(600) % 5 == 0, np.arange(400) % 2 == 0
    result = fit(source.astype(float), target.astype(float), method=method)
    true = np.array([0.625, 2.5])
    if method == "rulsif":  # whose ratio is to a mixture with a tenth of the target
        true = true / (0.9 + 0.1 * true)
        true /= 0.8 * true[0] + 0.2 * true[1]
    found = [result.source_weight[source == coin].mean() for coin in (False, True)]
    np.testing.assert_allclose(found, true, rtol=0.12)


@pytest.mark.parametrize("method", METHODS)
def test_more_features_than_rows(method):
    rng = np.random.default_rng(3)
    source, target = rng.normal(size=(40, 90)), rng.normal(size=(30, 90))
    result = fit(source, target, method=method)
    assert np.isfinite(result.source_weight).all()
    assert np.isfinite(result.weight(target)).all()


@pytest.mark.parametrize("method", METHODS)
def test_separable_samples_are_finite_limited_and_warned_of(method):
    far = TARGET + 50.0
    with pytest.warns(dfu.SupportWarning, match="target rows lie where|are worth"):
        result = fit(target=far, method=method)
    for weights in (result.source_weight, result.weight(far), result.weight(SOURCE)):
        assert np.isfinite(weights).all() and (weights > 0).all()
        assert weights.max() <= result.upper * (1 + 1e-12)
    assert result.uncovered > 0.9 and result.auc.estimate == 1.0
    assert "where the true one has mean 1" in result.notes[-1]


def test_the_support_warning_says_how_many_rows():
    source, target = gaussians()
    target[:30] += 40.0  # a tenth of the target where the source is not
    with pytest.warns(dfu.SupportWarning, match=r"^1\d\.\d% of target rows lie where"):
        result = fit(source, target, method="mlp")
    assert 0.08 < result.uncovered < 0.2


def test_no_row_is_weighted_by_a_fit_that_saw_it():
    class Memory:
        """Remembers every row it has seen, and is sure of them."""

        def fit(self, x, y):
            self.seen = {row.tobytes(): label for row, label in zip(x, y, strict=True)}

        def predict_proba(self, x):
            labels = [self.seen.get(row.tobytes(), 0.5) for row in x]
            return np.column_stack([1 - np.array(labels), labels])

    for calibrate in (True, False):
        result = fit(method=Memory(), calibrate=calibrate)
        # unseen rows all have the same odds, the prior of the rows seen
        assert np.ptp(result.source_weight) < 0.2
        assert result.auc.low <= 0.5 <= result.auc.high
    # which is no accident: the fit on all rows does remember
    remembered = result.weight(SOURCE)
    assert remembered.max() < 0.1


@pytest.mark.parametrize("method", ["ulsif", "kliep"])
def test_held_out_ratios_are_those_of_fits_on_the_other_folds(method):
    """With kernels at those folds' target rows alone."""
    rows = np.concatenate([SOURCE, TARGET])
    center, scale = rows.mean(axis=0), rows.std(axis=0)
    source, target = (SOURCE - center) / scale, (TARGET - center) / scale
    options = {"bandwidth": 1.0, "n_kernels": M}
    if method == "ulsif":
        options["ridge"] = 0.1
    result = fit(method=method, **options)
    number = deal(N, M, 5, stream(0, "split", "density_ratio")).number
    for k in range(5):
        others = target[number[N:] != k]
        seen, unseen = source[number[:N] != k], source[number[:N] == k]
        phi = [gaussian(squared_distances(x, others), 1.0) for x in (seen, others)]
        if method == "ulsif":
            theta = ulsif.coefficients(*phi, 0.1, 0.0)
        else:
            theta = kliep.coefficients(*phi)
        expected = gaussian(squared_distances(unseen, others), 1.0) @ theta
        found = result.source_ratio[number[:N] == k]
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_held_out_ratios_of_a_discriminator_are_tempered_by_a_third_fold():
    result = fit(method=NearestMean())
    pooled = np.concatenate([SOURCE, TARGET])
    is_target = np.arange(N + M) >= N
    number = deal(N, M, 5, stream(0, "split", "density_ratio")).number
    for k in range(5):
        own, tempering = number == k, number == (k + 1) % 5
        rest = ~own & ~tempering
        model = NearestMean()
        model.fit(pooled[rest], is_target[rest].astype(int))
        p = model.predict_proba(pooled)
        prior = (rest & ~is_target).sum() / (rest & is_target).sum()
        log_ratio = np.log(prior * p[:, 1] / p[:, 0])
        beta = fit_inverse_temperature(
            log_ratio[tempering & ~is_target], log_ratio[tempering & is_target]
        )
        expected = np.exp(beta * log_ratio[own & ~is_target])
        np.testing.assert_allclose(result.source_ratio[own[:N]], expected, rtol=1e-9)


def test_the_same_seed_gives_the_same_weights():
    for method in METHODS:
        one, other = fit(method=method), fit(method=method)
        np.testing.assert_array_equal(one.source_weight, other.source_weight)
    assert (fit(rng=1).source_weight != fit(rng=2).source_weight).any()


# ------------------------------------------------------------ conditioning, options


def test_flatten_and_clip():
    flat = fit(flatten=0.0)
    np.testing.assert_allclose(flat.source_weight, 1.0)
    assert flat.ess == pytest.approx(N) and flat.upper == pytest.approx(1.0)
    plain, half, cut = fit(), fit(flatten=0.5), fit(clip=2.0)
    assert plain.ess < half.ess
    assert cut.upper == pytest.approx(2.0 / cut.conditioning.mean)
    assert cut.source_weight.max() == pytest.approx(cut.upper)
    assert cut.weight([[40.0, 0.0]])[0] == pytest.approx(cut.upper)
    raised = fit(flatten=0.0, clip=(1.5, 3.0), normalize=False)
    assert raised.upper == raised.source_weight.max() == 1.5
    both = fit(clip=(0.5, 2.0), normalize=False)
    assert both.source_weight.min() == 0.5 and both.source_weight.max() == 2.0
    quantile = fit(clip="90%", normalize=False)
    top = np.quantile(plain.source_ratio, 0.9)
    assert quantile.source_weight.max() == pytest.approx(top)
    assert list(quantile.effects()["step"]) == [
        "estimated",
        "flattened",
        "clipped",
        "normalised",
    ]
    assert quantile.effects()["largest"].tolist()[1:] == pytest.approx(
        [plain.source_ratio.max(), top, top]
    )


@pytest.mark.parametrize(
    "clip", [0, -1, "high", "101%", (1,), (2, 1), ("50%", "50%"), (1, 2, 3), True]
)
def test_bad_clips_are_refused(clip):
    with pytest.raises(InputError, match="The 'clip' parameter of density_ratio must"):
        fit(clip=clip)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"method": "svm"}, "method"),
        ({"method": NearestMean}, "method"),
        ({"method": object()}, "method"),
        ({"flatten": 1.5}, "flatten"),
        ({"normalize": 1}, "normalize"),
        ({"calibrate": "yes"}, "calibrate"),
        ({"n_folds": 2}, "n_folds"),
        ({"n_folds": M + 1}, "n_folds"),
        ({"ridge": 0.0}, "ridge"),
        ({"ridge": [1.0, 2.0]}, "ridge"),
        ({"n_hidden": 5}, "n_hidden"),
        ({"method": "knn", "n_neighbors": N}, "n_neighbors"),
        ({"method": "knn", "n_neighbors": 0}, "n_neighbors"),
        ({"method": "ulsif", "bandwidth": []}, "bandwidth"),
        ({"method": "ulsif", "relative": 0.1}, "relative"),
        ({"method": "rulsif", "relative": 1.0}, "relative"),
        ({"method": NearestMean(), "ridge": 1.0}, "ridge"),
        ({"rng": -1}, "rng"),
    ],
)
def test_bad_options_are_refused(options, parameter):
    with pytest.raises(InputError, match=f"The '{parameter}' parameter of density_rat"):
        fit(**options)


def test_two_folds_are_enough_without_calibration():
    assert fit(n_folds=2, calibrate=False).held_out == "2 folds"


# --------------------------------------------------------------------------- input


def test_lists_frames_and_single_precision():
    plain = fit()
    for source, target in (
        (SOURCE.tolist(), TARGET.tolist()),
        (pd.DataFrame(SOURCE, columns=["a", "b"]), pd.DataFrame(TARGET)),
        (np.asfortranarray(SOURCE), TARGET[:, ::-1].copy()[:, ::-1]),
    ):
        found = fit(source, target)
        np.testing.assert_allclose(found.source_weight, plain.source_weight)
    single = fit(SOURCE.astype(np.float32), TARGET.astype(np.float32))
    np.testing.assert_allclose(single.source_weight, plain.source_weight, rtol=1e-4)


def test_one_feature_may_be_a_vector():
    result = fit(SOURCE[:, 0], TARGET[:, 0])
    np.testing.assert_array_equal(
        result.weight([0.0, 1.0]), result.weight([[0.0], [1.0]])
    )


def test_bad_rows_are_refused():
    spoiled = SOURCE.copy()
    spoiled[3, 1] = np.nan
    with pytest.raises(InputError, match=r"'source' parameter.*nan at row 3, column 1"):
        fit(source=spoiled)
    with pytest.raises(InputError, match="'target' parameter of density_ratio must be"):
        fit(target=TARGET[:, :1])
    with pytest.raises(InputError, match="'target' parameter of density_ratio must be"):
        fit(target=TARGET[:1])
    with pytest.raises(InputError, match="of shape"):
        fit().weight([[1.0, 2.0, 3.0]])
    with pytest.raises(InputError, match=r"The 'x' parameter of DensityRatioResult"):
        fit().weight([[np.inf, 2.0]])


def test_columns_are_named_and_keep_their_order():
    names = ["age", "income"]
    source, target = pd.DataFrame(SOURCE, columns=names), pd.DataFrame(TARGET)
    target.columns = names
    result = fit(source, target)
    assert result.features == ("age", "income")
    assert "income" in str(result)
    turned = target[["income", "age"]]
    with pytest.raises(InputError, match="'age', 'income'"):
        fit(source, turned)
    with pytest.raises(InputError, match="'age', 'income'"):
        result.weight(turned)


def test_a_discriminator_that_returns_nonsense_is_refused():
    class Wrong(NearestMean):
        def predict_proba(self, x):
            return np.full((len(x), 3), 1 / 3)

    with pytest.raises(InputError, match="predict_proba returns finite"):
        fit(method=Wrong())


def calls():
    """Return what takes each parameter alone, for values that nobody should give."""
    given = {
        "source": lambda v: dfu.density_ratio(v, TARGET, rng=0),
        "target": lambda v: dfu.density_ratio(SOURCE, v, rng=0),
        "weight": fit(method="knn").weight,
        "renyi": fit(method="knn").renyi,
    }
    for option in ("clip", "flatten", "n_neighbors", "method", "n_folds", "rng"):
        method = {} if option == "method" else {"method": "knn"}
        given[option] = lambda v, o=option, m=method: fit(**m | {o: v})
    return given


@pytest.mark.filterwarnings("ignore::distfreeuq.SupportWarning")
@pytest.mark.parametrize("name", list(calls()))
def test_odd_values_work_or_are_refused_in_the_one_form(name):
    call, refusals = calls()[name], 0
    for what, value in odd_values().items():
        try:
            call(value)
        except InputError as error:
            refusals += 1
            assert FORM.fullmatch(str(error)), (what, str(error))
        except Exception as error:
            pytest.fail(f"{name} with {what}: {type(error).__name__}: {error}")
    assert refusals > 0.5 * len(odd_values())


# -------------------------------------------------------------------------- result


@pytest.mark.parametrize("method", METHODS)
def test_round_trip(method, tmp_path):
    result = fit(method=method)
    result.save(tmp_path / "ratio.npz")
    again = dfu.load(tmp_path / "ratio.npz")
    assert str(again) == str(result) and repr(again) == repr(result)
    np.testing.assert_array_equal(again.weight(TARGET), result.weight(TARGET))
    np.testing.assert_array_equal(again.source_weight, result.source_weight)


def test_a_users_estimator_cannot_be_saved_and_the_message_says_why(tmp_path):
    result = fit(method=NearestMean())
    with pytest.raises(InputError, match="NearestMean, which cannot be saved"):
        result.save(tmp_path / "ratio.npz")


def test_frame_and_diagnostics_agree():
    result = fit()
    frame = result.to_frame()
    source = frame[frame["sample"] == "source"]["weight"].to_numpy()
    np.testing.assert_array_equal(source, result.source_weight)
    assert result.ess == pytest.approx(source.sum() ** 2 / (source**2).sum())
    assert result.largest_share == pytest.approx(source.max() / source.sum())
    assert result.renyi(2) == pytest.approx(N / result.ess)
    assert result.renyi(np.inf) == pytest.approx(source.max() / source.mean())
    orders = [result.renyi(order) for order in (1, 1.5, 2, 4, np.inf)]
    assert orders == sorted(orders)
    for order in (0.5, np.nan, "two"):
        with pytest.raises(InputError, match="'order' parameter"):
            result.renyi(order)


def test_coefficients_and_intervals_are_those_of_statsmodels():
    names = ["age", "dose"]
    ratio = fit(
        pd.DataFrame(SOURCE, columns=names), pd.DataFrame(TARGET, columns=names)
    )
    both = np.concatenate([SOURCE, TARGET])
    x = sm.add_constant((both - both.mean(axis=0)) / both.std(axis=0))
    logit = sm.Logit(np.repeat([0, 1], [N, M]), x).fit(disp=False)
    frame = ratio.coefficients()
    assert list(frame["feature"]) == names
    np.testing.assert_allclose(frame["estimate"], logit.params[1:], rtol=1e-5)
    np.testing.assert_allclose(frame["std_err"], logit.bse[1:], rtol=1e-4)
    np.testing.assert_allclose(frame["p_value"], logit.pvalues[1:], rtol=1e-3)
    for alpha in (0.05, 0.2):
        own = logit.conf_int(alpha)[1:]
        np.testing.assert_allclose(ratio.confint(alpha), own, rtol=1e-4, atol=1e-6)
    assert f"{frame['estimate'][0]:.4f}" in str(ratio)


def test_coefficients_where_there_are_none():
    with pytest.warns(dfu.SupportWarning):
        apart = fit(SOURCE, SOURCE[:M] + 50.0)
    assert np.isfinite(apart.coefficients()["ridge"]).all()
    assert apart.coefficients()["std_err"].isna().all()
    assert np.isnan(apart.confint()).all() and apart.confint().shape == (2, 2)
    for method in ("coefficients", "confint"):
        with pytest.raises(InputError, match="by logistic regression"):
            getattr(fit(method="knn"), method)()
    with pytest.raises(InputError, match="'alpha' parameter of DensityRatio"):
        fit().confint(alpha=5)


def test_nothing_is_guaranteed_and_it_is_said():
    result = fit()
    assert not result.guarantee
    assert "Guarantee:  none: the weights are estimates" in str(result)


def test_arrays_are_read_only():
    result = fit()
    for array in (result.source_weight, result.target_ratio):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_the_figure_shows_both_samples():
    result = fit()
    ax = result.plot()
    ax.figure.canvas.draw()
    heights = [
        patch.get_height() for patch in ax.patches if hasattr(patch, "get_height")
    ]
    assert sum(heights) == pytest.approx(1.0)  # the source's bars
    assert "300" not in ax.get_title() and "400 source rows" in ax.get_title()
    with pytest.warns(dfu.SupportWarning):
        fit(target=TARGET + 50.0).plot().figure.canvas.draw()
