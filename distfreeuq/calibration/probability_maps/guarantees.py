"""What is guaranteed of two probabilities, one of which is perfectly calibrated."""

from __future__ import annotations

from distfreeuq.calibration.rows.calibration_rows import CalibrationRows
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.references import EXCHANGEABLE, FITTED_ELSEWHERE, VOVK_2015

WEIGHTED = NoGuarantee(
    "the rows are weighted, and the theorem is for exchangeable rows of equal weight"
)


def venn_abers_guarantee(rows: CalibrationRows) -> Guarantee | NoGuarantee:
    """Return that the probability which belongs to the new row's label is calibrated.

    The isotonic regression of all rows, the new one with its label among them, does not
    depend on their order; the value p_Y of the new row is thus that of a row drawn at
    random from those that have it, and the share of class 1 among them is that value.
    """
    if rows.is_weighted:
        return WEIGHTED
    if rows.n_classes == 2:
        # printing brings statsmodels, which the package's import does without
        from distfreeuq._base.printing import class_name

        event = f"the label of a new row being {class_name(rows.classes[1])}"
        each = ""
    else:
        event = "a new row being of class k"
        each = ", for each class k by itself"
    return Guarantee(
        statement=(
            f"let p_1 and p_0 be the two probabilities of {event}, and p_Y be p_1 if "
            "it is and p_0 if not: given p_Y, the probability that it is equals p_Y, "
            f"in finite samples{each}. Which of the two is p_Y the label tells, and "
            "nothing before; the one probability that predict makes of both has no "
            "such guarantee."
        ),
        kind="calibration",
        reference=f"{VOVK_2015}, inductive Venn-Abers (theory page, 8.5)",
        assumptions=(EXCHANGEABLE, FITTED_ELSEWHERE),
    )
