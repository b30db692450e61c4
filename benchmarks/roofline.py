"""What this machine can do at most, measured in the same run as the jobs."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._kernels import _checks, _softmax

_MATRIX_BYTES = 1 << 28
"""Far beyond any cache, so that every read comes from memory."""


@dataclass(frozen=True)
class Roofline:
    """Rates that no kernel exceeds by much.

    Attributes
    ----------
    read : dict
        Bytes per second read from memory, by number of threads: our own validation pass
        over a large array, which reads every row once and does little else, and on one
        thread ``np.sum`` of the same array, if that is faster.
    exponentials : dict
        Exponentials of doubles per second, by number of threads: our own softmax of a
        matrix that stays in the cache, and on one thread ``np.exp``, if that is faster.
        Arithmetic, and next to no memory.
    """

    read: dict[int, float]
    exponentials: dict[int, float]


def measure_roofline() -> Roofline:
    """Return the best of several runs."""
    matrix = np.full((_MATRIX_BYTES // 8000, 1000), 1e-3)
    one_sum = _fastest(matrix.sum)
    one_pass = _fastest(lambda: _checks._first_bad_row(matrix, True, 1e-6, 1))
    two_passes = _fastest(lambda: _checks._first_bad_row(matrix, True, 1e-6, 2))
    powers = np.linspace(-30.0, 0.0, 8192)
    out = np.empty_like(powers)
    exp = _fastest(lambda: np.exp(powers, out=out), runs=200) / powers.size
    softmax = {t: _seconds_by_exponential(t) for t in (1, 2)}
    return Roofline(
        read={
            1: matrix.nbytes / min(one_sum, one_pass),
            2: matrix.nbytes / two_passes,
        },
        exponentials={1: 1.0 / min(exp, softmax[1]), 2: 1.0 / softmax[2]},
    )


def _seconds_by_exponential(threads: int) -> float:
    n, n_columns = 2048, 128  # long enough to wake a thread for
    logits = np.linspace(-30.0, 0.0, n * n_columns).reshape(n, n_columns)
    scale, bias = np.ones(n_columns), np.zeros(n_columns)
    scratch, out = np.empty((8, n_columns)), np.empty_like(logits)

    def softmax() -> None:
        _softmax._affine_softmax(logits, scale, bias, scratch, out, threads)

    return _fastest(softmax, runs=200) / logits.size


def best_of(first: Roofline, second: Roofline) -> Roofline:
    """Return the higher rates of two measurements, before and after the jobs."""
    return Roofline(
        read={t: max(first.read[t], second.read[t]) for t in first.read},
        exponentials={
            t: max(first.exponentials[t], second.exponentials[t])
            for t in first.exponentials
        },
    )


def _fastest(run: Callable[[], Any], runs: int = 12) -> float:
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)
