"""Density ratios: how much likelier each x is in the target than in the source."""
