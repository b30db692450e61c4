"""What this machine can do at most, measured in the same run as the jobs."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._kernels import _checks

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
    exponentials : float
        ``np.exp`` of doubles per second on one thread, in the cache.
    """

    read: dict[int, float]
    exponentials: float

    def bandwidth(self, threads: int) -> float:
        """Return bytes per second on that many threads."""
        return self.read.get(threads, self.read[1])


def measure_roofline() -> Roofline:
    """Return the best of several runs."""
    matrix = np.full((_MATRIX_BYTES // 8000, 1000), 1e-3)
    one_sum = _fastest(matrix.sum)
    one_pass = _fastest(lambda: _checks._first_bad_row(matrix, True, 1e-6, 1))
    two_passes = _fastest(lambda: _checks._first_bad_row(matrix, True, 1e-6, 2))
    powers = np.linspace(-30.0, 0.0, 8192)
    out = np.empty_like(powers)
    exp = _fastest(lambda: np.exp(powers, out=out), runs=200)
    return Roofline(
        read={
            1: matrix.nbytes / min(one_sum, one_pass),
            2: matrix.nbytes / two_passes,
        },
        exponentials=powers.size / exp,
    )


def best_of(first: Roofline, second: Roofline) -> Roofline:
    """Return the higher rates of two measurements, before and after the jobs."""
    return Roofline(
        read={t: max(first.read[t], second.read[t]) for t in first.read},
        exponentials=max(first.exponentials, second.exponentials),
    )


def _fastest(run: Callable[[], Any], runs: int = 12) -> float:
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)
