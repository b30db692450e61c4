"""The family of binning: bounds in all bins, who may choose bins, and the target."""

from distfreeuq.theorems import (
    bin_rows,
    bins,
    bins_on_target,
    reweighting,
    simplex_cells,
)

THEOREMS = (
    *bins.THEOREMS,
    *bin_rows.THEOREMS,
    *simplex_cells.THEOREMS,
    *reweighting.THEOREMS,
    *bins_on_target.THEOREMS,
)
