"""Label-shift sets, fitted: by weights, by bounds on them, or for the draw at hand."""
