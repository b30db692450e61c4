"""Designs whose rows go through a fitted or given map first."""
