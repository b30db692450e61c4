"""Files without rows are small for many rows too; what then works, and what not."""

import dataclasses
import warnings

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq._base.files.rows_left_out import fields_of_rows, without_rows
from tests.files.write_format2 import LABELS, PROBS, TARGET, WEIGHTS, X_TARGET, X
from tests.reliability.exercises import exercises
from tests.reliability.forging import FILES

# of the rows that the recorded results were made of: all, target rows, half of them
N_ROWS = {40, 30, 20}

# What does nothing without its rows. A new kind that keeps rows has to choose: fields
# that may be None, or a reason.
REFUSED = {
    "CalibrationChoiceResult",
    "CovariateShiftCalibrationResult",
    "CovariateShiftConformalResult",
    "CrossConformalResult",
    "DensityRatioResult",
    "PredictionSets",
    "RiskMonitor",
    "ShiftMonitor",
    "Tally",
    "VennAbersResult",
}


def loaded(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dfu.load(path)


def array_lengths(value):
    if isinstance(value, np.ndarray):
        return set(value.shape[:1])
    if isinstance(value, tuple):
        return {len(value)}.union(*map(array_lengths, value))
    if not dataclasses.is_dataclass(value):
        return set()
    parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
    return set().union(*map(array_lengths, parts))


def what_works(fit):
    """Return what each method gives; InputErrors by their text, others are raised."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, call in exercises(fit):
            try:
                found[name] = str(call())
            except dfu.InputError as error:
                found[name] = f"InputError: {error}"
    return found


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_every_kind_leaves_its_rows_out_or_says_why_not(path, tmp_path):
    fit = loaded(path)
    target = tmp_path / "small.npz"
    try:
        fit.save(target, rows=False)
    except dfu.InputError as error:
        assert type(fit).__name__ in REFUSED
        assert str(error).startswith("The 'rows' parameter of save must be True where")
        assert not target.exists()
        return
    again = loaded(target)
    assert type(again) is type(fit)
    assert type(fit).__name__ not in REFUSED or isinstance(fit, dfu.Tally)
    assert not array_lengths(again) & N_ROWS
    before, after = what_works(fit), what_works(again)
    assert before.keys() == after.keys()
    needs_rows = {"p_values", "plot", "bootstrap"}
    for name in before:
        if after[name] != before[name] and name not in ("str", "html"):
            assert name in needs_rows
            assert "must be a result that was not saved with rows=False" in after[name]
    table, head = str(fit).splitlines(), str(again).splitlines()
    added = [line for line in head if line not in table]
    assert not added or any(line.startswith("Rows:  ") for line in added)


def test_the_kinds_that_refuse_are_those():
    refused = set()
    for path in FILES:
        try:
            without_rows(loaded(path))
        except dfu.InputError:
            refused.add(type(loaded(path)).__name__)
    assert refused == REFUSED


def many(n):
    """Return so many rows, each of them new."""
    generator = np.random.default_rng(n)
    probs = generator.dirichlet([2.0, 1.0, 1.0], size=n)
    labels = (probs.cumsum(axis=1) > generator.random((n, 1))).argmax(axis=1)
    return probs, labels, generator.dirichlet([1.0, 1.0, 2.0], size=n // 2)


MAKERS = {
    "split": lambda p, y, t: dfu.split_conformal(p, y, rng=0),
    "label-conditional": lambda p, y, t: dfu.label_conditional_conformal(p, y, rng=0),
    "label-shift": lambda p, y, t: dfu.label_shift_conformal(p, y, [0.5, 1, 2], rng=0),
    "clustered": lambda p, y, t: dfu.clustered_conformal(p, y, rng=0),
    "interpolated": lambda p, y, t: dfu.interpolated_conformal(p, y),
    "rank-calibrated": lambda p, y, t: dfu.rank_calibrated_conformal(p, y, rng=0),
    "chosen": lambda p, y, t: dfu.prediction_sets(p, y, rng=0),
    "grouped": lambda p, y, t: dfu.split_conformal(
        p, y, groups=np.arange(len(y)) % 2, rng=0
    ),
    "bbse": lambda p, y, t: dfu.bbse(p, y, t),
    "soft": lambda p, y, t: dfu.bbse(p, y, t, soft=True),
    "rlls": lambda p, y, t: dfu.rlls(p, y, t, soft=True),
    "mlls": lambda p, y, t: dfu.mlls(p, y, t),
    "temperature": lambda p, y, t: dfu.temperature_scaling(np.log(p), y),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_file_does_not_grow_with_the_rows(make, tmp_path):
    sizes, whole = [], []
    for n in (300, 3000):
        fit = make(*many(n))
        fit.save(tmp_path / "small.npz", rows=False)
        fit.save(tmp_path / "whole.npz")
        sizes.append((tmp_path / "small.npz").stat().st_size)
        whole.append((tmp_path / "whole.npz").stat().st_size)
    assert abs(sizes[1] - sizes[0]) < 1000
    assert sizes[1] <= whole[1]


def test_sets_are_the_same_and_what_needs_scores_says_so(tmp_path):
    probs, labels, target = many(400)
    fit = dfu.split_conformal(probs, labels, rng=0)
    fit.save(tmp_path / "fit.npz", rows=False)
    again = dfu.load(tmp_path / "fit.npz")
    assert again.scores is None and again.n == 400
    np.testing.assert_array_equal(again.predict(target).mask, fit.predict(target).mask)
    assert again.guarantee == fit.guarantee
    for call in (
        lambda: again.p_values(target),
        lambda: again.at(0.2),
        lambda: again.plot(),
    ):
        with pytest.raises(dfu.InputError, match="not saved with rows=False"):
            call()
    again.save(tmp_path / "once more.npz")
    assert dfu.load(tmp_path / "once more.npz").scores is None
    assert fit.scores is not None, "the fit itself is as it was"


@pytest.mark.parametrize("estimator", [dfu.mlls, dfu.bbse])
def test_an_estimate_without_rows_says_what_it_cannot_do(estimator, tmp_path):
    probs, labels, target = many(600)
    options = {} if estimator is dfu.mlls else {"soft": True}
    shift = estimator(probs, labels, target, **options)
    shift.save(tmp_path / "shift.npz", rows=False)
    again = dfu.load(tmp_path / "shift.npz")
    assert again.samples is None
    np.testing.assert_array_equal(again.adapt(target), shift.adapt(target))
    np.testing.assert_array_equal(again.confint(), shift.confint())
    assert again.test().p_value == shift.test().p_value
    assert again.goodness_of_fit().p_value == shift.goodness_of_fit().p_value
    plain = dfu.label_shift_conformal(probs, labels, again, rng=0)
    assert np.isfinite(plain.thresholds).all()
    refusals = [
        lambda: again.confint(method="bootstrap", n_boot=3, rng=0),
        lambda: again.test(n_draws=9),
        lambda: dfu.label_shift_conformal(probs, labels, again, robust=True, rng=0),
    ]
    if options:
        refusals.append(
            lambda: dfu.label_shift_conformal(
                probs, labels, again, robust="directional", rng=0
            )
        )
    for call in refusals:
        with pytest.raises(dfu.InputError, match="not saved with rows=False"):
            call()


def test_counted_predictions_have_no_rows_to_leave_out(tmp_path):
    probs, labels, target = many(500)
    shift = dfu.bbse(probs, labels, target)
    shift.save(tmp_path / "shift.npz", rows=False)
    again = dfu.load(tmp_path / "shift.npz")
    assert str(again) == str(shift)
    one, other = (
        dfu.label_shift_conformal(probs, labels, of, robust=True, rng=0)
        for of in (shift, again)
    )
    np.testing.assert_array_equal(one.thresholds, other.thresholds)


def test_weights_of_rows_are_rows(tmp_path):
    for method in ("knn", "ulsif", "kliep", "kmm", "logistic"):
        ratio = dfu.density_ratio(X, X_TARGET, method=method, rng=0)
        with pytest.raises(dfu.InputError, match="the weights of its rows"):
            ratio.save(tmp_path / "ratio.npz", rows=False)
    fit = dfu.covariate_shift_conformal(PROBS, LABELS, WEIGHTS, rng=0)
    with pytest.raises(dfu.InputError, match="a quantile of all scores"):
        fit.save(tmp_path / "fit.npz", rows=False)


def test_tallies_on_a_grid_have_no_rows(tmp_path):
    with pytest.raises(dfu.InputError, match="per_unit="):
        dfu.tally(PROBS, LABELS, rng=0).save(tmp_path / "tally.npz", rows=False)
    for options in ({"per_unit": 10}, {"score": None}):
        tally = dfu.tally(PROBS, LABELS, rng=0, **options)
        tally.save(tmp_path / "tally.npz", rows=False)
        assert str(dfu.load(tmp_path / "tally.npz")) == str(tally)


def test_half_of_the_rows_left_out_is_no_fit():
    fit = dfu.label_conditional_conformal(PROBS, LABELS, alpha=0.5, rng=0)
    assert fields_of_rows(type(fit)) == {"scores", "score_labels"}
    odd = dataclasses.replace(fit, scores=None)
    with pytest.raises(dfu.InputError, match="all that is kept of the rows"):
        odd.save("nowhere.npz")


def test_rows_is_a_flag(tmp_path):
    fit = dfu.bbse(PROBS, LABELS, TARGET)
    with pytest.raises(dfu.InputError, match="'rows' parameter of save"):
        fit.save(tmp_path / "fit.npz", rows="no")
