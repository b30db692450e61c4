"""Numerical methods that know nothing of the statistics above them."""
