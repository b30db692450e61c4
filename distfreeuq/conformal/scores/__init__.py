"""Scores beside the compiled ones: labels tied at random, and scores of one's own."""
