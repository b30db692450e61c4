"""Rows that bins are made of: in blocks, set apart, and scored."""
