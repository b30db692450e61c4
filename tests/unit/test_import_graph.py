"""The rules of the architecture, read from the code: what may import or call what.

Each check takes the modules' texts by name and returns what breaks its rule; the small
packages at the end show that it can fail.
"""

import ast
import importlib
import importlib.util
import inspect
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "import_graph.py"
spec = importlib.util.spec_from_file_location("import_graph", SCRIPT)
import_graph = importlib.util.module_from_spec(spec)
spec.loader.exec_module(import_graph)

SOURCES = import_graph.read_sources()
Sources = Mapping[str, str]

SHARED_NAMES = {"__init__", "data", "results", "guarantees", "summary"}
MOST_FILES = 18

# What only the numerical layer imports, and where that is.
NUMERICAL = ("joblib", "threadpoolctl", "scipy.linalg.lapack")
THREADS = ("set_num_threads", "use_threads", "one_thread_here")
AT_HOME = ("distfreeuq._numerics.", "distfreeuq._kernels.threads")

# Where public functions that read the user's data are. Figures are drawn of results,
# and procedures show them. The package's own way to bounds is `bounds.unchecked`.
PUBLIC_MODULES = ("distfreeuq", "distfreeuq.metrics", "distfreeuq.bounds")
# What shows public functions, or checks them, calls them as users do. (What calls a
# calibrator of the user's choice does so under another name, and is not found here.)
MAY_CALL_PUBLIC = (
    "distfreeuq.demo",
    "distfreeuq.__main__",
    "distfreeuq.estimators.",
    "distfreeuq.reporting.",
    "distfreeuq.theorems.",
)


# ------------------------------------------------------------------- the checks


def upward(sources: Sources) -> set[str]:
    """Return imports, as modules load, from the same or a higher layer."""
    return {
        f"{one.importer} -> {one.imported}"
        for one in import_graph.read_imports(sources)
        if one.kind == "top" and not _is_allowed(one.importer, one.imported)
    }


def _is_allowed(importer: str, imported: str) -> bool:
    if import_graph.room_of(importer) == import_graph.room_of(imported):
        return True
    return import_graph.layer_of(imported) < import_graph.layer_of(importer)


def lazy_upward(sources: Sources) -> set[str]:
    """Return the same inside functions, but for figures in methods that plot."""
    return {
        f"{one.importer} -> {one.imported} in {one.function}"
        for one in import_graph.read_imports(sources)
        if one.kind == "lazy"
        and not _is_allowed(one.importer, one.imported)
        and not (
            import_graph.room_of(one.imported) == "plots" and "plot" in one.function
        )
    }


def file_cycles(sources: Sources) -> set[str]:
    """Return the files of each cycle of imports as modules load."""
    arrows = defaultdict(set)
    for one in import_graph.read_imports(sources):
        if one.kind == "top":
            arrows[one.importer].add(one.imported)
    return _cycles(arrows)


def package_cycles(sources: Sources) -> set[str]:
    """Return the packages of each such cycle."""
    arrows = defaultdict(set)
    for a, b in import_graph.count_arrows(import_graph.read_imports(sources)):
        arrows[a].add(b)
    return _cycles(arrows)


def _cycles(arrows: Mapping[str, set[str]]) -> set[str]:
    """Return the nodes that lead back to themselves, those of a cycle together."""
    reached = {node: _reachable(arrows, node) for node in arrows}
    return {
        ", ".join(sorted(b for b in reached[a] if a in reached.get(b, ())))
        for a in reached
        if a in reached[a]
    }


