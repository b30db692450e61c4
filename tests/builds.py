"""Builds of the compiled core that are not the usual one, tested in their own folders.

``python -m tests.builds sanitize`` copies the project to build/sanitize, compiles the
core there and runs tests against it; the usual core stays as it is. What follows the
name goes to pytest; paths take the place of the usual tests.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(
    ".*", "build", "dist", "_build", "__pycache__", "*.so", "*.egg-info"
)
KERNELS = ("tests/property", "tests/unit/kernels", "tests/unit/numerics")
"""Every kernel against its twin, and what calls kernels from many threads."""


class Build(NamedTuple):
    """How a core is compiled, and what is tested with it."""

    settings: dict[str, str]
    tests: tuple[str, ...] = KERNELS
    sanitized: bool = False


# Reports end the program, or nobody would read them. Conversions of numbers that an
# integer cannot hold are undefined as well, but not among what "undefined" covers.
SANITIZERS = (
    "-fsanitize=address,undefined,float-cast-overflow "
    "-fno-sanitize-recover=all -fno-omit-frame-pointer"
)
BUILDS = {
    "sanitize": Build(
        {"DISTFREEUQ_DEBUG": "symbols", "CFLAGS": SANITIZERS, "LDFLAGS": SANITIZERS},
        sanitized=True,
    ),
    "debug": Build({"DISTFREEUQ_DEBUG": "1"}),
    "no-openmp": Build({"DISTFREEUQ_OPENMP": "0"}, tests=("tests", "distfreeuq")),
    "clang": Build({"CC": "clang"}, tests=("tests", "distfreeuq")),
}


def copied(name: str) -> Path:
    """Return a folder with the project as it is now, and what was compiled before."""
    folder = ROOT / "build" / name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.is_dir() and old.name != "build":
            shutil.rmtree(old)
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT, dirs_exist_ok=True)
    return folder


def preloaded() -> dict[str, str]:
    """Return what the sanitizers need of a Python that is compiled without them."""
    compiler = os.environ.get("CC", "gcc").split()
    libraries = [
        subprocess.check_output(
            [*compiler, f"-print-file-name={name}"], text=True
        ).strip()
        for name in ("libasan.so", "libubsan.so", "libstdc++.so")
    ]
    # Python itself keeps memory until it ends.
    return {"LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": "detect_leaks=0"}


def main() -> int:
    """Copy, compile, test; return pytest's exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.builds")
    parser.add_argument("name", choices=BUILDS)
    name, arguments = (known := parser.parse_known_args())[0].name, known[1]
    build, folder = BUILDS[name], copied(name)
    if shutil.which(compiler := build.settings.get("CC", "cc")) is None:
        print(f"{name}: no {compiler} here, nothing is tested")
        return 0
    environment = {
        "DISTFREEUQ_DATA": str(ROOT.parent / "shared" / "data"),
        **os.environ,
        **build.settings,
        "PYTHONPATH": str(folder),
    }
    compile_core = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(compile_core, cwd=folder, env=environment, check=True)
    if build.sanitized:
        environment.update(preloaded())
    named = any(Path(argument.split("::")[0]).exists() for argument in arguments)
    tests = arguments if named else ["-m", "not slow", *arguments, *build.tests]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=folder, env=environment).returncode


if __name__ == "__main__":
    raise SystemExit(main())
