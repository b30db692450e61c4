"""The packages of distfreeuq and what each imports, read from the code.

``python docs/import_graph.py [FILE]`` draws them, as `make docs` does for the page on
architecture. The test of the import graph reads the same imports.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

PACKAGE = Path(__file__).parents[1] / "distfreeuq"

LAYERS = (
    ("_kernels",),
    ("_base",),
    ("_numerics",),
    ("bounds",),
    ("density_ratios", "label_shift", "metrics", "scenarios"),
    ("binning",),
    ("feature_learning", "calibration", "conformal", "simulation"),
    ("covariate_shift", "assessment", "monitoring", "tallies"),
    ("plots", "theorems"),
    ("estimators", "reporting"),
    ("application",),
)
"""From below: a package imports from lower layers only."""

ROOT_MODULES = {
    "exceptions": "_base",
    "guarantees": "_base",
    "references": "_base",
    "results": "_base",
    "_version": "_base",
    "demo": "application",
    "__main__": "application",
    "__init__": "application",
}
"""Where the modules beside the packages belong."""


class Import(NamedTuple):
    """One module that a module imports.

    Attributes
    ----------
    importer, imported : str
        Full names; a package is named as its ``__init__`` module.
    kind : str
        "top" if it happens as the importer is loaded, "lazy" inside a function,
        "typing" for type checkers only.
    function : str
        The function around it, "" if there is none.
    """

    importer: str
    imported: str
    kind: str
    function: str


def read_sources(folder: Path = PACKAGE) -> dict[str, str]:
    """Return the text of every module by its full name."""
    return {
        ".".join(path.relative_to(folder.parent).with_suffix("").parts): (
            path.read_text(encoding="utf-8")
        )
        for path in sorted(folder.rglob("*.py"))
    }


parse = cache(ast.parse)


def read_imports(sources: Mapping[str, str]) -> list[Import]:
    """Return every import of one of these modules by another."""
    found = []
    for importer, text in sources.items():
        for node, kind, function in _import_nodes(parse(text)):
            for name in imported_names(node):
                imported = module_of(name, sources)
                if imported not in (None, importer):
                    found.append(Import(importer, str(imported), kind, function))
    return list(dict.fromkeys(found))


def room_of(module: str) -> str:
    """Return the package, or the place of a module that is in none."""
    room = module.split(".")[1]
    return ROOT_MODULES.get(room, room)


def layer_of(module: str) -> int:
    """Return the number of the layer, from below."""
    room = room_of(module)
    return next(i for i, layer in enumerate(LAYERS) if room in layer)


def module_of(name: str, sources: Mapping[str, str]) -> str | None:
    """Return the module that a dotted name is, or is in; None if it is not ours."""
    while name:
        for module in (name, f"{name}.__init__"):
            if module in sources:
                return module
        name = name.rpartition(".")[0]
    return None


def _import_nodes(
    node: ast.AST, kind: str = "top", function: str = ""
) -> Iterator[tuple[ast.Import | ast.ImportFrom, str, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, kind, function
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _import_nodes(child, "lazy", child.name)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from _import_nodes(child, "typing", function)
        else:
            yield from _import_nodes(child, kind, function)


def imported_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the dotted names that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if node.level:
        raise ValueError("a relative import: write the full name")
    return [f"{node.module}.{alias.name}" for alias in node.names]


def count_arrows(imports: list[Import]) -> Counter[tuple[str, str]]:
    """Return how many modules of a package import how many of another, as they load."""
    return Counter(
        (room_of(one.importer), room_of(one.imported))
        for one in imports
        if one.kind == "top" and room_of(one.importer) != room_of(one.imported)
    )


LINE, BAND, BOX = "#7f93a8", "#edf1f6", "#d3dfec"
# In rows of the figure: the distance of two columns; how far a box reaches from its
# column to the left, where nothing else is, and to the right; half its height.
COLUMN, LEFT, RIGHT, HALF_HEIGHT = 1.5, 2.05, 1.1, 0.36


def draw(imports: list[Import], path: Path) -> None:
    """Draw the packages from the highest to the lowest, and what each imports.

    A number stands in the row of the package that imports and the column of the
    imported one, so that arrows go to the right and then down; an import upwards would
    stand below the diagonal.
    """
    rooms = [room for layer in reversed(LAYERS) for room in layer]
    place = {room: i for i, room in enumerate(rooms)}
    arrows = {
        (place[a], place[b]): count for (a, b), count in count_arrows(imports).items()
    }
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "distfreeuq"}):
        figure = Figure(figsize=(10.6, 7.0))
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        ax.set_axis_off()
        ax.set_xlim(-LEFT - 0.2, COLUMN * (len(rooms) - 1) + RIGHT + 0.2)
        ax.set_ylim(len(rooms) - 0.4, -0.6)
        _draw_layers(ax, place)
        for room, i in place.items():
            _draw_lines(ax, i, arrows)
            _draw_box(ax, room, i)
        for (i, j), count in arrows.items():
            x = COLUMN * j
            ax.plot(x, i, "o", color="white", markersize=16, markeredgecolor=LINE)
            ax.text(x, i, str(count), ha="center", va="center_baseline", fontsize=9)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _draw_layers(ax: Axes, place: Mapping[str, int]) -> None:
    """Shade the packages of a layer, which do not import one another."""
    for layer in LAYERS:
        first, last = place[layer[0]], place[layer[-1]]
        left = COLUMN * first - LEFT - 0.14
        width = COLUMN * last + RIGHT + 0.14 - left
        ax.add_patch(
            Rectangle((left, first - 0.48), width, last - first + 0.96, facecolor=BAND)
        )


def _draw_lines(ax: Axes, i: int, arrows: Mapping[tuple[int, int], int]) -> None:
    """Draw a line from a package over all that it imports, and an arrow down to it."""
    x = COLUMN * i
    imported = [b for a, b in arrows if a == i]
    if imported:
        ax.plot([x, COLUMN * max(imported)], [i, i], color=LINE, lw=0.8, zorder=1)
    importers = [a for a, b in arrows if b == i]
    if importers:
        style = {"arrowstyle": "-|>", "color": LINE, "lw": 0.8}
        style |= {"shrinkA": 0, "shrinkB": 0}
        start, end = (x, min(importers)), (x, i - HALF_HEIGHT)
        ax.annotate("", end, start, arrowprops=style, zorder=1)


def _draw_box(ax: Axes, room: str, i: int) -> None:
    left = COLUMN * i - LEFT
    ax.add_patch(
        FancyBboxPatch(
            (left, i - HALF_HEIGHT),
            LEFT + RIGHT,
            2 * HALF_HEIGHT,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor=BOX,
            edgecolor=LINE,
            zorder=3,
        )
    )
    x = left + 0.5 * (LEFT + RIGHT)
    ax.text(x, i, room, ha="center", va="center", fontsize=9, zorder=4)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("import_graph.svg")
    draw(read_imports(read_sources()), target)
    print(f"figure: {target}")
