"""Scores of short rows are right whatever the flags that the core is compiled with.

GCC 12 at -O3 unrolls a loop over lanes that is not marked by a pragma, vectorises the
loop around it, and mixes up the lanes of a conditional sum: without OpenMP, one APS
score in five was wrong. `PRAGMA` in src_c/portability.h forbids the unrolling.
"""

import ctypes
import os
import platform
import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from distfreeuq._kernels import _scores, _self_check
from tests import reference_kernels as twin

SOURCES = Path(__file__).parents[3] / "src_c"
COMPILER = os.environ.get("CC", sysconfig.get_config_var("CC") or "cc").split()
PROGRAM = """
#include "nested_scores.h"
ptrdiff_t scores(int kind, const double *probs, ptrdiff_t n, ptrdiff_t K,
                 const int64_t *labels, const double *uniforms, double *out)
{
    nested_score score = {kind, 0.01, 2.0, 0.1};
    return true_label_scores(probs, K, 1e-6, &score, labels, uniforms, 0, n, out);
}
"""
WITHOUT_PRAGMAS = """
#include "portability.h"
#undef PRAGMA
#define PRAGMA(text)
"""
ALL = (twin.LAC, twin.APS, twin.RAPS, twin.SAPS, twin.RANK, twin.MARGIN)
SAME_BITS = "-ffp-contract=off"
USUAL = ["-O3", "-fno-trapping-math", SAME_BITS]
FLAGS = {
    "debug": ["-O0", SAME_BITS],
    "O2": ["-O2", SAME_BITS],
    "no pragmas": USUAL,
    "pragmas without threads": [*USUAL, "-fopenmp-simd", "-DSIMD_PRAGMAS"],
}
if platform.machine() == "x86_64":
    FLAGS["no pragmas, AVX2"] = [*USUAL, "-mavx2"]

pytestmark = pytest.mark.skipif(
    os.name == "nt" or shutil.which(COMPILER[0]) is None or not SOURCES.is_dir(),
    reason="needs the sources of the core and a C compiler",
)


def compiled(folder, flags, program=PROGRAM):
    """Return a function that calls the compiled program on NumPy's arrays."""
    source, library = folder / "scores.c", folder / "scores.so"
    source.write_text(program)
    command = [*COMPILER, "-shared", "-fPIC", *flags, f"-I{SOURCES}"]
    subprocess.run([*command, str(source), "-o", str(library), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).scores
    function.restype = ctypes.c_ssize_t

    def scores(kind, probs, labels, uniforms, out):
        return function(
            ctypes.c_int(kind),
            address(probs),
            *map(ctypes.c_ssize_t, probs.shape),
            *map(address, (labels, uniforms, out)),
        )

    return scores


def address(array):
    return ctypes.c_void_p(array.ctypes.data)


def wrong_scores(scores, kinds=ALL):
    """Return how many scores of random rows are not what the twin says."""
    rng, wrong = np.random.default_rng(0), 0
    for n_classes in (2, 3, 10, 40):
        probs = rng.dirichlet(np.ones(n_classes), size=160)
        labels = rng.integers(0, n_classes, 160)
        uniforms, got = rng.random(160), np.full(160, np.nan)
        for kind in kinds:
            assert scores(kind, probs, labels, uniforms, got) == -1
            want = twin.true_label_scores(
                (kind, 0.01, 2.0, 0.1), probs, labels, uniforms
            )
            wrong += int((got != want).sum())
    return wrong


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS.keys())
def test_scores_are_right_with_all_flags(flags, tmp_path):
    assert wrong_scores(compiled(tmp_path, flags)) == 0


def test_the_fault_would_be_noticed_at_import(tmp_path, monkeypatch):
    scores = compiled(tmp_path, USUAL, WITHOUT_PRAGMAS + PROGRAM)
    if wrong_scores(scores, [twin.APS]) == 0:
        pytest.skip("this compiler does not have the fault")

    def kernel(score, probs, tolerance, labels, uniforms, out, threads):
        wide = probs.astype(np.float64)  # the fault is compiled for doubles only
        return scores(score[0], wide, labels, uniforms, out)

    monkeypatch.setattr(_scores, "_true_label_scores", kernel)
    assert _self_check.wrong_kernels() == ["_true_label_scores"]


# What Microsoft's compiler reads: C11 without extensions, and OpenMP 2.0, whose pragmas
# it refuses if they are newer. The headers of GCC's own library need its macros.
STANDARD = """
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#undef __GNUC__
#undef __clang__
int omp_get_max_threads(void);
int omp_get_thread_num(void);
"""


def test_the_core_is_standard_c(tmp_path):
    headers = sorted(
        path.name for path in SOURCES.glob("*.h") if "_template" not in path.name
    )
    source = tmp_path / "all.c"
    source.write_text(STANDARD + "".join(f'#include "{name}"\n' for name in headers))
    (tmp_path / "omp.h").write_text("")
    strict = ["-std=c11", "-pedantic-errors", "-Werror=vla", "-Werror=unknown-pragmas"]
    command = [*COMPILER, *strict, "-fsyntax-only", "-D_OPENMP=200203"]
    subprocess.run([*command, f"-I{tmp_path}", f"-I{SOURCES}", str(source)], check=True)
