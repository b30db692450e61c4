"""Figures: the only file that knows matplotlib, and the one place of its style.

Every function takes `ax` and returns it; without one it makes a new figure that belongs
to nobody's pyplot state: ``fit.plot().figure.savefig("fit.png")`` works anywhere.
Colours are Okabe and Ito's, which colour-blind readers tell apart; lines and markers
also differ in form, for print in grey.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, MaxNLocator

from distfreeuq._typing import ArrayLike, FloatArray

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from distfreeuq.binning.result import BinningResult
    from distfreeuq.calibration.isotonic import IsotonicResult
    from distfreeuq.calibration.result import CalibrationResult
    from distfreeuq.conformal.coverage import CoverageResult
    from distfreeuq.conformal.result import ConformalResult
    from distfreeuq.conformal.sets import PredictionSets
    from distfreeuq.label_shift.result import LabelShiftResult

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GREY = "#CC79A7", "#56B4E9", "#7F7F7F"
CYCLE = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)))

_NOMINAL: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1.2}
_NEUTRAL = {"temperature": 1.0, "scale": 1.0, "bias": 0.0}
_MAX_TICKS = 24


def new_axes(
    ax: Axes | None, *, width: float = 6.0, height: float = 3.8, grid: str = "y"
) -> Axes:
    """Return the Axes to draw on, in the house style."""
    if ax is None:
        ax = Figure(figsize=(width, height), dpi=120, layout="constrained").subplots()
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(visible=True, axis=grid, color="0.9", linewidth=0.8)  # type: ignore[arg-type]
    ax.tick_params(length=3)
    return ax


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
        ax.axhline(1.0 - fit.alpha, label=f"nominal {1.0 - fit.alpha:g}", **_NOMINAL)
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
    ax.axvline(mean, label=f"mean {mean:.2f}", **_NOMINAL)
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
        ax.axvline(result.nominal, **_NOMINAL)
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


def coverage_histogram(
    coverages: Mapping[str, ArrayLike], nominal: float, *, ax: Axes | None = None
) -> Axes:
    """Draw coverage over repetitions: a histogram per method, and its median.

    Parameters
    ----------
    coverages : mapping of str to array_like
        Each method's coverage in each repetition.
    nominal : float
        The coverage aimed at.
    ax : matplotlib Axes, optional

    Notes
    -----
    The kind of figure of paper A, 1(c) and 1(d).
    """
    values: dict[str, FloatArray] = {
        name: np.asarray(v, dtype=np.float64) for name, v in coverages.items()
    }
    edges = np.histogram_bin_edges(np.concatenate(list(values.values())), bins=36)
    ax = new_axes(ax, height=1.1 + 0.85 * len(values), grid="x")
    for row, sample in enumerate(values.values()):
        counts, _ = np.histogram(sample, bins=edges)
        heights = 0.8 * counts / max(counts.max(), 1)
        color, median = CYCLE[row % len(CYCLE)], float(np.median(sample))
        ax.stairs(row - heights, edges, baseline=row, fill=True, color=color, alpha=0.6)
        ax.stairs(row - heights, edges, baseline=row, color=color)
        ax.plot([median, median], [row, row - 0.85], color="black", linewidth=1.8)
        ax.annotate(
            f"median {median:.3f}",
            (1.0, row - 0.35),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            fontsize="small",
            va="center",
        )
    ax.axvline(nominal, **_NOMINAL)
    ax.set_yticks(np.arange(len(values)) - 0.35, list(values))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_ylim(len(values) - 0.9, -1.0)
    ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.set_xlabel("coverage")
    n_rep = max(sample.size for sample in values.values())
    title = f"Coverage in {n_rep} repetitions (dashed: nominal {nominal:g})"
    ax.set_title(title, fontsize="medium")
    return ax


def calibration_parameters(fit: CalibrationResult, *, ax: Axes | None = None) -> Axes:
    """Draw fitted parameters with 95% intervals, by class where there is one each.

    Parameters
    ----------
    fit : CalibrationResult
    ax : matplotlib Axes, optional

    Notes
    -----
    The dashed line is the value that leaves the logits as they are. Hollow markers have
    no standard error: they stand at a bound, or share another's parameter.
    """
    frame = fit.to_frame()
    names = list(dict.fromkeys(frame["parameter"]))
    ax = new_axes(ax)
    for i, name in enumerate(names):
        part = frame[frame["parameter"] == name]
        center = part["estimate"].to_numpy()
        x = np.arange(len(part)) + 0.2 * (i - 0.5 * (len(names) - 1))
        spread = np.vstack([center - part["low"], part["high"] - center])
        known = np.isfinite(spread).all(axis=0)
        color = CYCLE[i % len(CYCLE)]
        ax.errorbar(
            x[known],
            center[known],
            yerr=spread[:, known],
            fmt="os^D"[i % 4],
            color=color,
            markersize=4,
            capsize=2,
            label=name,
        )
        ax.plot(x[~known], center[~known], "o", color=color, fillstyle="none")
        ax.axhline(_NEUTRAL.get(name, 1.0), **_NOMINAL)
    first = frame[frame["parameter"] == names[0]]
    by = next((column for column in ("class", "group") if column in frame), "")
    ticks = first[by] if by else first["parameter"]
    if len(first) <= _MAX_TICKS:
        ax.set_xticks(np.arange(len(first)), [str(tick) for tick in ticks])
    if names == ["temperature"]:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(LogFormatter(labelOnlyBase=False))
    ax.set_xlabel(by)
    ax.set_ylabel(names[0] if len(names) == 1 else "estimate")
    ax.set_title("Fitted parameters with 95% intervals", fontsize="medium")
    if len(names) > 1:
        ax.legend(frameon=False, fontsize="small")
    return ax


def reliability_change(fit: CalibrationResult, *, ax: Axes | None = None) -> Axes:
    """Draw accuracy against confidence of the fitted rows, before and after.

    Parameters
    ----------
    fit : CalibrationResult
    ax : matplotlib Axes, optional

    Notes
    -----
    A marker per occupied bin; its area is the share of rows in the bin.
    """
    frame = fit.reliability()
    ax = new_axes(ax, width=4.6, height=4.4, grid="both")
    ax.plot([0, 1], [0, 1], label="calibrated", **_NOMINAL)
    for stage, color, marker in (("before", ORANGE, "s"), ("after", BLUE, "o")):
        part = frame[frame["stage"] == stage]
        ax.plot(part["confidence"], part["accuracy"], color=color, linewidth=1)
        ax.scatter(
            part["confidence"],
            part["accuracy"],
            s=20 + 300 * part["share"],
            color=color,
            marker=marker,
            alpha=0.8,
            label=stage,
        )
    ax.set_xlim(0, 1.02)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("confidence")
    ax.set_ylabel("accuracy")
    ax.set_title(f"Reliability of the {fit.n} fitted rows", fontsize="medium")
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax


def label_shift_weights(fit: LabelShiftResult, *, ax: Axes | None = None) -> Axes:
    """Draw each class's weight with its 95% interval; no shift is the dashed line at 1.

    Parameters
    ----------
    fit : LabelShiftResult
    ax : matplotlib Axes, optional

    Notes
    -----
    Intervals without an upper end run off the axis; a weight that is infinite or not
    identified has no point.
    """
    frame = fit.to_frame()
    y = np.arange(len(frame))
    weight = frame["weight"].to_numpy(dtype=np.float64)
    low, high = (frame[end].to_numpy(dtype=np.float64) for end in ("low", "high"))
    shown = np.concatenate([[1.0], weight, low, high])
    edge = 1.1 * float(shown[np.isfinite(shown)].max())
    ax = new_axes(ax, height=max(2.4, 1.2 + 0.28 * len(frame)), grid="x")
    ax.axvline(1.0, **_NOMINAL)
    if not fit.known:
        ax.hlines(y, low, np.minimum(high, edge), color=BLUE, linewidth=1.5)
    there = np.isfinite(weight)
    ax.plot(weight[there], y[there], "o", color=BLUE)
    ax.set_yticks(y, [str(name) for name in frame["class"]])
    ax.set_ylim(len(frame) - 0.5, -0.5)
    ax.set_xlim(0.0, edge)
    ax.set_xlabel("weight q / p")
    ax.set_ylabel("class")
    how = "known" if fit.known else f"{fit.method}, 95% intervals"
    ax.set_title(f"Label shift: class weights ({how})", fontsize="medium")
    return ax


def isotonic_curves(fit: IsotonicResult, *, ax: Axes | None = None) -> Axes:
    """Draw the calibrated against the original probability, a curve per class.

    Parameters
    ----------
    fit : IsotonicResult
    ax : matplotlib Axes, optional
    """
    frame = fit.to_frame()
    names = list(dict.fromkeys(frame["class"]))
    ax = new_axes(ax, width=4.6, height=4.4, grid="both")
    ax.plot([0, 1], [0, 1], **_NOMINAL)
    for i, name in enumerate(names):
        curve = frame[frame["class"] == name]
        x = [0.0, *curve["knot"], 1.0]
        y = [curve["value"].iloc[0], *curve["value"], curve["value"].iloc[-1]]
        few = len(names) <= len(CYCLE)
        ax.plot(
            x,
            y,
            color=CYCLE[i] if few else BLUE,
            linestyle=LINES[i] if few else "-",
            alpha=1.0 if few else 0.3,
            label=f"class {name}" if few else None,
        )
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("probability")
    ax.set_ylabel("calibrated probability")
    ax.set_title(f"Isotonic calibration (n = {fit.n})", fontsize="medium")
    if len(names) <= len(CYCLE):
        ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax


def reliability_bins(fit: BinningResult, *, ax: Axes | None = None) -> Axes:
    """Draw label frequencies against the classifier's probabilities, bin by bin.

    Parameters
    ----------
    fit : BinningResult
    ax : matplotlib Axes, optional

    Notes
    -----
    Vertical bars are the intervals that hold in all bins at once. With one probability
    per bin, horizontal bars are the bins, grey columns their shares of the rows (right
    axis), and hatched bins have no rows. With several, a marker's area is the share.
    """
    ax = new_axes(ax, width=5.4, height=4.6, grid="both")
    ax.plot([0, 1], [0, 1], label="calibrated", **_NOMINAL)
    frame = fit.to_frame()
    if fit.mode == "top-label" or (len(fit.classes) == 2 and "left" in frame):
        _one_probability(fit, frame, ax)
    else:
        _several_probabilities(fit, ax)
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.02)
    ax.set_xlabel("mean probability in the bin")
    on_target = "" if fit.shift is None else " on the target"
    what = "right top labels" if fit.mode == "top-label" else "the class"
    ax.set_ylabel(f"frequency of {what}{on_target}")
    confidence = getattr(fit.guarantee, "confidence", None)
    bands = "no guarantee"
    if confidence is not None:
        bands = f"{100 * confidence:g}% for all at once"
    ax.set_title(f"Reliability of {fit.n_bins} bins, {bands}", fontsize="medium")
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax


def _one_probability(fit: BinningResult, frame: pd.DataFrame, ax: Axes) -> None:
    """Draw one frequency per bin, the bins' widths, their masses and the empty ones."""
    suffix = "" if fit.mode == "top-label" else f"[{fit.classes[1]}]"
    x, y, low, high = (
        frame[f"{name}{suffix}"].to_numpy(dtype=np.float64)
        for name in ("mean_prob", "frequency", "low", "high")
    )
    left, right = frame["left"].to_numpy(), frame["right"].to_numpy()
    share = frame["n"].to_numpy() / max(1, int(frame["n"].sum()))
    masses = ax.twinx()
    masses.bar(left, share, right - left, align="edge", color="0.85", edgecolor="white")
    largest = float(share.max(initial=0.01))
    masses.set_ylim(0, 4 * largest)
    masses.set_yticks(
        [t for t in MaxNLocator(12).tick_values(0, 4 * largest) if t <= 1.2 * largest]
    )
    masses.set_ylabel("share of rows", color=GREY)
    masses.tick_params(colors=GREY, length=3)
    masses.spines[["top", "left"]].set_visible(False)
    ax.set_zorder(masses.get_zorder() + 1)
    ax.patch.set_visible(False)
    empty = frame["n"].to_numpy() == 0
    for i, m in enumerate(np.flatnonzero(empty)):
        ax.axvspan(
            left[m],
            right[m],
            facecolor="none",
            edgecolor="0.7",
            hatch="///",
            linewidth=0,
            label="no rows" if i == 0 else None,
        )
    there = np.isfinite(y) & np.isfinite(x)
    ax.hlines(y[there], left[there], right[there], color=BLUE, linewidth=1, alpha=0.6)
    spread = np.maximum(np.vstack([y - low, high - y])[:, there], 0.0)
    ax.errorbar(
        x[there],
        y[there],
        yerr=spread,
        fmt="o",
        color=BLUE,
        capsize=3,
        label="frequency with its interval",
    )


