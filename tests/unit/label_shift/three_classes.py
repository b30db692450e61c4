"""Rows of three overlapping classes."""

import numpy as np


def draw(rng, n, prior, spread=1.0):
    """Draw three overlapping classes; return posteriors under prior (.4, .4, .2)."""
    labels = rng.choice(3, p=prior, size=n)
    x = rng.normal(1.5 * np.eye(3)[labels], spread)
    logits = 1.5 * x / spread**2 + np.log([0.4, 0.4, 0.2])
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    return probs / probs.sum(axis=1, keepdims=True), labels
