"""What sets by group guarantee: what the fits of the groups do, of each group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distfreeuq._base.array_types import FloatArray
from distfreeuq.guarantees import Guarantee, NoGuarantee, at_least
from distfreeuq.references import (
    CLASS_EXCHANGEABLE,
    CLASS_GROUP_EXCHANGEABLE,
    EXCHANGEABLE,
    GROUP_EXCHANGEABLE,
    GROUPS_BY_INPUTS,
    NEW_ROW_APART,
    TRUE_RATIO_TO_SCALE,
    VOVK_2005,
    VOVK_2012,
)

_BY_GROUP = f"by groups: {VOVK_2005} (theory page, 1.6)"
_WITHIN_A_GROUP = {
    EXCHANGEABLE: GROUP_EXCHANGEABLE,
    CLASS_EXCHANGEABLE: CLASS_GROUP_EXCHANGEABLE,
}


def every_group(
    claims: Sequence[Guarantee | NoGuarantee],
    alpha: float | FloatArray,
    confidence: float | None,
    *,
    new_row: str,
    by_class: bool,
    union: str | None,
) -> Guarantee | NoGuarantee:
    """Return the claim of all groups, from those of their fits.

    Parameters
    ----------
    claims : sequence of Guarantee or NoGuarantee
        Of the groups' own fits.
    alpha : float or ndarray (K,)
    confidence : float or None
        Of all groups together.
    new_row : str
        "a new row", or one of the target.
    by_class : bool
        Whether every class of a group is covered.
    union : str or None
        Over which region of estimated weights the sets are a union.
    """
    lowest = claims[0]
    for claim in claims:
        if isinstance(claim, NoGuarantee):
            return claim
        assert isinstance(lowest, Guarantee) and claim.lower is not None
        if lowest.lower is None or claim.lower < lowest.lower:
            lowest = claim
    assert isinstance(lowest, Guarantee) and lowest.lower is not None
    same = not isinstance(alpha, np.ndarray) or bool((alpha == alpha[0]).all())
    level = at_least(lowest.lower) if same else "1 - alpha_y"
    needs = [_WITHIN_A_GROUP.get(need, need) for need in lowest.assumptions]
    if union is not None:
        needs.append(NEW_ROW_APART)
    reference = lowest.reference
    if confidence is not None and not by_class and new_row == "a new row":
        reference = f"{VOVK_2012}, Prop. 2a, union over groups"
    return Guarantee(
        statement=_statement(lowest, level, confidence, new_row, by_class, union),
        kind="group-conditional" if confidence is None else "training-conditional",
        lower=lowest.lower,
        confidence=confidence,
        reference=f"{reference}; {_BY_GROUP}",
        assumptions=(*needs, GROUPS_BY_INPUTS),
        finite_sample=lowest.finite_sample,
    )


def _statement(
    claim: Guarantee,
    level: str,
    confidence: float | None,
    new_row: str,
    by_class: bool,
    union: str | None,
) -> str:
    ratio = ", if the weights are the true ratio up to scale"
    if TRUE_RATIO_TO_SCALE not in claim.assumptions:
        ratio = ""
    if confidence is not None:
        which = "every class y in every group g" if by_class else "every group g"
        of = " of target rows" if "target" in new_row else ""
        return (
            f"with probability >= {at_least(confidence)} over the calibration draw, "
            f"coverage{of} of {which} given the calibration rows is >= {level}{ratio}."
        )
    if by_class:
        assert claim.lower is not None
        return (
            f"P(Y in C(X) | Y = y, group g) >= {level} for every class y in every "
            f"group g, in finite samples; hence P(Y in C(X)) >= "
            f"{at_least(claim.lower)} whatever the target's proportions of classes "
            "and groups."
        )
    covered = f"P(Y in C(X) | group g) >= {level} for {new_row} of every group g"
    if union is not None:
        how = "in finite samples and with" if claim.finite_sample else "with"
        end = "." if claim.finite_sample else ""
        return f"{covered}, {how} estimated weights (union over {union}){end}"
    if claim.finite_sample:
        return f"{covered}, in finite samples{ratio}."
    return f"liminf of {covered} as the data that the weights are estimated from grow"
