"""What conformal sets guarantee, by procedure.

Theorem numbers are those of Podkopaev and Ramdas (2021). Who proved a claim first is
cited first.
"""

from __future__ import annotations

from distfreeuq._base.array_types import FloatArray
from distfreeuq.conformal.data import CalibrationScores
from distfreeuq.guarantees import Guarantee, at_least, at_most
from distfreeuq.references import (
    BLOCKS_IID,
    CHOSEN_ELSEWHERE,
    CLASS_EXCHANGEABLE,
    CLOPPER_PEARSON_1934,
    EXCHANGEABLE,
    GROUPS_BY_INPUTS,
    IID,
    LABEL_SHIFT,
    NEW_ROW_IID,
    PAPADOPOULOS_2002,
    PODKOPAEV_RAMDAS_2021,
    SETS_ASSESSED_ELSEWHERE,
    VOVK_2005,
    VOVK_2012,
    WAUDBY_SMITH_2024,
)

# Probability over the calibration draw in the training-conditional statement that is
# printed without being asked for.
STATED_CONFIDENCE = 0.95

_SPLIT = f"{PAPADOPOULOS_2002}; {VOVK_2005}; {PODKOPAEV_RAMDAS_2021}, Thm 1"
BY_CLASS = f"{VOVK_2005}, label-conditional; {PODKOPAEV_RAMDAS_2021}, eq. (10)"


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
    elif calibration.score.knows_labels:
        above, upper = "no upper bound, as the score is made of these labels", None
    elif calibration.tied:
        above, upper = "no upper bound, as calibration scores tie", None
    else:
        above = f"and <= {at_most(lower + 1.0 / (n + 1))} if scores are continuous"
    return Guarantee(
        statement=f"{claim}; {above}.",
        kind="marginal",
        lower=lower,
        upper=upper,
        reference=_SPLIT,
        assumptions=(EXCHANGEABLE, CHOSEN_ELSEWHERE),
    )


def split_given_calibration(
    rank: int, n: int, lower: float, confidence: float
) -> Guarantee:
    """Return a lower bound on coverage from its law given the calibration rows."""
    statement = (
        f"with probability >= {at_least(confidence)} over the calibration draw, "
        f"coverage given the calibration rows is >= {at_least(lower)} (i.i.d. rows)."
    )
    by = f"{VOVK_2012}: Beta({rank}, {n + 1 - rank}) law of coverage"
    if rank > n:
        lower, by = 1.0, f"{VOVK_2012}, Prop. 2a"
        statement = "every set holds every label, so that coverage is 1."
    return Guarantee(
        statement=statement,
        kind="training-conditional",
        lower=lower,
        confidence=confidence,
        reference=by,
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
    whatever = f">= {at_least(lower)} whatever the target's class proportions"
    if confidence is None:
        statement = (
            f"P(Y in C(X) | Y = y) >= {level} for every class y, in finite samples; "
            f"hence P(Y in C(X)) {whatever}."
        )
    else:
        # P(Y in C(X)) would be an average over calibration draws, which this is not
        statement = (
            f"with probability >= {at_least(confidence)} over the calibration draw, "
            f"coverage of every class y given the calibration rows is >= {level}, and "
            f"so coverage of target rows given them is {whatever}."
        )
    return Guarantee(
        statement=statement,
        kind="class-conditional" if confidence is None else "training-conditional",
        lower=lower,
        confidence=confidence,
        reference=BY_CLASS
        if confidence is None
        else f"{VOVK_2012}, Prop. 2a, union over classes",
        assumptions=(
            LABEL_SHIFT,
            CLASS_EXCHANGEABLE if confidence is None else IID,
            CHOSEN_ELSEWHERE,
        ),
    )


# -------------------------------------------------------------------- measured coverage


def coverage_intervals(
    level: float, by_group: bool = False, by_block: bool = False
) -> Guarantee:
    """Return the claim of the intervals of measured coverage."""
    what = "the sets' true coverage on its stratum"
    if by_block:
        what = (
            "the sets' true coverage of a random row (of the stratum) of a random block"
        )
    return Guarantee(
        statement=(
            f"each interval covers {what}, for "
            f"this calibration, with probability >= {at_least(level)}; the intervals "
            "are not simultaneous."
        ),
        kind="confidence interval",
        reference=(
            f"{WAUDBY_SMITH_2024}, with bets fixed in advance (theory page, 2.5)"
            if by_block
            else CLOPPER_PEARSON_1934
        ),
        assumptions=(
            BLOCKS_IID if by_block else IID,
            SETS_ASSESSED_ELSEWHERE,
            *((GROUPS_BY_INPUTS,) if by_group else ()),
        ),
        confidence=level,
    )
