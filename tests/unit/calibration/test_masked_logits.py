"""-inf as the logit of a masked class: what is said of it, where it is refused."""

import functools
import re
import warnings

import numpy as np
import pytest
from scipy import special

import distfreeuq as dfu
from distfreeuq.calibration.guarantees import _largest_loss
from distfreeuq.calibration.rows.calibration_rows import make_rows
from distfreeuq.calibration.rows.masked_logits import without_infinities

N, K = 240, 4
RNG = np.random.default_rng(5)
LOGITS = RNG.normal(0.0, 3.0, (N, K))
LABELS = (LOGITS / 2.0 + RNG.gumbel(size=(N, K))).argmax(axis=1)
MASK = RNG.random((N, K)) < 0.4
MASK[np.arange(N), LABELS] = False
MASKED = np.where(MASK, -np.inf, LOGITS)
RANGES = [np.ptp(row[row > -np.inf]) for row in MASKED]


def spoiled(row, column, value):
    logits = MASKED.copy()
    logits[row, column] = value
    return logits


def message(function, *args, **options):
    with pytest.raises(dfu.InputError) as refused:
        function(*args, **options)
    return str(refused.value)


FIRST = "The 'logits' parameter of temperature_scaling must be "


def test_errors_name_the_parameter_and_the_first_row():
    other = spoiled(7, LABELS[7], -np.inf)
    other[7, (LABELS[7] + 1) % K] = 0.0
    assert message(dfu.temperature_scaling, other, LABELS) == (
        "The 'labels' parameter of temperature_scaling must be classes whose logits "
        f"are not -inf (they have probability zero). Got {LABELS[7]} at row 7 instead."
    )
    names = np.array(["ant", "bee", "cow", "dog"])
    told = message(dfu.temperature_scaling, other, names[LABELS], classes=names)
    assert f"'{names[LABELS[7]]}' at row 7" in told
    none = spoiled(9, slice(None), -np.inf)
    none[30] = -np.inf
    assert message(dfu.temperature_scaling, none, LABELS) == (
        FIRST + "logits of which one in every row is finite. Got -inf for all classes "
        "at row 9 instead."
    )
    for value in (np.nan, np.inf):
        assert message(dfu.temperature_scaling, spoiled(9, 1, value), LABELS) == (
            FIRST + "finite logits, or -inf for classes that are masked. "
            f"Got {value} at row 9, column 1 instead."
        )
    assert "Got 1e+31 at row 9, column 1" in message(
        dfu.temperature_scaling, spoiled(9, 1, 1e31), LABELS
    )
    fit = dfu.temperature_scaling(MASKED, LABELS)
    assert "at row 9" in message(fit.predict, none)


def test_errors_in_blocks_count_all_rows():
    logits = MASKED.copy()
    logits[150, LABELS[150]] = -np.inf
    logits[150, (LABELS[150] + 1) % K] = 0.0

    def blocks():
        for start in range(0, N, 60):
            yield logits[start : start + 60], LABELS[start : start + 60]

    told = message(dfu.temperature_scaling, blocks)
    assert "The 'labels' parameter" in told and "at row 150 " in told


def test_the_range_is_that_of_the_classes_that_are_left():
    fit = dfu.temperature_scaling(MASKED, LABELS, loss="brier")
    assert "the logits of any row that are not -inf range over" in str(fit.summary())
    needs = " ".join(fit.guarantee.assumptions)
    assert "no row's label is a class that is masked" in needs
    assert f"at most {max(RANGES):.4g}" in needs
    plain = dfu.temperature_scaling(LOGITS, LABELS, loss="brier")
    assert "mask" not in " ".join(plain.guarantee.assumptions)
    declared = dfu.temperature_scaling(
        MASKED, LABELS, loss="brier", logit_range=max(RANGES)
    )
    assert declared.guarantee.upper == pytest.approx(fit.guarantee.upper, rel=1e-3)
    floored = np.where(MASK, MASKED.max(axis=1, keepdims=True) - 100.0, MASKED)
    of_floor = dfu.temperature_scaling(
        floored, LABELS, loss="brier", bounds=fit.bounds
    ).guarantee
    assert of_floor.upper > fit.guarantee.upper
    short = 0.9 * max(RANGES)
    told = message(dfu.temperature_scaling, MASKED, LABELS, logit_range=short)
    assert f"largest range, {max(RANGES):.6g}" in told


@pytest.mark.filterwarnings("ignore::distfreeuq.DistFreeWarning")
def test_what_needs_no_data_is_of_any_number_of_classes():
    """Few classes may lose more than many do, by the Brier score: rows of two here."""
    n_classes, margin = 30, 3.0
    rows = np.full((6, n_classes), -np.inf)
    rows[:, 0], rows[:, 1] = margin, 0.0
    labels = np.arange(6) % 2
    fit = dfu.temperature_scaling(rows, labels, loss="brier", bounds=(1.0, 50.0))
    largest = float(np.square(special.softmax([margin, 0.0]) - [0.0, 1.0]).sum())
    said = re.search(r"and ([\d.]+) needs no data", fit.guarantee.reason)
    assert float(said[1]) >= largest
    assert _largest_loss("brier", margin, n_classes) < largest - 0.3


def test_rows_of_one_class_tell_nothing():
    logits = np.full((20, 3), -np.inf)
    logits[np.arange(20), np.arange(20) % 3] = 4.0
    with pytest.warns(dfu.FitAtBoundWarning, match="do not tell the labels"):
        fit = dfu.temperature_scaling(logits, np.arange(20) % 3)
    assert (fit.loss_before, fit.loss_after) == (0.0, 0.0)
    np.testing.assert_array_equal(fit.predict(logits), np.isfinite(logits))


