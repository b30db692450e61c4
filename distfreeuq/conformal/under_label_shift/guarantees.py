"""What label-shift sets guarantee: with known, with estimated and with bounded weights.

Theorem numbers are those of Podkopaev and Ramdas (2021).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from distfreeuq._base.array_types import FloatArray
from distfreeuq.bounds import unchecked
from distfreeuq.conformal.data import CalibrationScores
from distfreeuq.conformal.guarantees import BY_CLASS
from distfreeuq.guarantees import Guarantee, NoGuarantee, at_least, at_most
from distfreeuq.label_shift.guarantees import moment_equations
from distfreeuq.label_shift.inference.finite_sample_regions import exact_region
from distfreeuq.label_shift.inference.prior_distance import (
    total_variation_bound,
    total_variation_of_counts,
)
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.results import LabelShiftResult
from distfreeuq.references import (
    CALIBRATED,
    CHOSEN_ELSEWHERE,
    CLOPPER_PEARSON_1934,
    FITTED_ELSEWHERE,
    IID,
    LABEL_SHIFT,
    LABELLED_AT_RANDOM,
    PODKOPAEV_RAMDAS_2021,
    TIBSHIRANI_2019,
    TRUE_LABEL_WEIGHT,
    TRUE_PRIORS,
    TWO_SAMPLES,
    VOVK_2012,
)

# With so few classes the polytope of the weights may bound their error better.
_FEW_CLASSES = 7

_WEIGHTED = f"{TIBSHIRANI_2019} for weights; {PODKOPAEV_RAMDAS_2021}, Thm 2"

_CAPPED = (
    f"{CLOPPER_PEARSON_1934} for caps of the proportions; stratified sets (theory "
    "page, 4.11)"
)

_LABEL_SHIFT = (LABEL_SHIFT, IID, CHOSEN_ELSEWHERE)
_INDEPENDENT = (
    "the weights were estimated on rows independent of the calibration rows and of the "
    "new row (declared)"
)


def known_weights(
    calibration: CalibrationScores, weights: FloatArray, alpha: float
) -> Guarantee:
    """Return Theorem 2, and its upper side where the weights bound it."""
    lower = 1.0 - alpha
    statement = f"P(Y in C(X)) >= {at_least(lower)} for a new target row, in finite "
    statement += "samples"
    upper = None
    exact = not calibration.tied and not calibration.never_empty
    if exact and not calibration.score.knows_labels:
        upper = _upper(calibration.n, weights, alpha)
    if upper is not None:
        statement += f"; and <= {at_most(upper)} if scores are continuous"
    return Guarantee(
        statement=f"{statement}.",
        kind="marginal",
        lower=lower,
        upper=upper,
        reference=_WEIGHTED,
        assumptions=(*_LABEL_SHIFT, TRUE_LABEL_WEIGHT),
    )


def _upper(n: int, weights: FloatArray, alpha: float) -> float | None:
    """Return 1 - alpha + w_max / (n w_min + w_max) if that is below one.

    Coverage exceeds 1 - alpha by at most the largest share that one of the n + 1 rows
    can have of their weight (theory page, 1.2). With weights that are zero or infinite
    no number of rows bounds it.
    """
    smallest, largest = float(weights.min()), float(weights.max())
    if smallest <= 0.0 or np.isinf(largest):
        return None
    upper = 1.0 - alpha + 1.0 / (1.0 + n * (smallest / largest))
    return upper if upper < 1.0 else None


def estimated_weights(estimate: LabelShiftResult, alpha: float) -> Guarantee:
    """Return Corollary 1: a claim in the limit."""
    return Guarantee(
        statement=_limit(alpha),
        kind="marginal",
        lower=1.0 - alpha,
        reference=(
            f"{PODKOPAEV_RAMDAS_2021}, Cor. 1, whose no-jump assumption is not needed "
            "(theory page, 1.3)"
        ),
        assumptions=_all_needs(
            _LABEL_SHIFT,
            _of_the_weights(estimate),
            _for_consistency(estimate),
        ),
        finite_sample=False,
    )


def in_the_limit(claim: Guarantee, alpha: float) -> Guarantee:
    """Return the claim of plugged-in weights at another level."""
    return replace(claim, statement=_limit(alpha), lower=1.0 - alpha)


def independent_weights(
    estimate: LabelShiftResult, alpha: float, delta: float
) -> Guarantee | NoGuarantee:
    """Return the total-variation statement, its number filled in."""
    nothing = _without_region(estimate)
    if nothing is not None:
        return nothing
    lower = max(0.0, 1.0 - alpha - _possible_error(estimate, delta))
    return Guarantee(
        statement=(
            f"with probability >= {at_least(1.0 - delta)} over the rows that the "
            f"weights were estimated on, P(Y in C(X)) >= {at_least(lower)} for a new "
            "target row: "
            f"{at_least(1.0 - alpha)} less the weights' possible error in total "
            "variation"
            + ("" if lower > 0 else " (vacuous: prefer label_conditional_conformal)")
            + "."
        ),
        kind="marginal",
        lower=lower,
        confidence=1.0 - delta,
        reference=f"{_WEIGHTED}; total variation (theory page, 4.1 and 4.13)",
        assumptions=(*_counted_rows(estimate), _INDEPENDENT),
    )


def _possible_error(estimate: LabelShiftResult, delta: float) -> float:
    """Return a bound of the weights' total variation, from counted predictions.

    With few classes two ways have half of delta each, and the smaller number counts.
    """
    counted, used = estimate._counted(), np.asarray(estimate.label_weight)
    if used.size > _FEW_CLASSES:
        return total_variation_of_counts(counted, used, delta)
    counts = np.asarray(estimate.source_counts)
    box = unchecked.clopper_pearson(
        counts, np.full(counts.shape, counts.sum()), delta / (4 * counts.size)
    )
    region = exact_region(counted, delta / 4, estimate._label_counts)
    return min(
        total_variation_of_counts(counted, used, delta / 2),
        total_variation_bound(used, region, *box),
    )


def union(
    region: Box | Polytope,
    estimate: LabelShiftResult | None,
    alpha: float,
    delta: float,
) -> Guarantee | NoGuarantee:
    """Return the claim of union sets over a region of level 1 - delta.

    Parameters
    ----------
    region : Box or Polytope
    estimate : LabelShiftResult or None
        Where the region is from; None if it was given.
    alpha : float
    delta : float
        The level of a given region that carries none of its own: the user's word.
    """
    finite_sample = region.finite_sample
    which = region_in_words(region, estimate, delta)
    if estimate is not None:
        nothing = _without_region(estimate)
        if nothing is not None:
            return nothing
        finite_sample = finite_sample and _finite_sample(estimate)
        needs = _of_the_weights(estimate)
    else:
        declared = " (declared by delta=)" if region.delta is None else ""
        needs = (
            "the region given holds the true weights with probability >= "
            f"{at_least(1.0 - delta)}{declared}",
        )
        if finite_sample:
            needs = (f"{needs[0]}, in finite samples",)
    lower = max(0.0, 1.0 - alpha - delta)
    how = "in finite samples and with" if finite_sample else "with"
    return Guarantee(
        statement=(
            f"P(Y in C(X)) >= {at_least(lower)} for a new target row, {how} estimated "
            f"weights (union over {which})"
            + ("" if lower > 0 else " (vacuous)")
            + ("." if finite_sample else "")
        ),
        kind="marginal",
        lower=lower,
        reference=f"{_WEIGHTED}; union sets (theory page, 4.2)",
        assumptions=_all_needs(_LABEL_SHIFT, needs),
        finite_sample=finite_sample,
    )


def region_in_words(
    region: Box | Polytope, estimate: LabelShiftResult | None, delta: float
) -> str:
    """Return how a statement calls the region: the estimate's own, or a given one."""
    delta = delta if region.delta is None else region.delta
    level = at_least(100.0 * (1.0 - delta))
    if estimate is not None:
        return f"a {level}% region of the weights"
    return f"the region given, of level {level}%"


