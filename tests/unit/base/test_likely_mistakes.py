"""Slips that are valid input warn, where the data speak for them; errors give hints."""

import warnings

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu

_rng = np.random.default_rng(3)
N = 120
LABELS = _rng.choice(3, size=N, p=[0.5, 0.3, 0.2])
LOGITS = _rng.normal(size=(N, 3))
LOGITS[np.arange(N), LABELS] += 2.0
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
NAMES = np.array(["cat", "dog", "owl"])


class Classifier:
    def predict_proba(self, inputs):
        raise AssertionError("nobody asks it")


class Network:
    def __call__(self, inputs):
        raise AssertionError("nobody asks it")


# ------------------------------------------------------------------------- warnings


@pytest.mark.parametrize(
    "calibrate",
    [
        dfu.temperature_scaling,
        dfu.classwise_temperature_scaling,
        dfu.vector_scaling,
        dfu.platt_scaling,
    ],
)
def test_probabilities_in_place_of_logits(calibrate):
    with pytest.warns(dfu.LikelyMistakeWarning, match=r"Give to_logits\(probs\)"):
        calibrate(PROBS, LABELS)
    fit = calibrate(LOGITS, LABELS)
    with pytest.warns(dfu.LikelyMistakeWarning, match="sums to one"):
        fit.predict(PROBS[:1].astype(np.float32))


def test_logits_that_are_zeros_and_ones_are_logits():
    dfu.temperature_scaling(np.eye(3)[LABELS[::-1]], LABELS)


def test_labels_from_one_without_the_last_class():
    own = LABELS < 2
    for call in (dfu.metrics.accuracy, dfu.split_conformal):
        with pytest.warns(dfu.LikelyMistakeWarning, match="count from one"):
            call(PROBS[own], LABELS[own] + 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dfu.temperature_scaling(LOGITS[own], LABELS[own] + 1)
    assert dfu.LikelyMistakeWarning in [warning.category for warning in caught]


def test_rows_without_the_first_class_are_no_mistake():
    own = LABELS > 0
    dfu.split_conformal(PROBS[own], LABELS[own])
    few = np.flatnonzero(own)[:3]
    dfu.metrics.accuracy(PROBS[few], LABELS[few])


@pytest.mark.parametrize("alpha", [0.9, 0.76])
def test_an_alpha_that_looks_like_coverage(alpha):
    with pytest.warns(dfu.LikelyMistakeWarning, match=f"alpha={1 - alpha:.12g}"):
        dfu.split_conformal(PROBS, LABELS, alpha=alpha)
    with pytest.warns(dfu.LikelyMistakeWarning, match="confidence"):
        dfu.bbse(PROBS, LABELS, PROBS).confint(alpha=alpha)
    with pytest.warns(dfu.LikelyMistakeWarning):
        dfu.label_conditional_conformal(PROBS, LABELS, alpha=[0.1, alpha, 0.1])


def test_labels_with_the_same_index_in_another_order():
    frame = pd.DataFrame(PROBS, index=np.arange(N) + 7)
    labels = pd.Series(LABELS, index=frame.index)
    dfu.split_conformal(frame, labels)
    dfu.split_conformal(frame, labels.reset_index(drop=True))  # other names: no word
    with pytest.warns(dfu.LikelyMistakeWarning, match=r"labels\.loc\[probs\.index\]"):
        dfu.split_conformal(frame, labels[::-1])


# ---------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("probs", "labels", "hint"),
    [
        (LOGITS, LABELS, "softmax"),
        (100 * PROBS, LABELS, "divide them by 100"),
        (PROBS, np.eye(3)[LABELS], r"labels\.argmax\(axis=1\)"),
        (PROBS, LABELS + 1, r"labels - 1, or classes=range\(1, 4\)"),
        (PROBS, LABELS + 1.0, r"labels - 1, or classes=range\(1, 4\)"),
        (PROBS, NAMES[LABELS], r"classes=classifier\.classes_"),
        (LABELS, PROBS, "swapped"),
        (LABELS[LABELS < 2], PROBS[LABELS < 2], "swapped"),
        (100 * PROBS[:, 1], LABELS > 1, "divide them by 100"),
        (LOGITS[:, 1], LABELS > 1, "expit"),
        (pd.DataFrame(LOGITS, columns=["age", "bp", "bmi"]), NAMES[LABELS], "'probs'"),
        (pd.DataFrame(PROBS, columns=["a", "b", "c"]), NAMES[LABELS], "with classes="),
        (NAMES[LABELS], PROBS, "swapped"),
        (pd.Series(NAMES[LABELS]), PROBS, "swapped"),
        (pd.DataFrame({"age": 39.0, "job": NAMES}), LABELS[:3], "its predict_proba of"),
        (80.0 * np.abs(LOGITS), LABELS, "its predict_proba of them"),
        (NAMES[LABELS], NAMES[LABELS], "predictions, give its predict_proba"),
        (Classifier(), LABELS, r"\(give what its predict_proba says of the rows\)"),
        (Network(), LABELS, "If the Network is a model, give the probabilities"),
    ],
)
def test_the_error_hints_at_the_remedy(probs, labels, hint):
    with pytest.raises(dfu.InputError, match=hint):
        dfu.split_conformal(probs, labels)


