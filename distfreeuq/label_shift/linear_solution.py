"""The weights that solve C w = mu, and how well C can be inverted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq._numerics.matrices.matrix_blocks import Blocks
from distfreeuq.label_shift.class_matrix import ClassMatrix
from distfreeuq.label_shift.confusion import Confusion, table_of

# The smallest singular value is called weak within this many standard errors of zero.
_WEAK = 3.0


@dataclass(frozen=True, slots=True)
class Invertibility:
    """How far C is from singular.

    Attributes
    ----------
    smallest : float
        Its smallest singular value.
    singular : bool
        True if C is singular to working precision.
    weak : bool
        True if the smallest singular value is within its noise of zero.
    condition_number : float
        Largest over smallest singular value; +inf if singular.
    """

    smallest: float
    singular: bool
    weak: bool
    condition_number: float


def invertibility(confusion: Confusion) -> Invertibility:
    """Return how far C is from singular: singular values of its blocks."""
    if isinstance(confusion.joint, ClassMatrix):  # with rows or columns of zeros
        return Invertibility(0.0, True, True, math.inf)
    c, blocks = _in_blocks(confusion)
    if not blocks.balanced:
        return Invertibility(0.0, True, True, math.inf)
    found = blocks.extremes(c)
    smallest = found.smallest
    # to first order the smallest singular value moves by u' dC v
    variance = float(found.left**2 @ (c @ found.right**2) - smallest**2) / confusion.n
    singular = bool(_are_singular(np.array([found.largest, smallest]), c.shape[0]))
    return Invertibility(
        smallest=smallest,
        singular=singular,
        weak=smallest <= _WEAK * math.sqrt(max(variance, 0.0)),
        condition_number=math.inf if singular else found.largest / smallest,
    )


def solve(confusion: Confusion, *, singular: bool | None = None) -> FloatArray | None:
    """Return the w with C w = mu, None if C is singular, which may be known already."""
    if isinstance(confusion.joint, ClassMatrix):
        return None
    if singular is None:
        singular = invertibility(confusion).singular
    if singular:
        return None
    c, blocks = _in_blocks(confusion)
    return blocks.solve(c, confusion.frequencies)


def _in_blocks(confusion: Confusion) -> tuple[Any, Blocks]:
    """Return C, of many classes without its zeros, and its blocks."""
    if confusion.soft:  # hardly an entry is zero
        return confusion.matrix, Blocks.whole(confusion.matrix.shape)
    c = table_of(confusion) / confusion.n
    return c, Blocks.of(c)


def solve_many(matrices: FloatMatrix, frequencies: FloatMatrix) -> FloatMatrix:
    """Return the solutions of B equations, shape (B, K); NaN for a singular one."""
    out = np.full(frequencies.shape, np.nan)
    values = np.linalg.svd(matrices, compute_uv=False)
    regular = ~_are_singular(values, matrices.shape[-1])
    out[regular] = _solutions(matrices[regular], frequencies[regular])
    return out


def _solutions(matrices: FloatMatrix, frequencies: FloatMatrix) -> FloatMatrix:
    """Return the solutions of B regular equations, one or many to the same bits."""
    return np.linalg.solve(matrices, frequencies[:, :, None])[:, :, 0]


def _are_singular(singular_values: FloatArray, n_classes: int) -> BoolArray:
    """Return whether the last one is zero to working precision, along the last axis."""
    cutoff = n_classes * np.finfo(np.float64).eps
    return np.asarray(singular_values[..., -1] <= cutoff * singular_values[..., 0])


def normalize(raw: FloatArray, source_prior: FloatArray) -> FloatArray:
    """Return the weights clipped at zero and divided by sum_k p_k w_k."""
    clipped = np.maximum(raw, 0.0)
    total = float(source_prior @ clipped)
    return clipped / total if total > 0 else np.ones_like(clipped)
