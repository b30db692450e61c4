"""What a simulation does not guarantee."""

from distfreeuq.guarantees import NoGuarantee

ESTIMATES = NoGuarantee(
    "means estimate expectations, in this scenario alone, with the Monte Carlo errors "
    "given"
)
