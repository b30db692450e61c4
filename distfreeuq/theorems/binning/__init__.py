"""The family of binning: bounds in all bins, which rows may choose bins, the target."""

from distfreeuq.theorems.binning import (
    bin_rows,
    discrete_scores,
    reweighting,
    scaled_outputs,
    simplex_cells,
    source_bins,
    target_bins,
)

THEOREMS = (
    *source_bins.THEOREMS,
    *discrete_scores.THEOREMS,
    *bin_rows.THEOREMS,
    *simplex_cells.THEOREMS,
    *reweighting.THEOREMS,
    *target_bins.THEOREMS,
    *scaled_outputs.THEOREMS,
)
