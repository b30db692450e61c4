"""Importing distfreeuq is quick, changes nothing, and says so if it cannot work."""

import ast
import importlib
import inspect
import json
import os
import subprocess
import sys
import types
import typing
from pathlib import Path

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq._base import persistence
from distfreeuq.results import Result


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )


def printed(code: str) -> typing.Any:
    done = run(code)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_nothing_slow_is_imported():
    code = "import distfreeuq, json, sys\nprint(json.dumps(list(sys.modules)))"
    modules = printed(code)
    slow = {
        "matplotlib",
        "pandas",
        "statsmodels",
        "scipy.stats",
        "scipy.optimize",
        "sklearn",
        "joblib",
        "tqdm",
    }
    assert slow.isdisjoint(modules)
    assert "distfreeuq._kernels._scores" in modules


def test_a_fit_and_its_sets_need_nothing_slow_either():
    code = (
        "import distfreeuq as dfu, json, sys\n"
        "fit = dfu.split_conformal([[0.75, 0.25]] * 30, [0] * 30, rng=0)\n"
        "fit.predict([[0.5, 0.5]]).labels()\n"
        "print(json.dumps(list(sys.modules)))"
    )
    assert {"matplotlib", "pandas", "statsmodels"}.isdisjoint(printed(code))


STATE = """
import json, locale, os, random, signal, sys, threading, warnings
import matplotlib, numpy as np, pandas as pd, scipy.special
from statsmodels.iolib import summary, table
from statsmodels.stats import proportion  # which itself changes the warning filters

def state():
    return json.dumps([
        np.geterr(),
        np.get_printoptions(),
        np.random.get_state()[1].tolist(),
        hash(random.getstate()),
        [str(entry) for entry in warnings.filters],
        {key: str(value) for key, value in matplotlib.rcParams.items()},
        str(dict.__getitem__(matplotlib.rcParams, "backend")),  # asking chooses one
        pd.describe_option(_print_desc=False),  # with the current values
        {key: str(value) for key, value in table.default_fmts.items()},
        scipy.special.geterr(),
        locale.setlocale(locale.LC_ALL),
        sorted(os.environ.items()),
        sys.path,
        str(sys.displayhook) + str(sys.excepthook),
        sys.getswitchinterval(),
        sys.getrecursionlimit(),
        threading.active_count(),
        str(signal.getsignal(signal.SIGINT)),
        os.getcwd(),
    ], default=str)

before = state()
"""


@pytest.mark.slow
def test_import_changes_no_global_state():
    code = STATE + "import distfreeuq\nprint(json.dumps(before == state()))"
    assert printed(code) is True


@pytest.mark.slow
def test_use_changes_no_global_state():
    code = STATE + (
        "import distfreeuq as dfu\n"
        "fit = dfu.split_conformal([[0.75, 0.25]] * 3000, [0] * 3000)\n"
        "sets = fit.predict([[0.5, 0.5]] * 40000)\n"
        "coverage = sets.evaluate([0] * 40000)\n"
        "[str(r) for r in (fit, sets, coverage)]\n"
        "[r.summary().as_latex() for r in (fit, sets, coverage)]\n"
        "print(json.dumps(before == state()))"
    )
    assert printed(code) is True


@pytest.mark.slow
def test_the_comparison_of_states_notices_a_change():
    for change in ("np.seterr(all='ignore')", "warnings.simplefilter('ignore')"):
        assert (
            printed(STATE + f"{change}\nprint(json.dumps(before == state()))") is False
        )


@pytest.mark.parametrize("family", ["_scores", "_quantile", "_checks"])
def test_a_missing_core_is_told_with_the_command_that_builds_it(family):
    code = f"import sys; sys.modules['distfreeuq._kernels.{family}'] = None\n"
    done = run(code + "import distfreeuq")
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: distfreeuq's compiled core is missing")
    assert "python -m pip install -e ." in last


# -------------------------------------------------------------------- public names

PACKAGE = str(Path(dfu.__file__).parent)
PUBLIC = {name: getattr(dfu, name) for name in dfu.__all__}
CALLABLES = {
    name: value
    for name, value in PUBLIC.items()
    if inspect.isfunction(value) or inspect.isclass(value)
}


def test_every_public_name_exists_once_and_in_order():
    assert len(set(dfu.__all__)) == len(dfu.__all__)
    assert all(hasattr(dfu, name) for name in dfu.__all__)


def test_no_public_name_is_forgotten():
    def is_ours(value: typing.Any) -> bool:
        return getattr(value, "__module__", "").startswith("distfreeuq")

    found = {n for n, v in vars(dfu).items() if not n.startswith("_") and is_ours(v)}
    assert found <= set(dfu.__all__)


@pytest.mark.parametrize("name", CALLABLES)
def test_every_public_name_is_found_in_its_own_package(name):
    value = CALLABLES[name]
    home = value.__module__.split(".")[1]
    if home.startswith("_"):
        return  # given out by dfu alone
    package = importlib.import_module(f"distfreeuq.{home}")
    assert getattr(package, name) is value
    assert name in getattr(package, "__all__", [name])


PACKAGES = sorted(path.parent.name for path in Path(PACKAGE).glob("*/__init__.py"))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_can_be_imported_first(package):
    done = run(f"from distfreeuq.{package} import *")
    assert done.returncode == 0, done.stderr


def test_every_result_is_exported_where_it_is_defined():
    for cls in persistence._tags:
        if not issubclass(cls, Result):
            continue
        package = importlib.import_module(".".join(cls.__module__.split(".")[:2]))
        assert getattr(package, cls.__name__) is cls
        in_dfu = package.__name__ == "distfreeuq.theorems" or cls.__name__ in PUBLIC
        assert in_dfu, cls


