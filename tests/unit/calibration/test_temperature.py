"""Temperature scaling on cases with a closed form, at its bounds, and on bad input."""

import math

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu
from distfreeuq.guarantees import at_most

LOGIT_3_4 = math.log(3.0)


def margins(margin, n_right, n_wrong):
    """Rows whose predicted class leads by `margin`: n_right correct, n_wrong not."""
    n = n_right + n_wrong
    logits = np.zeros((n, 2))
    predicted = np.arange(n) % 2
    logits[np.arange(n), predicted] = margin
    labels = np.where(np.arange(n) < n_right, predicted, 1 - predicted)
    return logits, labels


@pytest.mark.parametrize("loss", ["nll", "brier"])
def test_equal_margins_have_a_closed_form(loss):
    """With share q right, both losses ask for sigmoid(margin / T) = q."""
    logits, labels = margins(5.0, 6, 2)
    fit = dfu.temperature_scaling(logits, labels, loss=loss)
    assert fit.temperature == pytest.approx(5.0 / LOGIT_3_4, rel=1e-12)
    assert fit.inverse_temperature == pytest.approx(LOGIT_3_4 / 5.0, rel=1e-12)
    expected = -0.75 * math.log(0.75) - 0.25 * math.log(0.25)
    assert fit.loss_after == pytest.approx(expected if loss == "nll" else 0.375)
    assert fit.at_bound is None
    top = fit.predict(logits).max(axis=1)
    np.testing.assert_allclose(top, 0.75, rtol=1e-12)


def test_loss_before_is_that_of_the_plain_softmax():
    logits, labels = margins(2.0, 6, 2)
    fit = dfu.temperature_scaling(logits, labels)
    expected = math.log1p(math.exp(2.0)) - 0.75 * 2.0
    assert fit.loss_before == pytest.approx(expected, rel=1e-14)


def test_standard_error_has_a_closed_form():
    """Scores are +-margin (p - hit): se(alpha) = 1 / (margin sqrt(n q (1 - q)))."""
    logits, labels = margins(5.0, 6, 2)
    fit = dfu.temperature_scaling(logits, labels)
    of_alpha = 1.0 / (5.0 * math.sqrt(8 * 0.75 * 0.25))
    assert fit.std_err == pytest.approx(of_alpha * fit.temperature**2, rel=1e-9)


def test_weighted_standard_error_is_the_sandwich():
    """Weights w: H = sum w h, M = sum w^2 g^2, by hand for two margins."""
    logits, labels = margins(1.0, 3, 1)
    weights = np.array([2.0, 1.0, 1.0, 1.0])
    fit = dfu.temperature_scaling(logits, labels, sample_weight=weights)
    q = 4 / 5
    assert fit.temperature == pytest.approx(1 / math.log(q / (1 - q)))
    curvature = 5 * q * (1 - q)
    meat = (4 + 1 + 1) * (1 - q) ** 2 + q**2
    of_alpha = math.sqrt(meat) / curvature
    assert fit.std_err == pytest.approx(of_alpha * fit.temperature**2, rel=1e-9)
    assert fit.effective_n == pytest.approx(25 / 7)


def test_zero_weight_rows_count_for_nothing():
    logits, labels = margins(5.0, 6, 2)
    more = np.vstack([logits, [[9.0, 0.0]]])
    fit = dfu.temperature_scaling(logits, labels)
    weights = [3.0] * 8 + [0.0]
    with_zero = dfu.temperature_scaling(more, [*labels, 1], sample_weight=weights)
    assert with_zero.temperature == pytest.approx(fit.temperature, rel=1e-14)
    assert with_zero.n == 8
    assert with_zero.effective_n == pytest.approx(8)


def test_log_odds_are_logits_of_two_classes():
    logits, labels = margins(5.0, 6, 2)
    scores = logits[:, 1] - logits[:, 0]
    fit, same = (dfu.temperature_scaling(z, labels) for z in (logits, scores))
    assert same.temperature == pytest.approx(fit.temperature)
    np.testing.assert_allclose(same.predict(scores), fit.predict(logits), rtol=1e-12)


# --------------------------------------------------------------------------- the bounds


