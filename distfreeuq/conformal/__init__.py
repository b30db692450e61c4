"""Prediction sets by conformal prediction."""
