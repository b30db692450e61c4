"""Logits from probabilities."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatMatrix
from distfreeuq._kernels import _softmax
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import count_blocks
from distfreeuq._numerics.row_blocks import refuse_blocks

SMALLEST_FLOOR = 1e-300


_INSTEAD = (
    "Call it for each block: probs.map_blocks(distfreeuq.to_logits) of a Dask array."
)


def to_logits(probs: ArrayLike, *, floor: float = 1e-12) -> FloatMatrix:
    """Logits whose softmax gives these probabilities back.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        Rows sum to one.
    floor : float, default 1e-12
        Smaller probabilities, exact zeros among them, count as this. Their logarithm
        weighs in a fitted temperature, so the choice can matter: a network's float32
        zeros stand for anything below 1e-45.

    Returns
    -------
    ndarray (n, K)
        log(max(probs, floor)), in the precision of `probs`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> dfu.to_logits([[0.5, 0.5, 0.0]], floor=1e-6).round(3)
    array([[ -0.693,  -0.693, -13.816]])
    """
    args = Arguments("to_logits")
    refuse_blocks(args, {"probs": probs}, _INSTEAD)
    matrix, _ = args.probs(probs)
    must = f"a number in [{SMALLEST_FLOOR:g}, 1)"
    lowest = args.number(floor, "floor", must, low=SMALLEST_FLOOR, high=1.0)
    if lowest == 1.0:
        args.invalid("floor", must, "1.0")
    tiniest = float(np.finfo(matrix.dtype).tiny)
    smallest = float(matrix.dtype.type(max(lowest, tiniest)))
    logits = np.empty_like(matrix)
    threads = threads_for(matrix.size)
    _softmax._log_entries(matrix, smallest, logits, count_blocks(matrix), threads)
    return logits
