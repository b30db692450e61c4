"""Build what is released, look into it, and run it where nothing of ours lies about.

    python -m tests.wheels [--only 3.13]

An archive of the sources; from it, not from the checkout, a wheel for every declared
Python that is found; each repaired by auditwheel, which puts GNU's OpenMP library into
it and names the oldest glibc that will do. What each holds is compared with what git
tracks. Then each is installed in an environment of its own, and the demo is run there,
in a folder far from the checkout. What is put into dist/ has passed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tests.matrix import (
    ROOT,
    copy_of_the_project,
    declared,
    find_python,
    project_files,
    read_project,
)

FOLDER = ROOT / "build" / "wheels"
DIST = ROOT / "dist"
NOT_RELEASED = (".ci/", ".github/", ".gitignore", ".gitattributes", ".editorconfig")
NOT_RELEASED += (".pre-commit-config.yaml",)


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command away from our environment's settings; return what it printed."""
    environment = dict(os.environ)
    environment.pop("PYTHONPATH", None)
    environment["PYTHONWARNINGS"] = "default"
    environment["PATH"] = (
        f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout}\nfailed: {' '.join(map(str, command))}")
    return done.stdout


def files_of(archive: Path) -> set[str]:
    """Return the files in a wheel or an archive of sources, without its top folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name for name in wheel.namelist() if not name.endswith("/")}
    with tarfile.open(archive) as sources:
        names = [member.name for member in sources if member.isfile()]
    return {name.split("/", 1)[1] for name in names}


def expected_sources(files: list[str]) -> set[str]:
    """Return what the archive of sources should hold."""
    released = {name for name in files if not name.startswith(NOT_RELEASED)}
    return {*released, "PKG-INFO", "setup.cfg"}


def expected_package(files: list[str]) -> set[str]:
    """Return the files of the package that a wheel should hold, the core apart."""
    return {name for name in files if name.startswith("distfreeuq/")}


def difference(found: set[str], expected: set[str]) -> str:
    """Return what is missing and what is too much, or nothing."""
    lines = [f"missing: {name}" for name in sorted(expected - found)]
    lines += [f"too much: {name}" for name in sorted(found - expected)]
    return "\n".join(lines)


def wrong_in_sources(archive: Path, files: list[str]) -> str:
    """Return where the archive differs from what git tracks, or nothing."""
    found = {name for name in files_of(archive) if ".egg-info/" not in name}
    return difference(found, expected_sources(files))


def wrong_in_wheel(wheel: Path, files: list[str]) -> str:
    """Return what the wheel lacks, and what it has that is not the package's."""
    families = {Path(name).stem for name in files if name.endswith(".pyx")}
    core = re.compile(r"distfreeuq/_kernels/(_\w+)\.[\w.-]+\.so")
    beside = re.compile(r"distfreeuq(-[\w.]+\.dist-info/|\.libs/libgomp-)")
    inside = {name for name in files_of(wheel) if not beside.match(name)}
    compiled = {name for name in inside if core.fullmatch(name)}
    built = {core.sub(r"\1", name) for name in compiled}
    package = difference(inside - compiled, expected_package(files))
    return "\n".join(filter(None, [package, difference(built, families)]))


def run_demo(python: str, archive: Path, folder: Path) -> str:
    """Install in an empty environment and run the demo; return its last line."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run(python, "-m", "venv", "environment", cwd=folder)
    inside = folder / "environment" / "bin" / "python"
    run(inside, "-m", "pip", "install", "-q", archive, cwd=folder)
    with tempfile.TemporaryDirectory() as away:
        where = "import distfreeuq; print(distfreeuq.__file__)"
        found = run(inside, "-c", where, cwd=Path(away)).strip()
        if not Path(found).is_relative_to(folder):
            raise SystemExit(f"the demo would run {found}, not what was installed")
        printed = run(inside, "-m", "distfreeuq", "demo", cwd=Path(away))
    return printed.strip().splitlines()[-1]


def build_sources(project: Path) -> Path:
    """Return the archive of sources."""
    run(sys.executable, "-m", "build", "-q", "--sdist", "-o", FOLDER, ".", cwd=project)
    return next(FOLDER.glob("*.tar.gz"))


def build_wheel(python: str, archive: Path, folder: Path) -> Path:
    """Return a wheel built from the archive by this Python, repaired."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run(python, "-m", "venv", "builder", cwd=folder)
    builder = folder / "builder" / "bin" / "python"
    run(builder, "-m", "pip", "install", "-q", "--upgrade", "pip", cwd=folder)
    run(builder, "-m", "pip", "wheel", "-q", "--no-deps", archive, cwd=folder)
    raw = next(folder.glob("*.whl"))
    run("auditwheel", "repair", "-w", "repaired", raw, cwd=folder)
    return next((folder / "repaired").glob("*.whl"))


def main() -> int:
    """Build, check and try everything; print the sizes."""
    names = declared(read_project())
    parser = argparse.ArgumentParser(prog="python -m tests.wheels")
    parser.add_argument("--only", action="append", choices=names, help="one Python")
    chosen = parser.parse_args().only or names
    shutil.rmtree(FOLDER, ignore_errors=True)
    project, files = FOLDER / "project", project_files()
    copy_of_the_project(project)
    archive = build_sources(project)
    if wrong := wrong_in_sources(archive, files):
        raise SystemExit(f"{archive.name}\n{wrong}")
    passed = []
    for version in chosen:
        python = find_python(version)
        if python is None:
            print(f"{version}: left out, no python{version} found")
            continue
        wheel = build_wheel(python, archive, FOLDER / version)
        if wrong := wrong_in_wheel(wheel, files):
            raise SystemExit(f"{wheel.name}\n{wrong}")
        last = run_demo(python, wheel, FOLDER / version / "empty")
        print(f"{version}: {wheel.name}: {last}", flush=True)
        passed.append(wheel)
    print(f"sources: {run_demo(sys.executable, archive, FOLDER / 'sources')}")
    passed.append(archive)
    DIST.mkdir(exist_ok=True)
    for path in passed:
        shutil.copy2(path, DIST)
        print(f"{path.stat().st_size / 1e6:6.2f} MB  dist/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