def _several_probabilities(fit: BinningResult, ax: Axes) -> None:
    """Draw a marker per bin and class, and say how many bins are empty."""
    counts = np.broadcast_to(
        fit.bin_counts.reshape(fit.bin_counts.shape[0], -1), fit.frequencies.shape
    )
    for k, name in enumerate(fit.classes):
        few = len(fit.classes) <= len(CYCLE)
        y, n = fit.frequencies[:, k], counts[:, k]
        there = np.isfinite(y) & (n > 0)
        spread = np.vstack([y - fit.low[:, k], fit.high[:, k] - y])[:, there]
        color = CYCLE[k] if few else BLUE
        x = fit.mean_probs[there, k]
        ax.errorbar(
            x,
            y[there],
            yerr=np.maximum(spread, 0.0),
            fmt="none",
            ecolor=color,
            alpha=0.6 if few else 0.15,
        )
        size = 20 + 300 * n[there] / max(1, int(n.sum()))
        label = str(name) if few else ("every class" if k == 0 else None)
        ax.scatter(x, y[there], s=size, color=color, alpha=0.7, label=label)
    n_empty = int((fit.to_frame()["n"] == 0).sum())
    if n_empty:
        ax.plot([], [], " ", label=f"{n_empty} bins without rows are not drawn")


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
        ax.axvline(first.nominal, **_NOMINAL)
        title += f" (dashed: nominal {first.nominal:g})"
    ax.set_yticks(np.arange(len(results)), list(results))
    ax.set_ylim(len(results) - 0.5, -0.5)
    ax.set_xlabel("coverage")
    ax.set_title(title, fontsize="medium")
    return ax