@pytest.mark.parametrize(
    "function", [dfu.vector_scaling, dfu.platt_scaling, dfu.dirichlet_scaling]
)
def test_what_could_bring_them_back_refuses_with_a_remedy(function):
    told = message(function, MASKED, LABELS)
    assert "Temperature scaling (by class and by group too) takes -inf" in told
    assert "a scale or a bias of their own, these could bring them back" in told
    assert "numpy.maximum(logits, logits.max(axis=1, keepdims=True) - 100)" in told
    fit = function(LOGITS, LABELS)
    assert "bring them back" in message(fit.predict, MASKED)


@pytest.mark.parametrize("name", ["temperature", "classwise-temperature"])
def test_calibrators_by_name_take_them(name):
    rng = np.random.default_rng(0)
    source, target = rng.normal(size=(N, 2)), rng.normal(0.2, 1.0, (200, 2))
    shifted = dfu.covariate_shift_calibration(
        MASKED, LABELS, source, target, calibrator=name, rng=0
    )
    grouped = dfu.groupwise_calibration(name, MASKED, LABELS, groups="predicted")
    for fit in (shifted, grouped):
        probs = fit.predict(MASKED)
        assert (probs[MASK] == 0.0).all()
        np.testing.assert_allclose(probs.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    binned = dfu.scaling_binning(MASKED, LABELS, name, n_bins=2, rng=0)
    assert np.isfinite(binned.predict(MASKED)).all()


def test_comparisons_take_them_if_every_calibrator_does():
    weights = {"sample_weight": np.ones(N), "n_rep": 2, "rng": 0}
    target = {"logits_target": MASKED, "labels_target": LABELS}
    found = dfu.compare_calibrations(
        MASKED, LABELS, calibrators=["temperature", "isotonic"], **weights, **target
    )
    frame = found.to_frame()
    scaled = frame[(frame["calibrator"] == "temperature") & (frame["metric"] == "nll")]
    assert len(scaled) and np.isfinite(scaled["mean"]).all()
    told = message(
        dfu.compare_calibrations,
        MASKED,
        LABELS,
        calibrators=["temperature", "vector"],
        **weights,
        **target,
    )
    assert "The 'logits' parameter" in told and "bring them back" in told
    target["labels_target"] = MASK.argmax(axis=1)
    told = message(
        dfu.compare_calibrations,
        MASKED,
        LABELS,
        calibrators="temperature",
        **weights,
        **target,
    )
    assert "The 'labels_target' parameter" in told


@pytest.mark.parametrize("name", ["vector", "platt", "dirichlet", "beta"])
def test_covariate_shift_refuses_what_could_bring_them_back(name):
    rng = np.random.default_rng(0)
    source, target = rng.normal(size=(N, 2)), rng.normal(size=(50, 2))
    told = message(
        dfu.covariate_shift_calibration,
        MASKED,
        LABELS,
        source,
        target,
        calibrator=name,
        rng=0,
    )
    assert "bring them back" in told


def test_covariate_shift_by_groups_tells_them_from_the_logits_as_given():
    """A rule for groups sees -inf, and so do bundles of classes."""
    rng = np.random.default_rng(0)
    source, target = rng.normal(size=(N, 2)), rng.normal(size=(50, 2))
    seen = []

    def rule(logits):
        seen.append(np.asarray(logits).min())
        return np.asarray(logits).argmax(axis=1) % 2

    bundles = dfu.class_bundles(special.softmax(LOGITS, axis=1), LABELS)
    for groups in (rule, bundles):
        by_group = functools.partial(
            dfu.groupwise_calibration, "temperature", groups=groups
        )
        fit = dfu.covariate_shift_calibration(
            LOGITS, LABELS, source, target, calibrator=by_group, rng=0
        )
        assert (fit.predict(MASKED)[MASK] == 0.0).all()
    assert seen[-1] == -np.inf


def test_rows_are_described_by_the_classes_that_are_left():
    rows = make_rows(without_infinities(MASKED), LABELS, None, range(K))
    assert rows.has_masked
    assert rows.logit_range == pytest.approx(max(RANGES), rel=1e-15)
    left = [row[row > -np.inf] for row in MASKED]
    longest = max(np.linalg.norm(row - row.mean()) for row in left)
    assert rows.logit_norm == pytest.approx(longest, rel=1e-14)
    plain = make_rows(LOGITS, LABELS, None, range(K))
    assert not plain.has_masked
    assert without_infinities(LOGITS) is LOGITS
    np.testing.assert_array_equal(np.isneginf(MASKED), MASK)  # it was a copy


@pytest.mark.parametrize("loss", ["nll", "brier"])
@pytest.mark.parametrize("bounds", [(1e-12, 2e-12), (1e11, 1e12), (1e-12, 1e12)])
def test_the_widest_bounds_leave_them_at_zero(loss, bounds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.DistFreeWarning)
        fit = dfu.temperature_scaling(MASKED, LABELS, loss=loss, bounds=bounds)
    assert np.isfinite([fit.loss_before, fit.loss_after]).all()
    probs = fit.predict(MASKED)
    assert (probs[MASK] == 0.0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    if bounds[1] < 1e-11:  # all but uniform over what is left
        np.testing.assert_allclose(
            probs, ~MASK / (~MASK).sum(axis=1, keepdims=True), atol=1e-9
        )