def test_labels_that_are_numbers_of_named_columns():
    with pytest.raises(dfu.InputError, match=r"numpy\.array\(classes\)\[labels\]"):
        dfu.split_conformal(PROBS, LABELS, classes=NAMES)
    for labels in (LABELS + 1, LABELS - 1.0, LABELS + 0.5):
        with pytest.raises(dfu.InputError, match="with classes="):
            dfu.split_conformal(PROBS, labels, classes=NAMES)
    fit = dfu.split_conformal(PROBS, NAMES[LABELS], classes=NAMES)
    assert fit.classes == tuple(NAMES)


@pytest.mark.parametrize(
    "procedure", [dfu.prediction_sets, dfu.label_shift_conformal, dfu.mlls]
)
@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_the_targets_rows_in_place_of_weights(procedure, kind):
    if procedure is dfu.mlls:  # takes them
        assert procedure(PROBS, LABELS, kind(PROBS[:50])).m == 50
        return
    with pytest.raises(dfu.InputError, match=r"bbse\(probs, labels, probs_target\)"):
        procedure(PROBS, LABELS, kind(PROBS[:50]))


def test_dates_among_features():
    days = pd.Series(pd.date_range("2020-01-01", periods=N))
    frames = [days.to_frame("day"), pd.DataFrame({"x": LOGITS[:, 0], "day": days})]
    for frame in frames:
        with pytest.raises(
            dfu.InputError, match=r"\(dates - dates\.min\(\)\)\.dt\.days"
        ):
            dfu.density_ratio(frame, frame)


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"alpha": 90}, r"For 90 % coverage: alpha=0\.1\."),
        ({"alpha": 10}, r"For 10 %: alpha=0\.1\."),
        ({"confidence": 95}, r"For 95 %: confidence=0\.95\."),
    ],
)
def test_shares_in_per_cent(settings, hint):
    with pytest.raises(dfu.InputError, match=hint):
        dfu.split_conformal(PROBS, LABELS, **settings)


# --------------------------------------------------------------------------- columns


@pytest.mark.parametrize("form", ["{}", "prob_{}", "{}_prob", "P({})"])
def test_columns_in_another_order_are_refused_whatever_stands_around_them(form):
    columns = [form.format(name) for name in NAMES]
    frame = pd.DataFrame(PROBS, columns=columns)
    fit = dfu.split_conformal(frame, NAMES[LABELS], classes=NAMES, rng=0)
    fit.predict(frame)
    other = frame[columns[::-1]]
    with pytest.raises(dfu.InputError, match="in the fit's order"):
        fit.predict(other)
    with pytest.raises(dfu.InputError, match="in the frame's order"):
        dfu.split_conformal(other, NAMES[LABELS], classes=NAMES)
    scaled = dfu.temperature_scaling(
        pd.DataFrame(LOGITS, columns=columns), NAMES[LABELS], classes=NAMES
    )
    with pytest.raises(dfu.InputError, match="in the fit's order"):
        scaled.predict(pd.DataFrame(LOGITS, columns=columns[::-1]))


def test_columns_of_numbered_classes():
    frame = pd.DataFrame(PROBS, columns=["p0", "p1", "p2"])
    fit = dfu.split_conformal(frame, LABELS, classes=range(3), rng=0)
    fit.predict(frame)
    with pytest.raises(dfu.InputError, match="in the fit's order"):
        fit.predict(frame[["p2", "p0", "p1"]])


def test_columns_with_other_names_are_taken_by_position():
    frame = pd.DataFrame(PROBS, columns=["x", "y", "z"])
    fit = dfu.split_conformal(frame, NAMES[LABELS], classes=NAMES, rng=0)
    fit.predict(frame[["z", "x", "y"]].to_numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit.predict(frame)


class DataArray:
    """As much of a two-dimensional xarray DataArray as is looked at."""

    dims = ("row", "class")

    def __init__(self, values, names):
        self.coords = {"class": np.array(names)}
        self._values = values

    def to_numpy(self):
        return self._values


def test_names_of_an_xarray_are_read():
    fit = dfu.split_conformal(DataArray(PROBS, NAMES), NAMES[LABELS], rng=0)
    assert fit.classes == ("cat", "dog", "owl")
    with pytest.raises(dfu.InputError, match="in the fit's order"):
        fit.predict(DataArray(PROBS, NAMES[::-1]))


def test_masked_classes_have_a_remedy_that_fits_the_others():
    masked = LOGITS.copy()
    rows = np.flatnonzero(LABELS != 2)[::2]
    masked[rows, 2] = -np.inf
    with pytest.raises(dfu.InputError, match="classes that are masked"):
        dfu.vector_scaling(masked, LABELS)
    floored = np.maximum(masked, masked.max(axis=1, keepdims=True) - 100)
    fits = [
        dfu.temperature_scaling(np.maximum(floored, floor), LABELS).temperature
        for floor in (-np.inf, -60)
    ]
    assert fits[0] == pytest.approx(fits[1], rel=1e-6)
    exact = dfu.temperature_scaling(masked, LABELS).temperature
    assert exact == pytest.approx(fits[0], rel=1e-6)
    with pytest.raises(dfu.InputError) as refused:
        dfu.density_ratio([[-np.inf]] * 9, [[1.0]] * 9)
    assert "masked" not in str(refused.value)
