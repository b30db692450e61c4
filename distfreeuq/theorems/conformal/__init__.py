"""The family of prediction sets: coverage with and without shift."""

from distfreeuq.theorems.conformal import (
    below_caps,
    class_coverage,
    counted_proportions,
    estimated_weights,
    estimation_error,
    group_coverage,
    known_weights,
    many_classes_coverage,
    one_direction,
    pac_by_class,
    planned_rows,
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
    *counted_proportions.THEOREMS,
    *many_classes_coverage.THEOREMS,
    *known_weights.THEOREMS,
    *training_conditional.THEOREMS,
    *planned_rows.THEOREMS,
    *pac_by_class.THEOREMS,
    *estimated_weights.THEOREMS,
    *estimation_error.THEOREMS,
    *one_direction.THEOREMS,
    *below_caps.THEOREMS,
    *weighted_exchangeability.THEOREMS,
    *wrong_ratios.THEOREMS,
)
