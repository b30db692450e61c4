"""Test every declared Python with the newest releases, and the oldest declared set.

    python -m tests.matrix [--only 3.13] [--only oldest] [--quick] [--jobs 2] [-- ARGS]

Each environment is made anew in build/matrix, and gets a copy of the files that git
knows, so that nothing that lies about here can help. The oldest set is the oldest
Python with exactly the lower bounds of pyproject.toml: of the package, of what builds
it and of what tests it. Pythons are found by name on the path, or by pyenv; one that is
not there is left out. What follows ``--`` goes to pytest. The last lines are a table;
the exit status is 1 where a test failed or an environment could not be made.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "matrix"
OLDEST = "oldest"
SHOWN = ("numpy", "scipy", "pandas", "statsmodels", "matplotlib")

# What releases of that day cannot do without: Matplotlib before 3.10.8 uses names that
# pyparsing 3.3 deprecates, and warnings are errors in tests.
OF_THAT_DAY = ("pyparsing<3.3",)


@dataclass(frozen=True)
class Outcome:
    """What one environment showed."""

    name: str
    python: str = ""
    versions: str = ""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    trouble: str = ""
    left_out: bool = False

    @property
    def good(self) -> bool:
        """Whether tests ran and none failed."""
        return not self.trouble and self.failed == 0 and self.passed > 0


def read_project() -> dict[str, Any]:
    """Return pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def declared(project: dict[str, Any]) -> list[str]:
    """Return the Pythons that the classifiers name: ["3.10", "3.11", ...]."""
    pattern = re.compile(r"Programming Language :: Python :: (3\.\d+)$")
    found = [pattern.match(line) for line in project["project"]["classifiers"]]
    return sorted(
        (match[1] for match in found if match), key=lambda text: int(text[2:])
    )


def requirements(project: dict[str, Any]) -> list[str]:
    """Return what building and testing need besides the package's own dependencies."""
    test = project["project"]["optional-dependencies"]["test"]
    return [*project["build-system"]["requires"], *test]


def lower_bounds(project: dict[str, Any]) -> list[str]:
    """Return the constraints of the oldest set: ``numpy==1.26`` for ``numpy>=1.26``."""
    constraints = []
    for line in [*project["project"]["dependencies"], *requirements(project)]:
        match = re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\w.]+)", line)
        if match is None:
            raise SystemExit(f"pyproject.toml: {line!r} has no plain lower bound")
        constraints.append(f"{match[1]}=={match[2]}")
    return [*constraints, *OF_THAT_DAY]


def project_files() -> list[str]:
    """Return the files that git tracks, changed or not, or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    names = filter(None, listed.stdout.split("\0"))
    return [name for name in names if (ROOT / name).is_file()]


def copy_of_the_project(folder: Path) -> None:
    """Copy the project's files to `folder`."""
    for name in project_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)


def find_python(version: str) -> str | None:
    """Return a Python of this version that runs, or None."""
    found = [shutil.which(f"python{version}")]
    if pyenv := shutil.which("pyenv"):  # whose commands on the path may lead nowhere
        asked = subprocess.run(
            [pyenv, "prefix", version], capture_output=True, text=True
        )
        found.append(shutil.which("python", path=f"{asked.stdout.strip()}/bin"))
    for python in filter(None, found):
        answer = subprocess.run([python, "--version"], capture_output=True, text=True)
        if answer.stdout.startswith(f"Python {version}."):
            return python
    return None


def make_environment(
    python: str, folder: Path, project: dict[str, Any], constraints: list[str]
) -> None:
    """Make an environment in `folder`, with a copy of the project and all it needs."""
    shutil.rmtree(folder, ignore_errors=True)
    copy_of_the_project(folder / "project")
    (folder / "constraints.txt").write_text("\n".join([*constraints, ""]))
    install = ["bin/python", "-m", "pip", "install", "-q"]
    limited = [*install, "-c", "constraints.txt"]
    commands = (
        [python, "-m", "venv", "."],
        [*install, "--upgrade", "pip"],
        # No isolation: the build is to use the oldest Cython and setuptools as well.
        [*limited, *project["build-system"]["requires"]],
        [*limited, "--no-build-isolation", "-e", "./project[test]"],
    )
    with open(folder / "install.log", "w") as log:
        for command in commands:
            subprocess.run(command, cwd=folder, check=True, stdout=log, stderr=log)


