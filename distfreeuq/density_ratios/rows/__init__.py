"""Rows of two samples in blocks."""
