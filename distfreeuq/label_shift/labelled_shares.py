"""Labels of some target rows, beside the predictions of the others.

The labelled rows are a random part of the target's, so that the shares s of their
labels and the moment estimate q of the *other* target rows are independent. Given its
label a row's output says nothing of q, so that no more is lost by leaving the labelled
rows out of the moments than what they could tell of the source's noise. Each class has
the combination (1 - a) q_k + a s_k of least variance, which is no worse in the limit
than either, nor than the moment estimate of all rows (theory page, 4.15). It is so for
every estimator here: all have intervals by a moment estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, integers, require
from distfreeuq.label_shift.class_matrix import ClassMatrix
from distfreeuq.label_shift.inference.moment_estimate import MomentEstimate
from distfreeuq.label_shift.inference.score_intervals import Labelled

# The weights of least variance depend on the shares, and are renewed so many times.
_ROUNDS = 3


@register("labelled-shares")
@dataclass(frozen=True, slots=True, eq=False)
class LabelledShares:
    """How often each class is among the labelled target rows.

    Attributes
    ----------
    counts : ndarray (K,)
        Labelled target rows by class.
    weight : ndarray (K,)
        What the labelled rows' shares count for, in [0, 1]; the moment estimate of the
        other target rows counts for the rest.
    """

    counts: IntArray
    weight: FloatArray

    _state: ClassVar[State] = {
        "counts": integers("K"),
        "weight": floats("K", low=0.0, high=1.0, nan=False),
    }

    def _validate_state(self) -> None:
        require(self.counts.sum() > 0, "at least one labelled row")

    @property
    def r(self) -> int:
        """Labelled target rows."""
        return int(self.counts.sum())

    @property
    def shares(self) -> FloatArray:
        """Shares of the classes among them, shape (K,)."""
        return np.asarray(self.counts / self.r)

    @property
    def smooth(self) -> FloatArray:
        """Shares with one more row of each class, of which variances are made."""
        return _smooth(self.counts)

    def proportions_beside(self, moments: MomentEstimate) -> FloatArray:
        """Return the combined proportions of which variances are made, shape (K,).

        They are those of a target, and have one more labelled row of each class.
        """
        rest = 1.0 - self.weight
        q = rest * moments.feasible_prior + self.weight * _smooth(self.counts)
        return np.asarray(q / q.sum())

    @property
    def beside(self) -> Labelled:
        """What intervals need of them."""
        return Labelled(self.r, self.shares, self.weight)


def weigh_labels(counts: IntArray, moments: MomentEstimate) -> LabelledShares:
    """Return the shares with the weights of least variance.

    The variances are at proportions between both estimates, with one more labelled row
    of each class: a class that few labels miss is not taken to be known. Labels count
    alone for classes that predictions do not tell from others, and beside one row.
    """
    fewer, taking_part = moments.of_those_that_take_part()
    r = float(counts.sum())
    smooth = taking_part.of(_smooth(counts))
    feasible, rows = fewer.feasible_prior, np.maximum(fewer.counts, 1.0)
    variance = np.asarray(fewer.class_variance)
    told = np.isfinite(variance).all(axis=1) & (fewer.counts > 0) & (fewer.m > 1)
    variance = np.where(told[:, None], variance, 0.0)
    weight = np.full(smooth.size, 0.5)
    for _ in range(_ROUNDS):
        q = (1.0 - weight) * feasible + weight * smooth
        q = np.clip(q, 1e-300, 1.0)
        own = q * (1.0 - q)
        carried = (own + variance @ q) / fewer.m + variance @ (q**2 / rows)
        total = carried + own / r
        ratio = np.divide(carried, total, out=np.ones_like(q), where=total > 0)
        weight = np.where(told, ratio, 1.0)
    return LabelledShares(
        read_only(counts), read_only(taking_part.vector(np.clip(weight, 0.0, 1.0), 1.0))
    )


def with_shares(
    labelled: LabelledShares,
    covariance: FloatMatrix | ClassMatrix,
    moments: MomentEstimate,
) -> FloatMatrix | ClassMatrix:
    """Return the covariance of the combined weights q / p by the delta method.

    Parameters
    ----------
    labelled : LabelledShares
    covariance : ndarray (K, K) or ClassMatrix
        That of the moment estimate's q / p, with infinite variances of classes that
        predictions do not tell from others.
    moments : MomentEstimate
        The estimate of the target rows without labels.
    """
    fewer, few = moments.of_those_that_take_part()
    matrix = covariance.block if isinstance(covariance, ClassMatrix) else covariance
    weight, n = few.of(labelled.weight), fewer.n
    here, p = fewer.counts > 0, np.where(fewer.counts > 0, fewer.counts / n, 1.0)
    told = here & np.isfinite(np.diag(matrix))
    q = fewer.feasible_prior
    # the noise of q, which is not correlated with that of p
    of_moments = matrix * np.outer(p, p) - _noise_of_prior(q, p, n)
    of_moments = np.where(np.outer(told, told), of_moments, 0.0)
    rest = 1.0 - weight
    q = few.of(labelled.proportions_beside(moments))
    of_shares = (np.diag(q) - np.outer(q, q)) / labelled.r
    spread = np.outer(rest, rest) * of_moments + np.outer(weight, weight) * of_shares
    spread = (spread + _noise_of_prior(q, p, n)) / np.outer(p, p)
    unknown = ~here | (~told & (rest > 0.0))
    spread[unknown] = 0.0
    spread[:, unknown] = 0.0
    spread[unknown, unknown] = np.inf
    return few.matrix(spread, np.inf)


def _smooth(counts: IntArray) -> FloatArray:
    """Return shares with one more row of each class."""
    return np.asarray((counts + 1.0) / (counts.sum() + counts.size))


def _noise_of_prior(q: FloatArray, p: FloatArray, n: float) -> FloatMatrix:
    """Return the covariance of q due to the frequencies p, if q / p is what is known.

    Divided by p p' it is that of q / p.
    """
    return (np.diag(q**2 / p) - np.outer(q, q)) / n
