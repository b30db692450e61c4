"""What sets for many classes guarantee."""

from __future__ import annotations

from distfreeuq.guarantees import Guarantee, at_least
from distfreeuq.references import (
    CHOSEN_ELSEWHERE,
    CLASS_EXCHANGEABLE,
    DING_2023,
    DING_2025,
    EXCHANGEABLE,
    LABEL_SHIFT,
    SHI_2024,
    SPLIT_AT_RANDOM,
)


def interpolated(alpha: float, share: float) -> Guarantee:
    """Return the claim of interpolated thresholds: two ways to miss, alpha each."""
    at_an_end = share in (0.0, 1.0)
    lower = max(0.0, 1.0 - (alpha if at_an_end else 2.0 * alpha))
    why = "" if at_an_end else ": 1 - 2 alpha, by both thresholds"
    vacuous = " (vacuous)" if lower == 0.0 else ""
    return Guarantee(
        statement=(
            f"P(Y in C(X)) >= {at_least(lower)} for a new row, in finite "
            f"samples{why}{vacuous}."
        ),
        kind="marginal",
        lower=lower,
        reference=f"{DING_2025}, interpolated thresholds (theory page, 1.8)",
        assumptions=(EXCHANGEABLE, CHOSEN_ELSEWHERE),
    )


def every_cluster(alpha: float) -> Guarantee:
    """Return the claim of clustered sets: exact by cluster, none by class."""
    level = at_least(1.0 - alpha)
    return Guarantee(
        statement=(
            f"P(Y in C(X) | cluster of Y) >= {level} for every cluster of classes, in "
            f"finite samples; hence P(Y in C(X)) >= {level}. By class approximate: "
            "nearly so where the classes of a cluster have scores alike."
        ),
        kind="marginal",
        lower=1.0 - alpha,
        reference=f"{DING_2023}, clustered (theory page, 1.9)",
        assumptions=(EXCHANGEABLE, CHOSEN_ELSEWHERE, SPLIT_AT_RANDOM),
    )


def every_class_by_rank(alpha: float) -> Guarantee:
    """Return the claim of rank-calibrated sets: every class."""
    level = at_least(1.0 - alpha)
    return Guarantee(
        statement=(
            f"P(Y in C(X) | Y = y) >= {level} for every class y, in finite samples; "
            f"hence P(Y in C(X)) >= {level} whatever the target's class proportions."
        ),
        kind="class-conditional",
        lower=1.0 - alpha,
        reference=f"{SHI_2024}, ranks cut without loss (theory page, 1.10)",
        assumptions=(LABEL_SHIFT, CLASS_EXCHANGEABLE, CHOSEN_ELSEWHERE),
    )
