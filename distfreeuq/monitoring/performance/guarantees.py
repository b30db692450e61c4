"""What the intervals of each kind guarantee."""

from __future__ import annotations

from distfreeuq.guarantees import Guarantee, NoGuarantee, at_least
from distfreeuq.references import (
    CLASSES_OVERLAP,
    CLASSES_SEEN,
    CLASSES_TOLD_APART,
    CLOPPER_PEARSON_1934,
    COVARIATE_SHIFT,
    GROUPS_BY_INPUTS,
    IID,
    LABEL_SHIFT,
    LABELLED_AT_RANDOM,
    SETS_ASSESSED_ELSEWHERE,
    TRUE_LABEL_WEIGHT,
    TRUE_PRIORS,
    TRUE_RATIO_TO_SCALE,
    TWO_SAMPLES,
    WEIGHT_BOUND,
)

AT_RANDOM = LABELLED_AT_RANDOM

ESTIMATED, PRIORS, WEIGHTS, RATIOS, LEARNT = (
    "estimated",
    "priors",
    "weights",
    "ratios",
    "learnt",
)
DESIGNS = (ESTIMATED, PRIORS, WEIGHTS, RATIOS, LEARNT)
"""What carries the source to the target: proportions estimated from these rows, given
proportions, given class weights, a given density ratio, and one that was estimated."""

_NEEDS = {
    ESTIMATED: (LABEL_SHIFT,),
    PRIORS: (LABEL_SHIFT, TRUE_PRIORS),
    WEIGHTS: (LABEL_SHIFT, TRUE_LABEL_WEIGHT, CLASSES_OVERLAP),
    RATIOS: (COVARIATE_SHIFT, TRUE_RATIO_TO_SCALE),
}
_BY = {
    ESTIMATED: "means carried by class indicators (theory page, 10.2)",
    PRIORS: "stratified means (theory page, 10.4)",
    WEIGHTS: "weighted means (theory page, 10.4)",
    RATIOS: "weighted means (theory page, 10.4)",
}
_EXACT_BY = {
    ESTIMATED: "one inequality for every prior below caps (theory page, 10.3)",
    PRIORS: "stratified means (theory page, 10.4)",
    WEIGHTS: "bounded weighted means (theory page, 10.4)",
    RATIOS: "bounded weighted means (theory page, 10.4)",
}
_UNKNOWN_RATIO = NoGuarantee(
    "the density ratio was estimated, and nothing is known of its error"
)


_LABELLED_BY = "labelled rows beside carried means (theory page, 10.6)"


def in_the_limit(
    design: str,
    alpha: float,
    *,
    told: bool,
    labelled: bool = False,
    grouped: bool = False,
) -> Guarantee | NoGuarantee:
    """Return the claim of the asymptotic intervals."""
    if design == LEARNT:
        return _UNKNOWN_RATIO
    if not told:
        return NoGuarantee(
            "the outputs do not tell all classes apart, so that there is no asymptotic "
            "interval but of recalls and of what needs no labels"
        )
    needs = _NEEDS[design]
    if design == ESTIMATED:
        needs = (*needs, CLASSES_SEEN, CLASSES_TOLD_APART)
    return Guarantee(
        statement=(
            f"each asymptotic interval, by itself, holds the target's value with "
            f"probability {at_least(1.0 - alpha)}"
        ),
        kind="confidence interval",
        reference=f"{_BY[design]}; {_LABELLED_BY}" if labelled else _BY[design],
        assumptions=(
            *needs,
            *(AT_RANDOM,) * labelled,
            TWO_SAMPLES,
            SETS_ASSESSED_ELSEWHERE,
            *(GROUPS_BY_INPUTS,) * grouped,
        ),
        lower=1.0 - alpha,
        finite_sample=False,
    )


def at_every_size(
    design: str,
    delta: float,
    *,
    bounded: bool,
    labelled: bool = False,
    grouped: bool = False,
) -> Guarantee | NoGuarantee:
    """Return the claim of the finite-sample intervals."""
    if design == LEARNT:
        return _UNKNOWN_RATIO
    needs = _NEEDS[design]
    if design == RATIOS:
        if not bounded:
            return NoGuarantee(
                "no bound of the density ratio was given (weight_bound=), so that no "
                "interval holds at every sample size"
            )
        needs = (*needs, WEIGHT_BOUND)
    return Guarantee(
        statement=(
            f"each finite-sample interval, by itself, holds the target's value with "
            f"probability >= {at_least(1.0 - delta)}."
        ),
        kind="confidence interval",
        reference=(
            f"{_EXACT_BY[design]}; {_LABELLED_BY}" if labelled else _EXACT_BY[design]
        ),
        assumptions=(
            *needs,
            *(AT_RANDOM,) * labelled,
            TWO_SAMPLES,
            SETS_ASSESSED_ELSEWHERE,
            *(GROUPS_BY_INPUTS,) * grouped,
        ),
        lower=1.0 - delta,
    )


def of_recalls(delta: float, *, grouped: bool = False) -> Guarantee:
    """Return the claim of the recalls' finite-sample intervals: source rows alone."""
    return Guarantee(
        statement=(
            f"each finite-sample interval of a recall, by itself, holds the target's "
            f"with probability >= {at_least(1.0 - delta)}, whatever its class "
            "proportions are."
        ),
        kind="confidence interval",
        reference=f"{CLOPPER_PEARSON_1934} for recalls",
        assumptions=(
            LABEL_SHIFT,
            IID,
            SETS_ASSESSED_ELSEWHERE,
            *(GROUPS_BY_INPUTS,) * grouped,
        ),
        lower=1.0 - delta,
    )