def _reachable(arrows: Mapping[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    ahead = [*arrows[start]]
    while ahead:
        node = ahead.pop()
        if node not in found:
            found.add(node)
            ahead.extend(arrows.get(node, ()))
    return found


def repeated_names(sources: Sources) -> set[str]:
    """Return file names that stand for two things."""
    names = Counter(module.rpartition(".")[2] for module in sources)
    return {name for name, n in names.items() if n > 1 and name not in SHARED_NAMES}


def named_as_content(sources: Sources) -> set[str]:
    """Return modules with the name of a function or class that they define."""
    return {
        module
        for module, text in sources.items()
        if module.rpartition(".")[2] in _definitions(import_graph.parse(text))
    }


def _definitions(tree: ast.Module) -> set[str]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name for node in tree.body if isinstance(node, kinds)}


def numerical_outside(sources: Sources) -> set[str]:
    """Return modules that know joblib, LAPACK or thread counts, and should not."""
    found = set()
    for module, text in sources.items():
        if module.startswith(AT_HOME) or module == "distfreeuq.__init__":
            continue
        for node in ast.walk(import_graph.parse(text)):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            for name in import_graph.imported_names(node):
                if name.startswith(NUMERICAL) or name.rpartition(".")[2] in THREADS:
                    found.add(f"{module}: {name}")
    return found


def crowded_folders(sources: Sources) -> set[str]:
    """Return folders with more files than one takes in at a glance."""
    folders = Counter(module.rpartition(".")[0] for module in sources)
    return {folder for folder, n in folders.items() if n > MOST_FILES}


def calls_of_public(sources: Sources, public: Mapping[str, str]) -> set[str]:
    """Return where a public function is called; `public` maps full names to short."""
    found = set()
    for module, text in sources.items():
        if module.startswith(MAY_CALL_PUBLIC):
            continue
        tree = import_graph.parse(text)
        meaning = _meanings(tree, module)
        for caller, call in _calls(tree):
            name = _full_name(call.func, meaning)
            if name in public:
                found.add(f"{module}: {caller} calls {public[name]}")
    return found


def _meanings(tree: ast.Module, module: str) -> dict[str, str]:
    """Return the full names that a module's own names stand for."""
    meaning = {name: f"{module}.{name}" for name in _definitions(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            full = import_graph.imported_names(node)
            for alias, name in zip(node.names, full, strict=True):
                meaning[alias.asname or alias.name] = name
    return meaning


def _full_name(node: ast.expr, meaning: Mapping[str, str]) -> str:
    """Return what an expression such as ``metrics.ece`` names, "" if nothing known."""
    if isinstance(node, ast.Attribute):
        owner = _full_name(node.value, meaning)
        return f"{owner}.{node.attr}" if owner else ""
    return meaning.get(node.id, "") if isinstance(node, ast.Name) else ""


def _calls(node: ast.AST, caller: str = "") -> Iterator[tuple[str, ast.Call]]:
    for child in ast.iter_child_nodes(node):
        inside = caller
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inside = f"{caller}.{child.name}".lstrip(".")
        if isinstance(child, ast.Call):
            yield caller or "the module", child
        yield from _calls(child, inside)


def public_functions() -> dict[str, str]:
    """Return the short names of public functions by all full names that reach them."""
    found = {}
    for package in PUBLIC_MODULES:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                short = f"{package}.{name}"
                found[short] = found[f"{value.__module__}.{name}"] = short
    return found


# -------------------------------------------------------------------- the house

CHECKS = [
    upward,
    lazy_upward,
    file_cycles,
    package_cycles,
    repeated_names,
    named_as_content,
    numerical_outside,
    crowded_folders,
]


@pytest.mark.parametrize("check", CHECKS)
def test_the_rule_holds(check):
    assert check(SOURCES) == set()


def test_public_functions_do_not_call_public_functions():
    found = calls_of_public(SOURCES, public_functions())
    assert found == set()


def test_every_package_has_a_layer_and_a_line_on_the_page():
    rooms = {room for layer in import_graph.LAYERS for room in layer}
    assert {import_graph.room_of(module) for module in SOURCES} == rooms
    page = SCRIPT.with_name("architecture.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `?(\w+)`? \|", page, flags=re.MULTILINE)
    assert sorted(listed) == sorted([*rooms, "package"])


# ----------------------------------------------------------- checks that can fail


def house(**texts: str) -> dict[str, str]:
    """Return modules, "bounds__a" for distfreeuq.bounds.a."""
    return {
        "distfreeuq." + name.replace("__", "."): text for name, text in texts.items()
    }


DOWN = "from distfreeuq.bounds import b"
UP = "from distfreeuq.metrics.a import x"
LAZY_UP = f"def f():\n    {UP}"
LATER = "from distfreeuq.plots import a"


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (
            upward,
            house(metrics__a=DOWN, bounds__b=LAZY_UP),
            house(metrics__a="", bounds__b=UP),
        ),
        (
            upward,
            house(metrics__a=f"from typing import *\nif TYPE_CHECKING:\n    {LATER}"),
            house(metrics__a="from distfreeuq import scenarios", scenarios__b="")
            | {"distfreeuq.scenarios.__init__": ""},
        ),
        (
            lazy_upward,
            house(metrics__a=f"def plot(self):\n    {LATER}", plots__a=""),
            house(metrics__a=f"def draw(self):\n    {LATER}", plots__a=""),
        ),
        (
            lazy_upward,
            house(metrics__a="", bounds__b=UP),
            house(metrics__a="", bounds__b=LAZY_UP),
        ),
        (
            file_cycles,
            house(metrics__a=DOWN, bounds__b=LAZY_UP),
            house(metrics__a=DOWN, bounds__b=UP),
        ),
        (
            package_cycles,
            house(metrics__a=DOWN, bounds__b="", bounds__c=""),
            house(metrics__a=DOWN, bounds__b="", bounds__c=UP),
        ),
        (
            repeated_names,
            house(metrics__data="", bounds__data="", bounds__b=""),
            house(metrics__b="", bounds__b=""),
        ),
        (
            named_as_content,
            house(metrics__a="def b(): pass", metrics__b="from distfreeuq import a"),
            house(metrics__a="class a: pass"),
        ),
        (
            numerical_outside,
            house(_numerics__a="import joblib", metrics__a="from scipy import linalg"),
            house(metrics__a="def f():\n    from scipy.linalg import lapack"),
        ),
        (
            numerical_outside,
            house(metrics__a="from distfreeuq._kernels.threads import threads_for"),
            house(metrics__a="from distfreeuq._kernels.threads import use_threads"),
        ),
        (
            crowded_folders,
            house(**{f"metrics__a{i}": "" for i in range(MOST_FILES)}),
            house(**{f"metrics__a{i}": "" for i in range(MOST_FILES + 1)}),
        ),
    ],
)
def test_a_check_finds_what_breaks_its_rule(check, good, bad):
    assert check(good) == set()
    assert len(check(bad)) == 1


@pytest.mark.parametrize(
    ("text", "n_found"),
    [
        ("def f():\n    return _fit()", 0),
        ("CALIBRATORS = {'ece': ece}", 0),
        ("from distfreeuq.metrics.errors import ece\ndef f():\n    return ece()", 1),
        ("from distfreeuq.metrics import ece as e\nclass A:\n    x = e()", 1),
        ("from distfreeuq import metrics\ndef f():\n    return [metrics.ece()]", 1),
        ("from elsewhere import ece\nece()", 0),
    ],
)
def test_a_call_of_a_public_function_is_found(text, n_found):
    names = ["distfreeuq.metrics.ece", "distfreeuq.metrics.errors.ece"]
    public = dict.fromkeys(names, "ece")
    assert len(calls_of_public(house(bounds__a=text), public)) == n_found
    assert calls_of_public(house(demo=text), public) == set()
    own = {"distfreeuq.metrics.errors": "def ece(): pass\ndef other():\n    ece()"}
    assert len(calls_of_public(own, public)) == 1


def test_the_figure_names_every_package_and_is_the_same_each_time(tmp_path):
    imports = import_graph.read_imports(SOURCES)
    texts = []
    for name in ("one.svg", "two.svg"):
        import_graph.draw(imports, tmp_path / name)
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1]
    for layer in import_graph.LAYERS:
        assert all(f">{room}<" in texts[0] for room in layer)
