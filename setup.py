"""The compiled core: extensions and how to compile them; all else: pyproject.toml."""

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

FAMILIES = sorted(path.stem for path in Path("src_c").glob("_*.pyx"))
DEBUG = os.environ.get("DISTFREEUQ_DEBUG", "0")
CHECKED = DEBUG == "1"  # bounds of arrays; "symbols" is what sanitizers want instead


def links(flags: list[str], program: str) -> bool:
    """Return whether this compiler makes a program with these flags."""
    usual = sysconfig.get_config_var("CC") or "cc"
    compiler = os.environ.get("CC", usual).split()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text(program)
        probe = [*flags, str(source), "-o", str(source.with_suffix(""))]
        try:
            subprocess.run([*compiler, *probe], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return False
    return True


def openmp_flags() -> list[str]:
    """Return the OpenMP flags of this compiler, or none if it cannot link OpenMP."""
    if os.environ.get("DISTFREEUQ_OPENMP") == "0":
        return []
    if sys.platform == "win32":
        return ["/openmp"]
    program = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n"
    return ["-fopenmp"] if links(["-fopenmp"], program) else []


def simd_flags() -> list[str]:
    """Return the flags for `omp simd` pragmas without threads, if there are any.

    These pragmas say in which order sums may be taken: with them, results do not depend
    on whether OpenMP was there.
    """
    known = links(["-fopenmp-simd"], "int main(void) { return 0; }\n")
    return ["-fopenmp-simd", "-DSIMD_PRAGMAS"] if known else []


openmp = openmp_flags()
if sys.platform == "win32":
    compile_args, link_args = ["/std:c11", *openmp], []
else:
    # Contraction would give fused multiply-adds on some machines and not on others. No
    # kernel traps floating-point exceptions; saying so lets comparisons vectorise.
    arithmetic = ["-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno"]
    level = ["-O3", "-g0"] if DEBUG == "0" else ["-O1", "-g"]
    compile_args = [*level, *arithmetic, *(openmp or simd_flags())]
    link_args = openmp

setup(
    options={"build_ext": {"parallel": os.cpu_count()}},
    ext_modules=cythonize(
        [
            Extension(
                f"distfreeuq._kernels.{family}",
                [f"src_c/{family}.pyx"],
                include_dirs=["src_c"],
                depends=[str(header) for header in Path("src_c").glob("*.h")],
                extra_compile_args=compile_args,
                extra_link_args=link_args,
            )
            for family in FAMILIES
        ],
        build_dir="build/cython",
        include_path=["src_c"],
        compiler_directives={
            "language_level": 3,
            "boundscheck": CHECKED,
            "wraparound": False,
            "initializedcheck": CHECKED,
            "cdivision": True,
        },
    ),
)
