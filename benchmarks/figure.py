"""Growth with n and with K, log-log: ours, the peers, and the memory-bandwidth line."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .harness import Job, Outcome
from .report import describe_size, implementation_name
from .roofline import Roofline

_COLUMNS = 3
_OURS_COLOURS = {1: "#b2182b", 2: "#ef8a62"}
_PEER_COLOURS = ("#2166ac", "#67a9cf", "#4d4d4d", "#999999", "#5ab4ac")


HEADLINES = (
    ("APS fit + sets", "K"),
    ("APS fit + sets", "n"),
    ("class-wise ECE", "K"),
    ("top-label ECE", "n"),
    ("uniform-mass fit + predict", "n"),
    ("Platt scaling", "n"),
)
"""Panels of the figure that stands for all, by job and axis."""


def draw_growth(outcomes: Sequence[Outcome], roofline: Roofline, folder: Path) -> None:
    """Write ``growth-<family>`` as PNG and SVG for every family with enough sizes.

    And ``growth``, a choice of these.
    """
    chosen = {
        (group[0].job.name, axis): (axis, group)
        for axis, group in reversed(_panels(outcomes))  # the first of several stays
        if (group[0].job.name, axis) in HEADLINES and group[0].job.dtype == "float64"
    }
    headlines = [chosen[key] for key in HEADLINES if key in chosen]
    if headlines:
        _draw_figure(headlines, roofline, folder / "growth")
    for family in dict.fromkeys(outcome.family for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.family == family]
        panels = _panels(own)
        if panels:
            _draw_figure(panels, roofline, folder / f"growth-{family}")


def _draw_figure(
    panels: list[tuple[str, list[Outcome]]], roofline: Roofline, stem: Path
) -> None:
    """Draw a panel for every job that has at least three sizes along one axis."""
    n_rows = -(-len(panels) // _COLUMNS)
    figure = Figure(figsize=(4.4 * _COLUMNS, 3.6 * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(n_rows, _COLUMNS, squeeze=False).ravel()
    for ax, (axis, group) in zip(axes, panels, strict=False):
        _draw_panel(ax, axis, group, roofline)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    # Without dates and random names the files depend on the numbers alone.
    with matplotlib.rc_context({"svg.hashsalt": stem.name}):
        figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(stem.with_suffix(".png"), dpi=100)


def _panels(outcomes: Sequence[Outcome]) -> list[tuple[str, list[Outcome]]]:
    groups: dict[tuple[object, ...], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        job = outcome.job
        for axis in job.size:
            fixed = tuple(item for item in job.size.items() if item[0] != axis)
            groups[job.name, job.variant, job.dtype, axis, fixed].append(outcome)
    return [
        (str(key[3]), sorted(group, key=lambda o: o.job.size[str(key[3])]))
        for key, group in groups.items()
        if len(group) >= 3
    ]


def _draw_panel(ax: Axes, axis: str, group: list[Outcome], roofline: Roofline) -> None:
    curves: dict[tuple[str, int], list[tuple[int, float]]] = defaultdict(list)
    for outcome in group:
        for timing in outcome.timings:
            key = (implementation_name(timing), timing.threads)
            curves[key].append((outcome.job.size[axis], timing.seconds))
    colours = iter(_PEER_COLOURS)
    for (name, threads), points in curves.items():
        colour = _OURS_COLOURS[threads] if threads else next(colours)
        ax.plot(
            *zip(*points, strict=True), "o-", color=colour, label=name, ms=4, lw=1.5
        )
    if all(outcome.job.reads for outcome in group):
        limit = [
            (outcome.job.size[axis], outcome.job.reads / roofline.bandwidth(1))
            for outcome in group
        ]
        label = "one read of the input"
        ax.plot(*zip(*limit, strict=True), "k:", label=label, lw=1)
    ax.set(xscale="log", yscale="log", xlabel=axis, ylabel="seconds")
    ax.set_title(_title(group[0].job, axis), fontsize=9)
    ax.grid(True, which="major", lw=0.4, alpha=0.5)
    ax.legend(fontsize=7, frameon=False)


def _title(job: Job, axis: str) -> str:
    fixed = {name: value for name, value in job.size.items() if name != axis}
    parts = [job.name, job.variant, describe_size(fixed)]
    if job.dtype != "float64":
        parts.append(job.dtype)
    return ", ".join(part for part in parts if part)
