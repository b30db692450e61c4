"""How good are the probabilities, and how sure are we: all metrics at once."""
