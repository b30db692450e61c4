"""Logits: from probabilities, and as the calibrators read them."""

from __future__ import annotations

import numpy as np

from distfreeuq._base import class_labels
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, Classes, FloatMatrix
from distfreeuq._base.arrays import listed
from distfreeuq._kernels import _softmax
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import count_blocks

SMALLEST_FLOOR = 1e-300


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


def read_logits(
    args: Arguments, value: ArrayLike, classes: ArrayLike | None
) -> tuple[FloatMatrix, Classes]:
    """Return checked logits (n, K) and classes; (n,) are log-odds of class 1."""
    return args.logits(_two_columns(args, value, "logits"), classes=classes)


def read_new_logits(
    args: Arguments, value: ArrayLike, classes: Classes, parameter: str = "logits"
) -> FloatMatrix:
    """Return checked logits for a fit with these classes."""
    matrix, names = args.logits(_two_columns(args, value, parameter), parameter)
    if matrix.shape[1] != len(classes):
        must = f"of shape (n, {len(classes)}), as in the fit"
        args.invalid(parameter, must, f"shape {matrix.shape}")
    if not isinstance(names, range) and class_labels.contradict(names, classes):
        must = f"with the fit's columns in the fit's order, {listed(classes)}"
        args.invalid(parameter, must, listed(names))
    return matrix


def _two_columns(args: Arguments, value: ArrayLike, parameter: str) -> ArrayLike:
    """Return logits (0, s) of two classes where scores (n,) were given."""
    scores = args.array(value, parameter, "logits")
    if scores.ndim != 1:
        return value
    return np.column_stack([np.zeros_like(scores), scores])
