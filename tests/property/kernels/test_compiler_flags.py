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


def compiled(folder, flags):
    source, library = folder / "scores.c", folder / "scores.so"
    source.write_text(PROGRAM)
    command = [*COMPILER, "-shared", "-fPIC", *flags, f"-I{SOURCES}"]
    subprocess.run([*command, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library)).scores


def address(array):
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS.keys())
def test_scores_are_right_with_all_flags(flags, tmp_path):
    scores = compiled(tmp_path, flags)
    scores.restype = ctypes.c_ssize_t
    rng = np.random.default_rng(0)
    for n_classes in (2, 3, 10, 40):
        probs = rng.dirichlet(np.ones(n_classes), size=160)
        labels = rng.integers(0, n_classes, 160)
        uniforms, got = rng.random(160), np.full(160, np.nan)
        for kind in (twin.LAC, twin.APS, twin.RAPS, twin.SAPS, twin.RANK, twin.MARGIN):
            bad = scores(
                ctypes.c_int(kind),
                address(probs),
                ctypes.c_ssize_t(160),
                ctypes.c_ssize_t(n_classes),
                address(labels),
                address(uniforms),
                address(got),
            )
            assert bad == -1
            want = twin.true_label_scores(
                (kind, 0.01, 2.0, 0.1), probs, labels, uniforms
            )
            np.testing.assert_array_equal(got, want)
