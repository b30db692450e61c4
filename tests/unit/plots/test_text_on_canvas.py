"""Text stays on the canvas, however many rows there are and however they are named."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import distfreeuq as dfu
from distfreeuq.plots.style import new_axes
from tests.unit.repository.test_contact_sheet import drawn_outside

NAMES = ["a class with quite a long name", "another that is not short", "third of them"]
LONG = (
    "Weights by maximum likelihood from 12345 and 67890 rows, with 95% intervals, " * 2
)


def rows(n, seed):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet([2, 1, 1], size=n)
    labels = (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return probs, np.array(NAMES, dtype=object)[np.minimum(labels, 2)]


def label_weights():
    probs, labels = rows(12_000, 0)
    return dfu.mlls(probs, labels, rows(12_000, 1)[0], classes=NAMES).plot()


def class_thresholds():
    return dfu.label_conditional_conformal(*rows(900, 0), classes=NAMES, rng=0).plot()


def class_coverage():
    fit = dfu.split_conformal(*rows(900, 0), classes=NAMES, rng=0)
    probs, labels = rows(900, 1)
    return fit.predict(probs).evaluate(labels).plot(kind="classes")


def monitored():
    probs, labels = rows(900, 0)
    return dfu.shift_monitor(probs, labels, classes=NAMES, rng=0).update(probs).plot()


def tracked():
    probs, labels = rows(900, 0)
    found = dfu.risk_monitor(probs, labels, classes=NAMES).update(probs[:, ::-1])
    return found.update_labels(labels).plot()


def performance():
    probs, labels = rows(900, 0)
    target = rows(900, 1)[0]
    return dfu.target_performance(probs, labels, target, classes=NAMES).plot()


def isotonic():
    return dfu.isotonic_calibration(*rows(900, 0), classes=NAMES).plot()


def assessed():
    return dfu.assess(*rows(900, 0), classes=NAMES, rng=0).plot()


@pytest.mark.parametrize(
    "draw",
    [
        label_weights,
        class_thresholds,
        class_coverage,
        monitored,
        tracked,
        performance,
        isotonic,
        assessed,
    ],
    ids=lambda draw: draw.__name__,
)
def test_long_names_and_many_rows(draw):
    assert drawn_outside(draw()) == []


@pytest.mark.parametrize("kind", ["weights", "coverage", "assessment"])
def test_a_narrow_figure_of_somebody_else(kind):
    probs, labels = rows(900, 0)
    drawn = {
        "weights": lambda: dfu.bbse(probs, labels, probs, classes=NAMES),
        "coverage": lambda: (
            dfu.split_conformal(probs, labels, classes=NAMES, rng=0)
            .predict(probs)
            .evaluate(labels)
        ),
        "assessment": lambda: dfu.assess(probs, labels, classes=NAMES, rng=0),
    }
    ax = Figure(figsize=(3.3, 3.3), layout="constrained").add_subplot()
    assert drawn_outside(drawn[kind]().plot(ax=ax)) == []


@pytest.mark.parametrize("where", ["left", "center", "right"])
def test_a_title_is_broken_into_lines_and_keeps_its_words(where):
    ax = new_axes(None)
    ax.set_title(LONG, loc=where)
    ax.set_ylabel("far\nto\nthe\nright")
    assert drawn_outside(ax) == []
    broken = ax.get_title(where)
    assert broken.count("\n") >= 1 and broken.split() == LONG.split()
    FigureCanvasAgg(ax.figure).draw()
    assert ax.get_title(where) == broken


def test_what_is_outside_is_found():
    ax = new_axes(None)
    ax.text(0.9, 0.5, "a text that leaves the canvas", in_layout=False, clip_on=False)
    assert drawn_outside(ax) == ["a text that leaves the canvas"]
