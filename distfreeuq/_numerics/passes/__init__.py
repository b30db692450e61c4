"""Passes over rows that may come in blocks: one in memory, several elsewhere."""