def test_all_rows_right_stands_at_the_smallest_temperature():
    with pytest.warns(dfu.FitAtBoundWarning, match="every row is predicted correctly"):
        fit = dfu.temperature_scaling(*margins(5.0, 8, 0))
    assert fit.inverse_temperature == 1e3
    assert fit.at_bound == "high"
    assert math.isnan(fit.std_err)
    assert np.isfinite(fit.predict([[1.0, 0.0]])).all()


@pytest.mark.parametrize("logits", [np.zeros((6, 3)), np.full((6, 3), 7.0)])
def test_logits_that_say_nothing_stand_at_the_largest_temperature(logits):
    with pytest.warns(dfu.FitAtBoundWarning, match="do not tell the labels"):
        fit = dfu.temperature_scaling(logits, [0, 1, 2, 0, 1, 2])
    assert fit.inverse_temperature == 1e-3
    assert fit.at_bound == "low"
    assert fit.loss_after == pytest.approx(math.log(3))


@pytest.mark.parametrize("loss", ["nll", "brier"])
def test_own_bounds_are_kept(loss):
    logits, labels = margins(5.0, 6, 2)
    best = LOGIT_3_4 / 5.0
    for bounds, end in (((0.5, 2.0), 0.5), ((0.01, 0.1), 0.1)):
        with pytest.warns(dfu.FitAtBoundWarning):
            fit = dfu.temperature_scaling(logits, labels, loss=loss, bounds=bounds)
        assert fit.inverse_temperature == end
    inside = dfu.temperature_scaling(logits, labels, loss=loss, bounds=(0.1, 0.5))
    assert inside.inverse_temperature == pytest.approx(best)


def test_brier_prefers_the_better_of_two_local_minima():
    """Eight sure rows of which two are wrong, and rows whose margin is a thousandth."""
    sure, sure_labels = margins(8.0, 6, 2)
    faint, faint_labels = margins(0.008, 9, 1)
    logits = np.vstack([sure, faint])
    labels = np.concatenate([sure_labels, faint_labels])
    fit = dfu.temperature_scaling(logits, labels, loss="brier")

    def brier(alpha):
        p = np.exp(alpha * (logits - logits.max(axis=1, keepdims=True)))
        p /= p.sum(axis=1, keepdims=True)
        return float(((p - np.eye(2)[labels]) ** 2).sum(axis=1).mean())

    grid = np.geomspace(1e-3, 1e3, 4001)
    values = np.array([brier(alpha) for alpha in grid])
    local = (values[1:-1] < values[:-2]) & (values[1:-1] < values[2:])
    assert local.sum() == 2  # the case is what it says
    assert fit.loss_after <= values.min() + 1e-12
    assert fit.inverse_temperature == pytest.approx(grid[values.argmin()], rel=5e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logits_of_ten_thousand(dtype):
    logits, labels = margins(2e4, 6, 2)
    logits = (logits - 1e4).astype(dtype)
    fit = dfu.temperature_scaling(logits, labels, bounds=(1e-6, 1e3))
    assert fit.temperature == pytest.approx(2e4 / LOGIT_3_4, rel=1e-6)
    probs = fit.predict(logits)
    assert np.isfinite(probs).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, rtol=1e-6)


def test_a_thousand_of_a_million():
    """Rows enough for a fit of a sample to come first."""
    logits, labels = margins(3.0, 36_000, 12_000)
    fit = dfu.temperature_scaling(logits, labels)
    assert fit.temperature == pytest.approx(3.0 / LOGIT_3_4, rel=1e-12)