def test_what_is_imported_when_asked_for_is_listed_too():
    code = (
        "import distfreeuq as dfu, json, sys\n"
        "listed = {'plots', 'theorems'} <= set(dir(dfu)) & set(dfu.__all__)\n"
        "early = 'distfreeuq.plots' in sys.modules\n"
        "dfu.plots.set_sizes, dfu.theorems.verify\n"
        "print(json.dumps([listed, early]))"
    )
    assert printed(code) == [True, False]


def test_rooms_that_few_need_are_imported_when_asked_for():
    code = (
        "import distfreeuq as dfu, json, sys\n"
        "rooms = ['assessment', 'binning', 'calibration', 'metrics', 'monitoring']\n"
        "early = [f'distfreeuq.{room}' in sys.modules for room in rooms]\n"
        "found = [dfu.assess, dfu.calibration.to_logits, dfu.metrics.ece]\n"
        "from distfreeuq import simulate, shift_monitor\n"
        "again = dfu.assess is found[0] is dfu.assessment.assess\n"
        "print(json.dumps([*early, again]))"
    )
    assert printed(code) == [False] * 5 + [True]


def test_type_checkers_are_told_of_the_same_names():
    (known,) = (
        node
        for node in ast.parse(Path(dfu.__file__).read_text("utf-8")).body
        if isinstance(node, ast.If)
    )
    homes, modules = {}, set()
    for node in known.body:
        names = {alias.name for alias in node.names}
        if node.module == "distfreeuq":
            modules |= {f"distfreeuq.{name}" for name in names}
        else:
            homes |= dict.fromkeys(names, node.module)
    assert homes == dfu._HOMES
    assert set(dfu._HOMES) <= set(dfu.__all__)
    # estimators need scikit-learn: nothing looks in them by itself
    later = {*dfu._LATER, "distfreeuq.estimators"}
    assert modules | set(homes.values()) == later
    assert list(dfu._LATER)[-1] == "distfreeuq.theorems", (
        "the slowest is looked in last"
    )


def test_files_are_loaded_before_anything_was_asked_for(tmp_path):
    logits, labels = np.eye(3)[[0, 1, 2, 0] * 9], np.array([0, 1, 2, 1] * 9)
    dfu.temperature_scaling(logits, labels).save(tmp_path / "fit.npz")
    code = (
        "import distfreeuq as dfu, json, sys\n"
        f"fit = dfu.load({str(tmp_path / 'fit.npz')!r})\n"
        "print(json.dumps([repr(fit), 'distfreeuq.theorems' in sys.modules]))"
    )
    name, theorems = printed(code)
    assert name.startswith("<TemperatureResult") and not theorems


def test_estimators_are_found_without_an_import_of_their_own():
    pytest.importorskip("sklearn", "1.6", reason="estimators need scikit-learn 1.6")
    code = "import distfreeuq as dfu, json\nprint(json.dumps(dir(dfu.estimators)))"
    assert "ConformalClassifier" in printed(code)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'no_such_function'"):
        dfu.no_such_function  # noqa: B018


SCRIPT = """
import numpy as np
import distfreeuq as dfu

probs = np.full((30, 2), 0.5)
labels = np.arange(30) % 2
fit = dfu.split_conformal(probs, labels, rng=0)
rank: int = fit.rank
sets: dfu.PredictionSets = fit.predict(probs)
axes = dfu.plots.set_sizes(sets)
verdicts = dfu.theorems.verify("aps-uniform").verdicts
"""


def test_type_checkers_know_the_public_names(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "right.py").write_text(SCRIPT)
    wrong = SCRIPT.replace("split_conformal", "split_conformall")
    (tmp_path / "wrong.py").write_text(wrong.replace("set_sizes", "set_sizess"))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"),
            *("--cache-dir", str(tmp_path / "cache"), "right.py", "wrong.py"),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(Path(PACKAGE).parent)},
    )
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 2, done.stdout + done.stderr
    for line, name in zip(errors, ("split_conformall", "set_sizess"), strict=True):
        assert line.startswith("wrong.py") and "[attr-defined]" in line
        assert f'"{name}"' in line


@pytest.mark.parametrize("name", CALLABLES)
def test_every_public_name_is_documented_with_an_example(name):
    text = inspect.getdoc(CALLABLES[name]) or ""
    assert text.strip()
    if inspect.isclass(CALLABLES[name]) and issubclass(
        CALLABLES[name], Exception | Warning
    ):
        return
    assert "Examples\n--------" in text and ">>> " in text


def annotated(function: typing.Any) -> bool:
    """Say whether every parameter and the return value has a type."""
    parameters = inspect.signature(function).parameters.values()
    types_given = [p.annotation for p in parameters if p.name not in ("self", "cls")]
    types_given.append(inspect.signature(function).return_annotation)
    return inspect.Signature.empty not in types_given


@pytest.mark.parametrize("name", CALLABLES)
def test_every_public_name_is_typed(name):
    value = CALLABLES[name]
    if inspect.isfunction(value):
        assert annotated(value)
        return
    for method in vars(value).values():
        ours = isinstance(method, types.FunctionType) and method.__code__
        if ours and ours.co_filename.startswith(PACKAGE):  # not by dataclasses
            assert annotated(method), method


@pytest.mark.parametrize("name", CALLABLES)
def test_public_functions_take_options_by_keyword(name):
    value = CALLABLES[name]
    if not inspect.isfunction(value) or name == "plan":  # which has no data
        return
    for parameter in inspect.signature(value).parameters.values():
        if parameter.name in (
            "alpha",
            "score",
            "randomized",
            "classes",
            "rng",
            "method",
        ):
            assert parameter.kind is parameter.KEYWORD_ONLY, parameter
