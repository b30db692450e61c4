"""What all calibration results have in common: printing, tables, figures, files."""

import numpy as np
import pytest
from matplotlib.axes import Axes

import distfreeuq as dfu


def draws():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (300, 3))
    labels = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return logits, probs, np.array(["ant", "bee", "cat"])[labels]


LOGITS, PROBS, LABELS = draws()
CLASSES = ["ant", "bee", "cat"]
FITS = {
    "temperature": lambda **kw: dfu.temperature_scaling(LOGITS, LABELS, **kw),
    "brier": lambda **kw: dfu.temperature_scaling(LOGITS, LABELS, loss="brier", **kw),
    "class-wise": lambda **kw: dfu.classwise_temperature_scaling(LOGITS, LABELS, **kw),
    "limited": lambda **kw: dfu.classwise_temperature_scaling(
        LOGITS, LABELS, gamma=0.01, **kw
    ),
    "vector": lambda **kw: dfu.vector_scaling(LOGITS, LABELS, **kw),
    "platt": lambda **kw: dfu.platt_scaling(LOGITS, LABELS, **kw),
    "binary platt": lambda **kw: dfu.platt_scaling(
        LOGITS[:, 0], LABELS == "ant", **{**kw, "classes": [False, True]}
    ),
    "isotonic": lambda **kw: dfu.isotonic_calibration(PROBS, LABELS, **kw),
    "groups": lambda **kw: dfu.groupwise_calibration(
        "temperature", LOGITS, LABELS, **kw
    ),
}
each = pytest.mark.parametrize("name", FITS)


def fitted(name, **options):
    return FITS[name](classes=CLASSES, **options)


@each
def test_one_line_and_a_summary(name):
    fit = fitted(name)
    assert repr(fit).startswith(f"<{type(fit).__name__}")
    assert "\n" not in repr(fit)
    text = str(fit)
    assert text == str(fit.summary().as_text())
    for word in ("Calibration rows:", "before:", "after:", "Decisions changed:"):
        assert word in text
    assert "Guarantee:" in text
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "<table" in fit.summary().as_html()


@each
def test_frames_hold_what_is_printed(name):
    frame = fitted(name).to_frame()
    assert len(frame)
    if name != "isotonic":
        for column in ("estimate", "std_err", "z", "p_value", "low", "high"):
            assert column in frame
        inside = frame[["low", "estimate", "high"]].to_numpy()
        assert (np.diff(inside, axis=1) >= 0).all()


@each
@pytest.mark.parametrize("kind", [None, "parameters", "reliability"])
def test_figures(name, kind):
    if name == "isotonic" and kind == "parameters":
        kind = None
    assert isinstance(fitted(name).plot(kind=kind), Axes)


@each
def test_files_give_the_same_result_back(name, tmp_path):
    fit = fitted(name)
    fit.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    assert str(again) == str(fit)
    new = PROBS if name == "isotonic" else LOGITS
    if name == "binary platt":
        new = LOGITS[:, 0]
    np.testing.assert_array_equal(again.predict(new), fit.predict(new))


@each
def test_reported_losses_are_those_of_the_predictions(name):
    weights = np.random.default_rng(1).exponential(size=300)
    fit = fitted(name, sample_weight=weights)
    new = PROBS if name == "isotonic" else LOGITS
    labels = np.searchsorted(CLASSES, LABELS)
    if name == "binary platt":
        new, labels = LOGITS[:, 0], (LABELS == "ant").astype(int)
    probs = fit.predict(new)
    rows = np.arange(300)
    if fit.loss == "nll":
        losses = -np.log(probs[rows, labels])
    else:
        losses = ((probs - np.eye(3)[labels]) ** 2).sum(axis=1)
    assert fit.loss_after == pytest.approx(np.average(losses, weights=weights))
    assert fit.loss_after <= fit.loss_before
    assert fit.effective_n == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


@each
def test_reliability_is_a_partition_of_the_rows(name):
    frame = fitted(name).reliability()
    for stage in ("before", "after"):
        part = frame[frame["stage"] == stage]
        assert part["share"].sum() == pytest.approx(1.0)
        assert (
            part["confidence"]
            .between(part["bin"] / 15 - 1e-9, (part["bin"] + 1) / 15 + 1e-9)
            .all()
        )


def test_reliability_by_hand():
    """Confidences 1/2 (bin 8 of 15) and thrice 3/4 (bin 12), which T makes 2/3."""
    odds = np.log([1.0, 3.0, 3.0, 3.0])
    fit = dfu.temperature_scaling(np.column_stack([odds, np.zeros(4)]), [0, 0, 0, 1])
    before = fit.reliability().query("stage == 'before'")
    assert before["bin"].tolist() == [7, 11]
    np.testing.assert_allclose(before["confidence"], [0.5, 0.75])
    np.testing.assert_allclose(before["accuracy"], [1.0, 2 / 3])
    np.testing.assert_allclose(before["share"], [1 / 4, 3 / 4])
    after = fit.reliability().query("stage == 'after'")
    np.testing.assert_allclose(after["confidence"], [0.5, 2 / 3])


def test_intervals_of_t_and_of_its_inverse_are_the_same():
    fit = fitted("temperature")
    row = fit.to_frame().iloc[0]
    error = fit.std_err / fit.temperature
    assert row["low"] == pytest.approx(fit.temperature * np.exp(-1.959963985 * error))
    assert row["low"] * row["high"] == pytest.approx(fit.temperature**2)
    assert row["z"] == pytest.approx(np.log(fit.temperature) / error)


def test_results_cannot_be_written_to():
    fit = fitted("class-wise")
    with pytest.raises(ValueError, match="read-only"):
        fit.temperatures[0] = 1.0
    with pytest.raises(AttributeError):
        fit.gamma = 3.0


def test_kind_of_figure_is_checked():
    with pytest.raises(dfu.InputError, match="'parameters', 'reliability'"):
        fitted("vector").plot(kind="pie")


def test_tables_of_many_classes_stay_readable():
    rng = np.random.default_rng(2)
    logits = rng.normal(0, 2, (3000, 60))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    fit = dfu.classwise_temperature_scaling(logits, labels, gamma=0.3)
    assert "more)" in str(fit)
    assert len(str(fit).splitlines()) < 60
    assert isinstance(fit.plot(), Axes)
