"""Calibrators that are maps of probabilities: Venn-Abers, beta and Dirichlet."""
