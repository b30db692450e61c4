"""Features of two samples, in memory or in blocks, numbered as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._numerics.passes.row_parts import Parts, add_up

_U = TypeVar("_U")
_T = TypeVar("_T")


class FeatureRows(NamedTuple):
    """Some rows of one sample.

    Attributes
    ----------
    x : ndarray (n, d)
    labels : ndarray (n,)
        1.0 for target rows, 0.0 for source rows.
    start : int
        Number of the first row: source rows come first, target rows after all of them.
    """

    x: FloatMatrix
    labels: FloatArray
    start: int = 0


@dataclass(frozen=True, slots=True)
class PooledParts(Parts[_T]):
    """The parts of both samples."""

    source: Parts[_T]
    target: Parts[_T]

    @property
    def are_kept(self) -> bool:
        """Whether parts are the same objects in every pass."""
        return self.source.are_kept and self.target.are_kept

    def total(
        self,
        function: Callable[[_T], _U],
        add_up: Callable[[Sequence[_U]], _U] = add_up,
    ) -> _U:
        """Return the sum over the parts of both: one pass over each."""
        both = [own.total(function, add_up) for own in (self.source, self.target)]
        return add_up(both)

    def then(self, prepare: Callable[[_T], _U]) -> PooledParts[_U]:
        """Return the parts in another form."""
        return PooledParts(self.source.then(prepare), self.target.then(prepare))


class Moments(NamedTuple):
    """Sums of squares around a centre, largest absolute values, and rounding error."""

    squares: FloatArray
    level: FloatArray
    rounding: float


# Entries of a block of rows that stays in the cache.
_BLOCK_ENTRIES = 1 << 15


def center_and_scale_of(
    parts: Parts[FeatureRows], n: int
) -> tuple[FloatArray, FloatArray]:
    """Return column means (d,) and standard deviations (d,), 1 for constant columns.

    A column whose spread is rounding error of its level counts as constant.
    """
    center: FloatArray = np.asarray(parts.total(_sum) / n)
    found = parts.total(_Spread(center), _add_moments)
    scale = np.sqrt(found.squares / n)
    rounding = 16.0 * found.rounding * found.level
    return center, np.where(scale > rounding, scale, 1.0)


def _sum(rows: FeatureRows) -> FloatArray:
    return np.asarray(rows.x.sum(axis=0, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class _Spread:
    """Sums squares of some rows around a centre, block by block."""

    center: FloatArray

    def __call__(self, rows: FeatureRows) -> Moments:
        x, (n, d) = rows.x, rows.x.shape
        squares, level = np.zeros(d), np.zeros(d)
        step = max(1, _BLOCK_ENTRIES // max(d, 1))
        for start in range(0, n, step):
            block = x[start : start + step]
            away = block - self.center
            squares += np.einsum("ij,ij->j", away, away)
            level = np.maximum(level, np.maximum(block.max(axis=0), -block.min(axis=0)))
        return Moments(squares, level, float(np.finfo(x.dtype).eps))


def _add_moments(found: Sequence[Moments]) -> Moments:
    return Moments(
        np.sum([one.squares for one in found], axis=0),
        np.max([one.level for one in found], axis=0),
        max(one.rounding for one in found),
    )
