"""Figures of simulation studies: coverage over repetitions, errors below bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from distfreeuq._base.arguments import SMALLEST, Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray
from distfreeuq.plots import figure_arguments
from distfreeuq.plots.style import (
    BLUE,
    CYCLE,
    LINES,
    NOMINAL,
    legend_above,
    log_scale,
    name_rows,
    new_axes,
    row_height,
    set_title,
    shown_name,
)
from distfreeuq.simulation.results import standard_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Most different values that are drawn as bars of their own.
_FEW_VALUES = 8


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
    The kind of figure of Podkopaev and Ramdas (2021), 1(c) and 1(d).
    """
    args = Arguments("coverage_histogram")
    given = figure_arguments.mapping(args, coverages, "coverages", "coverages")
    values: dict[str, FloatArray] = {
        name: figure_arguments.curve(args, v, "coverages") for name, v in given.items()
    }
    if not values or any(sample.size == 0 for sample in values.values()):
        args.invalid("coverages", "one or more, of at least one repetition", "none")
    nominal = args.number(nominal, "nominal", "a number from 0 to 1", low=0.0, high=1.0)
    edges = np.histogram_bin_edges(np.concatenate(list(values.values())), bins=36)
    ax = new_axes(ax, height=row_height(len(values), each=0.85, around=1.1), grid="x")
    for row, sample in enumerate(values.values()):
        counts, _ = np.histogram(sample, bins=edges)
        heights = 0.8 * counts / max(counts.max(), 1)
        color, median = CYCLE[row % len(CYCLE)], float(np.median(sample))
        ax.stairs(row - heights, edges, baseline=row, fill=True, color=color, alpha=0.6)
        ax.stairs(row - heights, edges, baseline=row, color=color)
        ax.plot([median, median], [row, row - 0.85], color="black", linewidth=1.8)
    ax.axvline(nominal, **NOMINAL)
    medians = [f"median {np.median(sample):.3f}" for sample in values.values()]
    places = np.arange(len(values)) - 0.35
    name_rows(ax, places, [shown_name(name) for name in values], medians)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_ylim(len(values) - 0.9, -1.0)
    ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.set_xlabel("coverage")
    n_rep = max(sample.size for sample in values.values())
    title = f"Coverage in {n_rep} repetitions (dashed: nominal {nominal:g})"
    set_title(ax, title)
    return ax


