"""Calibration under covariate shift: weights, rows, and what the table says."""

import numpy as np
import pytest
from scipy import special

import distfreeuq as dfu
from distfreeuq.covariate_shift.bound_estimate import estimate_bound

LOGITS = [[2.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 1.0], [3.0, 0.0], [0.0, 1.5]]
CALIBRATORS = [
    "temperature",
    "platt",
    "vector",
    "dirichlet",
    "isotonic",
    "beta",
    "venn-abers",
    "binning",
]


def shifted(n=800, m=700, n_classes=2, shift=0.7, seed=0):
    """Logits that are over-confident to the right, where the target has more rows."""
    rng = np.random.default_rng(seed)
    x, new = rng.normal(size=(n, 2)), rng.normal([shift, 0.0], 1.0, (m, 2))
    slopes = np.random.default_rng(7).normal(0.0, 2.0, (2, n_classes))

    def truth(rows):
        return rows @ slopes / np.where(rows[:, :1] > 0.0, 3.0, 1.0)

    def draw(rows):
        return (truth(rows) + rng.gumbel(size=(len(rows), n_classes))).argmax(axis=1)

    return {
        "source": x,
        "labels": draw(x),
        "logits": x @ slopes,
        "target": new,
        "target_labels": draw(new),
        "target_logits": new @ slopes,
        "weights": np.exp(shift * x[:, 0] - 0.5 * shift**2),
    }


def fit(data, **options):
    arguments = (data[name] for name in ("logits", "labels", "source", "target"))
    return dfu.covariate_shift_calibration(*arguments, **({"rng": 0} | options))


def learn(**options):
    return {"n_hidden": 5, "n_epochs": 8, "learning_rate": 0.02} | options


@pytest.mark.parametrize("loss", ["nll", "brier"])
@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_known_weights_weigh_the_temperature(loss, offset):
    labels = [0, 1, 1, 1, 0, 0]
    weights = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])
    result = dfu.covariate_shift_calibration(
        LOGITS, labels, None, None, ratio=weights, loss=loss, offset=offset
    )
    plain = dfu.temperature_scaling(
        LOGITS, labels, sample_weight=weights + offset, loss=loss
    )
    assert result.calibration.temperature == plain.temperature
    assert result.ess == pytest.approx(8.5**2 / 16.25)
    assert result.largest_share == pytest.approx(3 / 8.5)
    np.testing.assert_array_equal(result.predict(LOGITS), plain.predict(LOGITS))


@pytest.mark.parametrize("calibrator", CALIBRATORS)
@pytest.mark.parametrize("n_classes", [2, 31])
def test_every_calibrator_takes_the_weights(calibrator, n_classes):
    data = shifted(n_classes=n_classes, n=1500)
    options = {"ridge": 1e-3} if calibrator in ("platt", "vector") else {}
    result = fit(data, calibrator=calibrator, calibrator_options=options)
    probs = result.predict(data["target_logits"])
    assert probs.shape == (700, n_classes)
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, atol=1e-9)
    known = fit(
        data,
        calibrator=calibrator,
        ratio=result.ratio.source_weight,
        calibrator_options=options,
    )
    np.testing.assert_array_equal(known.predict(data["target_logits"]), probs)
    unweighted = fit(
        data, calibrator=calibrator, ratio=None, calibrator_options=options
    )
    assert not np.allclose(unweighted.predict(data["target_logits"]), probs)
    assert unweighted.ess == pytest.approx(1500)
    for text in (str(result), str(known), str(unweighted)):
        assert "Guarantee" in text
        assert "Rows" in text
    assert len(result.to_frame()) > 0
    assert result.plot() is not None
    assert result.plot(kind="weights").get_ylabel() == "rows"


@pytest.mark.parametrize("calibrator", ["temperature", "vector", "isotonic"])
def test_identical_samples_leave_calibration_as_it_is(calibrator):
    data = shifted(n=4000, m=4000, shift=0.0)
    weighted = fit(data, calibrator=calibrator)
    plain = fit(data, calibrator=calibrator, ratio=None)
    assert weighted.ess > 0.97 * 4000
    ends = (data["target_logits"], data["target_labels"])
    difference = weighted.predict(ends[0]) - plain.predict(ends[0])
    assert np.abs(difference).mean() < 0.01
    scores = [
        dfu.metrics.brier_score(f.predict(ends[0]), ends[1]) for f in (weighted, plain)
    ]
    assert abs(scores[0] - scores[1]) < 0.002


