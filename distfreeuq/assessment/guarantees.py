"""What the test of calibration guarantees, and what comparisons do not."""

from __future__ import annotations

from distfreeuq.assessment.interval_rules import MIN_EVENTS
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.references import (
    ASSESSED_ELSEWHERE,
    FINITE_VARIANCE,
    IID,
    INDEPENDENT,
    TRUE_RATIO,
)


def valid_p_value(n_sim: int, weighted: bool, enough: bool) -> Guarantee | NoGuarantee:
    """Return the claim about the p-value of the Monte Carlo test.

    With weights there is one where right and wrong rows both are `enough`.
    """
    if n_sim == 0:
        return NoGuarantee("no test of calibration was asked for (n_sim=0)")
    if weighted and not enough:
        return TOO_FEW_EVENTS
    if weighted:
        return Guarantee(
            statement=(
                "if the classifier is calibrated on the target, the test's p-value is "
                "at most a with probability at most a, for every a."
            ),
            kind="calibration",
            reference="random signs in bins (theory page, 9.2)",
            assumptions=(TRUE_RATIO, FINITE_VARIANCE, IID, ASSESSED_ELSEWHERE),
            finite_sample=False,
        )
    return Guarantee(
        statement=(
            "if the classifier is calibrated, the test's p-value is at most a with "
            "probability at most a, for every a."
        ),
        kind="calibration",
        reference="Monte Carlo test: Barnard (1963); Vaicenavicius et al. (2019)",
        assumptions=(INDEPENDENT, ASSESSED_ELSEWHERE),
    )


TOO_FEW_EVENTS = NoGuarantee(
    f"right or wrong rows are fewer than {MIN_EVENTS} in effect, with which the "
    "weighted test of calibration rejects too often"
)
BOOTSTRAPPED = NoGuarantee(
    "bootstrap intervals are approximate, and hold in the limit of many rows only"
)
NO_INTERVALS = NoGuarantee("no intervals were asked for (n_boot=0)")