def capped(
    estimate: LabelShiftResult, alpha: float, delta: float
) -> Guarantee | NoGuarantee:
    """Return the claim of the largest threshold over all priors below caps."""
    nothing = _without_region(estimate)
    if nothing is not None:
        return nothing
    lower = max(0.0, 1.0 - alpha - delta)
    level = at_least(100.0 * (1.0 - delta))
    return Guarantee(
        statement=(
            f"P(Y in C(X)) >= {at_least(lower)} for a new target row, in finite "
            "samples and with estimated weights (largest threshold over a "
            f"{level}% region of the target's class proportions)"
            + ("." if lower > 0 else " (vacuous).")
        ),
        kind="marginal",
        lower=lower,
        reference=_CAPPED,
        assumptions=_counted_rows(estimate),
    )


def capped_given_calibration(
    estimate: LabelShiftResult, alpha: float, confidence: float
) -> Guarantee | NoGuarantee:
    """Return the training-conditional claim with estimated weights."""
    nothing = _without_region(estimate)
    if nothing is not None:
        return nothing
    return Guarantee(
        statement=(
            f"with probability >= {at_least(confidence)} over the draw of calibration "
            "rows and of those that the weights are estimated from, coverage of new "
            f"target rows given all of them is >= {at_least(1.0 - alpha)}."
        ),
        kind="training-conditional",
        lower=1.0 - alpha,
        confidence=confidence,
        reference=(
            f"{VOVK_2012}, Prop. 2a, union over classes; {CLOPPER_PEARSON_1934} for "
            "caps of the proportions; stratified means (theory page, 5.1 and 5.2)"
        ),
        assumptions=_counted_rows(estimate),
    )


