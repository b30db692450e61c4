"""Groups tied to a shared map: against other solvers, by hand, and what is refused."""

import numpy as np
import pytest
from scipy.optimize import minimize

import distfreeuq as dfu
from distfreeuq._base.arguments import Arguments
from distfreeuq.calibration.data import read_rows
from distfreeuq.calibration.platt import PlattOptions, fit_platt
from distfreeuq.calibration.tied.linear_maps import _family_of, fit_tied_maps
from distfreeuq.calibration.tied.probabilities import shrink
from distfreeuq.calibration.vector import VectorOptions, fit_vector

RNG = np.random.default_rng(0)
N = 240
LOGITS = RNG.normal(0.0, 2.0, (N, 3))
SITE = RNG.choice(["east", "north", "south"], N, p=[0.2, 0.4, 0.4])
SLOPE = np.select([SITE == "east", SITE == "north"], [0.4, 1.0], 1.6)[:, None]
LABELS = (SLOPE * LOGITS + RNG.gumbel(size=(N, 3))).argmax(axis=1)
WEIGHT = RNG.exponential(size=N)
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
LINEAR = ("vector", "platt", "dirichlet")
OF_PROBS = ("isotonic", "venn-abers", "beta", "binning")


def fit(name, **options):
    x = PROBS if name in OF_PROBS else LOGITS
    more = {"n_bins": 3} if name == "binning" else {}
    return dfu.groupwise_calibration(
        name, x, LABELS, groups=SITE, sample_weight=WEIGHT, **more, **options
    )


@pytest.mark.parametrize("name", ["temperature", *LINEAR, *OF_PROBS])
def test_nothing_and_everything_of_a_tie(name):
    x = PROBS if name in OF_PROBS else LOGITS
    one = fit(name, gamma=0.0)
    assert (one.which == -1).all() and one.fits == ()
    np.testing.assert_array_equal(one.predict(x, groups=SITE), one.pooled.predict(x))
    alone, loose = fit(name), fit(name, gamma=1e6)
    np.testing.assert_allclose(
        loose.predict(x, groups=SITE), alone.predict(x, groups=SITE), atol=1e-9
    )


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.02])
@pytest.mark.parametrize("kind", ["vector", "platt"])
def test_tied_maps_are_those_of_a_general_solver(kind, ridge, binary):
    logits = LOGITS[:, :2] if binary else LOGITS
    labels = (LABELS > 0).astype(int) if binary else LABELS
    rows = read_rows(Arguments("test"), logits, labels, WEIGHT, None)
    options = VectorOptions(ridge) if kind == "vector" else PlattOptions(ridge, False)
    pooled = (fit_vector if kind == "vector" else fit_platt)(rows, options)
    codes = np.unique(SITE, return_inverse=True)[1]
    gamma = 0.3
    found = fit_tied_maps(rows, codes, np.arange(3), gamma, options, pooled)
    assert found.limited.any()

    family = _family_of(rows, options, pooled)
    losses = [family.loss(rows.some(codes == g)) for g in range(3)]
    mass = np.bincount(codes, WEIGHT) / WEIGHT.sum()
    r = family.basis.shape[1]

    def total(x):
        x = x.reshape(4, r)
        parts = [
            one.evaluate(family.start + family.basis @ own)
            for one, own in zip(losses, x[:3], strict=True)
        ]
        value = sum(m * part[0] for m, part in zip(mass, parts, strict=True))
        slopes = [
            m * part[1] @ family.basis for m, part in zip(mass, parts, strict=True)
        ]
        return value, np.concatenate([*slopes, np.zeros(r)])

    def room(x):
        x = x.reshape(4, r)
        return gamma**2 - ((x[:3] - x[3]) ** 2).sum(axis=1)

    other = minimize(
        total,
        np.zeros(4 * r),
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": room},
        options={"maxiter": 500, "ftol": 1e-13},
    )
    ours = np.array([family.theta(one) for one in found.fits])
    shared = family.theta(found.shared)
    distance = np.linalg.norm((ours - shared) @ family.basis, axis=1)
    assert (distance <= gamma * (1 + 1e-8)).all()
    np.testing.assert_allclose(distance[found.limited], gamma, rtol=1e-4)
    value = sum(m * one.evaluate(x)[0] for m, one, x in zip(mass, losses, ours))  # noqa: B905
    assert value <= other.fun + 1e-9
    np.testing.assert_allclose(value, other.fun, atol=2e-7)


