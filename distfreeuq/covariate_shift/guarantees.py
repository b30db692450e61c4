"""What holds on the target after a calibration under covariate shift."""

from __future__ import annotations

from distfreeuq.covariate_shift.data import WeightsFrom
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.references import PARK_2020

_UNWEIGHTED = (
    "the rows are not weighted, and what holds on the source need not hold on the "
    "target"
)
_ESTIMATED = (
    "the weights are estimates, so that nothing finite-sample holds on the target; "
    f"what {PARK_2020} bound is printed above as an objective, not as a certificate"
)
_OFFSET = "an offset makes the weights others than q(x)/p(x)"


def target_guarantee(
    come_from: WeightsFrom, offset: float, of_calibrator: Guarantee | NoGuarantee
) -> Guarantee | NoGuarantee:
    """Return what holds on the target: with known weights, what the calibrator has."""
    if come_from == "none":
        return NoGuarantee(_UNWEIGHTED)
    if come_from != "known":
        return NoGuarantee(_ESTIMATED)
    if offset > 0.0:
        return NoGuarantee(_OFFSET)
    return of_calibrator
