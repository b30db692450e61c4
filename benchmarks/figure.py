"""Growth with n and with K, log-log: ours, the peers, and the memory-bandwidth line.

Drawn from stored results, so that a figure can be made anew without measuring anew.
"""

from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .report import implementation_name
from .units import describe_size

_COLUMNS = 3
_OUR_COLORS = {1: "#b2182b", 2: "#ef8a62"}
_PEER_COLORS = {
    "NumPy": "#2166ac",
    "SciPy": "#67a9cf",
    "scikit-learn": "#4d4d4d",
    "mapie": "#5ab4ac",
    "netcal": "#762a83",
    "uncertainty-calibration": "#999999",
    "abstention": "#8c510a",
    "quapy": "#c9a24a",
    "densratio": "#1b7837",
}
"""The same colour in every panel; one that is not named here is black."""

_AXES = {"n": "rows n", "K": "classes K", "m": "target rows m", "d": "features d"}

HEADLINES = (
    ("APS fit + sets", "K"),
    ("APS fit + sets", "n"),
    ("class-wise ECE", "K"),
    ("top-label ECE", "n"),
    ("uniform-mass fit + predict", "n"),
    ("Platt scaling", "n"),
)
"""Panels of the figure that stands for all, by job and axis."""

Job = dict[str, Any]
Panel = tuple[str, list[Job]]
"""The axis along which the jobs differ, and the jobs in order."""


def draw_headlines(run: dict[str, Any], path: Path) -> None:
    """Write the figure that stands for all."""
    chosen = {
        (group[0]["name"], axis): (axis, group)
        for axis, group in reversed(_panels(run["jobs"]))  # the first of several stays
        if group[0]["dtype"] == "float64"
    }
    headlines = [chosen[key] for key in HEADLINES if key in chosen]
    if headlines:
        _draw_figure(headlines, _bandwidth(run), path)


def draw_families(run: dict[str, Any], folder: Path) -> None:
    """Write ``growth-<family>.svg`` for every family with enough sizes."""
    for family, panels in panels_by_family(run).items():
        _draw_figure(panels, _bandwidth(run), folder / f"growth-{family}.svg")


def panels_by_family(run: dict[str, Any]) -> dict[str, list[Panel]]:
    """Return the panels of every family that has any."""
    families = dict.fromkeys(job["family"] for job in run["jobs"])
    panels = {
        family: _panels([job for job in run["jobs"] if job["family"] == family])
        for family in families
    }
    return {family: some for family, some in panels.items() if some}


def _bandwidth(run: dict[str, Any]) -> float:
    return float(run["roofline"]["read_bytes_per_second"]["1"])


def _panels(jobs: list[Job]) -> list[Panel]:
    """Return a panel for every job that has at least three sizes along one axis."""
    groups: dict[tuple[Any, ...], list[Job]] = defaultdict(list)
    for job in jobs:
        for axis in job["size"]:
            fixed = tuple(item for item in job["size"].items() if item[0] != axis)
            groups[axis, job["name"], job["variant"], job["dtype"], fixed].append(job)
    return [
        (key[0], sorted(group, key=lambda job: job["size"][key[0]]))
        for key, group in groups.items()
        if len(group) >= 3
    ]


def _draw_figure(panels: list[Panel], bandwidth: float, path: Path) -> None:
    n_rows = -(-len(panels) // _COLUMNS)
    # Some peers change matplotlib's settings when they are imported. Without dates and
    # random names the file depends on the numbers alone.
    settings = {**matplotlib.rcParamsDefault, "svg.hashsalt": path.stem}
    settings.pop("backend")
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(4.4 * _COLUMNS, 4.2 * n_rows), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(n_rows, _COLUMNS, squeeze=False).ravel()
        for ax, (axis, group) in zip(axes, panels, strict=False):
            _draw_panel(ax, axis, group, bandwidth)
        for ax in axes[len(panels) :]:
            ax.set_axis_off()
        figure.savefig(path, metadata={"Date": None})


def _draw_panel(ax: Axes, axis: str, group: list[Job], bandwidth: float) -> None:
    curves: dict[tuple[str, int], list[tuple[int, float]]] = defaultdict(list)
    for job in group:
        for timing in job["timings"]:
            threads = timing["threads"]
            name = implementation_name(timing["implementation"], threads)
            curves[name, threads].append((job["size"][axis], timing["seconds"]))
    drawn: list[str] = []
    for (name, threads), points in curves.items():
        package = name.partition(",")[0]
        peers = _PEER_COLORS.get(package, "black")
        ax.plot(
            *zip(*points, strict=True),
            "o--" if package in drawn and not threads else "o-",  # another way of it
            color=_OUR_COLORS[threads] if threads else peers,
            label=name,
            ms=4,
            lw=1.5,
        )
        drawn.append(package)
    if all(job["reads"] for job in group):
        limit = [(job["size"][axis], job["reads"] / bandwidth) for job in group]
        ax.plot(*zip(*limit, strict=True), "k:", label="one read of the input", lw=1)
    ax.set(xscale="log", yscale="log", ylabel="seconds")
    ax.set_xlabel(_AXES.get(axis, axis))
    ax.set_title(_title(group[0], axis), fontsize=10)
    ax.grid(True, which="major", lw=0.4, alpha=0.5)
    ax.legend(
        fontsize=8,
        frameon=False,
        ncols=2,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.18),
    )


def _title(job: Job, axis: str) -> str:
    fixed = {name: value for name, value in job["size"].items() if name != axis}
    parts = [job["name"], job["variant"], describe_size(fixed)]
    if job["dtype"] != "float64":
        parts.append(job["dtype"])
    return ", ".join(part for part in parts if part)
