"""The family of prediction sets: coverage with and without shift."""

from distfreeuq.theorems import (
    estimated_weights,
    known_weights,
    label_conditional,
    pac_by_class,
    split,
    training_conditional,
    weighted_exchangeability,
)

THEOREMS = (
    *split.THEOREMS,
    *label_conditional.THEOREMS,
    *known_weights.THEOREMS,
    *training_conditional.THEOREMS,
    *pac_by_class.THEOREMS,
    *estimated_weights.THEOREMS,
    *weighted_exchangeability.THEOREMS,
)
