"""The tools that test versions and wheels: what they derive, and what they notice."""

import tarfile
import zipfile

import pytest

from tests import matrix, wheels

PROJECT = {
    "build-system": {"requires": ["setuptools>=77.0.3"]},
    "project": {
        "classifiers": [
            "Programming Language :: Python :: 3",
            "Programming Language :: Python :: 3.13",
            "Programming Language :: Python :: 3.9",
        ],
        "dependencies": ["numpy>=1.26"],
        "optional-dependencies": {"test": ["dask[distributed]>=2024.1"]},
    },
}
FILES = ["distfreeuq/__init__.py", "distfreeuq/py.typed", "src_c/_bins.pyx", ".ci/run"]


def test_the_oldest_set_is_derived_from_the_lower_bounds():
    assert matrix.lower_bounds(PROJECT)[:3] == [
        "numpy==1.26",
        "setuptools==77.0.3",
        "dask==2024.1",
    ]


@pytest.mark.parametrize("line", ["numpy", "numpy>1", "numpy>=1,<2", "numpy~=1.26"])
def test_a_requirement_without_a_plain_lower_bound_is_refused(line):
    project = {**PROJECT, "build-system": {"requires": [line]}}
    with pytest.raises(SystemExit, match="no plain lower bound"):
        matrix.lower_bounds(project)


def test_every_requirement_of_the_project_has_a_lower_bound():
    project = matrix.read_project()
    names = [line.split("==")[0] for line in matrix.lower_bounds(project)]
    assert {"numpy", "scipy", "pandas", "cython", "pytest"} <= set(names)


def test_declared_pythons_are_those_of_the_classifiers():
    assert matrix.declared(PROJECT) == ["3.9", "3.13"]


def test_an_absent_python_is_left_out():
    assert matrix.find_python("3.999") is None
    project = {"project": {"classifiers": ["Programming Language :: Python :: 3.999"]}}
    outcome = matrix.outcome_of("3.999", project, [])
    assert outcome.left_out and not outcome.good
    assert "left out: no python3.999 found" in matrix.table([outcome])


def test_an_environment_is_good_if_tests_ran_and_none_failed():
    assert matrix.Outcome("3.13", passed=1).good
    assert not matrix.Outcome("3.13", passed=1, failed=1).good
    assert not matrix.Outcome("3.13").good
    assert not matrix.Outcome("3.13", passed=1, trouble="no report").good


def a_wheel(folder, *names):
    path = folder / "distfreeuq-0.1.0-cp313-cp313-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return path


CORE = "distfreeuq/_kernels/_bins.cpython-313-x86_64-linux-gnu.so"
RIGHT = ["distfreeuq/__init__.py", "distfreeuq/py.typed", CORE]
RIGHT += ["distfreeuq-0.1.0.dist-info/METADATA", "distfreeuq.libs/libgomp-a34b.so.1"]


def test_a_wheel_holds_the_package_the_core_and_openmp(tmp_path):
    assert wheels.wrong_in_wheel(a_wheel(tmp_path, *RIGHT), FILES) == ""


@pytest.mark.parametrize("name", RIGHT[:2])
def test_a_file_that_a_wheel_lacks_is_named(name, tmp_path):
    wheel = a_wheel(tmp_path, *[other for other in RIGHT if other != name])
    assert wheels.wrong_in_wheel(wheel, FILES) == f"missing: {name}"


def test_a_kernel_that_a_wheel_lacks_is_named(tmp_path):
    wheel = a_wheel(tmp_path, *[name for name in RIGHT if name != CORE])
    assert wheels.wrong_in_wheel(wheel, FILES) == "missing: _bins"


@pytest.mark.parametrize(
    "name", ["tests/conftest.py", "src_c/_bins.pyx", "distfreeuq/_kernels/_bins.c"]
)
def test_what_a_wheel_should_not_hold_is_named(name, tmp_path):
    wheel = a_wheel(tmp_path, *RIGHT, name)
    assert wheels.wrong_in_wheel(wheel, FILES) == f"too much: {name}"


def test_sources_are_what_git_tracks_and_a_builder_needs(tmp_path):
    def archive(*names):
        path = tmp_path / "distfreeuq-0.1.0.tar.gz"
        with tarfile.open(path, "w:gz") as file:
            for name in (*names, "PKG-INFO", "setup.cfg", "distfreeuq.egg-info/a"):
                file.addfile(tarfile.TarInfo(f"distfreeuq-0.1.0/{name}"))
        return path

    assert wheels.wrong_in_sources(archive(*FILES[:3]), FILES) == ""
    wrong = wheels.wrong_in_sources(archive(*FILES[:2], ".ci/run"), FILES)
    assert wrong == "missing: src_c/_bins.pyx\ntoo much: .ci/run"
