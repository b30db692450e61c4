"""What an alarm about the risk means."""

from __future__ import annotations

from distfreeuq.guarantees import Guarantee, at_most
from distfreeuq.references import (
    DELAY_BLIND,
    DROPPED_BLINDLY,
    HOWARD_2021,
    PODKOPAEV_RAMDAS_2022,
    PREDICTED_FIRST,
    SOURCE_IID_ELSEWHERE,
)


def no_false_risk_alarm(
    alpha: float, limit: float | None, tolerance: float, order: str, dropped: bool
) -> Guarantee:
    """Return the claim about alarms at any time; `limit` is the user's, or None."""
    needs = [PREDICTED_FIRST]
    if limit is None:
        what = "that of the source"
        what += f" by more than {tolerance:g}" if tolerance else ""
        needs.insert(0, SOURCE_IID_ELSEWHERE)
    else:
        what = f"{limit:g}"
    if order == "arrival":
        needs.append(DELAY_BLIND)
    if dropped:
        needs.append(DROPPED_BLINDLY)
    return Guarantee(
        statement=(
            f"P(there is ever an alarm) <= {at_most(alpha)} if the running risk, the "
            f"average risk of the labelled rows so far, never exceeds {what}; it may "
            "drift, and one may look as often as one likes."
        ),
        kind="false alarms",
        reference=(
            f"{PODKOPAEV_RAMDAS_2022}: risk of a stream (theory page, 11.4); "
            f"{HOWARD_2021}: running means (theory page, 11.4)"
        ),
        assumptions=tuple(needs),
        upper=alpha,
    )