def directional(
    estimate: LabelShiftResult, alpha: float, delta: float
) -> Guarantee | NoGuarantee:
    """Return the claim of thresholds with a bound for each label by itself."""
    nothing = _without_region(estimate)
    if nothing is not None:
        return nothing
    lower = max(0.0, 1.0 - alpha - delta)
    return Guarantee(
        statement=(
            f"P(Y in C(X)) >= {at_least(lower)} for a new target row, with estimated "
            "weights: the threshold of each label is below that of the true weights "
            f"with probability <= {at_most(delta)}"
            + ("" if lower > 0 else " (vacuous)")
        ),
        kind="marginal",
        lower=lower,
        reference=f"{_WEIGHTED}; one direction (theory page, 4.10)",
        # whatever the estimator, the bound is that of the moment equations
        assumptions=_all_needs(_LABEL_SHIFT, _moment_needs(estimate)),
        finite_sample=False,
    )


def directional_given_calibration(
    estimate: LabelShiftResult, alpha: float, confidence: float, independent: bool
) -> Guarantee | NoGuarantee:
    """Return the training-conditional claim in the limit."""
    nothing = _without_region(estimate)
    if nothing is not None:
        return nothing
    return Guarantee(
        statement=(
            f"with probability >= {at_least(confidence)} over the draw of calibration "
            "rows and of those that the weights are estimated from, coverage of new "
            f"target rows given all of them is >= {at_least(1.0 - alpha)}"
        ),
        kind="training-conditional",
        lower=1.0 - alpha,
        confidence=confidence,
        reference="stratified means in one direction (theory page, 5.3)",
        assumptions=_all_needs(
            _LABEL_SHIFT,
            _moment_needs(estimate),
            (_INDEPENDENT,) if independent else (),
        ),
        finite_sample=False,
    )


def combined(
    estimate: LabelShiftResult, alpha: float, delta: float, rest: float
) -> Guarantee | NoGuarantee:
    """Return the claim of directional sets cut to label-conditional ones.

    `rest` is the level of the latter.
    """
    claim = directional(estimate, alpha, delta)
    if isinstance(claim, NoGuarantee):
        return claim
    statement = (
        f"P(Y in C(X)) >= {at_least(max(0.0, 1.0 - alpha - delta))} for a new target "
        "row, with estimated weights; and no set is larger than that of "
        f"label_conditional_conformal with alpha={rest:.6g}"
    )
    return replace(
        claim, statement=statement, reference=f"{claim.reference}; {BY_CLASS}"
    )


def label_shift_given_calibration(
    alpha: float, confidence: float, method: str
) -> Guarantee:
    """Return the training-conditional claim for known weights."""
    by_class = method.startswith("class")
    by = f"rejection sampling, then {VOVK_2012}, Prop. 2a (theory page, 5)"
    if by_class:
        by = f"{CLOPPER_PEARSON_1934} in each class, and a union (theory page, 5)"
    return Guarantee(
        statement=(
            f"with probability >= {at_least(confidence)} over the calibration draw, "
            f"coverage of target rows given the calibration rows is >= "
            f"{at_least(1.0 - alpha)}."
        ),
        kind="training-conditional",
        lower=1.0 - alpha,
        confidence=confidence,
        reference=by,
        assumptions=(*_LABEL_SHIFT, TRUE_PRIORS if by_class else TRUE_LABEL_WEIGHT),
    )


def _counted_rows(estimate: LabelShiftResult) -> tuple[str, ...]:
    """Return what claims by counts of predictions, and of labels, need."""
    labelled = (LABELLED_AT_RANDOM,) * (estimate.labelled is not None)
    return (*_LABEL_SHIFT, TWO_SAMPLES, FITTED_ELSEWHERE, *labelled)


def _moment_needs(estimate: LabelShiftResult) -> tuple[str, ...]:
    """Return what the moment equations need."""
    return moment_equations(estimate.labelled is not None).assumptions


def _of_the_weights(estimate: LabelShiftResult) -> tuple[str, ...]:
    """Return what the claim about the estimated weights needs."""
    claim = estimate.guarantee
    return claim.assumptions if isinstance(claim, Guarantee) else ()


def _all_needs(*needs: tuple[str, ...]) -> tuple[str, ...]:
    """Return all of them, each once."""
    return tuple(dict.fromkeys(need for group in needs for need in group))


def _without_region(estimate: LabelShiftResult) -> NoGuarantee | None:
    """Return why nothing is claimed if nothing is of the estimate's own region."""
    claim = estimate.guarantee
    if isinstance(claim, Guarantee):
        return None
    return NoGuarantee(f"nothing is guaranteed of the weights: {claim.reason}")


def _limit(alpha: float) -> str:
    return (
        f"liminf of P(Y in C(X)) >= {at_least(1.0 - alpha)} for a new target row "
        "as the data that the weights are estimated from grow"
    )


def _for_consistency(estimate: LabelShiftResult) -> tuple[str, ...]:
    """Return what the weights need to converge to the true ones.

    MLLS's intervals need no calibrated probabilities, but the weights themselves do.
    """
    consistent = "the weights' estimator is consistent"
    if estimate.method != "MLLS":
        return (consistent,)
    fitted = estimate.calibration
    when = "" if fitted is None else f"after {fitted.name} "
    return (consistent, f"{when}{CALIBRATED}")


def _finite_sample(estimate: LabelShiftResult) -> bool:
    claim = estimate.guarantee
    return isinstance(claim, Guarantee) and claim.finite_sample
