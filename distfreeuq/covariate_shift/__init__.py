"""Covariate shift: density ratios, weighted calibration, learnt features."""
