"""Scaling-binning: a scaling map whose outputs are averaged in bins."""
