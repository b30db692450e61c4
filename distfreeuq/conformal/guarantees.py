"""What label-shift conformal sets guarantee, by how their weights are known."""

from __future__ import annotations

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.array_types import FloatArray
from distfreeuq.conformal.data import (
    CHOSEN_ELSEWHERE,
    PAPER_A,
    SAME_GIVEN_LABEL,
    CalibrationScores,
)
from distfreeuq.guarantees import Guarantee, at_least
from distfreeuq.label_shift.inference.total_variation import total_variation_bound
from distfreeuq.label_shift.results import LabelShiftResult

_BASICS = (SAME_GIVEN_LABEL, "rows i.i.d.", CHOSEN_ELSEWHERE)


def known_weights(
    calibration: CalibrationScores, weights: FloatArray, alpha: float
) -> Guarantee:
    """Return Theorem 2, with an estimate of its upper side where that holds."""
    lower = at_least(1.0 - alpha)
    statement = f"P(Y in C(X)) >= {lower} for a new target row, in finite samples"
    if not calibration.tied and not calibration.never_empty:
        upper = _estimated_upper(calibration, weights, alpha)
        if upper < 1.0:
            statement += (
                f"; and about {upper:.4f} at most (estimated) if scores are continuous"
            )
    return Guarantee(
        statement=f"{statement}.",
        kind="marginal",
        lower=1.0 - alpha,
        reference=f"{PAPER_A}, Thm 2",
        assumptions=(*_BASICS, "the weights are the true q(y)/p(y) up to scale"),
    )


def _estimated_upper(
    calibration: CalibrationScores, weights: FloatArray, alpha: float
) -> float:
    """Return 1 - alpha + E[max_i p_i], the target prior estimated from the counts."""
    finite = np.where(np.isinf(weights), 0.0, weights)
    mass = finite * calibration.counts
    total = mass.sum()
    if total == 0.0 or np.isinf(weights).any():
        return 1.0
    largest_row = finite[calibration.counts > 0].max()
    largest = np.maximum(largest_row, finite) / (total + finite)
    return float(1.0 - alpha + (mass / total) @ largest)


def estimated_weights(alpha: float) -> Guarantee:
    """Return Corollary 1: a claim in the limit."""
    return Guarantee(
        statement=(
            f"liminf of P(Y in C(X)) >= {at_least(1.0 - alpha)} for a new target row "
            "as the data that the weights are estimated from grow. robust=True has a "
            "claim for finite samples"
        ),
        kind="marginal",
        lower=1.0 - alpha,
        reference=f"{PAPER_A}, Cor. 1, whose no-jump assumption is not needed",
        assumptions=(*_BASICS, "the weights' estimator is consistent"),
        finite_sample=False,
    )


def independent_weights(
    estimate: LabelShiftResult, alpha: float, delta: float
) -> Guarantee:
    """Return the total-variation statement, its number filled in.

    Half of delta goes to the region of the weights, half to the box of the source
    prior.
    """
    region = estimate.region(delta / 2)
    counts = np.asarray(estimate.source_counts)
    low, high = bounds.clopper_pearson(
        counts, np.full(counts.shape, counts.sum()), delta / (2 * counts.size)
    )
    cost = total_variation_bound(np.asarray(estimate.label_weight), region, low, high)
    lower = max(0.0, 1.0 - alpha - cost)
    return Guarantee(
        statement=(
            f"with probability >= {at_least(1.0 - delta)} over the rows that the "
            f"weights were estimated on, P(Y in C(X)) >= {at_least(lower)} for a new "
            "target row: "
            f"{at_least(1.0 - alpha)} less the weights' possible error in total "
            f"variation" + ("" if lower > 0 else " (vacuous: prefer robust=True)") + "."
        ),
        kind="marginal",
        lower=lower,
        confidence=1.0 - delta,
        reference=f"{PAPER_A}, Thm 2; total variation (theory page, 4.1)",
        assumptions=(
            *_BASICS,
            "the weights were estimated on rows independent of the calibration rows "
            "and of the new row (declared)",
        ),
        finite_sample=region.finite_sample,
    )


def union(finite_sample: bool, alpha: float, delta: float) -> Guarantee:
    """Return the claim of union sets over a region of level 1 - delta."""
    lower = max(0.0, 1.0 - alpha - delta)
    how = "in finite samples and with" if finite_sample else "with"
    return Guarantee(
        statement=(
            f"P(Y in C(X)) >= {at_least(lower)} for a new target row, {how} estimated "
            f"weights (union over a {100 * (1 - delta):g}% region of the weights)"
            + ("." if finite_sample else "")
        ),
        kind="marginal",
        lower=lower,
        reference=f"{PAPER_A}, Thm 2; union sets (theory page, 4.2)",
        assumptions=_BASICS,
        finite_sample=finite_sample,
    )


def given_calibration(alpha: float, confidence: float, method: str) -> Guarantee:
    """Return the training-conditional claim for known weights."""
    by = (
        "stratified Clopper-Pearson"
        if method.startswith("class")
        else "rejection sampling"
    )
    return Guarantee(
        statement=(
            f"with probability >= {at_least(confidence)} over the calibration draw, "
            f"coverage of target rows given the calibration rows is >= "
            f"{at_least(1.0 - alpha)}."
        ),
        kind="training-conditional",
        lower=1.0 - alpha,
        confidence=confidence,
        reference=f"PAC rank after {by} (theory page, 5); Vovk (2012)",
        assumptions=(*_BASICS, "the weights are the true q(y)/p(y) up to scale"),
    )
