"""What a monitor's alarm means."""

from __future__ import annotations

from distfreeuq.guarantees import Guarantee, at_most
from distfreeuq.references import (
    SCORE_ELSEWHERE,
    STREAM_EXCHANGEABLE,
    VILLE_1939,
    VOVK_2003,
)


def no_false_alarm(alpha: float) -> Guarantee:
    """Return the claim about alarms at any time."""
    return Guarantee(
        statement=(
            f"P(there is ever an alarm) <= {at_most(alpha)} while nothing has moved, "
            "however long and however often one looks."
        ),
        kind="false alarms",
        reference=(
            f"{VOVK_2003}: p-values (theory page, 11.1); "
            f"{VILLE_1939}: bets on them (theory page, 11.2)"
        ),
        assumptions=(STREAM_EXCHANGEABLE, SCORE_ELSEWHERE),
        upper=alpha,
    )