def replicate_histogram(
    values: ArrayLike, *, what: str = "value", ax: Axes | None = None
) -> Axes:
    """Draw a quantity over the replicates of a simulation, and its mean.

    Parameters
    ----------
    values : array_like (R,)
        The quantity in each replicate; what is not finite is left out, and counted.
    what : str
        What it is, for the label.
    ax : matplotlib Axes, optional
    """
    args = Arguments("replicate_histogram")
    what = figure_arguments.words(args, what, "what")
    sample = figure_arguments.curve(args, values, "values", infinite=True)
    if sample.size == 0:
        args.invalid("values", "of at least one replicate", "none")
    finite = sample[np.isfinite(sample)]
    ax = new_axes(ax)
    levels, counts = np.unique(finite, return_counts=True)
    if levels.size <= _FEW_VALUES:
        positions = np.arange(levels.size)
        ax.bar(positions, counts / sample.size, color=BLUE, alpha=0.6, width=0.6)
        ax.set_xticks(positions, [f"{level:.4g}" for level in levels])
    else:
        edges = np.histogram_bin_edges(finite, bins=min(40, 5 + finite.size // 20))
        heights, _ = np.histogram(finite, bins=edges)
        ax.stairs(heights / sample.size, edges, fill=True, color=BLUE, alpha=0.6)
        ax.axvline(float(finite.mean()), **NOMINAL)
    ax.set_xlabel(what)
    ax.set_ylabel("share of replicates")
    title = f"{sample.size} replicates"
    if finite.size > 1:
        error = standard_error(finite)
        title += f", mean {finite.mean():.4g} (Monte Carlo error {error:.2g})"
    if finite.size < sample.size:
        title += f", {sample.size - finite.size} not finite"
    set_title(ax, title)
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
    args = Arguments("excess_risk")
    return _against_n(args, n, excess, "excess", bounds, "excess risk", ax)


def bounds_against_n(
    n: ArrayLike,
    errors: ArrayLike,
    bounds: Mapping[str, ArrayLike],
    *,
    what: str = "error",
    ax: Axes | None = None,
) -> Axes:
    """Draw simulated errors against the sample size, and bounds on them.

    Parameters
    ----------
    n : array_like (S,)
        Sample sizes.
    errors : array_like (S, R)
        Errors of R draws at each.
    bounds : mapping of str to array_like (S,)
        Curves that the errors should stay below.
    what : str
        What the errors are of, for the labels.
    ax : matplotlib Axes, optional
    """
    args = Arguments("bounds_against_n")
    what = figure_arguments.words(args, what, "what")
    return _against_n(args, n, errors, "errors", bounds, what, ax)


def _against_n(
    args: Arguments,
    n: ArrayLike,
    errors: ArrayLike,
    parameter: str,
    bounds: Mapping[str, ArrayLike],
    what: str,
    ax: Axes | None,
) -> Axes:
    sizes = figure_arguments.curve(args, n, "n", low=SMALLEST)
    if sizes.size == 0:
        args.invalid("n", "at least one size", "none")
    draws = args.features(errors, parameter).astype(np.float64)
    if draws.shape[0] != sizes.size:
        must = f"of shape ({sizes.size}, R), a row per size"
        args.invalid(parameter, must, f"shape {draws.shape}")
    figure_arguments.curve(args, draws.ravel(), parameter)
    given = figure_arguments.mapping(args, bounds, "bounds", "curves")
    curves = {
        name: figure_arguments.curve(
            args, curve, "bounds", length=sizes.size, infinite=True
        )
        for name, curve in given.items()
    }
    ax = new_axes(ax, grid="both")
    quantiles = np.quantile(draws, [0.05, 0.5, 0.95, 1.0], axis=1)
    ax.fill_between(
        sizes, quantiles[0], quantiles[2], color=BLUE, alpha=0.25, linewidth=0
    )
    ax.plot(sizes, quantiles[1], color=BLUE, label=f"{what}, median and 5-95%")
    ax.plot(sizes, quantiles[3], ".", color=BLUE, label="largest of all draws")
    for i, (name, curve) in enumerate(curves.items()):
        color, line = CYCLE[(i + 1) % len(CYCLE)], LINES[(i + 1) % len(LINES)]
        ax.plot(sizes, curve, color=color, linestyle=line, label=shown_name(name))
    log_scale(ax, "x")
    log_scale(ax, "y")
    ax.set_xlabel("calibration rows")
    ax.set_ylabel(what)
    name = what[:1].upper() + what[1:]
    legend_above(ax, f"{name} in {draws.shape[1]} draws per sample size, and bounds")
    return ax


def loss_curves(
    losses: Mapping[str, ArrayLike],
    *,
    what: str = "loss",
    step: str = "epoch",
    ax: Axes | None = None,
) -> Axes:
    """Draw losses against training steps, a line per loss, its last value at the end.

    Parameters
    ----------
    losses : mapping of str to array_like (T,)
    what, step : str
        Labels of the axes.
    ax : matplotlib Axes, optional
    """
    args = Arguments("loss_curves")
    what = figure_arguments.words(args, what, "what")
    step = figure_arguments.words(args, step, "step")
    given = figure_arguments.mapping(args, losses, "losses", "losses")
    ax = new_axes(ax, grid="both")
    length = 0
    for i, (name, values) in enumerate(given.items()):
        curve = figure_arguments.curve(args, values, "losses", infinite=True)
        length = max(length, curve.size)
        last = f", last {curve[-1]:.3g}" if curve.size else ""
        ax.plot(
            np.arange(1, curve.size + 1),
            curve,
            color=CYCLE[i % len(CYCLE)],
            linestyle=LINES[i % len(LINES)],
            label=shown_name(name) + last,
        )
    ax.set_xlim(left=0, right=max(1, length))
    ax.set_xlabel(step)
    ax.set_ylabel(what)
    set_title(ax, f"Training over {length} {step}s")
    ax.legend(frameon=False, fontsize="small")
    return ax
