"""Figures of importance weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    new_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distfreeuq.density_ratios.results import DensityRatioResult


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
    ax.set_title(
        f"Importance weights: {values.size} rows worth {ess:.0f} "
        f"({100 * ess / values.size:.0f}%), largest {relative.max():.1f}",
        fontsize="medium",
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
    all source rows are where no reweighting can help.
    """
    args = Arguments("density_ratio_weights")
    figure_arguments.result(args, fit, "fit", "DensityRatioResult")
    n_bins = args.count(n_bins, "n_bins", low=1, high=MOST_BARS)
    frame = fit.to_frame()
    logs = np.log10(frame["weight"].to_numpy())
    low, high = min(-0.5, float(logs.min())), max(0.5, float(logs.max()))
    edges = 10.0 ** np.linspace(low, high, n_bins + 1)
    ax = new_axes(ax)
    for sample, color, form in (
        ("source", BLUE, {"alpha": 0.6}),
        ("target", ORANGE, {"histtype": "step", "linewidth": 1.8}),
    ):
        values = frame["weight"][frame["sample"] == sample].to_numpy()
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
    legend_above(
        ax,
        f"Density ratio ({fit.method}): {fit.n_source} source rows worth "
        f"{fit.ess:.0f}, AUC {fit.auc.estimate:.2f}",
    )
    return ax
