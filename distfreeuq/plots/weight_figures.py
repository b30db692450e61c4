"""Figures of importance weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike
from distfreeuq._numerics.sample_weights import effective_sample_size
from distfreeuq.plots import figure_arguments
from distfreeuq.plots.style import (
    BLUE,
    MOST_BARS,
    NOMINAL,
    ORANGE,
    legend_above,
    log_scale,
    name_columns,
    new_axes,
    set_title,
    shown_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distfreeuq.density_ratios.results import DensityRatioResult

# Rows of a figure of single weights, beyond which no screen shows them.
_MOST_SHOWN = 1000


def importance_weights(
    weights: ArrayLike, *, n_bins: int = 40, ax: Axes | None = None
) -> Axes:
    """Draw a histogram of importance weights, and how many rows they are worth.

    Parameters
    ----------
    weights : array_like (n,)
        Non-negative.
    n_bins : int
    ax : matplotlib Axes, optional

    Notes
    -----
    The effective sample size is (sum w)^2 / sum w^2. Weights are divided by their mean,
    1 without shift. The second curve is the share of the total weight that rows with
    weights up to there carry: late and steep means that few rows decide.
    """
    args = Arguments("importance_weights")
    n_bins = args.count(n_bins, "n_bins", low=1, high=MOST_BARS)
    values = figure_arguments.curve(args, weights, "weights", low=0.0)
    if values.size == 0 or values.max() == 0.0:
        must = "weights of which some are positive"
        args.invalid("weights", must, "none" if values.size == 0 else "all zero")
    ess = effective_sample_size(values)
    relative = values / values.max()  # first, so that no sum is beyond the range
    relative = relative / relative.mean()
    ax = new_axes(ax)
    ax.hist(relative, bins=n_bins, color=BLUE, alpha=0.8)
    ax.axvline(1.0, **NOMINAL)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("weight / mean weight (dashed: no shift)")
    ax.set_ylabel("rows", color=BLUE)
    right = ax.twinx()
    right.spines["top"].set_visible(False)
    order = np.sort(relative)
    right.step(order, np.cumsum(order) / order.sum(), color=ORANGE, where="post")
    right.set_ylim(0.0, 1.02)
    right.set_ylabel("share of the total weight", color="#A66F00")
    set_title(
        ax,
        f"Importance weights: {values.size} rows worth {ess:.0f} "
        f"({100 * ess / values.size:.0f}%), largest {relative.max():.1f}",
    )
    return ax


def density_ratio_weights(
    fit: DensityRatioResult, *, n_bins: int = 40, ax: Axes | None = None
) -> Axes:
    """Draw how source and target rows are spread over the weights, on a log scale.

    Parameters
    ----------
    fit : DensityRatioResult
    n_bins : int
    ax : matplotlib Axes, optional

    Notes
    -----
    Every row's weight is by a fit that has not seen it. If the weights are right, the
    target's bar at weight w is w times the source's: target rows far to the right of
    all source rows are where no reweighting can help. Kernel mean matching has seen the
    source rows, and has no weights of target rows.
    """
    args = Arguments("density_ratio_weights")
    figure_arguments.result(args, fit, "fit", "DensityRatioResult")
    n_bins = args.count(n_bins, "n_bins", low=1, high=MOST_BARS)
    frame = fit.to_frame()
    logs = np.log10(frame["weight"].dropna().to_numpy())
    low, high = min(-0.5, float(logs.min())), max(0.5, float(logs.max()))
    edges = 10.0 ** np.linspace(low, high, n_bins + 1)
    ax = new_axes(ax)
    for sample, color, form in (
        ("source", BLUE, {"alpha": 0.6}),
        ("target", ORANGE, {"histtype": "step", "linewidth": 1.8}),
    ):
        values = frame["weight"][frame["sample"] == sample].dropna().to_numpy()
        if values.size == 0:  # kernel mean matching has none of target rows
            continue
        share = np.full(values.size, 1.0 / values.size)
        ax.hist(
            np.clip(values, edges[0], edges[-1]),
            bins=edges.tolist(),
            weights=share,
            color=color,
            label=f"{sample} rows",
            **form,
        )
    ax.axvline(1.0, **NOMINAL)
    log_scale(ax, "x")
    ax.set_xlabel("weight (dashed: no shift)")
    ax.set_ylabel("share of the sample's rows")
    area = "" if fit.auc is None else f", AUC {fit.auc.estimate:.2f}"
    legend_above(
        ax,
        f"Density ratio ({fit.method}): {fit.n_source} source rows worth "
        f"{fit.ess:.0f}{area}",
    )
    return ax


def weights_over_runs(
    weights: ArrayLike,
    *,
    largest: int = 15,
    names: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the largest weights over repeated fits: median, smallest and largest value.

    Parameters
    ----------
    weights : array_like (R, n)
        Weights of the same n rows, or of the same classes, by R fits that differ in
        their seeds or samples.
    largest : int
        How many are drawn: those that are largest on average.
    names : sequence (n,), optional
        Names of the rows or classes; without it they are numbered.
    ax : matplotlib Axes, optional

    Notes
    -----
    The kind of figure of Park, Bastani, Weimer and Lee (2020), 2. Where the lines are
    as long as the weights themselves, what rests on the weights is as uncertain.
    """
    args = Arguments("weights_over_runs")
    largest = args.count(largest, "largest", low=1, high=_MOST_SHOWN)
    array = args.array(weights, "weights", "numbers")
    shape: tuple[int, ...] = array.shape
    if len(shape) != 2 or 0 in shape:
        must = "weights of one or more runs, shape (R, n)"
        args.invalid("weights", must, f"shape {shape}")
    flat = figure_arguments.curve(args, array.ravel(), "weights", low=0.0)
    runs = flat.reshape(shape)
    shown = np.argsort(-runs.mean(axis=0), kind="stable")[:largest]
    labels = figure_arguments.names(args, names, "names", runs.shape[1])
    chosen = runs[:, shown]
    x = np.arange(shown.size)
    ax = new_axes(ax)
    ax.axhline(1.0, **NOMINAL)
    ax.vlines(
        x, chosen.min(axis=0), chosen.max(axis=0), color=BLUE, linewidth=1.5,
        label="smallest to largest",
    )  # fmt: skip
    ax.plot(x, np.median(chosen, axis=0), "o", color=BLUE, label="median")
    name_columns(ax, x, [shown_name(labels[int(i)]) for i in shown])
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("in the order of their means (dashed: no shift)")
    ax.set_ylabel("weight")
    total = runs.shape[1]
    which = f"All {total} weights" if shown.size == total else (
        f"The {shown.size} largest of {total} weights"
    )  # fmt: skip
    legend_above(ax, f"{which} over {runs.shape[0]} runs")
    return ax
