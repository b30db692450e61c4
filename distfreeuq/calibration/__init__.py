"""Calibration of probabilities: scaled logits, isotonic regression, by groups."""