def test_temperatures_of_predicted_classes_are_class_wise_ones():
    for loss in ("nll", "brier"):
        by_group = dfu.groupwise_calibration(
            "temperature", LOGITS, LABELS, gamma=0.1, loss=loss, bounds=(0.01, 10.0)
        )
        by_class = dfu.classwise_temperature_scaling(
            LOGITS, LABELS, gamma=0.1, loss=loss, bounds=(0.01, 10.0)
        )
        np.testing.assert_allclose(
            [one.temperature for one in by_group.fits], by_class.temperatures
        )
        np.testing.assert_allclose(
            [one.std_err for one in by_group.fits], by_class.std_err
        )
        shared = by_group.pooled.temperature
        np.testing.assert_allclose(shared, by_class.shared_temperature)
        np.testing.assert_array_equal(by_group.limited, by_class.status == 3)


@pytest.mark.filterwarnings("ignore::distfreeuq.FitAtBoundWarning")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("gamma", [0.02, 0.15, 0.6])
def test_brier_ties_are_no_worse_than_all_of_a_grid(gamma, seed):
    rng = np.random.default_rng(seed)
    n = 24  # so few rows that losses have several minima
    z, y = rng.normal(0.0, 3.0, (n, 3)), rng.integers(3, size=n)
    bounds = (0.05, 4.0)
    fitted = dfu.classwise_temperature_scaling(
        z, y, gamma=gamma, loss="brier", bounds=bounds
    )
    grid = np.linspace(*bounds, 800)
    p = np.exp(grid[:, None, None] * (z - z.max(axis=1, keepdims=True)))
    p /= p.sum(axis=2, keepdims=True)
    p[:, np.arange(n), y] -= 1.0
    losses = (p**2).sum(axis=2)
    tops = z.argmax(axis=1)
    table = np.array([losses[:, tops == k].sum(axis=1) for k in range(3)])
    best = min(
        table[:, np.abs(grid - center) <= gamma].min(axis=1).sum() for center in grid
    )
    assert fitted.loss_after <= best / n + 1e-7
    alphas = fitted.inverse_temperatures
    assert (np.abs(alphas - 1 / fitted.shared_temperature) <= gamma + 1e-9).all()


@pytest.mark.parametrize("name", OF_PROBS)
def test_tied_probabilities_are_within_gamma_of_the_shared_ones(name):
    tied = fit(name, gamma=0.05)
    new = tied.predict(PROBS, groups=SITE)
    away = new - tied.pooled.predict(PROBS)
    distance = np.sqrt((away**2).sum(axis=1) / 2)
    assert distance.max() <= 0.05 + 1e-12
    own = fit(name).predict(PROBS, groups=SITE)
    np.testing.assert_allclose(new[distance < 0.049], own[distance < 0.049])
    np.testing.assert_allclose(new.sum(axis=1), 1.0)
    assert "theory page, 8.7" in tied.guarantee.reason


def test_by_hand():
    own, shared = np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([[0.6, 0.4]] * 2)
    tied = shrink(own, shared, 0.2)
    np.testing.assert_allclose(tied, [[0.8, 0.2], [0.5, 0.5]])


def test_cross_validation_takes_the_least_loss_of_its_table():
    for name in ("temperature", "vector", "isotonic", "binning"):
        chosen = fit(name, gamma="cv")
        gammas, losses = chosen.gamma_losses.T
        assert gammas[0] == 0.0 and np.isinf(gammas[-1])
        assert losses[gammas == chosen.gamma][0] == pytest.approx(losses.min())
        again = fit(name, gamma=chosen.gamma)
        x = PROBS if name in OF_PROBS else LOGITS
        np.testing.assert_array_equal(
            chosen.predict(x, groups=SITE), again.predict(x, groups=SITE)
        )
        assert again.gamma_losses.shape == (0, 2)
        assert "cross-validation on these rows" in " ".join(str(chosen).split())
    own = fit("temperature", gamma=[0.5, 0.1])
    assert own.gamma_losses[:, 0].tolist() == [0.1, 0.5]


def test_sites_alike_are_tied_and_different_ones_are_not():
    rng = np.random.default_rng(1)
    z = rng.normal(0.0, 2.0, (2000, 3))
    site = np.arange(2000) % 20
    for slopes, tied in ((np.ones(20), True), (np.linspace(0.2, 3.0, 20), False)):
        y = (slopes[site][:, None] * z + rng.gumbel(size=z.shape)).argmax(axis=1)
        chosen = dfu.groupwise_calibration("temperature", z, y, groups=site, gamma="cv")
        assert (chosen.gamma <= 0.3) == tied


