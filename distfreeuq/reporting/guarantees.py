"""What is said of the parts of a report that no result of their own speaks for."""

from distfreeuq.guarantees import NoGuarantee

ADAPTED = NoGuarantee(
    "the weights, and the recalibration where there is one, are estimated from these "
    "rows, and nothing bounds the error of the probabilities made with them"
)
UNCHANGED = NoGuarantee(
    "the weights are not identified, so that the probabilities are the classifier's own"
)
