"""What a tally does not guarantee."""

from distfreeuq.guarantees import NoGuarantee

COUNTS_ONLY = NoGuarantee(
    "a tally is what its rows add up to; what holds is said by the fits that are made "
    "of it"
)