def test_a_choice_by_these_rows_costs_its_share_of_delta():
    settings = {"loss": "brier", "bounds": (0.5, 2.0), "logit_range": 20.0}
    z = np.tile(LOGITS, (40, 1))
    y, site = np.tile(LABELS, 40), np.tile(SITE, 40)
    chosen = dfu.groupwise_calibration(
        "temperature", z, y, groups=site, gamma=[0.05, 0.1], **settings
    )
    given = dfu.groupwise_calibration(
        "temperature", z, y, groups=site, gamma=chosen.gamma, **settings
    )
    half = dfu.groupwise_calibration(
        "temperature", z, y, groups=site, gamma=chosen.gamma, delta=0.025, **settings
    )
    assert chosen.guarantee.upper == half.guarantee.upper > given.guarantee.upper
    assert chosen.guarantee.confidence == given.guarantee.confidence == 0.95
    assert "the groups' best temperatures" in chosen.guarantee.statement


def test_binning_by_name_and_as_a_callable():
    given = {"groups": SITE, "n_bins": 4, "mode": "classwise"}
    by_name = dfu.groupwise_calibration("binning", PROBS, LABELS, **given)
    by_function = dfu.groupwise_calibration(
        dfu.histogram_binning, PROBS, LABELS, **given
    )
    own = dfu.groupwise_calibration(
        lambda *rows, sample_weight, **more: dfu.histogram_binning(*rows, **more),
        PROBS,
        LABELS,
        **given,
    )
    want = by_name.predict(PROBS, groups=SITE)
    for other in (by_function, own):
        np.testing.assert_array_equal(other.predict(PROBS, groups=SITE), want)
    north = dfu.histogram_binning(
        PROBS[SITE == "north"], LABELS[SITE == "north"], n_bins=4, mode="classwise"
    )
    np.testing.assert_array_equal(
        want[SITE == "north"], north.predict(PROBS[SITE == "north"])
    )
    assert by_name.fits[1].guarantee == north.guarantee
    result = dfu.compare_calibrations(
        LOGITS, LABELS, LOGITS[:90], LABELS[:90], rng=0,
        calibrators=["temperature", "binning", dfu.isotonic_calibration],
        sample_weight=WEIGHT,
    )  # fmt: skip
    assert set(result.calibrators[1:]) == {"temperature", "binning", "isotonic"}


def test_bundles_of_classes():
    probs = np.full((100, 5), 0.05)
    tops = np.repeat(np.arange(5), [40, 30, 20, 10, 0])
    probs[np.arange(100), tops] = 0.8
    bundles = dfu.class_bundles(probs, tops, n_bundles=2)
    assert bundles.statistic.tolist() == [40, 30, 20, 10, 0]
    assert bundles.bundle.tolist() == [1, 0, 0, 0, 0]  # 60 rows against 40
    assert bundles(probs[[0, 99]]).tolist() == [1, 0]
    accuracy = dfu.class_bundles(probs, np.zeros(100, dtype=int), by="accuracy")
    assert np.isnan(accuracy.statistic[4]) and accuracy.bundle[4] == 1
    gap = dfu.class_bundles(probs, tops, by="gap", sample_weight=np.full(100, 2.0))
    np.testing.assert_allclose(gap.statistic[:4], -0.2)
    assert gap.rows.tolist() == [80, 60, 40, 20, 0]
    frame = bundles.to_frame()
    assert list(frame) == ["class", "bundle", "statistic", "rows"]


def test_bundles_are_saved_with_the_fit(tmp_path):
    bundles = dfu.class_bundles(PROBS[:80], LABELS[:80], by="confidence")
    fitted = dfu.groupwise_calibration(
        "binning", PROBS[80:], LABELS[80:], groups=bundles, n_bins=2, gamma=0.1
    )
    fitted.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(again.predict(PROBS), fitted.predict(PROBS))
    assert str(again) == str(fitted)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gamma": -1.0}, "'gamma'"),
        ({"gamma": "bound"}, "'gamma'"),
        ({"gamma": [0.1, np.nan]}, "'gamma'"),
        ({"gamma": []}, "'gamma'"),
        ({"gamma": [[0.1]]}, "'gamma'"),
    ],
)
def test_what_is_no_gamma_is_refused(change, message):
    with pytest.raises(dfu.InputError, match=message):
        dfu.groupwise_calibration("temperature", LOGITS, LABELS, **change)
    many = np.random.default_rng(0).normal(size=(40, 600))
    with pytest.raises(dfu.InputError, match="more than 1000 parameters"):
        dfu.groupwise_calibration(
            "vector", many, np.arange(40), gamma=0.1, ridge=0.1,
            groups=np.arange(40) % 2,
        )  # fmt: skip
