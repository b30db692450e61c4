"""What the test of calibration guarantees, and what comparisons do not."""

from __future__ import annotations

from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.references import ASSESSED_ELSEWHERE, INDEPENDENT, WEIGHTS_BY_INPUTS


def valid_p_value(n_sim: int, weighted: bool) -> Guarantee | NoGuarantee:
    """Return the claim about the p-value of the Monte Carlo test."""
    if n_sim == 0:
        return NoGuarantee("no test of calibration was asked for (n_sim=0)")
    assumptions = [INDEPENDENT, ASSESSED_ELSEWHERE]
    if weighted:
        assumptions.append(WEIGHTS_BY_INPUTS)
    return Guarantee(
        statement=(
            "if the classifier is calibrated, the test's p-value is at most a with "
            "probability at most a, for every a."
        ),
        kind="calibration",
        reference="Monte Carlo test: Barnard (1963); Vaicenavicius et al. (2019)",
        assumptions=tuple(assumptions),
    )


BOOTSTRAPPED = NoGuarantee("bootstrap intervals hold in the limit of many rows")
NO_INTERVALS = NoGuarantee("no intervals were asked for (n_boot=0)")
