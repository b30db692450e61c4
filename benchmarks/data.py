"""The inputs that several families share: made once per size, always the same."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

FLAT, PEAKED = 1.0, 5.0
"""Standard deviation of the logits: large sets, or most of the mass on a few labels."""

SHAPES = {"flat rows": FLAT, "peaked rows": PEAKED}


@lru_cache(maxsize=2)
def rows(
    n: int, n_classes: int, spread: float = FLAT, dtype: str = "float64", seed: int = 0
) -> tuple[npt.NDArray[np.floating], npt.NDArray[np.int64]]:
    """Return softmax probabilities (n, K), and labels (n,) drawn from them."""
    rng = np.random.default_rng(seed)
    probs = rng.normal(scale=spread, size=(n, n_classes))
    probs -= probs.max(axis=1, keepdims=True)
    np.exp(probs, out=probs)
    probs /= probs.sum(axis=1, keepdims=True)
    labels = (np.cumsum(probs, axis=1) < rng.random((n, 1))).sum(axis=1)
    return probs.astype(dtype), np.minimum(labels, n_classes - 1)
