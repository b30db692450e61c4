"""Sphinx settings: everything offline, warnings are errors (see the Makefile)."""

import json
import os
import re
import sys
from importlib.metadata import files
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.fileutil import copy_asset

from distfreeuq import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent))  # for benchmarks, which are not installed

project = "distfreeuq"
author = "the distfreeuq developers"
copyright = "2026, the distfreeuq developers"
version = release = __version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb"}  # first: autosummary's
exclude_patterns = ["_build"]

templates_path = ["_templates"]

# The reference: a page per family lists names, autosummary makes a page for each.
# (Named one by one: "True" means the pages of the last build, without new ones.)
autosummary_generate = [f"api/{page.name}" for page in (HERE / "api").glob("*.md")]
autodoc_typehints = "none"
default_role = "py:obj"  # `bbse` in a docstring is a link
numpydoc_show_class_members = False

# Vignettes are executed at each build; an error or a minute of silence stops it.
nb_execution_mode = "auto"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
os.environ["MATPLOTLIBRC"] = str(HERE / "matplotlibrc")  # sharp figures

html_theme = "furo"
html_title = f"distfreeuq {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False

# MathJax comes from a pip package and lies beside the pages: nothing is fetched when
# they are opened. The SVG component is one file and needs no fonts.
mathjax_path = "mathjax/tex-svg.js"


def copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    """Put the one file of MathJax that pages load into _static."""
    if error is None and app.builder.format == "html":
        (source,) = (
            entry
            for entry in files("sphinx-mathjax-offline") or []
            if entry.name == Path(mathjax_path).name
        )
        copy_asset(source.locate(), Path(app.outdir) / "_static" / "mathjax")


def copy_vignettes(app: Sphinx) -> None:
    """Put the vignettes beside the other pages, their links made to fit.

    Files that have not changed are not written, so that they are not executed again.
    """
    folder = HERE / "vignettes"
    folder.mkdir(exist_ok=True)
    sources = {path.name: path for path in (HERE.parent / "vignettes").glob("*.md")}
    for path in folder.glob("*.md"):
        if path.name not in sources:
            path.unlink()
    for name, path in sources.items():
        text = path.read_text(encoding="utf-8").replace("](../docs/", "](../")
        copy = folder / name
        if not copy.exists() or copy.read_text(encoding="utf-8") != text:
            copy.write_text(text, encoding="utf-8")


def point_to_copies(app: Sphinx, name: str, text: list[str]) -> None:
    """Lead a page's links to the vignettes and the README on to their copies here."""
    folder = "../" * name.count("/")
    text[0] = text[0].replace(f"]({folder}../vignettes/", f"]({folder}vignettes/")
    text[0] = text[0].replace(f"]({folder}../README.md", f"]({folder}index.md")


def link_names(app: Sphinx, name: str, text: list[str]) -> None:
    """Lead the names on the list of the reference to their pages."""
    if name == "api":
        row, role = r"^\| `([\w.]+)` \|", r"| {py:obj}`\1 <distfreeuq.\1>` |"
        text[0] = re.sub(row, role, text[0], flags=re.MULTILINE)


def leave_out_foreign(
    app: Sphinx, what: str, name: str, value: object, skip: bool, options: object
) -> bool | None:
    """Leave out what classes inherit from scikit-learn, which has pages of its own."""
    if str(getattr(value, "__module__", "")).startswith("sklearn."):
        return True
    return None


def draw_import_graph(app: Sphinx) -> None:
    """Draw the figure of the page on architecture from the code as it is."""
    import import_graph

    folder = HERE / "generated"
    folder.mkdir(exist_ok=True)
    imports = import_graph.read_imports(import_graph.read_sources())
    import_graph.draw(imports, folder / "import_graph.svg")


def draw_benchmarks(app: Sphinx) -> None:
    """Draw the figures of the benchmarks' page from the times on file."""
    from benchmarks.figure import draw_families
    from benchmarks.many_rows import draw

    times = HERE.parent / "benchmarks" / "results" / "standard.json"
    folder = HERE / "growth"
    folder.mkdir(exist_ok=True)
    draw_families(json.loads(times.read_text(encoding="utf-8")), folder)
    draw(folder / "growing-rows.svg")


def setup(app: Sphinx) -> None:
    """Connect."""
    app.connect("builder-inited", copy_vignettes)
    app.connect("builder-inited", draw_import_graph)
    app.connect("builder-inited", draw_benchmarks)
    app.connect("build-finished", copy_mathjax)
    app.connect("source-read", point_to_copies)
    app.connect("source-read", link_names)
    app.connect("autodoc-skip-member", leave_out_foreign)