def excess_risk(
    n: ArrayLike,
    excess: ArrayLike,
    bounds: Mapping[str, ArrayLike],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw simulated excess risks against the sample size, and bounds on them.

    Parameters
    ----------
    n : array_like (S,)
        Sample sizes.
    excess : array_like (S, R)
        Excess risks of R draws at each.
    bounds : mapping of str to array_like (S,)
        Curves that the excess should stay below.
    ax : matplotlib Axes, optional
    """
    sizes, draws = np.asarray(n), np.asarray(excess, dtype=np.float64)
    ax = new_axes(ax, grid="both")
    quantiles = np.quantile(draws, [0.05, 0.5, 0.95, 1.0], axis=1)
    ax.fill_between(
        sizes, quantiles[0], quantiles[2], color=BLUE, alpha=0.25, linewidth=0
    )
    ax.plot(sizes, quantiles[1], color=BLUE, label="excess risk, median and 5-95%")
    ax.plot(sizes, quantiles[3], ".", color=BLUE, label="largest of all draws")
    for i, (name, curve) in enumerate(bounds.items()):
        color, line = CYCLE[(i + 1) % len(CYCLE)], LINES[(i + 1) % len(LINES)]
        ax.plot(sizes, curve, color=color, linestyle=line, label=name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("calibration rows")
    ax.set_ylabel("excess risk")
    title = f"Excess risk in {draws.shape[1]} draws per sample size, and its bounds"
    ax.set_title(title, fontsize="medium")
    ax.legend(frameon=False, fontsize="small")
    return ax
