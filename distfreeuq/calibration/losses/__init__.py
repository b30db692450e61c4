"""Losses of calibration maps, with their derivatives, summed over rows."""
