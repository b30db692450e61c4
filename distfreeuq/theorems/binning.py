"""The family of binning: bounds in all bins, who may choose bins, and the target."""

from distfreeuq.theorems import bins, bins_on_target, simplex_cells

THEOREMS = (
    *bins.THEOREMS,
    *simplex_cells.THEOREMS,
    *bins_on_target.THEOREMS,
)
