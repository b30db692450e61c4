"""Figures of calibration by binning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from distfreeuq._base.arguments import Arguments
from distfreeuq.plots import figure_arguments
from distfreeuq.plots.style import (
    BLUE,
    CYCLE,
    GRAY,
    MARKERS,
    NOMINAL,
    new_axes,
    set_title,
    shown_name,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from distfreeuq.binning.results import BinningResult


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
    figure_arguments.result(Arguments("reliability_bins"), fit, "fit", "BinningResult")
    ax = new_axes(ax, width=5.4, height=4.6, grid="both")
    ax.plot([0, 1], [0, 1], label="calibrated", **NOMINAL)
    frame = fit.to_frame()
    of_one = fit.mode == "canonical" and len(fit.classes) == 2 and "left" in frame
    if fit.mode == "top-label" or of_one:
        _one_probability(fit, frame, ax)
    else:
        _several_probabilities(fit, frame, ax)
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
    title = f"Reliability of {fit.n_bins} bins of {fit.n} rows, {bands}"
    set_title(ax, title)
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
    masses.set_ylabel("share of rows", color=GRAY)
    masses.tick_params(colors=GRAY, length=3)
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


def _several_probabilities(fit: BinningResult, frame: pd.DataFrame, ax: Axes) -> None:
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
        label = shown_name(name) if few else ("every class" if k == 0 else None)
        marker = MARKERS[k % len(MARKERS)] if few else "o"
        ax.scatter(
            x, y[there], s=size, color=color, marker=marker, alpha=0.7, label=label
        )
    n_empty = int((frame["n"] == 0).sum())
    if n_empty:
        ax.plot([], [], " ", label=f"{n_empty} bins without rows are not drawn")
