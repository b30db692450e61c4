"""Confidence in a given classifier's decisions: by hand, and what is claimed."""

import numpy as np
import pytest
from scipy import optimize, special

import distfreeuq as dfu
from distfreeuq import InputError
from distfreeuq import references as r
from distfreeuq.covariate_shift.decisions.decision_loss import (
    GRID,
    DecisionRows,
    _derivatives,
    confidences,
    inverse_temperature_error,
    losses,
)
from tests.unit.claims import Claim, assert_claims, assert_claims_nothing

RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 3))
LABELS = (X + RNG.gumbel(size=X.shape)).argmax(axis=1)
LOGITS = 2.5 * X
DECISIONS = np.where(X[:, 0] > 1.0, 0, X[:, 1:].argmax(axis=1) + 1)  # no argmax of X
WEIGHTS = np.minimum(np.exp(X[:, 0] - 0.5), 4.0)


def fit(**options):
    return dfu.decision_calibration(LOGITS, LABELS, DECISIONS, **options)


def test_the_confidence_is_the_decisions_column():
    found = fit()
    probs = special.softmax(LOGITS / found.temperature, axis=1)
    np.testing.assert_allclose(
        found.predict(LOGITS, DECISIONS), probs[np.arange(900), DECISIONS]
    )
    np.testing.assert_allclose(found.predict(LOGITS), probs.max(axis=1))


def test_one_temperature_by_hand():
    """A confident decision that is right three times of four: 1 / (1 + e^-a) = 3/4."""
    logits, labels = [[0.0, 1.0]] * 4, [1, 1, 1, 0]
    for loss in ("brier", "nll"):
        found = dfu.decision_calibration(logits, labels, loss=loss)
        assert found.inverse_temperature == pytest.approx(np.log(3), rel=1e-6)
        assert found.accuracy == 0.75 and found.confidence_after == pytest.approx(0.75)
    # the sandwich: sum l'^2 / (sum l'')^2 in a, p' = p (1 - p) = 3/16; brier at its
    # optimum: l' = 2 (p - z) p', sum of squares 4 p'^2 (3/16 + 9/16), l'' = 2 p'^2
    # + 2 (p - z) p'', whose second terms add up to zero
    p = 3 / 16
    error = np.sqrt(4 * p**2 * (3 / 16 + 9 / 16)) / (8 * p**2)
    found = dfu.decision_calibration(logits, labels)
    assert found.std_err == pytest.approx(error / np.log(3) ** 2, rel=1e-5)
    # of weights two on the wrong one, the confidence is 3/5
    found = dfu.decision_calibration(logits, labels, sample_weight=[1, 1, 1, 2])
    assert found.inverse_temperature == pytest.approx(np.log(1.5), rel=1e-6)
    # an offset of one half: 4.5 / 7
    found = dfu.decision_calibration(
        logits, labels, sample_weight=[1, 1, 1, 2], offset=0.5
    )
    assert found.inverse_temperature == pytest.approx(np.log(4.5 / 2.5), rel=1e-6)


def test_a_decision_other_than_the_largest_logit():
    """It is right once of four times: 1 / (1 + e^a) = 1/4."""
    found = dfu.decision_calibration([[0.0, 1.0]] * 4, [1, 1, 1, 0], [0] * 4)
    assert found.inverse_temperature == pytest.approx(np.log(3), rel=1e-6)
    assert found.predict([[0.0, 1.0]], [0])[0] == pytest.approx(0.25)


@pytest.mark.parametrize("loss", ["brier", "nll"])
def test_the_minimum_is_that_of_another_search(loss):
    found = fit(loss=loss, sample_weight=WEIGHTS)
    rows = DecisionRows(LOGITS, DECISIONS, LABELS == DECISIONS, WEIGHTS)

    def mean(log_a):
        return WEIGHTS @ losses(rows, float(np.exp(log_a)), loss) / WEIGHTS.sum()

    grid = np.linspace(np.log(0.02), np.log(50), 400)
    best = optimize.minimize_scalar(
        mean, bracket=(grid[0], grid[np.argmin([mean(g) for g in grid])], grid[-1])
    )
    assert found.loss_after == pytest.approx(best.fun, rel=1e-9)
    assert found.inverse_temperature == pytest.approx(np.exp(best.x), rel=1e-5)
    assert found.loss_after <= found.loss_before


