"""Fuzzing of everything public, and of files."""