def test_weights_calibrate_the_target():
    data = shifted(n=20000, m=20000, shift=1.0)
    error = {}
    for name, options in {
        "unweighted": {"ratio": None},
        "known": {"ratio": data["weights"]},
        "estimated": {},
    }.items():
        probs = fit(data, calibrator="temperature", **options).predict(
            data["target_logits"]
        )
        error[name] = dfu.metrics.nll(probs, data["target_labels"])
    best = dfu.metrics.nll(
        dfu.temperature_scaling(data["target_logits"], data["target_labels"]).predict(
            data["target_logits"]
        ),
        data["target_labels"],
    )
    assert error["unweighted"] - best > 5e-3
    assert error["known"] - best < 1e-3
    assert error["estimated"] - best < 1e-3


def test_the_paper_names_of_the_methods():
    data = shifted(n=200, m=150)
    known = data["weights"]
    names = [
        fit(data, ratio=None).method,
        fit(data, ratio=known).method,
        fit(data, ratio=None, feature_learning=learn()).method,
        fit(data, ratio=known, feature_learning=learn(), calibrator="platt").method,
    ]
    assert names == ["temperature", "IW+temperature", "FL+temperature", "FL+IW+platt"]


def test_learnt_features_are_calibrated_on_other_rows():
    data = shifted(n=600, m=400)
    result = fit(
        data, feature_learning=learn(), loss="brier", offset=0.5, map_share=0.4
    )
    assert (result.rows.n_map_source, result.rows.n_map_target) == (240, 160)
    assert (result.rows.n_calibration, result.rows.n_target) == (360, 240)
    assert result.feature_map.n_source == 240
    assert result.sample_weight.size == result.ratio.n_source == 360
    assert len(result.ratio.features) == 5
    logits = result.feature_map.logits(data["target"])
    np.testing.assert_array_equal(
        result.predict(data["target"]), result.calibration.predict(logits)
    )
    text = " ".join(str(result).split())
    assert "learnt on 240 other source rows and 160 other target rows" in text
    assert "each row's weight is by a fit without it" in text
    again = fit(data, feature_learning=learn(), loss="brier", offset=0.5, map_share=0.4)
    assert str(again) == str(result)


def test_known_weights_follow_the_rows_that_are_left():
    data = shifted(n=300, m=200)
    result = fit(data, feature_learning=learn(), ratio=data["weights"])
    assert result.sample_weight.size == 150
    assert np.isin(result.sample_weight, data["weights"]).all()
    # the same rows, found by their weights, give the same temperature by hand
    kept = np.isin(data["weights"], result.sample_weight)
    logits = result.feature_map.logits(data["source"][kept])
    plain = dfu.temperature_scaling(
        logits, data["labels"][kept], sample_weight=data["weights"][kept]
    )
    assert result.calibration.temperature == pytest.approx(plain.temperature, rel=1e-9)


def test_a_map_that_was_fitted_elsewhere():
    data, other = shifted(n=300, m=200), shifted(n=300, m=200, seed=1)
    fmap = dfu.indistinguishable_features(
        other["source"], other["labels"], other["target"], rng=0, **learn()
    )
    result = fit(data, feature_learning=fmap)
    assert result.rows.n_calibration == 300
    assert result.rows.n_map_source is None
    assert "must have been fitted on other rows" in " ".join(str(result).split())
    ratio = dfu.density_ratio(
        fmap.transform(data["source"]), fmap.transform(data["target"]), rng=0
    )
    same = fit(data, feature_learning=fmap, ratio=ratio)
    np.testing.assert_array_equal(same.sample_weight, result.sample_weight)
    assert same.calibration.temperature == result.calibration.temperature


def test_ratios_of_these_rows_and_of_others():
    data, other = shifted(n=300, m=200), shifted(n=250, m=220, seed=1)
    own = dfu.density_ratio(data["source"], data["target"], rng=0)
    result = fit(data, ratio=own)
    np.testing.assert_array_equal(result.sample_weight, own.source_weight)
    assert result.rows.weights_from == "given ratio's rows"
    foreign = dfu.density_ratio(other["source"], other["target"], rng=0)
    result = fit(data, ratio=foreign)
    np.testing.assert_array_equal(result.sample_weight, foreign.weight(data["source"]))
    assert result.rows.weights_from == "given ratio"
    assert "fitted on other source rows" in " ".join(str(result).split())


