"""The family of label shift: estimated weights, their regions, intervals and tests."""

from distfreeuq.theorems.label_shift import (
    carried_losses,
    labels_beside_outputs,
    likelihood_weights,
    mixture_tests,
    moment_intervals,
    weight_estimates,
    weight_intervals,
    weight_regions,
    weights_with_labels,
)

THEOREMS = (
    *weight_regions.THEOREMS,
    *weight_estimates.THEOREMS,
    *weight_intervals.THEOREMS,
    *likelihood_weights.THEOREMS,
    *moment_intervals.THEOREMS,
    *carried_losses.THEOREMS,
    *mixture_tests.THEOREMS,
    *weights_with_labels.THEOREMS,
    *labels_beside_outputs.THEOREMS,
)
