"""The likeliest cells of the classes if the target is a mixture of them.

N_dj source rows of class j are in cell d, M_d target rows. With shares a_dj of cells in
classes and proportions q, sum_dj N_dj log a_dj + sum_d M_d log (A q)_d is maximised
over both: target rows tell about A where a class has few source rows. EM, with the long
steps of Varadhan and Roland (2008), none of which makes the likelihood smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix

_MAX_STEPS = 500

# The fit ends after three steps that each gain less log-likelihood.
_GAIN = 1e-6


@dataclass(frozen=True, slots=True)
class ClassMixture:
    """The fit: `shares` (D, J) of cells in classes, their proportions `prior` (J,)."""

    shares: FloatMatrix
    prior: FloatArray

    @property
    def target(self) -> FloatArray:
        """Shares (D,) of the cells in the target."""
        return np.asarray(self.shares @ self.prior)


def fit_class_mixture(source: FloatMatrix, target: FloatArray) -> ClassMixture:
    """Return the maximum of the likelihood of both samples' counts.

    Parameters
    ----------
    source : ndarray (D, J)
        Counts; every class has rows.
    target : ndarray (D,)
        Counts of at least one row.
    """
    counts = source.sum(axis=0)
    pooled = source.sum(axis=1) + target
    pooled /= pooled.sum()
    fit = ClassMixture(
        (source + pooled[:, None]) / (counts + 1.0), counts / counts.sum()
    )
    reached, short = _log_likelihood(fit, source, target), 0
    for _ in range(_MAX_STEPS):
        fit, value = _long_step(fit, source, target, reached)
        short = short + 1 if value - reached < _GAIN else 0
        reached = value
        if short == 3:
            break
    return fit


def _em_step(
    fit: ClassMixture, source: FloatMatrix, target: FloatArray
) -> ClassMixture:
    mixture = fit.target
    ratio = np.divide(target, mixture, out=np.zeros_like(mixture), where=mixture > 0)
    taken = fit.shares * ratio[:, None] * fit.prior
    return _normalized(source + taken, taken.sum(axis=0))


def _normalized(shares: FloatMatrix, prior: FloatArray) -> ClassMixture:
    return ClassMixture(shares / shares.sum(axis=0), prior / prior.sum())


def _log_likelihood(
    fit: ClassMixture, source: FloatMatrix, target: FloatArray
) -> float:
    with np.errstate(divide="ignore"):
        of_source = source * np.log(np.where(source > 0, fit.shares, 1.0))
        of_target = target * np.log(np.where(target > 0, fit.target, 1.0))
    return float(of_source.sum() + of_target.sum())


def _long_step(
    fit: ClassMixture, source: FloatMatrix, target: FloatArray, reached: float
) -> tuple[ClassMixture, float]:
    """Return two EM steps, or the point that they lead to if it is better."""
    one = _em_step(fit, source, target)
    two = _em_step(one, source, target)
    first = one.shares - fit.shares, one.prior - fit.prior
    turn = two.shares - one.shares - first[0], two.prior - one.prior - first[1]
    speed, bend = (float((x**2).sum() + (y**2).sum()) for x, y in (first, turn))
    length = np.sqrt(speed / bend) if bend > 0.0 else 1.0
    while 1.0 < length < np.inf:
        shares, prior = (
            np.maximum(start + length * (2.0 * x + length * y), 0.0)
            for start, x, y in zip((fit.shares, fit.prior), first, turn, strict=True)
        )
        if shares.sum(axis=0).all() and prior.any():
            far = _em_step(_normalized(shares, prior), source, target)
            value = _log_likelihood(far, source, target)
            if value >= reached:
                return far, value
        length = (length + 1.0) / 2.0 if length > 1.2 else 1.0
    return two, _log_likelihood(two, source, target)
