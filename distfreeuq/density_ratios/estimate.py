"""What every method of estimating a density ratio comes down to."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from distfreeuq._base.array_types import FloatArray, FloatMatrix


class RatioModel(Protocol):
    """A fitted density ratio."""

    def ratio(self, x: FloatMatrix) -> FloatArray:
        """Return q(x)/p(x) as estimated, shape (n,), non-negative."""


class RatioEstimate(NamedTuple):
    """A ratio for new rows, and the given rows' own by fits that have not seen them.

    Attributes
    ----------
    model : RatioModel
        Fitted on all rows.
    source_ratio : ndarray (n_source,)
    target_ratio : ndarray (n_target,)
    notes : tuple of str
        What a reader of the numbers should know.
    """

    model: RatioModel
    source_ratio: FloatArray
    target_ratio: FloatArray
    notes: tuple[str, ...] = ()
