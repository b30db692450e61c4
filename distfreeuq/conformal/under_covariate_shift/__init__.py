"""Sets under covariate shift: their fits and what they guarantee."""
