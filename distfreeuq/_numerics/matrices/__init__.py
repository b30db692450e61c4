"""Matrices with a structure: blocks, and positive definite ones."""
