"""Hosted workflows are valid, and run what the project declares and people run."""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.matrix import OLDEST, ROOT, declared, read_project

yaml = pytest.importorskip("yaml")
FOLDER = ROOT / ".github" / "workflows"
if not FOLDER.is_dir():
    pytest.skip("an archive of sources has no workflows", allow_module_level=True)
FILES = sorted(FOLDER.glob("*.yml"))
every_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def jobs(file: Path) -> dict[str, Any]:
    return yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"]


def steps(file: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(file).values() for step in job["steps"]]


def test_there_are_three():
    assert [file.stem for file in FILES] == ["nightly", "tests", "wheels"]


@every_file
def test_targets_are_in_the_makefile(file):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.M))
    for step in steps(file):
        command = re.sub(r"\$\{\{.*?\}\}", "", step.get("run", ""))
        if command.startswith("make "):
            words = command.split()[1:]
            assert {word for word in words if "=" not in word} <= targets


@every_file
def test_nothing_may_write_and_nothing_runs_for_ever(file):
    text = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert text["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job for job in text["jobs"].values())
    for step in steps(file):
        assert "@" in step.get("uses", "@")
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False


def test_every_declared_set_is_tested_and_built():
    project = read_project()
    matrix = jobs(FOLDER / "tests.yml")["versions"]["strategy"]["matrix"]
    assert matrix["set"] == [*declared(project), OLDEST]
    wanted = [f"cp{version.replace('.', '')}-*" for version in declared(project)]
    assert project["tool"]["cibuildwheel"]["build"] == wanted
    oldest = declared(project)[0]
    assert project["project"]["requires-python"] == f">={oldest}"


def test_tests_on_wheels_ask_for_the_declared_tools():
    project = read_project()
    test = project["project"]["optional-dependencies"]["test"]
    assert set(project["tool"]["cibuildwheel"]["test-requires"]) <= set(test)


@pytest.mark.skipif(find_spec("check_jsonschema") is None, reason="no check-jsonschema")
def test_workflows_follow_the_schema(tmp_path):
    def check(*files: Path) -> int:
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
        done = subprocess.run(
            [*command, "vendor.github-workflows", *map(str, files)], capture_output=True
        )
        return done.returncode

    assert check(*FILES) == 0
    broken = tmp_path / "broken.yml"
    broken.write_text(FILES[0].read_text().replace("runs-on", "runs_on"))
    assert check(broken) == 1


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="no actionlint")
def test_actionlint_finds_nothing():
    done = subprocess.run(["actionlint", *map(str, FILES)], capture_output=True)
    assert done.returncode == 0, done.stdout.decode()
