"""Figures of prediction sets: scores, sizes, coverage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from distfreeuq.plots.style import BLUE, CYCLE, NOMINAL, RED, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distfreeuq.conformal.coverage import CoverageResult
    from distfreeuq.conformal.result import ConformalResult
    from distfreeuq.conformal.sets import PredictionSets


def calibration_scores(fit: ConformalResult, *, ax: Axes | None = None) -> Axes:
    """Draw the calibration scores' distribution function and the threshold.

    Parameters
    ----------
    fit : ConformalResult
    ax : matplotlib Axes, optional
    """
    ax = new_axes(ax)
    levels = np.arange(1, fit.n + 1) / (fit.n + 1)
    ax.step(fit.scores, levels, where="post", color=BLUE, label="calibration scores")
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
    ax.set_title(f"{fit.title} (n = {fit.n})", fontsize="medium")
    ax.legend(loc="upper left", frameon=False, fontsize="small")
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
    ax.set_title(f"Sizes of {n} prediction sets", fontsize="medium")
    ax.legend(frameon=False, fontsize="small")
    return ax


def class_coverage(result: CoverageResult, *, ax: Axes | None = None) -> Axes:
    """Draw each class's coverage with its exact binomial interval.

    Parameters
    ----------
    result : CoverageResult
    ax : matplotlib Axes, optional
    """
    frame = result.to_frame()
    frame = frame[(frame["stratum"] == "class") & (frame["n"] > 0)]
    y = np.arange(len(frame))
    ax = new_axes(ax, height=max(2.4, 1.2 + 0.28 * len(frame)), grid="x")
    center = frame["coverage"].to_numpy()
    spread = np.vstack([center - frame["low"], frame["high"] - center])
    ax.errorbar(center, y, xerr=spread, fmt="o", color=BLUE, capsize=3)
    title = f"Coverage by class with {100 * result.confidence:g}% intervals"
    if result.nominal is not None:
        ax.axvline(result.nominal, **NOMINAL)
        title += f" (dashed: nominal {result.nominal:g})"
    names = [
        f"{name} ({n})" for name, n in zip(frame["value"], frame["n"], strict=True)
    ]
    ax.set_yticks(y, names)
    ax.set_ylim(len(frame) - 0.5, -0.5)
    ax.set_xlabel("coverage")
    ax.set_ylabel("true class (rows)")
    ax.set_title(title, fontsize="medium")
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
    ax = new_axes(ax, height=1.3 + 0.45 * len(results), grid="x")
    for row, result in enumerate(results.values()):
        below = result.coverage - result.interval[0]
        above = result.interval[1] - result.coverage
        spread = np.array([[below], [above]])
        color = CYCLE[row % len(CYCLE)]
        ax.errorbar(result.coverage, row, xerr=spread, fmt="o", color=color, capsize=4)
        ax.annotate(
            f"mean size {result.mean_size:.2f}",
            (1.0, row),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            fontsize="small",
            va="center",
        )
    first = next(iter(results.values()))
    title = f"Coverage of {first.n} rows with {100 * first.confidence:g}% intervals"
    if first.nominal is not None:
        ax.axvline(first.nominal, **NOMINAL)
        title += f" (dashed: nominal {first.nominal:g})"
    ax.set_yticks(np.arange(len(results)), list(results))
    ax.set_ylim(len(results) - 0.5, -0.5)
    ax.set_xlabel("coverage")
    ax.set_title(title, fontsize="medium")
    return ax
