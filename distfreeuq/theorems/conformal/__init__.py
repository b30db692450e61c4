"""The family of prediction sets: coverage with and without shift."""

from distfreeuq.theorems.conformal import (
    class_coverage,
    estimated_weights,
    group_coverage,
    known_weights,
    one_direction,
    pac_by_class,
    seeded_uniforms,
    split_coverage,
    training_conditional,
    weighted_exchangeability,
    wrong_ratios,
)

THEOREMS = (
    *split_coverage.THEOREMS,
    *seeded_uniforms.THEOREMS,
    *class_coverage.THEOREMS,
    *group_coverage.THEOREMS,
    *known_weights.THEOREMS,
    *training_conditional.THEOREMS,
    *pac_by_class.THEOREMS,
    *estimated_weights.THEOREMS,
    *one_direction.THEOREMS,
    *weighted_exchangeability.THEOREMS,
    *wrong_ratios.THEOREMS,
)