@pytest.mark.parametrize("loss", ["brier", "nll"])
@pytest.mark.parametrize("a", [0.1, 1.0, 3.0])
def test_derivatives_are_those_of_finite_differences(loss, a):
    rows = DecisionRows(LOGITS, DECISIONS, LABELS == DECISIONS, WEIGHTS)
    first, second = _derivatives(rows, a, loss)
    h = 1e-4
    below, here, above = (losses(rows, a + d, loss) for d in (-h, 0.0, h))
    np.testing.assert_allclose(first, (above - below) / (2 * h), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        second, (above - 2 * here + below) / h**2, rtol=1e-3, atol=2e-5
    )
    assert inverse_temperature_error(rows, a, loss) != 0.0


def test_two_classes_are_temperature_scaling():
    """The squared error of one of two probabilities is half the Brier score."""
    logits, labels = LOGITS[:, :2], (LABELS > 0).astype(int)
    scaled = dfu.temperature_scaling(logits, labels, loss="brier")
    for decisions in (None, DECISIONS % 2):
        found = dfu.decision_calibration(logits, labels, decisions)
        assert found.temperature == pytest.approx(scaled.temperature, rel=1e-5)
        assert found.std_err == pytest.approx(scaled.std_err, rel=1e-4)


def test_the_scale_of_weights_has_no_effect_and_rows_without_weight_neither():
    plain = fit(sample_weight=WEIGHTS)
    assert fit(sample_weight=1e-9 * WEIGHTS).temperature == plain.temperature
    twice = dfu.decision_calibration(
        np.vstack([LOGITS, -LOGITS]),
        np.r_[LABELS, LABELS],
        np.r_[DECISIONS, DECISIONS],
        sample_weight=np.r_[WEIGHTS, np.zeros(900)],
    )
    assert twice.temperature == pytest.approx(plain.temperature, rel=1e-6)
    assert twice.n == 900


def test_large_logits_and_perfect_decisions():
    with pytest.warns(dfu.FitAtBoundWarning, match="stands at its bound"):
        perfect = dfu.decision_calibration(LOGITS, LOGITS.argmax(axis=1))
    assert perfect.at_bound == "high" and np.isnan(perfect.std_err)
    huge = dfu.decision_calibration(1e25 * LOGITS, LABELS, DECISIONS)
    assert np.isfinite(huge.loss_after)
    single = dfu.decision_calibration(LOGITS.astype(np.float32), LABELS, DECISIONS)
    assert single.temperature == pytest.approx(fit().temperature, rel=1e-4)
    assert confidences(np.array([[0.0, 5000.0]]), np.array([0]), 1.0)[0] == 0.0


# ------------------------------------------------------------------------ what holds


def test_known_bounded_weights_have_a_bound():
    found = fit(sample_weight=WEIGHTS, weight_bound=4.0, alpha=0.1)
    assert found.inverse_temperature in GRID and found.n_temperatures == 81
    _, upper = dfu.bounds.weighted_betting_interval(
        (found.predict(LOGITS, DECISIONS) - (LABELS == DECISIONS)) ** 2,
        WEIGHTS,
        0.1 / 81,
        4.0,
        side="upper",
    )
    assert found.error_bound == pytest.approx(upper)
    # at 40,000 rows an interval around the best of 81 had held the optimum in no draw
    assert np.isnan(found.std_err) and np.isnan(found.to_frame()["low"]).all()
    assert "there is no standard error" in " ".join(str(found).split())
    assert_claims(
        found.guarantee,
        Claim(
            found.guarantee.statement,
            "calibration",
            (
                r.CALIBRATION_IID,
                r.FITTED_ELSEWHERE,
                r.COVARIATE_SHIFT,
                r.TRUE_BOUNDED_RATIO,
            ),
            found.guarantee.reference,
            confidence=0.9,
            upper=found.error_bound,
        ),
    )
    assert "whichever of 81 temperatures these rows chose" in str(found).replace(
        "\n            ", " "
    )


def test_nothing_holds_without_known_weights_and_a_bound():
    unweighted = "the rows are not weighted, and what holds on the source need not "
    assert_claims_nothing(fit(), unweighted + "hold on the target")
    assert_claims_nothing(
        fit(sample_weight=WEIGHTS),
        "without a bound on the weights (weight_bound=) no finite sample bounds a mean",
    )
    ratio = dfu.density_ratio(X, X[:400] + np.array([0.5, 0.0, 0.0]), rng=0)
    assert_claims_nothing(
        fit(sample_weight=ratio),
        "the weights are estimates, so that nothing finite-sample holds on the target",
    )


