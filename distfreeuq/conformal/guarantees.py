"""What conformal sets guarantee, by procedure.

Theorem numbers are those of Podkopaev and Ramdas (2021).
"""

from __future__ import annotations

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.array_types import FloatArray
from distfreeuq.conformal.data import CalibrationScores
from distfreeuq.guarantees import Guarantee, NoGuarantee, at_least, at_most
from distfreeuq.label_shift.inference.prior_distance import total_variation_bound
from distfreeuq.label_shift.results import LabelShiftResult
from distfreeuq.references import (
    CHOSEN_ELSEWHERE,
    CLASS_EXCHANGEABLE,
    CLOPPER_PEARSON_1934,
    COVARIATE_SHIFT,
    EXCHANGEABLE,
    IID,
    INPUTS_OVERLAP,
    LABEL_SHIFT,
    NEW_ROW_IID,
    PODKOPAEV_RAMDAS_2021,
    SETS_ASSESSED_ELSEWHERE,
    TIBSHIRANI_2019,
    TRUE_DENSITY_RATIO,
    TRUE_LABEL_WEIGHT,
    VOVK_2012,
)

# Probability over the calibration draw in the training-conditional statement that is
# printed without being asked for.
STATED_CONFIDENCE = 0.95

_LABEL_SHIFT = (LABEL_SHIFT, IID, CHOSEN_ELSEWHERE)
_COVARIATE_SHIFT = (
    COVARIATE_SHIFT,
    f"{TRUE_DENSITY_RATIO} up to scale",
    INPUTS_OVERLAP,
    IID,
    CHOSEN_ELSEWHERE,
)


# ---------------------------------------------------------------------- split conformal


def split_marginal(
    calibration: CalibrationScores, alpha: float, rank: int
) -> Guarantee:
    """Return Theorem 1, both sides of it where both hold."""
    n = calibration.n
    lower = 1.0 - alpha
    upper: float | None = min(1.0, lower + 1.0 / (n + 1))
    claim = f"P(Y in C(X)) >= {at_least(lower)} for a new row, in finite samples"
    if rank > n:
        lower = upper = 1.0
        above = "every set holds every label, so that coverage is 1"
    elif calibration.never_empty:
        above, upper = "no upper bound, as the most likely label is always added", None
    elif calibration.tied:
        above, upper = "no upper bound, as calibration scores tie", None
    else:
        above = f"and <= {at_most(lower + 1.0 / (n + 1))} if scores are continuous"
    return Guarantee(
        statement=f"{claim}; {above}.",
        kind="marginal",
        lower=lower,
        upper=upper,
        reference=f"{PODKOPAEV_RAMDAS_2021}, Thm 1",
        assumptions=(EXCHANGEABLE, CHOSEN_ELSEWHERE),
    )


def split_given_calibration(
    rank: int, n: int, lower: float, confidence: float
) -> Guarantee:
    """Return a lower bound on coverage from its law given the calibration rows."""
    return Guarantee(
        statement=(
            f"with probability >= {at_least(confidence)} over the calibration draw, "
            f"coverage given the calibration rows is >= {at_least(lower)} (i.i.d. "
            "rows)."
        ),
        kind="training-conditional",
        lower=lower,
        confidence=confidence,
        reference=f"{VOVK_2012}: Beta({rank}, {n + 1 - rank}) law of coverage",
        assumptions=(NEW_ROW_IID, CHOSEN_ELSEWHERE),
    )


# -------------------------------------------------------------------- label-conditional


def each_class_by_itself() -> Guarantee:
    """Return the law of each class's coverage given the calibration rows."""
    return Guarantee(
        statement=(
            f"given the calibration rows, 'coverage >=' holds for each class by itself "
            f"with probability >= {STATED_CONFIDENCE:g} over their draw (i.i.d. rows)."
        ),
        kind="training-conditional",
        confidence=STATED_CONFIDENCE,
        reference=f"{VOVK_2012}: Beta law of coverage",
        assumptions=(LABEL_SHIFT, IID, CHOSEN_ELSEWHERE),
    )


