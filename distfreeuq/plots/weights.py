"""Figures of importance weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._typing import ArrayLike
from distfreeuq.plots.style import BLUE, NOMINAL, ORANGE, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    values = np.asarray(weights, dtype=np.float64)
    ess = float(values.sum() ** 2 / (values @ values))
    relative = values / values.mean()
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
