"""What holds of a decision's confidence on the target."""

from __future__ import annotations

from typing import Literal

from distfreeuq.guarantees import Guarantee, NoGuarantee, at_least, at_most
from distfreeuq.references import (
    CALIBRATION_IID,
    COVARIATE_SHIFT,
    FITTED_ELSEWHERE,
    PARK_2020,
    TRUE_BOUNDED_RATIO,
    WAUDBY_SMITH_2024,
)

WeightsOf = Literal["none", "known", "estimated", "target"]
"""Where weights come from; rows of the target itself need none."""
ASSESSED = "rows i.i.d., used neither to fit the classifier nor the temperature"
OF_TARGET = "rows of the target"
REFERENCE = (
    f"{PARK_2020}, Thm 1, with the true weights; {WAUDBY_SMITH_2024}, for weighted "
    "rows (theory page, 7.5)"
)
_ESTIMATED = (
    "the weights are estimates, so that nothing finite-sample holds on the target"
)
_UNWEIGHTED = (
    "the rows are not weighted, and what holds on the source need not hold on the "
    "target"
)
_UNBOUNDED = (
    "without a bound on the weights (weight_bound=) no finite sample bounds a mean"
)


def error_guarantee(
    bound: float | None,
    alpha: float,
    weights_of: WeightsOf,
    n_temperatures: int,
) -> Guarantee | NoGuarantee:
    """Return the claim on the squared calibration error of the target's decisions.

    `n_temperatures` are those among which these rows chose; 0 if they chose none.
    """
    if weights_of == "none":
        return NoGuarantee(_UNWEIGHTED)
    if weights_of == "estimated":
        return NoGuarantee(_ESTIMATED)
    if bound is None:
        return NoGuarantee(_UNBOUNDED)
    chosen = ""
    if n_temperatures:
        chosen = f", whichever of {n_temperatures} temperatures these rows chose"
    weighted = (COVARIATE_SHIFT, TRUE_BOUNDED_RATIO)
    return Guarantee(
        statement=(
            f"with probability >= {at_least(1.0 - alpha)}, the mean squared distance "
            "of the confidence to the share of right decisions at that confidence is "
            f"<= {at_most(bound)} for target rows{chosen}."
        ),
        kind="calibration",
        reference=REFERENCE,
        assumptions=(
            *((CALIBRATION_IID, FITTED_ELSEWHERE) if n_temperatures else (ASSESSED,)),
            *((OF_TARGET,) if weights_of == "target" else weighted),
        ),
        upper=bound,
        confidence=1.0 - alpha,
    )
