"""The compiled core: extensions and how to compile them; all else: pyproject.toml."""

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

FAMILIES = [
    "_bins",
    "_bootstrap",
    "_checks",
    "_logistic",
    "_mixture",
    "_quantile",
    "_root_search",
    "_row_hash",
    "_row_stats",
    "_scores",
    "_softmax",
]
DEBUG = os.environ.get("DISTFREEUQ_DEBUG") == "1"


def openmp_flags() -> list[str]:
    """Return the OpenMP flags of this compiler, or none if it cannot link OpenMP."""
    if sys.platform == "win32":
        return ["/openmp"]
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    program = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text(program)
        probe = ["-fopenmp", str(source), "-o", str(source.with_suffix(""))]
        try:
            subprocess.run([*compiler, *probe], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return []
    return ["-fopenmp"]


openmp = [] if os.environ.get("DISTFREEUQ_OPENMP") == "0" else openmp_flags()
# Contraction would give fused multiply-adds on some machines and not on others. Nobody
# traps floating-point exceptions here; saying so lets comparisons vectorise.
arithmetic = ["-O3", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno"]
compile_args = [] if sys.platform == "win32" else [*arithmetic, "-g0"]

setup(
    options={"build_ext": {"parallel": os.cpu_count()}},
    ext_modules=cythonize(
        [
            Extension(
                f"distfreeuq._kernels.{family}",
                [f"src_c/{family}.pyx"],
                include_dirs=["src_c"],
                depends=[str(header) for header in Path("src_c").glob("*.h")],
                extra_compile_args=compile_args + openmp,
                extra_link_args=openmp,
            )
            for family in FAMILIES
        ],
        build_dir="build/cython",
        include_path=["src_c"],
        compiler_directives={
            "language_level": 3,
            "boundscheck": DEBUG,
            "wraparound": False,
            "initializedcheck": DEBUG,
            "cdivision": True,
            "freethreading_compatible": True,
        },
    ),
)