def test_evaluation_is_metrics_reliability():
    found = fit()
    rows = slice(0, 300)
    given = LOGITS[rows], LABELS[rows], DECISIONS[rows]
    right = given[1] == given[2]
    confidence = found.predict(given[0], given[2])
    judged = found.evaluate(*given, closed="left", n_bins=10)
    table = dfu.metrics.reliability(confidence, right, closed="left", n_bins=10)
    assert judged.ece == table.ece
    assert judged.overconfident_ece == table.overconfident_ece
    assert judged.squared_error == pytest.approx(((confidence - right) ** 2).mean())
    _, upper = dfu.bounds.betting_interval(
        (confidence - right) ** 2, 0.05, side="upper"
    )
    assert judged.error_bound == pytest.approx(upper)
    assert judged.guarantee.assumptions[-1] == "rows of the target"
    assert "the weights" not in str(judged)
    weighted = found.evaluate(*given, sample_weight=WEIGHTS[rows])
    assert weighted.error_bound is None and not weighted.guarantee
    bounded = found.evaluate(*given, sample_weight=WEIGHTS[rows], weight_bound=4.0)
    assert bounded.guarantee.upper == bounded.error_bound
    judged.plot().figure.canvas.draw()
    found.plot().figure.canvas.draw()


def test_estimated_weights_are_those_of_the_ratio():
    ratio = dfu.density_ratio(X, X[:400] + np.array([0.5, 0.0, 0.0]), rng=0)
    by_ratio = fit(sample_weight=ratio)
    by_hand = fit(sample_weight=ratio.source_weight)
    assert by_ratio.temperature == by_hand.temperature
    with pytest.raises(InputError, match="a ratio of these 100 source rows"):
        dfu.decision_calibration(LOGITS[:100], LABELS[:100], sample_weight=ratio)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hinge"}, "'loss' parameter"),
        ({"offset": -1.0}, "'offset' parameter"),
        ({"sample_weight": -WEIGHTS}, "'sample_weight' parameter"),
        ({"weight_bound": 4.0}, "'weight_bound' parameter.*unless 'sample_weight'"),
        (
            {"sample_weight": WEIGHTS, "weight_bound": 2.0},
            "'weight_bound' parameter.*at least every weight",
        ),
        (
            {"sample_weight": WEIGHTS, "weight_bound": 4.0, "bounds": (0.1, 1.0)},
            "'bounds' parameter",
        ),
        ({"alpha": 0.0}, "'alpha' parameter"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        fit(**options)


def test_bad_rows_are_refused():
    with pytest.raises(InputError, match="'decisions' parameter of decision_calibr"):
        dfu.decision_calibration(LOGITS, LABELS, DECISIONS + 1)
    with pytest.raises(InputError, match="'labels' parameter of decision_calibr"):
        dfu.decision_calibration(LOGITS, LABELS[:5])
    with pytest.raises(InputError, match="at least one row"):
        dfu.decision_calibration(np.zeros((0, 2)), [])
    found = fit()
    with pytest.raises(InputError, match=r"DecisionCalibrationResult\.predict must"):
        found.predict(LOGITS[:, :2])
    with pytest.raises(InputError, match=r"DecisionCalibrationResult\.evaluate must"):
        found.evaluate(LOGITS, LABELS[:3])


def test_names_frames_and_files(tmp_path):
    names = np.array(["cat", "dog", "owl"])
    found = dfu.decision_calibration(
        LOGITS, names[LABELS], names[DECISIONS], classes=names
    )
    assert found.temperature == fit().temperature
    np.testing.assert_array_equal(
        found.predict(LOGITS[:3], names[DECISIONS[:3]]),
        fit().predict(LOGITS[:3], DECISIONS[:3]),
    )
    judged = found.evaluate(LOGITS, names[LABELS], names[DECISIONS])
    for result in (found, judged):
        result.save(tmp_path / "decisions.npz")
        again = dfu.load(tmp_path / "decisions.npz")
        assert str(again) == str(result) and repr(again) == repr(result)
    assert found.to_frame()["estimate"][0] == found.temperature
    assert set(found.reliability()["stage"]) == {"before", "after"}