# ---------------------------------------------------------------------------- decisions


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_decision_changes_not_even_a_tied_one(dtype):
    rng = np.random.default_rng(0)
    logits = np.round(rng.normal(0, 2, (500, 4))).astype(dtype)
    logits[:50] = np.nextafter(logits[:50], dtype(100.0))  # near ties
    labels = (logits * 0.3 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    for fit in (
        dfu.temperature_scaling(logits, labels),
        dfu.classwise_temperature_scaling(logits, labels),
        dfu.temperature_scaling(logits, labels, loss="brier"),
    ):
        decisions = fit.predict(logits).argmax(axis=1)
        np.testing.assert_array_equal(decisions, logits.argmax(axis=1))
        assert fit.n_changed == 0


# ------------------------------------------------------------------------------- logits


def test_to_logits_gives_the_probabilities_back():
    probs = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    logits = dfu.to_logits(probs)
    assert logits[1].tolist() == [0.0, math.log(1e-12), math.log(1e-12)]
    again = np.exp(logits)
    np.testing.assert_allclose(again, [[0.2, 0.3, 0.5], [1.0, 1e-12, 1e-12]])


def test_to_logits_of_class_one_and_in_single_precision():
    assert dfu.to_logits([0.25]).round(4).tolist() == [[-0.2877, -1.3863]]
    single = dfu.to_logits(np.array([[1.0, 0.0]], dtype=np.float32), floor=1e-300)
    assert single.dtype == np.float32
    assert np.isfinite(single).all()


@pytest.mark.parametrize("floor", [0.0, 1.0, -1.0, math.nan, "x"])
def test_to_logits_needs_a_floor(floor):
    with pytest.raises(dfu.InputError, match=r"'floor' parameter of to_logits must be"):
        dfu.to_logits([[0.5, 0.5]], floor=floor)


# ---------------------------------------------------------------------------- guarantee


def test_the_guarantee_says_where_the_range_came_from():
    logits, labels = margins(5.0, 600, 200)
    settings = {"loss": "brier", "bounds": (0.1, 1.0)}
    measured = dfu.temperature_scaling(logits, labels, **settings).guarantee
    assert measured.kind == "excess-risk"
    assert "measured on these rows and should be known in advance" in str(
        measured.assumptions
    )
    declared = dfu.temperature_scaling(logits, labels, logit_range=5.0, **settings)
    assert "as declared" in str(declared.guarantee.assumptions)
    # half-Brier constants: B = 1, slope 8/27 * 5; the Brier score is twice that
    expected = 2 * dfu.bounds.cts_excess_risk_tight(
        800, 1, 0.05, alpha_bounds=(0.1, 1.0), gamma=0.0, lipschitz=5 * 8 / 27
    )
    assert declared.guarantee.upper == pytest.approx(float(expected))
    assert declared.guarantee.confidence == 0.95


def test_a_vacuous_bound_is_called_so():
    logits, labels = margins(5.0, 6, 2)
    few = dfu.temperature_scaling(logits, labels).guarantee
    assert not few and "loss='brier'" not in few.reason
    # ln(1 + exp(0.005)) = 0.69565, which T = 1000 has at most
    assert "at this sample size, and 0.6957 needs no data" in few.reason
    logits, labels = margins(5.0, 6000, 2000)
    brier = dfu.temperature_scaling(logits, labels, loss="brier").guarantee
    nll = dfu.temperature_scaling(logits, labels).guarantee
    bound = at_most(brier.upper)
    assert not nll and f"(loss='brier' has a bound of {bound})" in nll.reason
    fit = dfu.temperature_scaling(logits, labels, loss="brier", bounds=(0.1, 1.0))
    assert fit.guarantee.upper < 0.2


def test_temperatures_follow_the_scale_of_the_logits():
    """Ordinary logits keep the bounds (0.001, 1000), and the others go beyond."""
    logits, labels = margins(5.0, 60, 20)
    plain = dfu.temperature_scaling(logits, labels)
    assert plain.bounds == (0.001, 1000.0)
    given = dfu.temperature_scaling(logits, labels, bounds=(0.001, 1000.0))
    assert given.temperature == plain.temperature
    for scale in (1e-9, 1e4, 1e9, 1e28):
        for loss in ("nll", "brier"):
            fit = dfu.temperature_scaling(scale * logits, labels, loss=loss)
            # p = 3/4 at a margin of 5: T = 5 / ln 3
            assert fit.temperature == pytest.approx(scale * 5 / math.log(3), rel=1e-6)
    large = dfu.temperature_scaling(1e4 * logits, labels)
    assert large.bounds == pytest.approx((0.1 / 5e4, 1000.0))
    small = dfu.temperature_scaling(1e-4 * logits, labels)
    assert small.bounds == pytest.approx((0.001, 100 / 5e-4))


@pytest.mark.parametrize(
    ("fit", "limit"),
    [
        (dfu.temperature_scaling, r"1e\+30"),
        (dfu.classwise_temperature_scaling, r"1e\+30"),
        (dfu.vector_scaling, "100000"),
        (dfu.platt_scaling, "100000"),
    ],
)
def test_logits_beyond_the_arithmetic_are_refused(fit, limit):
    logits, labels = margins(5.0, 6, 2)
    must = rf"'logits' parameter of {fit.__name__} must be of at most {limit} in abs"
    with pytest.raises(dfu.InputError, match=must):
        fit((-1e29 if limit == "100000" else -1e307) * logits, labels)
    with pytest.raises(dfu.InputError, match="'logits' parameter of"):
        fit(1e307 * logits, labels)
    with pytest.raises(dfu.InputError, match=r"at most 1e\+30 in absolute value"):
        dfu.temperature_scaling(logits, labels).predict([[1e31, 0.0]])


def test_a_class_without_rows_is_named():
    logits = np.array([[2.0, 0.0, 1.0], [0.0, 2.0, 1.0], [2.0, 1.0, 0.0]] * 4)
    with pytest.warns(dfu.IdentificationWarning, match=r"labelled 2 \(1 of 3 classes"):
        dfu.temperature_scaling(logits, [0, 1, 1] * 4)


def test_weights_count_as_fixed():
    logits, labels = margins(5.0, 60, 20)
    weighted = dfu.temperature_scaling(logits, labels, sample_weight=[1, 2] * 40)
    assert "the weights count as fixed" in " ".join(str(weighted).split())
    assert "count as fixed" not in str(dfu.temperature_scaling(logits, labels))


def test_weighted_rows_have_no_guarantee():
    logits, labels = margins(5.0, 6, 2)
    fit = dfu.temperature_scaling(logits, labels, sample_weight=[1, 2] * 4)
    assert not fit.guarantee
    assert "weighted" in fit.guarantee.reason
    equal = dfu.temperature_scaling(logits, labels, sample_weight=[2.5] * 8)
    assert "weighted" not in equal.guarantee.reason


def test_a_declared_range_must_hold_for_the_rows():
    with pytest.raises(dfu.InputError, match=r"largest range, 5"):
        dfu.temperature_scaling(*margins(5.0, 6, 2), logit_range=4.0)


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"logits": np.zeros((0, 2)), "labels": []}, "n >= 1"),
        ({"logits": [[0.0, math.nan]], "labels": [0]}, "finite logits"),
        ({"labels": [0, 1, 2, 0]}, "labels"),
        ({"labels": [0, 1]}, "each of the 4 rows"),
        ({"sample_weight": [1, -1, 1, 1]}, "non-negative"),
        ({"sample_weight": [0, 0, 0, 0]}, "some are positive"),
        ({"loss": "hinge"}, "'nll', 'brier'"),
        ({"bounds": (2.0, 1.0)}, "smaller first"),
        ({"bounds": (0.0, 1.0)}, "two positive"),
        ({"bounds": (-1.0, 1.0)}, "two positive"),
        ({"bounds": 3.0}, "two positive"),
        ({"delta": 0.0}, r"number in \(0, 1\)"),
    ],
)
def test_bad_input_is_told(change, message):
    logits, labels = margins(5.0, 3, 1)
    arguments = {"logits": logits, "labels": labels, **change}
    with pytest.raises(dfu.InputError, match=message):
        dfu.temperature_scaling(**arguments)


def test_new_rows_must_fit_the_fit():
    logits, labels = margins(5.0, 6, 2)
    frame = pd.DataFrame(logits, columns=["no", "yes"])
    fit = dfu.temperature_scaling(frame, np.array(["no", "yes"])[labels])
    assert fit.classes == ("no", "yes")
    np.testing.assert_array_equal(fit.predict(frame), fit.predict(logits))
    with pytest.raises(dfu.InputError, match=r"shape \(n, 2\), as in the fit"):
        fit.predict(np.zeros((3, 4)))
    with pytest.raises(dfu.InputError, match="in the fit's order"):
        fit.predict(frame[["yes", "no"]])
