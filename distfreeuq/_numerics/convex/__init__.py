"""Convex programmes with structure of their own."""