def test_options_reach_the_ratio_and_the_calibrator():
    data = shifted(n=300, m=200)
    clipped = fit(data, ratio_options={"clip": 1.5, "normalize": False})
    assert clipped.sample_weight.max() <= 1.5
    flat = fit(data, ratio_options={"flatten": 0.0})
    plain = dfu.temperature_scaling(data["logits"], data["labels"])
    assert flat.calibration.temperature == pytest.approx(plain.temperature)
    bins = fit(data, calibrator="binning", calibrator_options={"n_bins": 4})
    assert bins.calibration.n_bins == 4


def test_any_discriminator():
    class Prior:
        """Knows nothing."""

        def fit(self, x, y):
            self.share = float(np.mean(y))
            return self

        def predict_proba(self, x):
            return np.tile([1 - self.share, self.share], (len(x), 1))

    data = shifted(n=300, m=200)
    result = fit(data, ratio=Prior())
    plain = dfu.temperature_scaling(data["logits"], data["labels"])
    assert result.calibration.temperature == pytest.approx(plain.temperature, rel=0.05)


def test_terms_of_the_bound_by_hand():
    error = np.array([0.5, 1.5])
    found = estimate_bound(error, np.array([1.0, 3.0]), np.array([1.0]), None)
    assert found.target_error == pytest.approx(2.5)
    assert found.weighted_error == pytest.approx(3.0)
    assert (found.upper, found.upper_is_given) == (3.0, False)
    # g_hat is 1/2 and 1/4 on the source, 1/2 on the target
    assert found.discriminator_error == pytest.approx(0.5 * (0.25 + 0.5625) / 2 + 0.125)
    assert found.supposed_best_error == pytest.approx(0.5 * (0.25 + 0.1875) / 2 + 0.125)
    factor = dfu.bounds.covariate_shift_factor(3.0)
    assert found.value == pytest.approx(3.0 + factor * found.discriminator_error)
    assert found.is_vacuous
    given = estimate_bound(0.1 * error, np.ones(2), np.ones(3), 0.5)
    assert given.factor == 0.0  # weights up to 1/2 need no correction at t = 1/2
    assert given.value == pytest.approx(0.15)
    assert not given.is_vacuous


def test_a_bound_beyond_all_floats_is_infinite_and_no_nan():
    """Infinity times an error of zero, as 1/4 less 1/4 is, would be NaN."""
    found = estimate_bound(np.array([0.2, 0.4]), np.ones(2), np.ones(3), 1e20)
    assert found.factor == found.supposed == found.value == np.inf
    assert found.is_vacuous


def test_the_bound_is_printed_for_what_it_is():
    data = shifted(n=300, m=200)
    text = " ".join(str(fit(data)).split())
    assert "E_p[L (w + 1/2)], their objective" in text
    assert "vacuous: at 2 or more it says nothing" in text
    assert "no certificate" in text
    assert "largest estimate" in text
    assert "(given)" in str(fit(data, upper=20.0))
    assert fit(data, ratio=data["weights"]).bound is None


def test_objective_of_the_paper_is_what_is_minimised():
    data = shifted(n=500, m=400)
    result = fit(data, loss="brier", offset=0.5)
    temperature = result.calibration.temperature
    truth = np.eye(2)[data["labels"]]

    def objective(t):
        error = ((special.softmax(data["logits"] / t, axis=1) - truth) ** 2).sum(axis=1)
        return np.mean(error * (result.sample_weight + 0.5))

    assert objective(temperature) == pytest.approx(result.bound.weighted_error)
    for factor in (0.9, 1.1):
        assert objective(temperature) < objective(temperature * factor)


