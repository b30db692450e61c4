"""Calibrators that a user brings along."""
