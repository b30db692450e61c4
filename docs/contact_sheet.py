"""Every figure of the package, each as PNG, and all of them on one sheet.

``make figures``, or ``python docs/contact_sheet.py [FOLDER]``; the folder is
``docs/_build/figures`` unless another is given. Next to the sheet stands the same in
grey, to see what print leaves of it. All numbers are computed, on data simulated with
fixed seeds.
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
from distfreeuq import bounds, metrics, plots, scenarios, theorems
from distfreeuq.plots.new_figures import outside_pyplot

FOLDER = Path(__file__).parent / "_build" / "figures"
COLUMNS = 4
Figures = dict[str, Callable[[], Axes]]
TOY = scenarios.three_gaussians()


def main(folder: Path) -> None:
    """Draw all figures and write the sheets."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, draw in all_figures().items():
        path = folder / f"{name}.png"
        with outside_pyplot():
            draw().figure.savefig(path)
        paths.append(path)
    sheet(paths, folder / "contact_sheet.png")
    sheet(paths, folder / "contact_sheet_grey.png", gray=True)
    print(f"{len(paths)} figures and contact_sheet.png in {folder}")


def all_figures() -> Figures:
    """Return what draws each figure, by its function's name and a variant's."""
    figures = {**prediction_sets(), **calibration(), **shift(), **simulations()}
    drawn = {name.split("-")[0] for name in figures}
    styles = {name for name in plots.__all__ if name.isupper()} | {"new_axes"}
    missing = set(plots.__all__) - styles - drawn
    if missing:
        raise SystemExit(f"not on the sheet: {sorted(missing)}")
    return figures