def versions_in(folder: Path) -> tuple[str, str]:
    """Return the Python and the versions of the packages that the table shows."""
    program = (
        "import platform, sys\nfrom importlib.metadata import version\n"
        "print(platform.python_version())\n"
        "print(' '.join(f'{name} {version(name)}' for name in sys.argv[1:]))\n"
    )
    found = subprocess.run(
        [folder / "bin" / "python", "-c", program, *SHOWN],
        check=True,
        capture_output=True,
        text=True,
    )
    python, versions = found.stdout.splitlines()
    return python, versions


def run_tests(folder: Path, arguments: list[str]) -> tuple[int, int, int]:
    """Run pytest on the copy; return how many passed, failed and were skipped."""
    report = folder / "report.xml"
    environment = dict(os.environ)
    environment.pop("PYTHONPATH", None)  # it could lead back to the checkout
    environment.setdefault("DISTFREEUQ_DATA", str(ROOT.parent / "shared" / "data"))
    python = str(folder / "bin" / "python")
    with open(folder / "tests.log", "w") as log:
        subprocess.run(
            [python, "-m", "pytest", "-q", f"--junitxml={report}", *arguments],
            cwd=folder / "project",
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    counts = ElementTree.parse(report).getroot()[0].attrib
    failed = int(counts["failures"]) + int(counts["errors"])
    skipped = int(counts["skipped"])
    return int(counts["tests"]) - failed - skipped, failed, skipped


def outcome_of(name: str, project: dict[str, Any], arguments: list[str]) -> Outcome:
    """Make one environment and test it; what goes wrong is in the outcome."""
    oldest = name == OLDEST
    version = declared(project)[0] if oldest else name
    python = find_python(version)
    outcome = Outcome(name=name, python=version)
    if python is None:
        trouble = f"left out: no python{version} found"
        return replace(outcome, trouble=trouble, left_out=True)
    folder = FOLDER / name
    try:
        make_environment(python, folder, project, lower_bounds(project) * oldest)
    except subprocess.CalledProcessError:
        trouble = f"not installed: see {folder.relative_to(ROOT)}/install.log"
        return replace(outcome, trouble=trouble)
    full, versions = versions_in(folder)
    outcome = replace(outcome, python=full, versions=versions)
    begin = time.perf_counter()
    try:
        passed, failed, skipped = run_tests(folder, arguments)
    except (OSError, ElementTree.ParseError, KeyError):
        trouble = f"no report: see {folder.relative_to(ROOT)}/tests.log"
        return replace(outcome, trouble=trouble)
    return replace(
        outcome,
        passed=passed,
        failed=failed,
        skipped=skipped,
        seconds=time.perf_counter() - begin,
    )


def table(outcomes: list[Outcome]) -> str:
    """Return the outcomes as a Markdown table."""
    rows = [("set", "Python", "passed", "failed", "skipped", "seconds", "versions")]
    for one in outcomes:
        counts = (one.passed, one.failed, one.skipped, round(one.seconds))
        shown = [str(count) if not one.trouble else "" for count in counts]
        rows.append((one.name, one.python, *shown, one.trouble or one.versions))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [
        [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        for row in rows
    ]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def main() -> int:
    """Test the sets that were asked for, one after the other; print the table."""
    project = read_project()
    names = [*declared(project), OLDEST]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=names, help="one set")
    parser.add_argument("--quick", action="store_true", help="no tests marked slow")
    parser.add_argument("--jobs", default="auto", help="processes of pytest")
    parser.add_argument("pytest", nargs="*", help="further arguments of pytest")
    options = parser.parse_args()
    quick = ["-m", "not slow"] * options.quick
    arguments = ["-n", options.jobs, *quick, *options.pytest]
    outcomes = []
    for name in options.only or names:
        print(f"{name} ...", flush=True)
        outcomes.append(outcome_of(name, project, arguments))
    print(table(outcomes))
    run = [one for one in outcomes if not one.left_out]
    return 0 if run and all(one.good for one in run) else 1


if __name__ == "__main__":
    sys.exit(main())
