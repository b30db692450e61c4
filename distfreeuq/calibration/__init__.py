"""Calibration of probabilities: by scaling logits, by isotonic regression, by groups."""
