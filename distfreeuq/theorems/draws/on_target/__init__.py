"""Designs for what is said of the target: performance, proportions, decisions."""
