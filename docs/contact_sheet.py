"""Every figure of the package, each as PNG, and all of them on one sheet.

Run ``python docs/contact_sheet.py [FOLDER]``; the folder is ``docs/_build/figures``
unless another is given. The data are simulated with a fixed seed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread

import distfreeuq as dfu
from distfreeuq import metrics, plots, scenarios

FOLDER = Path(__file__).parent / "_build" / "figures"
COLUMNS = 4
TOY = scenarios.three_gaussians()


def main(folder: Path) -> None:
    """Draw all figures, check that none is missing, and write the sheet."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = {**prediction_sets(), **calibration(), **shift(), **simulations()}
    drawn = {name.split("-")[0] for name in figures}
    styles = {name for name in plots.__all__ if name.isupper()} | {"new_axes"}
    missing = set(plots.__all__) - styles - drawn
    if missing:
        raise SystemExit(f"not on the sheet: {sorted(missing)}")
    paths = []
    for name, draw in figures.items():
        path = folder / f"{name}.png"
        draw().figure.savefig(path)
        paths.append(path)
    sheet(paths, folder / "contact_sheet.png")
    print(f"{len(paths)} figures and contact_sheet.png in {folder}")


def sheet(paths: list[Path], out: Path) -> None:
    """Put the pictures side by side, each at its own proportions."""
    rows = -(-len(paths) // COLUMNS)
    figure = Figure(figsize=(5 * COLUMNS, 4.2 * rows), dpi=80, layout="constrained")
    grid = figure.subplots(rows, COLUMNS, squeeze=False)
    for cell in grid.flat:
        cell.set_axis_off()
    for cell, path in zip(grid.flat, paths, strict=False):
        cell.imshow(imread(path))
        cell.set_title(path.stem, fontsize=9, color="0.4")
    figure.savefig(out)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return probabilities by row."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def network(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return over-confident logits, more so for the first classes, and labels."""
    rng = np.random.default_rng(1)
    logits = rng.normal(scale=1.6, size=(n, n_classes))
    probs = softmax(logits)
    labels = (np.cumsum(probs, axis=1) < rng.random((n, 1))).sum(axis=1)
    predicted = logits.argmax(axis=1)
    sharpness = np.linspace(2.5, 1.2, n_classes)[predicted]
    return logits * sharpness[:, None], np.minimum(labels, n_classes - 1)


Figures = dict[str, Callable[[], Axes]]


def prediction_sets() -> Figures:
    """Return figures of scores, sets and coverage."""
    points, labels = TOY.sample(1000, "source", rng=0)
    new_points, new_labels = TOY.sample(1000, "target", rng=0)
    probs, new_probs = TOY.posterior(points), TOY.posterior(new_points)
    fit = dfu.split_conformal(probs, labels, rng=0)
    weighted = dfu.label_shift_conformal(probs, labels, TOY.label_weight, rng=0)
    by_class = dfu.label_conditional_conformal(probs, labels, rng=0)
    achieved = {
        name: one.predict(new_probs, rng=0).evaluate(new_labels)
        for name, one in (
            ("exchangeable", fit),
            ("label-shift weights", weighted),
            ("label-conditional", by_class),
        )
    }
    alphas = np.linspace(0.02, 0.5, 13)
    results = [
        dfu.label_shift_conformal(probs, labels, TOY.label_weight, alpha=a, rng=0)
        .predict(new_probs, rng=0)
        .evaluate(new_labels)
        for a in alphas
    ]
    coverage = achieved["label-shift weights"]
    return {
        "calibration_scores": fit.plot,
        "calibration_scores-by_class": by_class.plot,
        "set_sizes": coverage.plot,
        "class_coverage": lambda: coverage.plot(by="class"),
        "coverage_by_method": lambda: plots.coverage_by_method(achieved),
        "coverage_against_alpha": lambda: plots.coverage_against_alpha(alphas, results),
        "prediction_regions": lambda: plots.prediction_regions(
            weighted, TOY.posterior, points[:200], labels[:200]
        ),
    }


def calibration() -> Figures:
    """Return figures of assessment, scaling and binning."""
    logits, labels = network(4000, 6)
    probs = softmax(logits)
    temperature = dfu.temperature_scaling(logits, labels)
    classwise = dfu.classwise_temperature_scaling(logits, labels)
    vector = dfu.vector_scaling(logits, labels)
    isotonic = dfu.isotonic_calibration(probs, labels)
    binned = dfu.histogram_binning(probs, labels, n_bins=12, mode="top-label")
    simplex = dfu.histogram_binning(probs, labels, n_bins=16, partition_on=probs[:999])
    result = dfu.assess(probs, labels, rng=0)
    weight = np.exp(np.random.default_rng(2).normal(size=4000))
    comparison = dfu.compare(
        {
            "uncalibrated": probs,
            "temperature": temperature.predict(logits),
            "class-wise temperature": classwise.predict(logits),
            "isotonic": isotonic.predict(probs),
        },
        labels,
        n_boot=200,
        rng=0,
    )
    weighted = metrics.reliability(
        probs.max(axis=1), probs.argmax(axis=1) == labels, sample_weight=weight
    )
    return {
        "reliability_diagram": result.plot,
        "reliability_diagram-curve": lambda: result.plot(style="curve"),
        "reliability_diagram-weighted": weighted.plot,
        "metric_comparison": comparison.plot,
        "reliability_change": temperature.plot,
        "calibration_parameters": classwise.plot,
        "calibration_parameters-vector": vector.plot,
        "isotonic_curves": isotonic.plot,
        "reliability_bins": binned.plot,
        "reliability_bins-simplex": simplex.plot,
    }


def shift() -> Figures:
    """Return figures of shifted labels and inputs."""
    rng = np.random.default_rng(3)
    points, labels = TOY.sample(2000, "source", rng=1)
    new_points, _ = TOY.sample(2000, "target", rng=1)
    estimate = dfu.mlls(TOY.posterior(points), labels, TOY.posterior(new_points))
    return {
        "label_shift_weights": estimate.plot,
        "importance_weights": lambda: plots.importance_weights(
            np.exp(rng.normal(scale=0.8, size=3000))
        ),
    }


def simulations() -> Figures:
    """Return figures of simulation studies."""
    rng = np.random.default_rng(4)
    sizes = np.array([100, 200, 500, 1000, 2000, 5000, 10000])
    errors = np.abs(rng.normal(scale=0.5 / np.sqrt(sizes)[:, None], size=(7, 200)))
    bounds = {
        "Hoeffding, 95%": np.sqrt(np.log(2 / 0.05) / (2 * sizes)),
        "Hoeffding, all of 10 bins": np.sqrt(np.log(20 / 0.05) / (2 * sizes / 10)),
    }
    coverages = {
        "exchangeable": rng.normal(0.845, 0.03, 1000),
        "label-shift weights": rng.normal(0.91, 0.02, 1000),
        "label-conditional": rng.normal(0.92, 0.02, 1000),
    }
    steps = np.arange(1, 201)
    losses = {
        "classifier": 0.4 + 1.5 * np.exp(-steps / 30) + rng.normal(0, 0.02, 200),
        "discriminator": np.log(2) - 0.5 * np.exp(-steps / 60),
    }
    return {
        "coverage_histogram": lambda: plots.coverage_histogram(coverages, 0.9),
        "excess_risk": lambda: plots.excess_risk(sizes, errors, bounds),
        "bounds_against_n": lambda: plots.bounds_against_n(
            sizes, errors, bounds, what="calibration error"
        ),
        "loss_curves": lambda: plots.loss_curves(losses),
    }


if __name__ == "__main__":
    warnings.simplefilter("error")
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