def every_class(alphas: FloatArray, confidence: float | None) -> Guarantee:
    """Return the claim of label-conditional sets, under any label shift."""
    same = bool((alphas == alphas[0]).all())
    lower = 1.0 - float(alphas.max())
    level = at_least(lower) if same else "1 - alpha_y"
    everywhere = (
        f"hence P(Y in C(X)) >= {at_least(lower)} whatever the target's class "
        "proportions"
    )
    if confidence is None:
        statement = (
            f"P(Y in C(X) | Y = y) >= {level} for every class y, in finite samples; "
            f"{everywhere}."
        )
    else:
        statement = (
            f"with probability >= {at_least(confidence)} over the calibration draw, "
            f"coverage of every class y given the calibration rows is >= {level}; "
            f"{everywhere}."
        )
    return Guarantee(
        statement=statement,
        kind="class-conditional" if confidence is None else "training-conditional",
        lower=lower,
        confidence=confidence,
        reference=f"{PODKOPAEV_RAMDAS_2021}, eq. (10)"
        + ("" if confidence is None else f"; {VOVK_2012}, union over classes"),
        assumptions=(
            LABEL_SHIFT,
            CLASS_EXCHANGEABLE if confidence is None else IID,
            CHOSEN_ELSEWHERE,
        ),
    )


# -------------------------------------------------------------------------- label shift


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
        reference=f"{PODKOPAEV_RAMDAS_2021}, Thm 2",
        assumptions=(*_LABEL_SHIFT, TRUE_LABEL_WEIGHT),
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
        reference=(
            f"{PODKOPAEV_RAMDAS_2021}, Cor. 1, whose no-jump assumption is not needed"
        ),
        assumptions=(*_LABEL_SHIFT, "the weights' estimator is consistent"),
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
        reference=f"{PODKOPAEV_RAMDAS_2021}, Thm 2; total variation (theory page, 4.1)",
        assumptions=(
            *_LABEL_SHIFT,
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
        reference=f"{PODKOPAEV_RAMDAS_2021}, Thm 2; union sets (theory page, 4.2)",
        assumptions=_LABEL_SHIFT,
        finite_sample=finite_sample,
    )


def label_shift_given_calibration(
    alpha: float, confidence: float, method: str
) -> Guarantee:
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
        reference=f"PAC rank after {by} (theory page, 5); {VOVK_2012}",
        assumptions=(*_LABEL_SHIFT, TRUE_LABEL_WEIGHT),
    )


# ---------------------------------------------------------------------- covariate shift


def covariate_shift_marginal(alpha: float) -> Guarantee:
    """Return the claim of weighted conformal sets with the true density ratio."""
    return Guarantee(
        statement=(
            f"P(Y in C(X)) >= {at_least(1.0 - alpha)} for a new target row, in finite "
            "samples, if the weights are the true ratio q(x)/p(x) up to scale; with "
            "estimated weights no finite-sample claim."
        ),
        kind="marginal",
        lower=1.0 - alpha,
        reference=f"{TIBSHIRANI_2019}, Corollary 1",
        assumptions=_COVARIATE_SHIFT,
    )


def covariate_shift_given_calibration(alpha: float, confidence: float) -> Guarantee:
    """Return the training-conditional claim with the true density ratio."""
    return Guarantee(
        statement=(
            f"with probability >= {at_least(confidence)} over the calibration draw, "
            f"coverage of target rows given the calibration rows is >= "
            f"{at_least(1.0 - alpha)}, if the weights are the true ratio up to scale."
        ),
        kind="training-conditional",
        lower=1.0 - alpha,
        confidence=confidence,
        reference=f"rejection sampling, then {VOVK_2012}, Prop. 2a",
        assumptions=(*_COVARIATE_SHIFT, "no w(x) exceeds the bound given"),
    )


def estimated_density_ratio() -> NoGuarantee:
    """Return why nothing is claimed of estimated weights."""
    return NoGuarantee(
        "the weights are estimated, so that no finite-sample claim is made; if they "
        "were fitted on other rows and have mean one, coverage is at least 1 - alpha - "
        "E_p|w_hat - w| / 2 (Lei & Candes 2021), which no data can tell"
    )


# -------------------------------------------------------------------- measured coverage


def coverage_intervals(level: float) -> Guarantee:
    """Return the claim of the intervals of measured coverage."""
    return Guarantee(
        statement=(
            f"each interval covers the sets' true coverage on its stratum, for "
            f"this calibration, with probability >= {level:g}; the intervals "
            "are not simultaneous."
        ),
        kind="confidence interval",
        reference=CLOPPER_PEARSON_1934,
        assumptions=(IID, SETS_ASSESSED_ELSEWHERE),
        confidence=level,
    )