def sheet(paths: list[Path], out: Path, *, gray: bool = False) -> None:
    """Put the pictures side by side, each at its own proportions."""
    rows = -(-len(paths) // COLUMNS)
    figure = Figure(figsize=(5 * COLUMNS, 4.2 * rows), dpi=80, layout="constrained")
    grid = figure.subplots(rows, COLUMNS, squeeze=False)
    for cell in grid.flat:
        cell.set_axis_off()
    for cell, path in zip(grid.flat, paths, strict=False):
        image = imread(path)[..., :3]
        if gray:  # luminance, as a printer takes it
            image = np.repeat((image @ [0.299, 0.587, 0.114])[..., None], 3, axis=2)
        cell.imshow(image)
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


def prediction_sets() -> Figures:
    """Return figures of scores, sets and coverage."""
    points, labels = TOY.sample(1000, "source", rng=0)
    new_points, new_labels = TOY.sample(1000, "target", rng=0)
    probs, new_probs = TOY.posterior(points), TOY.posterior(new_points)
    fit = dfu.split_conformal(probs, labels, rng=0)
    weighted = dfu.label_shift_conformal(probs, labels, TOY.label_weight, rng=0)
    by_class = dfu.label_conditional_conformal(probs, labels, rng=0)
    watched = dfu.shift_monitor(probs, labels, rng=0).update(probs[::-1])
    watched.update(new_probs)
    risk = dfu.risk_monitor(probs, labels, tolerance=0.02)
    for rows, found in ((probs[::-1], labels[::-1]), (new_probs[:, ::-1], new_labels)):
        risk.update(rows).update_labels(found)
    upper_half = points[:, 1] > 1.0
    by_group = dfu.split_conformal(probs, labels, groups=upper_half, rng=0)
    crossed = dfu.cross_conformal(probs, labels, np.arange(len(labels)) % 4, rng=0)
    achieved = {
        name: one.predict(new_probs).evaluate(new_labels)
        for name, one in (
            ("exchangeable", fit),
            ("label-shift weights", weighted),
            ("label-conditional", by_class),
        )
    }
    alphas = np.linspace(0.02, 0.5, 13)
    results = [
        dfu.label_shift_conformal(probs, labels, TOY.label_weight, alpha=a, rng=0)
        .predict(new_probs)
        .evaluate(new_labels)
        for a in alphas
    ]
    coverage = achieved["label-shift weights"]
    return {
        "calibration_scores": fit.plot,
        "calibration_scores-by_class": by_class.plot,
        "grouped_scores": by_group.plot,
        "fold_scores": crossed.plot,
        "monitor_wealth": watched.plot,
        "running_risk": risk.plot,
        "tallied_rows": dfu.tally(probs, labels, rng=0).plot,
        "coverage_against_rows": dfu.plan(0.1, 0.9, tolerance=0.03).plot,
        "set_sizes": lambda: coverage.plot(kind="sizes"),
        "class_coverage": lambda: coverage.plot(kind="classes"),
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
    band = metrics.isotonic_band(probs.max(axis=1), probs.argmax(axis=1) == labels)
    several = {
        "uncalibrated": probs,
        "temperature": temperature.predict(logits),
        "class-wise": classwise.predict(logits),
    }
    right = {
        name: (rows.max(axis=1), rows.argmax(axis=1) == labels)
        for name, rows in several.items()
    }
    by_class = {
        name: dfu.assess(rows, labels, n_boot=0, rng=0).class_frame()["ece"]
        for name, rows in several.items()
    }
    return {
        "reliability_curves": lambda: plots.reliability_curves(
            {name: metrics.reliability(*rows) for name, rows in right.items()}
        ),
        "reliability_band": band.plot,
        "reliability_band-over_bins": lambda: band.plot(result.plot(kind="curve")),
        "class_comparison": lambda: plots.class_comparison(by_class),
        "reliability_diagram": result.plot,
        "reliability_diagram-curve": lambda: result.plot(kind="curve"),
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
    points, labels = TOY.sample(2000, "source", rng=1)
    new_points, new_labels = TOY.sample(2000, "target", rng=1)
    estimate = dfu.mlls(TOY.posterior(points), labels, TOY.posterior(new_points))
    true_ratio = TOY.posterior(points) @ TOY.label_weight
    ratio = dfu.density_ratio(points, new_points, rng=0)
    features = dfu.indistinguishable_features(
        points, labels, new_points, n_hidden=16, n_epochs=40, stop_below=0.0, rng=0
    )
    comparison = dfu.compare_calibrations(
        2.5 * np.log(TOY.posterior(points)),
        labels,
        2.5 * np.log(TOY.posterior(new_points)),
        new_labels,
        label_weight=TOY.label_weight,
        calibrators=("temperature", "vector"),
        n_rep=5,
        rng=0,
    )
    runs = [
        dfu.density_ratio(
            points[:150], new_points[:150], method="mlp", n_hidden=8, rng=r
        ).source_weight
        for r in range(10)
    ]
    performance = dfu.target_performance(
        TOY.posterior(points), labels, TOY.posterior(new_points)
    )
    return {
        "label_shift_weights": estimate.plot,
        "performance_intervals": performance.plot,
        "importance_weights": lambda: plots.importance_weights(true_ratio),
        "weights_over_runs": lambda: plots.weights_over_runs(runs),
        "density_ratio_weights": ratio.plot,
        "feature_learning_losses": features.plot,
        "calibration_comparison": comparison.plot,
        "loss_curves": lambda: plots.loss_curves(
            {"classifier": features.to_frame()["classifier_loss"]}, what="mean NLL"
        ),
    }


def simulations() -> Figures:
    """Return figures of simulation studies."""
    sizes = np.array([100, 200, 500, 1000, 2000, 5000, 10000])
    errors, radii = binning_errors(sizes, n_draws=60)
    excess, curves = excess_risks(sizes, n_draws=60)
    coverages = repeated_coverage(n_rep=200)
    theorem = theorems.verify("split-coverage-exact", rng=0)
    searched = theorems.search("split-coverage", n_designs=50, rng=0)
    return {
        "replicate_histogram": lambda: plots.replicate_histogram(
            coverages["label-shift weights"], what="coverage"
        ),
        "theorem_checks": theorem.plot,
        "search_designs": searched.plot,
        "coverage_histogram": lambda: plots.coverage_histogram(coverages, 0.9),
        "bounds_against_n": lambda: plots.bounds_against_n(
            sizes, errors, radii, what="largest error of 10 bins"
        ),
        "excess_risk": lambda: plots.excess_risk(sizes, excess, curves),
    }


def repeated_coverage(n_rep: int) -> dict[str, np.ndarray]:
    """Return coverages on the target of three methods, each calibrated on 100 rows."""
    methods = {
        "exchangeable": dfu.split_conformal,
        "label-shift weights": lambda probs, labels, rng: dfu.label_shift_conformal(
            probs, labels, TOY.label_weight, rng=rng
        ),
        "label-conditional": dfu.label_conditional_conformal,
    }
    out = {name: np.empty(n_rep) for name in methods}
    new_points, new_labels = TOY.sample(2000, "target", rng=0)
    new_probs = TOY.posterior(new_points)
    for r in range(n_rep):
        points, labels = TOY.sample(100, "source", rng=r)
        for name, fit in methods.items():
            with warnings.catch_warnings():  # few rows of a class: its label is in
                warnings.simplefilter("ignore", dfu.SmallCalibrationWarning)
                sets = fit(TOY.posterior(points), labels, rng=r).predict(
                    new_probs, rng=r
                )
            out[name][r] = sets.evaluate(new_labels).coverage
    return out


def binning_errors(
    sizes: np.ndarray, n_draws: int
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return largest errors of ten bins' frequencies, and the radii that bound them.

    P(Y = 1 | p) = p^2 for uniform p, so that the truth in a bin is an integral.
    """
    rng = np.random.default_rng(5)
    ends = np.arange(11) / 10
    truth = np.diff(ends**3) / 3 / np.diff(ends)
    names = {"hoeffding": "Hoeffding", "auto": "Clopper-Pearson"}
    errors = np.empty((sizes.size, n_draws))
    radii = {name: np.empty((sizes.size, n_draws)) for name in names.values()}
    for i, n in enumerate(sizes):
        for d in range(n_draws):
            p = (rng.permutation(n) + rng.random(n)) / n  # no bin is empty
            labels = (rng.random(n) < p**2).astype(int)
            for bound, name in names.items():
                fit = dfu.histogram_binning(
                    p, labels, scheme=ends[1:-1], bound=bound, alpha=0.05
                )
                radii[name][i, d] = 0.5 * fit.radius.max()  # of one probability
            errors[i, d] = np.abs(fit.frequencies[:, 1] - truth).max()
    return errors, {name: np.median(r, axis=1) for name, r in radii.items()}


def excess_risks(
    sizes: np.ndarray, n_draws: int
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return excess Brier risks of fitted temperatures on a population of 40 rows."""
    rng = np.random.default_rng(6)
    rows, n_classes, top = 40, 3, 4.0
    logits = top * rng.random((rows, n_classes))
    truth = softmax(0.6 * logits)
    masses = (truth / rows).ravel()
    repeated = np.repeat(logits, n_classes, axis=0)
    labels = np.tile(np.arange(n_classes), rows)

    def fit(weights: np.ndarray) -> np.ndarray:
        return dfu.temperature_scaling(
            repeated, labels, sample_weight=weights, loss="brier", bounds=(0.05, 3.0)
        ).predict(repeated)

    def risk(probs: np.ndarray) -> float:
        return float(masses @ (0.5 * ((probs - np.eye(3)[labels]) ** 2).sum(axis=1)))

    best = risk(fit(masses))
    excess = np.array(
        [
            [risk(fit(w)) - best for w in rng.multinomial(n, masses, size=n_draws)]
            for n in sizes
        ]
    )
    fixed = {"alpha_bounds": (0.05, 3.0), "gamma": 0.0}
    lipschitz = np.sqrt(2) * top * np.sqrt(n_classes) / 2
    constants = bounds.half_brier_constants(top)._asdict()
    return np.maximum(excess, 1e-12), {
        "Zhao et al. (2020), Thm 4.1": bounds.cts_excess_risk(
            sizes, 1, 0.1, lipschitz=lipschitz, **fixed
        ),
        "tighter constants": bounds.cts_excess_risk_tight(
            sizes, 1, 0.1, **fixed, **constants
        ),
    }


if __name__ == "__main__":
    warnings.simplefilter("error")
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
