"""What so many calibration rows achieve."""

from __future__ import annotations

from distfreeuq.guarantees import Guarantee, at_least, at_most
from distfreeuq.references import CHOSEN_ELSEWHERE, NEW_ROW_IID, VOVK_2012

STATED = 0.95
"""Probability over the calibration draw where none is given."""


def enough_rows(
    alpha: float,
    confidence: float | None,
    tolerance: float | None,
    assurance: float,
    by_class: bool,
) -> Guarantee:
    """Return the claim that the number of rows is made for."""
    level: float | None = 1.0 - alpha
    of = "" if not by_class else " of a class" if confidence is None else " of classes"
    stated = confidence
    if tolerance is None:
        level = None
        rows = "each class's" if by_class else "the"
        achieved = f"with so many rows, or more, {rows} threshold is finite"
        if confidence is not None:
            achieved += f" with confidence={confidence:g}"
    elif confidence is None:
        stated, level = STATED, max(0.0, 1.0 - alpha - tolerance)
        achieved = (
            f"with so many rows, or more, coverage{of} given them is >= "
            f"{at_least(level)} with probability >= {STATED:g} over their draw"
        )
    else:
        achieved = (
            f"with so many rows, or more, coverage{of} given them is >= "
            f"{at_least(1.0 - alpha)} with probability >= {at_least(confidence)} over "
            f"their draw, and <= {at_most(1.0 - alpha + tolerance)} on average if "
            "scores are continuous"
        )
    if by_class:
        achieved += (
            f"; the total gives every class its rows with probability >= "
            f"{at_least(assurance)}"
        )
    return Guarantee(
        statement=f"{achieved}.",
        kind="training-conditional",
        lower=level,
        confidence=stated,
        reference=f"{VOVK_2012}: Beta law of coverage, for numbers of rows",
        assumptions=(NEW_ROW_IID, CHOSEN_ELSEWHERE),
    )
