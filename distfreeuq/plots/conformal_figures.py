"""Figures of prediction sets: scores, sizes, coverage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix
from distfreeuq._base.arrays import describe
from distfreeuq.plots import figure_arguments
from distfreeuq.plots.style import (
    BLUE,
    CYCLE,
    LINES,
    MARKERS,
    NOMINAL,
    RED,
    mark_size,
    name_rows,
    new_axes,
    row_height,
    set_title,
    shown_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distfreeuq.conformal.by_group.results import GroupedConformalResult
    from distfreeuq.conformal.coverage import CoverageResult
    from distfreeuq.conformal.cross_fitted.results import CrossConformalResult
    from distfreeuq.conformal.planning.results import PlanResult
    from distfreeuq.conformal.results import ConformalResult
    from distfreeuq.conformal.sets import PredictionSets


# Labels that a legend names.
_MOST_LABELS = 12

# Points of a grid in each direction, beyond which no screen shows them.
_MOST_GRID = 5000


def calibration_scores(fit: ConformalResult, *, ax: Axes | None = None) -> Axes:
    """Draw the calibration scores' distribution function and the threshold.

    Parameters
    ----------
    fit : ConformalResult
    ax : matplotlib Axes, optional
    """
    figure_arguments.result(
        Arguments("calibration_scores"), fit, "fit", "ConformalResult"
    )
    scores = fit._kept_scores("plot")
    ax = new_axes(ax)
    levels = np.arange(1, fit.n + 1) / (fit.n + 1)
    ax.step(scores, levels, where="post", color=BLUE, label="calibration scores")
    if not isinstance(fit.alpha, np.ndarray):
        ax.axhline(1.0 - fit.alpha, label=f"nominal {1.0 - fit.alpha:g}", **NOMINAL)
    finite = np.unique(fit.thresholds[np.isfinite(fit.thresholds)])
    if finite.size:
        name = f"threshold {finite[0]:.4f}"
        if finite.size > 1:
            name = f"thresholds {finite[0]:.4f} to {finite[-1]:.4f}"
            ax.axvspan(finite[0], finite[-1], color=RED, alpha=0.15, linewidth=0)
        ax.axvline(finite[-1], color=RED, linewidth=1.5, label=name)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel(f"{fit.score.name} score of the true label")
    ax.set_ylabel("share of scores at most this")
    set_title(ax, f"{fit.title} (n = {fit.n})")
    ax.legend(
        loc="upper left", bbox_to_anchor=(0.0, 0.86), frameon=False, fontsize="small"
    )
    return ax


def grouped_scores(fit: GroupedConformalResult, *, ax: Axes | None = None) -> Axes:
    """Draw each group's distribution function of calibration scores, and its threshold.

    Parameters
    ----------
    fit : GroupedConformalResult
    ax : matplotlib Axes, optional
        The first six groups are drawn.
    """
    figure_arguments.result(
        Arguments("grouped_scores"), fit, "fit", "GroupedConformalResult"
    )
    shown = list(zip(fit.names, fit.fits, strict=True))[: len(CYCLE)]
    all_scores = [one._kept_scores("plot") for _, one in shown]
    ax = new_axes(ax)
    colors, lines = CYCLE[: len(shown)], LINES[: len(shown)]
    drawn = zip(shown, all_scores, colors, lines, strict=True)
    for (name, one), scores, color, line in drawn:
        levels = np.arange(1, one.n + 1) / (one.n + 1)
        what = f"{shown_name(name)} (n = {one.n})"
        ax.step(scores, levels, where="post", color=color, linestyle=line, label=what)
        finite = one.thresholds[np.isfinite(one.thresholds)]
        if finite.size:
            ax.axvline(float(finite.max()), color=color, linestyle=line, linewidth=0.8)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel(f"{fit.fits[0].score.name} score of the true label")
    ax.set_ylabel("share of scores at most this")
    set_title(ax, fit.title)
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax


def fold_scores(fit: CrossConformalResult, *, ax: Axes | None = None) -> Axes:
    """Draw each fold's distribution function of calibration scores.

    Parameters
    ----------
    fit : CrossConformalResult
    ax : matplotlib Axes, optional
        The first six folds are drawn.
    """
    figure_arguments.result(
        Arguments("fold_scores"), fit, "fit", "CrossConformalResult"
    )
    ax = new_axes(ax)
    for fold, name in enumerate(fit.folds[: len(CYCLE)]):
        scores = fit.scores[fit.score_folds == fold]
        levels = np.arange(1, scores.size + 1) / (scores.size + 1)
        what = f"fold {shown_name(name)} (n = {scores.size})"
        color, line = CYCLE[fold], LINES[fold]
        ax.step(scores, levels, where="post", label=what, color=color, linestyle=line)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel(f"{fit.score.name} score of the true label")
    ax.set_ylabel("share of the fold's scores at most this")
    set_title(ax, fit.title)
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax


def coverage_against_rows(result: PlanResult, *, ax: Axes | None = None) -> Axes:
    """Draw the coverage given n calibration rows, in 90% of draws, against n.

    Parameters
    ----------
    result : PlanResult
    ax : matplotlib Axes, optional
    """
    figure_arguments.result(
        Arguments("coverage_against_rows"), result, "result", "PlanResult"
    )
    from distfreeuq.conformal.planning.results import coverage_band
    from distfreeuq.conformal.planning.sample_size import ranks_of

    needed = int(result.needed.max())
    counts = np.unique(np.geomspace(2, max(4 * needed, 50), 300).astype(np.int64))
    delta = None
    if result.confidence is not None:
        delta = (1.0 - result.confidence) / len(result.classes)
    low, high = coverage_band(counts, ranks_of(counts, result.alpha, delta), 0.9)
    ax = new_axes(ax)
    ax.fill_between(
        counts, low, high, color=BLUE, alpha=0.3, linewidth=0, label="90% of draws"
    )
    ax.axhline(1.0 - result.alpha, label=f"nominal {1.0 - result.alpha:g}", **NOMINAL)
    ax.axvline(needed, color=RED, linewidth=1.5, label=f"{needed} rows needed")
    ax.set_xscale("log")
    ax.set_xlabel(
        "calibration rows of a class" if result.by_class else "calibration rows"
    )
    ax.set_ylabel("coverage given the rows")
    set_title(ax, "Calibration rows needed")
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax


def set_sizes(
    result: PredictionSets | CoverageResult, *, ax: Axes | None = None
) -> Axes:
    """Draw how many labels the prediction sets hold.

    Parameters
    ----------
    result : PredictionSets or CoverageResult
    ax : matplotlib Axes, optional
    """
    figure_arguments.result(
        Arguments("set_sizes"), result, "result", "PredictionSets", "CoverageResult"
    )
    counts = getattr(result, "size_counts", None)
    if counts is None:
        counts = np.bincount(result.sizes, minlength=len(result.classes) + 1)  # type: ignore[union-attr]
    n = int(counts.sum())
    last = int(np.flatnonzero(counts)[-1]) if n else 0
    sizes = np.arange(last + 1)
    share = counts[: last + 1] / max(n, 1)
    mean = float(sizes @ share)

    ax = new_axes(ax)
    ax.bar(sizes, share, width=0.8, color=BLUE)
    ax.axvline(mean, label=f"mean {mean:.2f}", **NOMINAL)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("labels in the set")
    ax.set_ylabel("share of rows")
    set_title(ax, f"Sizes of {n} prediction sets")
    ax.legend(loc="best", frameon=False, fontsize="small")  # beside the bars
    return ax


def class_coverage(result: CoverageResult, *, ax: Axes | None = None) -> Axes:
    """Draw each class's coverage with its exact binomial interval.

    Parameters
    ----------
    result : CoverageResult
    ax : matplotlib Axes, optional
    """
    figure_arguments.result(
        Arguments("class_coverage"), result, "result", "CoverageResult"
    )
    frame = result.to_frame()
    frame = frame[(frame["stratum"] == "class") & (frame["n"] > 0)]
    y = np.arange(len(frame))
    ax = new_axes(ax, height=max(2.4, row_height(len(frame))), grid="x")
    center = frame["coverage"].to_numpy()
    spread = np.vstack([center - frame["low"], frame["high"] - center])
    size = mark_size(len(frame))
    ax.errorbar(
        center,
        y,
        xerr=spread,
        fmt="o",
        color=BLUE,
        markersize=size,
        capsize=0.5 * size,
        elinewidth=0.25 * size,
    )
    title = f"Coverage by class with {100 * result.level:g}% intervals"
    if result.nominal is not None:
        ax.axvline(result.nominal, **NOMINAL)
        title += f" (dashed: nominal {result.nominal:g})"
    names = [
        f"{shown_name(name)} ({n})"
        for name, n in zip(frame["value"], frame["n"], strict=True)
    ]
    name_rows(ax, y, names)
    ax.set_ylim(len(frame) - 0.5, -0.5)
    ax.set_xlabel("coverage")
    ax.set_ylabel("true class (rows)")
    set_title(ax, title)
    return ax


def coverage_by_method(
    results: Mapping[str, CoverageResult], *, ax: Axes | None = None
) -> Axes:
    """Draw several methods' coverage with exact intervals, and their mean set sizes.

    Parameters
    ----------
    results : mapping of str to CoverageResult
        What each method's sets achieved, on the same rows.
    ax : matplotlib Axes, optional
    """
    args = Arguments("coverage_by_method")
    shown = figure_arguments.mapping(args, results, "results", "CoverageResult")
    figure_arguments.results(args, list(shown.values()), "results", "CoverageResult")
    ax = new_axes(ax, height=row_height(len(results), each=0.45, around=1.3), grid="x")
    for row, result in enumerate(results.values()):
        below = result.coverage - result.interval[0]
        above = result.interval[1] - result.coverage
        spread = np.array([[below], [above]])
        color = CYCLE[row % len(CYCLE)]
        ax.errorbar(result.coverage, row, xerr=spread, fmt="o", color=color, capsize=4)
    first = next(iter(results.values()))
    title = f"Coverage of {first.n} rows with {100 * first.level:g}% intervals"
    if first.nominal is not None:
        ax.axvline(first.nominal, **NOMINAL)
        title += f" (dashed: nominal {first.nominal:g})"
    sizes = [f"mean size {result.mean_size:.2f}" for result in results.values()]
    name_rows(
        ax, np.arange(len(results)), [shown_name(name) for name in results], sizes
    )
    ax.set_ylim(len(results) - 0.5, -0.5)
    ax.set_xlabel("coverage")
    set_title(ax, title)
    return ax


def coverage_against_alpha(
    alphas: ArrayLike, results: Sequence[CoverageResult], *, ax: Axes | None = None
) -> Axes:
    """Draw coverage and mean set size against the miscoverage level.

    Parameters
    ----------
    alphas : array_like (A,)
    results : sequence of CoverageResult
        What the sets of each level achieved on the same rows.
    ax : matplotlib Axes, optional

    Notes
    -----
    The band is each level's exact binomial interval. Sizes have the axis on the right.
    """
    args = Arguments("coverage_against_alpha")
    figure_arguments.results(args, results, "results", "CoverageResult")
    levels = figure_arguments.curve(args, alphas, "alphas", length=len(results))
    coverage = np.array([result.coverage for result in results])
    low, high = np.array([result.interval for result in results]).T
    sizes = np.array([result.mean_size for result in results])
    ax = new_axes(ax, grid="both")
    ax.fill_between(levels, low, high, color=BLUE, alpha=0.2, linewidth=0)
    lines = ax.plot(levels, coverage, "o-", color=BLUE, markersize=4, label="coverage")
    lines += ax.plot(levels, 1.0 - levels, label="nominal 1 - alpha", **NOMINAL)
    right = ax.twinx()
    right.spines["top"].set_visible(False)
    lines += right.plot(
        levels, sizes, "s:", color=RED, markersize=4, label="mean set size (right)"
    )
    right.set_ylim(bottom=0.0)
    right.set_ylabel("mean set size")
    ax.set_xlabel("miscoverage alpha")
    ax.set_ylabel("coverage")
    first = results[0]
    level = f"{100 * first.level:g}% intervals"
    set_title(ax, f"Coverage of {first.n} rows with {level}, and size")
    ax.legend(handles=lines, loc="lower left", frameon=False, fontsize="small")
    return ax


def prediction_regions(
    fit: ConformalResult,
    classifier: Callable[[FloatMatrix], ArrayLike],
    points: ArrayLike,
    labels: ArrayLike,
    *,
    n_grid: int = 150,
    ax: Axes | None = None,
) -> Axes:
    """Draw which labels the prediction sets hold, everywhere in the plane.

    Parameters
    ----------
    fit : ConformalResult
    classifier : callable
        From points (m, 2) to probabilities (m, K).
    points : array_like (n, 2)
        Data, drawn on top with a marker per label.
    labels : array_like (n,) of int
        Column numbers.
    n_grid : int
        Points of the grid in each direction.
    ax : matplotlib Axes, optional

    Notes
    -----
    The kind of figure of Podkopaev and Ramdas (2021), 1(b). A set's colour is the mean
    of its labels'; sets of several labels are hatched; empty sets are white. Uniforms
    are 1/2 everywhere.
    """
    args = Arguments("prediction_regions")
    figure_arguments.result(args, fit, "fit", "ConformalResult")
    if "CovariateShiftConformalResult" in figure_arguments.names_of(fit):
        must = "one whose sets do not depend on weights of the points"
        args.invalid("fit", must, "a CovariateShiftConformalResult")
    if not callable(classifier):
        must = "a function from points to probabilities"
        args.invalid("classifier", must, describe(classifier))
    n_grid = args.count(n_grid, "n_grid", low=2, high=_MOST_GRID)
    xy = args.features(points, "points").astype(np.float64)
    if xy.shape[0] == 0 or xy.shape[1] != 2:
        args.invalid("points", "of shape (n, 2) with n >= 1", f"shape {xy.shape}")
    figure_arguments.curve(args, xy.ravel(), "points")
    names = list(fit.classes)
    numbers = args.labels(labels, range(len(names)), len(xy))
    margin = 0.05 * np.ptp(xy, axis=0)
    low, high = xy.min(axis=0) - margin, xy.max(axis=0) + margin
    sides = [np.linspace(low[d], high[d], n_grid) for d in range(2)]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    probs = args.new_probs(classifier(grid), fit.classes, "classifier")
    sets = fit.predict(probs, uniforms=np.full(len(grid), 0.5))

    colors = np.array([to_rgb(CYCLE[k % len(CYCLE)]) for k in range(len(names))])
    share = sets.mask / np.maximum(sets.sizes, 1)[:, None]
    image = np.where(sets.sizes[:, None] > 0, share @ colors, 1.0)
    image = 1.0 - 0.4 * (1.0 - image)  # pale, so that the points stand out
    ax = new_axes(ax, width=5.6, height=4.6, grid="both")
    ax.grid(visible=False)
    box = (low[0], high[0], low[1], high[1])
    ax.imshow(
        image.reshape(n_grid, n_grid, 3), extent=box, origin="lower", aspect="auto"
    )
    several = sets.sizes.reshape(n_grid, n_grid) > 1
    if several.any():
        ax.contourf(
            *sides,
            several,
            levels=[0.5, 1.5],
            colors="none",
            hatches=["////"],
            zorder=1,
        )
    for k, name in enumerate(names):
        only = sets.mask[:, k] & (sets.sizes == 1)
        if only.any():  # its name, for print in grey
            x, y = _most_central(grid[only])
            style = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1}
            ax.text(
                float(x),
                float(y),
                f"{{{shown_name(name)}}}",
                weight="bold",
                ha="center",
                va="center",
                bbox=style,
                zorder=3,
            )
        own = numbers == k
        ax.scatter(
            xy[own, 0],
            xy[own, 1],
            s=20,
            color=CYCLE[k % len(CYCLE)],
            marker=MARKERS[k % len(MARKERS)],
            edgecolor="black",
            linewidth=0.5,
            label=f"label {shown_name(name)}",
            zorder=2,
        )
    ax.set_xlabel("x1")
    ax.set_ylabel("x2")
    set_title(ax, f"{fit.title} (n = {fit.n})")
    handles, _ = ax.get_legend_handles_labels()
    if len(handles) > _MOST_LABELS:  # their names stand in the figure
        handles = []
    if several.any():
        hatched = Patch(facecolor="none", hatch="////", label="several labels")
        handles.append(hatched)
    ax.legend(
        handles=handles,
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        frameon=False,
        fontsize="small",
    )
    return ax


def _most_central(points: FloatMatrix) -> FloatArray:
    """Return the point nearest to the medians, shape (2,)."""
    distance = ((points - np.median(points, axis=0)) ** 2).sum(axis=1)
    return np.asarray(points[int(np.argmin(distance))])
