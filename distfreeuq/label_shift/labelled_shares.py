"""Labels of some target rows, beside the predictions of the others.

The labelled rows are a random part of the target's, so that the shares s of their
labels and the moment estimate q of the *other* target rows are independent. Given its
label a row's output says nothing of q, so that no more is lost by leaving the labelled
rows out of the moments than what they could tell of the source's noise. Each class has
the combination (1 - a) q_k + a s_k of least variance, which is no worse in the limit
than either, nor than the moment estimate of all rows (theory page, 4.15).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, integers, require
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

    @property
    def beside(self) -> Labelled:
        """What intervals need of them."""
        return Labelled(self.r, self.shares, self.weight)


def weigh_labels(counts: IntArray, moments: MomentEstimate) -> LabelledShares:
    """Return the shares with the weights of least variance.

    The variances are at proportions between both estimates, with one more labelled row
    of each class: a class that few labels miss is not taken to be known.
    """
    fewer, taking_part = moments.of_those_that_take_part()
    r = float(counts.sum())
    smooth = taking_part.of(_smooth(counts))
    feasible, rows = fewer.feasible_prior, np.maximum(fewer.counts, 1.0)
    variance = np.asarray(fewer.class_variance)
    told = np.isfinite(variance).all(axis=1) & (fewer.counts > 0)
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
    covariance: FloatMatrix,
    raw: FloatArray,
    combined: FloatArray,
    source_prior: FloatArray,
    n: int,
) -> FloatMatrix:
    """Return the covariance of the combined weights by the delta method.

    Parameters
    ----------
    labelled : LabelledShares
    covariance : ndarray (K, K)
        That of `raw`, the solution of the other target rows.
    raw, combined : ndarray (K,)
        Weights without the labels, and with them.
    source_prior : ndarray (K,)
        p, of `n` rows.
    """
    rest = 1.0 - labelled.weight
    # the noise of q, which is not correlated with that of p
    of_moments = covariance - _noise_of_prior(raw, source_prior, n)
    q = rest * np.maximum(source_prior * raw, 0.0) + labelled.weight * labelled.smooth
    q /= q.sum()
    of_shares = (np.diag(q) - np.outer(q, q)) / labelled.r
    of_shares /= np.outer(source_prior, source_prior)
    spread = np.outer(rest, rest) * of_moments
    spread += np.outer(labelled.weight, labelled.weight) * of_shares
    return spread + _noise_of_prior(combined, source_prior, n)


def _smooth(counts: IntArray) -> FloatArray:
    """Return shares with one more row of each class."""
    return np.asarray((counts + 1.0) / (counts.sum() + counts.size))


def _noise_of_prior(w: FloatArray, p: FloatArray, n: int) -> FloatMatrix:
    """Return the covariance of q / p that is due to the frequencies p."""
    return (np.diag(w**2 / p) - np.outer(w, w)) / n
