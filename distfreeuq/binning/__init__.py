"""Calibration by binning, with bounds that hold in every bin at once."""
