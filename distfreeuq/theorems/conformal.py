"""The family of prediction sets: coverage with and without shift."""

from distfreeuq.theorems import (
    known_weights,
    label_conditional,
    pac_by_class,
    split,
    training_conditional,
)

THEOREMS = (
    *split.THEOREMS,
    *label_conditional.THEOREMS,
    *known_weights.THEOREMS,
    *training_conditional.THEOREMS,
    *pac_by_class.THEOREMS,
)
