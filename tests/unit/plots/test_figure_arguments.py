"""Figures say which parameter is wrong, and draw whatever names classes have."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import distfreeuq as dfu
from distfreeuq import plots
from tests.unit.argument_data import LABELS, PROBS

FIT = dfu.split_conformal(PROBS, LABELS, rng=0)
COVERAGE = FIT.predict(PROBS).evaluate(LABELS)
SIZES, ERRORS = [10, 100], [[0.1, 0.2], [0.05, 0.1]]
POINTS = np.random.default_rng(0).normal(size=(6, 2))
OF_RESULTS = {
    "calibration_comparison": "result",
    "calibration_parameters": "fit",
    "calibration_scores": "fit",
    "class_coverage": "result",
    "coverage_against_rows": "result",
    "density_ratio_weights": "fit",
    "feature_learning_losses": "fit",
    "fold_scores": "fit",
    "grouped_scores": "fit",
    "isotonic_curves": "fit",
    "label_shift_weights": "fit",
    "performance_intervals": "result",
    "metric_comparison": "result",
    "monitor_wealth": "result",
    "running_risk": "result",
    "tallied_rows": "result",
    "reliability_bins": "fit",
    "reliability_change": "fit",
    "reliability_diagram": "table",
    "search_designs": "result",
    "set_sizes": "result",
    "theorem_checks": "result",
}


def thirds(points):
    return np.full((len(points), 3), 1 / 3)


@pytest.mark.parametrize(("name", "parameter"), OF_RESULTS.items())
def test_what_is_no_result_of_the_right_class_is_refused(name, parameter):
    for wrong in (3.0, None, [FIT], dfu.APS()):
        with pytest.raises(dfu.InputError, match=f"^The '{parameter}' parameter of "):
            getattr(plots, name)(wrong)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: plots.new_axes(3), "ax"),
        (lambda: plots.new_axes(None, width=0.0), "width"),
        (lambda: plots.new_axes(None, width=1e300), "width"),
        (lambda: plots.new_axes(None, grid="z"), "grid"),
        (lambda: FIT.plot(ax="here"), "ax"),
        (lambda: plots.coverage_by_method({}), "results"),
        (lambda: plots.coverage_by_method({"a": 3}), "results"),
        (lambda: plots.coverage_by_method([COVERAGE]), "results"),
        (lambda: plots.coverage_against_alpha([0.1], []), "results"),
        (lambda: plots.coverage_against_alpha([0.1, 0.2], [COVERAGE]), "alphas"),
        (lambda: plots.coverage_histogram({}, 0.9), "coverages"),
        (lambda: plots.coverage_histogram({"a": []}, 0.9), "coverages"),
        (lambda: plots.coverage_histogram({"a": [0.9]}, 9), "nominal"),
        (lambda: plots.importance_weights([0.0, 0.0]), "weights"),
        (lambda: plots.importance_weights([]), "weights"),
        (lambda: plots.importance_weights([1.0], n_bins=10**9), "n_bins"),
        (lambda: plots.replicate_histogram([]), "values"),
        (lambda: plots.replicate_histogram([1.0], what=3), "what"),
        (lambda: plots.bounds_against_n([], ERRORS, {}), "n"),
        (lambda: plots.bounds_against_n(SIZES, [[0.1]], {}), "errors"),
        (lambda: plots.bounds_against_n(SIZES, ERRORS, {"b": [1.0]}), "bounds"),
        (lambda: plots.excess_risk(SIZES, [0.1], {}), "excess"),
        (lambda: plots.loss_curves([1.0]), "losses"),
        (lambda: plots.loss_curves({"a": ["x"]}), "losses"),
        (lambda: plots.loss_curves({"a": [1.0]}, step=None), "step"),
        (lambda: plots.prediction_regions(FIT, 3, POINTS, [0] * 6), "classifier"),
        (lambda: plots.prediction_regions(FIT, thirds, [[1.0]], [0]), "points"),
        (lambda: plots.prediction_regions(FIT, thirds, POINTS, [9] * 6), "labels"),
        (
            lambda: plots.prediction_regions(FIT, len, POINTS, [0] * 6, n_grid=3),
            "classifier",
        ),
    ],
)
def test_the_parameter_that_is_wrong_is_named(call, parameter):
    with pytest.raises(dfu.InputError, match=f"^The '{parameter}' parameter of "):
        call()


@pytest.mark.parametrize(
    "names",
    [["$\\frac{", "b$c", "$"], ["a\nb", "a\0b", "c\td"], ["", " ", "x" * 5000]],
    ids=["dollars", "controls", "lengths"],
)
def test_figures_are_drawn_with_any_names(names):
    labels = [names[k] for k in LABELS]
    fit = dfu.split_conformal(PROBS, labels, classes=names, rng=0)
    coverage = fit.predict(PROBS).evaluate(labels)
    logits = np.log(PROBS)
    with mpl.rc_context({"text.usetex": False}):
        for ax in (
            coverage.plot(kind="classes"),
            dfu.vector_scaling(logits, labels, classes=names).plot(),
            dfu.isotonic_calibration(PROBS, labels, classes=names).plot(),
            dfu.label_weights([0.2, 0.3, 0.5], [0.5, 0.2, 0.3], classes=names).plot(),
            dfu.histogram_binning(
                PROBS, labels, classes=names, n_bins=3, mode="classwise"
            ).plot(),
            plots.coverage_by_method({names[0]: coverage}),
        ):
            FigureCanvasAgg(ax.figure).draw()


def test_class_wise_bins_of_two_classes_have_a_figure():
    fit = dfu.histogram_binning(
        PROBS[:, 0], LABELS == 0, n_bins=3, mode="classwise", classes=[False, True]
    )
    assert fit.plot().get_title().startswith("Reliability of 6 bins")


def test_an_axis_without_positive_numbers_has_no_logarithms():
    ax = plots.bounds_against_n(SIZES, np.zeros_like(ERRORS), {})
    assert ax.get_yscale() == "linear" and ax.get_xscale() == "log"
    FigureCanvasAgg(ax.figure).draw()