def test_known_weights_keep_the_guarantee_of_the_bins():
    data = shifted(n=2000)
    options = {"weight_bound": 50.0, "mode": "canonical"}
    known = fit(
        data,
        calibrator="binning",
        ratio=data["weights"],
        calibrator_options=options,
    )
    assert known.guarantee == known.calibration.guarantee
    assert bool(known.guarantee)
    for offset in (0.001, 0.5, 2.0):
        added = fit(
            data,
            calibrator="binning",
            ratio=data["weights"],
            offset=offset,
            calibrator_options=options,
        )
        assert bool(added.calibration.guarantee)  # so that the offset alone voids it
        assert not added.guarantee
        assert "offset" in added.guarantee.reason
    assert not fit(data, calibrator="binning").guarantee
    assert not fit(data, ratio=None).guarantee


@pytest.mark.parametrize("calibrator", ["temperature", "isotonic", "binning"])
@pytest.mark.parametrize("features", [False, True])
def test_saved_and_loaded(tmp_path, calibrator, features):
    data = shifted(n=300, m=200)
    options = {"feature_learning": learn()} if features else {}
    result = fit(data, calibrator=calibrator, **options)
    result.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    assert str(again) == str(result)
    new = data["target"] if features else data["target_logits"]
    np.testing.assert_array_equal(again.predict(new), result.predict(new))


def test_frames_and_names():
    import pandas as pd

    data = shifted(n=300, m=200)
    names = ["benign", "malignant"]
    columns = ["age", "dose"]
    result = dfu.covariate_shift_calibration(
        pd.DataFrame(data["logits"], columns=names),
        np.array(names)[data["labels"]],
        pd.DataFrame(data["source"], columns=columns),
        pd.DataFrame(data["target"], columns=columns),
        feature_learning=learn(),
        rng=0,
    )
    assert list(result.classes) == names
    new = pd.DataFrame(data["target"], columns=columns)
    assert result.predict(new).shape == (200, 2)
    with pytest.raises(dfu.InputError, match="fit's columns in the fit's order"):
        result.predict(new[columns[::-1]])


def test_separable_domains_are_warned_of_and_finite():
    data = shifted(n=300, m=200)
    data["target"] = data["target"] + np.array([100.0, 0.0])
    with pytest.warns(dfu.SupportWarning) as warned:
        result = fit(data)
    assert warned[0].filename == __file__
    assert np.isfinite(result.sample_weight).all()
    assert np.isfinite(result.predict(data["target_logits"])).all()
    assert np.isfinite(result.bound.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calibrator": "magic"}, r"'calibrator'.*'binning'"),
        ({"ratio": "forest"}, "'method'"),
        ({"ratio": [1.0, 2.0]}, r"'ratio'.*length 60"),
        ({"ratio": None, "ratio_options": {"clip": 2.0}}, "'ratio_options'"),
        ({"ratio_options": 3}, r"'ratio_options'.*mapping"),
        ({"loss": "brier", "calibrator": "platt"}, "'loss'"),
        ({"calibrator_options": {"classes": [1]}}, "'calibrator_options'"),
        ({"offset": -1.0}, "'offset'"),
        ({"upper": 0.0}, "'upper'"),
        ({"feature_learning": 3}, r"'feature_learning'.*True or False"),
        ({"feature_learning": True, "map_share": 0.99}, r"'map_share'.*both sides"),
        ({"target": None}, r"'target'.*given for a density ratio"),
        ({"source": None, "feature_learning": True}, r"'source'.*feature learning"),
        ({"logits": None}, r"'logits'.*unless features are learnt"),
        ({"labels": [0]}, "'labels'"),
    ],
)
def test_bad_input_is_refused(options, message):
    data = shifted(n=60, m=50)
    for name in ("target", "source", "logits", "labels"):
        if name in options:
            data[name] = options.pop(name)
    with pytest.raises(dfu.InputError, match=message):
        fit(data, **options)


def test_a_ratio_cannot_be_older_than_its_features():
    data = shifted(n=60, m=50)
    ratio = dfu.density_ratio(data["source"], data["target"], rng=0)
    with pytest.raises(dfu.InputError, match="yet to be learnt"):
        fit(data, ratio=ratio, feature_learning=True)


def test_a_map_of_other_classes_is_refused():
    data = shifted(n=60, m=50)
    fmap = dfu.indistinguishable_features(
        data["source"], data["labels"], data["target"], classes=[0, 1, 2], **learn()
    )
    with pytest.raises(dfu.InputError, match="classes of the labels"):
        fit(data, feature_learning=fmap)
