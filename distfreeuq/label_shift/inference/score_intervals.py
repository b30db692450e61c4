"""Score intervals of the weights: the noise is taken as if the candidate were true.

For a candidate weight x of class k the statistic is q_k - x p_k, q the moment estimate
and p the label frequencies. Its variance is that of a target with a share c = x p_k of
class k, the others in their proportions: a quadratic function of c, so that both ends
of {x : (q_k - x p_k)^2 <= z^2 Var(x)} are roots of quadratic equations (theory page,
4.6). Where the estimate is at zero, and where confusions are rarer than the source rows
can show, this is far from the delta method. Classes of few source rows get bounds in
place of variances (`scarce_classes`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq._numerics.quantiles import normal_margin
from distfreeuq.label_shift.class_matrix import TakingPart
from distfreeuq.label_shift.inference.moment_estimate import MomentEstimate
from distfreeuq.label_shift.inference.scarce_classes import scarce_margins

# A class of n rows may be confused with another in (5 / n)^2 of cases and not show it.
# Measured: enough at 30 rows of half the target, and 10 is no better; at 500 rows a
# class, where they do show it, a percent of the width.
_UNSHOWN = 5.0


def score_ends(
    estimate: MomentEstimate, alpha: float, labelled: Labelled | None = None
) -> FloatMatrix:
    """Return intervals (K, 2), each at level 1 - alpha in the limit.

    A class that is not told from others has [0, 1 / lower end of p_k], since q_k <= 1;
    one without source rows has [0, inf). What scarce classes may hide is added.
    Labels of target rows beside those of the estimate are combined with it, and used
    alone for a class that is not told from others.
    """
    estimate, taking_part = estimate.of_those_that_take_part()
    if taking_part.classes is not None:
        if labelled is not None:
            labelled = labelled.among(taking_part)
        low, high = _ends(estimate, alpha, labelled, unseen=True).T
        ends = taking_part.vector(low), taking_part.vector(high, np.inf)
        return np.column_stack(ends)
    return _ends(estimate, alpha, labelled, unseen=False)


def _ends(
    estimate: MomentEstimate, alpha: float, labelled: Labelled | None, unseen: bool
) -> FloatMatrix:
    """Return the same of classes that take part; `unseen` if there are others."""
    z = normal_margin(alpha)
    told, here = _told(estimate, z), estimate.counts > 0
    p = np.where(here, estimate.source_prior, 1.0)
    low, high = _share_ends(estimate, z)
    below, above = scarce_margins(estimate, high, told, alpha, unseen)
    if labelled is not None:
        labelled = labelled.alone(~told)
        low, high = _share_ends(estimate, z, labelled)
        rest, told = 1.0 - labelled.weight, here
        below, above = (
            np.where(rest > 0.0, rest * np.where(rest > 0.0, margin, 0.0), 0.0)
            for margin in (below, above)
        )
    with np.errstate(invalid="ignore"):  # no end at all, and moved without an end
        low, high = np.maximum(np.nan_to_num(low - below), 0.0), high + above
    rarest = _wilson_low(estimate.counts, estimate.n, z)
    cap = np.full(p.size, np.inf)
    np.divide(1.0, rarest, out=cap, where=here & (rarest > 0))
    out = np.column_stack([np.zeros(p.size), cap])
    out[told, 0] = np.minimum(low / p, cap)[told]
    out[told, 1] = np.minimum(high / p, cap)[told]
    return out


def score_box(
    estimate: MomentEstimate, delta: float, labelled: Labelled | None = None
) -> FloatMatrix:
    """Return intervals (K, 2) that hold all weights at once: each at delta / K.

    K counts the classes of the source; the others are unbounded.
    """
    present = int((estimate.counts > 0).sum())
    return score_ends(estimate, delta / max(present, 1), labelled)


def _told(estimate: MomentEstimate, z: float) -> BoolArray:
    """Return which classes are told: phi_k's mean in each class is known to +-1."""
    rows = np.maximum(estimate.counts, 1.0)
    worst = (np.asarray(estimate.class_variance) / rows).max(axis=1)
    return np.asarray((estimate.counts > 0) & (z**2 * worst < 1.0))


@dataclass(frozen=True, slots=True)
class Labelled:
    """Labels of other target rows than those of the estimate.

    Attributes
    ----------
    r : int
        Labelled rows.
    shares, weight : ndarray (K,)
        Shares of the classes among them, and what these count for; the moment estimate
        counts for the rest.
    """

    r: int
    shares: FloatArray
    weight: FloatArray

    def among(self, taking_part: TakingPart) -> Labelled:
        """Return the same of the classes that take part."""
        few = taking_part.of(self.shares), taking_part.of(self.weight)
        return Labelled(self.r, *few)

    def alone(self, which: BoolArray) -> Labelled:
        """Return the same with nothing but labels for some of the classes."""
        return Labelled(self.r, self.shares, np.where(which, 1.0, self.weight))

    def combined(self, prior: FloatArray) -> FloatArray:
        """Return the combination with an estimate of the proportions."""
        return (1.0 - self.weight) * prior + self.weight * self.shares

    def with_noise(self, of_moments: _Quadratic) -> _Quadratic:
        """Return the variance of the combination; a label's is c (1 - c)."""
        rest, own = (1.0 - self.weight) ** 2, self.weight**2 / self.r
        return _Quadratic(
            two=rest * of_moments.two - own,
            one=rest * of_moments.one + own,
            zero=rest * of_moments.zero,
        )


