"""The moment estimate where h says which class is predicted: all of it from counts.

Of many classes the counts are kept without their zeros, and the inverse is taken by
blocks of classes that are confused with one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.matrices.matrix_blocks import Blocks
from distfreeuq.label_shift.class_matrix import ClassMatrix
from distfreeuq.label_shift.confusion import Confusion, table_of
from distfreeuq.label_shift.inference.moment_estimate import (
    PSEUDO_ROWS,
    MomentEstimate,
    invert,
    moments_from,
    onto_simplex,
    per_prior,
    reach_of,
)


@dataclass(frozen=True, slots=True)
class _Solved:
    """What both functions below need.

    Attributes
    ----------
    joint, conditional : ndarray or sparse array (K, K)
        Counts, and shares of the predictions in each class.
    counts : ndarray (K,)
        Source rows by class.
    blocks : Blocks
        Of the classes that have source rows.
    inverse : ndarray (K, K)
    told : ndarray (K,) of bool
    """

    joint: Any
    conditional: Any
    counts: FloatArray
    blocks: Blocks
    inverse: FloatMatrix
    told: BoolArray


def _solve(confusion: Confusion) -> _Solved:
    joint = table_of(confusion)
    counts = np.asarray(joint.sum(axis=0), dtype=np.float64)
    here = counts > 0
    conditional = joint * (1.0 / np.where(here, counts, 1.0))
    if isinstance(joint, np.ndarray):
        conditional = joint / np.where(here, counts, 1.0)
    else:
        conditional = conditional.tocsr()
    present = np.flatnonzero(here)
    blocks = Blocks.of(conditional[present][:, present])
    inverse, told = invert(conditional, here, blocks)
    return _Solved(joint, conditional, counts, blocks, inverse, told)


@on_one_blas_thread
def moments_of_counts(confusion: Confusion) -> MomentEstimate:
    """Return the estimate of BBSE from counted predictions: h says which it is."""
    confusion, taking_part = confusion.of_those_that_occur()
    solved = _solve(confusion)
    inverse, counts, mu = solved.inverse, solved.counts, confusion.frequencies
    said = _AsSaid.of(solved.joint, confusion.n)
    squared = inverse**2
    as_said = said.of_left(squared)
    as_said -= said.of_left(inverse) ** 2
    squares = inverse @ solved.conditional
    squares **= 2
    squares *= -counts
    squares += squared @ solved.joint
    prior = inverse @ mu
    spread = squared @ mu - prior**2
    del squared
    estimate = moments_from(
        prior,
        counts / confusion.n,
        squares,
        as_said,
        spread,
        reach_of(inverse),
        counts,
        confusion.m,
        solved.told,
    )
    return estimate.among(taking_part)


@on_one_blas_thread
def covariance_of_counts(confusion: Confusion) -> FloatMatrix | ClassMatrix:
    """Return the covariance of q / p where h is the prediction, shape (K, K).

    Variances are infinite where predictions do not tell a class from others.
    """
    confusion, taking_part = confusion.of_those_that_occur()
    solved = _solve(confusion)
    inverse, counts, mu = solved.inverse, solved.counts, confusion.frequencies
    conditional, here = solved.conditional, counts > 0
    said = _AsSaid.of(solved.joint, confusion.n)
    q = onto_simplex(inverse @ mu)
    per_row = q**2 / np.where(here, counts * (counts - 1.0 + PSEUDO_ROWS), 1.0)
    own, of_target = per_row * counts, 1.0 / max(confusion.m - 1.0, 1.0)
    # a part that links no two blocks, and others that are products of two vectors
    linked = (conditional * -own) @ conditional.T
    diagonal = conditional @ own + PSEUDO_ROWS * said.diagonal(per_row) + of_target * mu
    apart = _plus_diagonal(linked, diagonal)
    present = np.flatnonzero(here)
    square = np.ix_(present, present)
    spread = np.zeros(inverse.shape)
    spread[square] = solved.blocks.around(inverse[square], apart[present][:, present])
    for factor, left, right in (
        (-of_target, mu, mu),
        *((-PSEUDO_ROWS * a, x, y) for a, x, y in said.products(per_row)),
    ):
        spread += factor * np.outer(inverse @ left, inverse @ right)
    covariance = per_prior(spread, q, counts, solved.told & (confusion.m > 1))
    return taking_part.matrix(covariance, np.inf)


def _plus_diagonal(matrix: Any, diagonal: FloatArray) -> Any:
    """Return the sum of a matrix, with zeros or without, and a diagonal."""
    if isinstance(matrix, np.ndarray):
        return matrix + np.diag(diagonal)
    from scipy import sparse

    return (matrix + sparse.diags_array(diagonal)).tocsr()


@dataclass(frozen=True, slots=True)
class _AsSaid:
    """Shares (i, j) of prediction i in class j with predictions at their word.

    The class is the predicted one as often as in the whole source, and any class
    otherwise: a diagonal matrix and a product of two vectors.

    Attributes
    ----------
    right : ndarray (K,)
        The diagonal.
    wrong, of_class : ndarray (K,)
        The vectors.
    """

    right: FloatArray
    wrong: FloatArray
    of_class: FloatArray

    @classmethod
    def of(cls, joint: Any, n: int) -> _AsSaid:
        """Return the shares that go with these counts."""
        predicted = np.asarray(joint.sum(axis=1), dtype=np.float64)
        p = np.asarray(joint.sum(axis=0), dtype=np.float64) / n
        right = (float(joint.diagonal().sum()) + 1.0) / (n + 2.0)
        total = right * predicted + (1.0 - right) * n * p
        total = np.maximum(total, 1e-300)
        return cls(right * predicted / total, (1.0 - right) * predicted, p / total)

    def of_left(self, matrix: FloatMatrix) -> FloatMatrix:
        """Return matrix @ shares."""
        out = matrix * self.right
        out += np.outer(matrix @ self.wrong, self.of_class)
        return out

    def diagonal(self, weight: FloatArray) -> FloatArray:
        """Return shares @ weight, less the diagonal of the shares' own products."""
        whole = self.right * weight + self.wrong * float(self.of_class @ weight)
        return whole - self.right**2 * weight

    def products(
        self, weight: FloatArray
    ) -> list[tuple[float, FloatArray, FloatArray]]:
        """Return the vectors that make (shares * weight) @ shares.T, less a diagonal.

        It is the sum of factor * outer(left, right) over what is returned.
        """
        both = self.right * weight * self.of_class
        own = float(self.of_class**2 @ weight)
        wrong = self.wrong
        return [(1.0, both, wrong), (1.0, wrong, both), (own, wrong, wrong)]
