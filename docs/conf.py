"""Sphinx settings: everything offline, warnings are errors (see the Makefile)."""

from distfreeuq import __version__

project = "distfreeuq"
author = "the distfreeuq developers"
copyright = "2026, the distfreeuq developers"
version = release = __version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
myst_heading_anchors = 2

html_theme = "alabaster"
html_theme_options = {"page_width": "1000px"}