@dataclass(frozen=True, slots=True)
class _Quadratic:
    """two c^2 + one c + zero: the variance of q_k if class k's share is c."""

    two: FloatArray
    one: FloatArray
    zero: FloatArray

    def at(self, c: FloatArray) -> FloatArray:
        """Return the variances (K,) at the shares c (K,)."""
        return (self.two * c + self.one) * c + self.zero


def _share_ends(
    estimate: MomentEstimate, z: float, labelled: Labelled | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the ends (K,) of x p_k, before they are capped."""
    prior, n, m = estimate.prior, estimate.n, estimate.m
    here = estimate.counts > 0
    q, of_phi = np.where(here, estimate.feasible_prior, 0.0), prior
    if labelled is not None:
        prior = labelled.combined(prior)
        q = np.where(here, labelled.combined(q), 0.0)
    p = np.where(here, estimate.source_prior, 1.0)
    rows = np.maximum(estimate.counts, 1.0)
    variance = np.asarray(estimate.class_variance)
    variance = np.where(np.isfinite(variance), variance, 0.0)

    own = np.diag(variance)
    left = np.maximum(1.0 - q, 1e-9)
    # the second moment of phi_k outside class k, and its part in the source's noise
    spread = (variance @ q - own * q) / left
    others = (variance @ (q**2 / rows) - own * q**2 / rows) / left**2
    target_like = _Quadratic(
        two=others + own / rows - 1.0 / m,
        one=(1.0 + own - spread) / m - 2.0 * others,
        zero=spread / m + others,
    )
    if labelled is not None:
        target_like = labelled.with_noise(target_like)
    of_labels = (1.0 - p) / (n * p)
    # given x, p_k is estimated by a mean of p_k and q_k / x
    share = _share_of(of_labels * q**2, target_like.at(q))
    # a negative estimate counts as zero here: the set could be empty without that
    at_least = np.maximum(prior, 0.0)
    high = _roots(at_least, z, 1.0 - share, share * q, of_labels, target_like)[1]

    # below the estimate, what class k does not explain of phi_k's second moment in the
    # target must be false positives, of which the source may have shown too few: their
    # rate is pooled from both samples, and is no less than if every class had some that
    # its rows did not show
    rate = np.where(spread > 0, others / np.where(spread > 0, spread, 1.0), 1.0 / n)
    unshown = variance + (1.0 + own)[:, None] * np.where(here, _UNSHOWN / rows, 0) ** 2
    np.fill_diagonal(unshown, 0.0)
    of_all = left * (unshown @ q)
    shown_by = np.divide(unshown @ (q**2 / rows), of_all, where=of_all > 0, out=0 * p)
    rate = np.maximum(rate, shown_by)
    seen = np.maximum(
        estimate.target_variance + of_phi**2, spread * left + (1.0 + own) * q
    )
    pool = m * rate / (m * rate + 1.0)
    flat = pool * seen + (1.0 - pool) * spread
    tilt = -pool * (1.0 + own) - (1.0 - pool) * spread
    pooled = _Quadratic(
        two=own / rows - 1.0 / m - rate * tilt,
        one=(tilt + 1.0 + own) / m + rate * (tilt - flat),
        zero=flat * (rate + 1.0 / m),
    )
    if labelled is not None:
        pooled = labelled.with_noise(pooled)
    # the noise of q_k against that of p_k is judged at the end that holds if p_k is
    # exact: at the estimate, what the source did not show would count for nothing
    known = np.zeros_like(q)
    low = _roots(prior, z, 1.0 - known, known, of_labels, pooled)[0]
    c = np.clip(low, 0.0, np.minimum(at_least, 1.0))
    share = _share_of(of_labels * c * q, pooled.at(c))
    low = _roots(prior, z, 1.0 - share, share * q, of_labels, pooled)[0]
    return np.clip(low, 0.0, at_least), np.maximum(high, at_least)


def _share_of(part: FloatArray, rest: FloatArray) -> FloatArray:
    """Return part / (part + rest), 0 where both are 0; below 0 is rounding of 0."""
    return part / np.maximum(part + np.maximum(rest, 0.0), 1e-300)


def _roots(
    prior: FloatArray,
    z: float,
    near: FloatArray,
    const: FloatArray,
    of_labels: FloatArray,
    variance: _Quadratic,
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of {c : (q - c)^2 <= z^2 [V(c0) + of_labels c c0]}.

    c0 = near c + const. The ends are -inf and +inf where there are none.
    """
    two, one, zero = variance.two, variance.one, variance.zero
    a = 1.0 - z**2 * (two * near**2 + near * of_labels)
    b = -2.0 * prior - z**2 * (
        2.0 * two * near * const + one * near + const * of_labels
    )
    c = prior**2 - z**2 * ((two * const + one) * const + zero)
    root = np.sqrt(np.maximum(b * b - 4.0 * a * c, 0.0))
    closed, twice = a > 0, np.where(a > 0, 2.0 * a, 1.0)
    return (
        np.where(closed, (-b - root) / twice, -np.inf),
        np.where(closed, (-b + root) / twice, np.inf),
    )


def _wilson_low(count: FloatArray, n: float, z: float) -> FloatArray:
    """Return the lower ends of Wilson's intervals."""
    rate = count / n
    half = z * np.sqrt(rate * (1.0 - rate) / n + z * z / (4.0 * n * n))
    low = (rate + z * z / (2.0 * n) - half) / (1.0 + z * z / n)
    return np.asarray(np.maximum(low, 0.0))
