"""The bound of Park et al. (2020), estimates in the place of its expectations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, flag, real
from distfreeuq.bounds import unchecked

TRIVIAL = 2.0
"""No squared distance of two probability vectors is larger."""
T = 0.5
"""The bound holds for every t > 0; this is the t of Park et al."""


@register("target-error-bound")
@dataclass(frozen=True, slots=True)
class BoundEstimate:
    """Terms of the bound on E_q ||f - c||^2, each estimated, t = 1/2.

    Attributes
    ----------
    target_error : float
        Mean of L w_hat over the source rows: estimates E_q ||f - y||^2 itself.
    weighted_error : float
        Mean of L (w_hat + 1/2): the bound's first term, which Park et al. minimise.
    upper : float
        U.
    upper_is_given : bool
        Otherwise it is the largest estimated weight, which bounds nothing unseen.
    factor : float
        lambda, the sharp one of `distfreeuq.bounds.covariate_shift_factor`.
    discriminator_error : float
        Squared error of g_hat = 1 / (1 + w_hat), source and target rows by half.
    supposed_best_error : float
        Mean of g_hat (1 - g_hat): the smallest error possible, if g_hat is calibrated.
    """

    target_error: float
    weighted_error: float
    upper: float
    upper_is_given: bool
    factor: float
    discriminator_error: float
    supposed_best_error: float

    _state: ClassVar[State] = {
        "target_error": real(0.0, nan=True, finite=False),
        "weighted_error": real(0.0, nan=True, finite=False),
        "upper": real(0.0, nan=True, finite=False),
        "upper_is_given": flag(),
        "factor": real(0.0, nan=True, finite=False),
        "discriminator_error": real(0.0, nan=True, finite=False),
        "supposed_best_error": real(0.0, nan=True, finite=False),
    }

    @property
    def supposed(self) -> float:
        """The bound if the discriminator is calibrated: no certificate."""
        excess = self.discriminator_error - self.supposed_best_error
        return self._with_error(max(0.0, excess))

    @property
    def value(self) -> float:
        """The bound with nothing supposed about the best discriminator."""
        return self._with_error(self.discriminator_error)

    def _with_error(self, error: float) -> float:
        """Return the bound. A factor beyond all floats makes any error infinite."""
        if math.isinf(self.factor):
            return math.inf
        return self.weighted_error + self.factor * error

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound is no smaller than 2, which needs no data."""
        return self.value >= TRIVIAL


def estimate_bound(
    squared_error: FloatArray,
    source_weight: FloatArray,
    target_weight: FloatArray,
    upper: float | None,
) -> BoundEstimate:
    """Return the terms from losses (n,) and estimated weights (n,) and (m,).

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.covariate_shift.bound_estimate import estimate_bound
    >>> found = estimate_bound(np.array([0.2, 0.4]), np.ones(2), np.ones(3), None)
    >>> round(found.target_error, 3), round(found.weighted_error, 3), found.upper
    (0.3, 0.45, 1.0)
    >>> found.discriminator_error, found.supposed_best_error
    (0.25, 0.25)
    """
    return bound_of_means(
        float(np.mean(squared_error * source_weight)),
        float(np.mean(squared_error * (source_weight + T))),
        source_weight,
        target_weight,
        upper,
    )


def bound_of_means(
    target_error: float,
    weighted_error: float,
    source_weight: FloatArray,
    target_weight: FloatArray,
    upper: float | None,
) -> BoundEstimate:
    """Return the terms where the weighted means of the losses are known."""
    largest = float(max(source_weight.max(), target_weight.max()))
    limit = largest if upper is None else upper
    of_source, of_target = (1.0 / (1.0 + w) for w in (source_weight, target_weight))
    return BoundEstimate(
        target_error=target_error,
        weighted_error=weighted_error,
        upper=limit,
        upper_is_given=upper is not None,
        factor=unchecked.covariate_shift_factor(limit, t=T),
        discriminator_error=_halves((1.0 - of_source) ** 2, of_target**2),
        supposed_best_error=_halves(
            of_source * (1.0 - of_source), of_target * (1.0 - of_target)
        ),
    )


def _halves(of_source: FloatArray, of_target: FloatArray) -> float:
    return 0.5 * float(of_source.mean()) + 0.5 * float(of_target.mean())
