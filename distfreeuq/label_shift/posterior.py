"""From source posteriors to target posteriors (paper A, eq. 16)."""

from __future__ import annotations

import numpy as np

from distfreeuq._typing import FloatArray, FloatMatrix


def reweight(
    probs: FloatMatrix, label_weight: FloatArray, target_prior: FloatArray
) -> FloatMatrix:
    """Return w_k probs_k / sum_j w_j probs_j by rows, in the precision of `probs`.

    An infinite weight is a limit: a row with mass on such classes keeps only these, in
    proportion to q_k probs_k. A row with mass on classes of weight zero alone stays as
    it is, the limit of weights that are equally small.

    Parameters
    ----------
    probs : ndarray (n, K)
    label_weight, target_prior : ndarray (K,)
    """
    infinite = np.isinf(label_weight)
    out = _shares(probs, np.where(infinite, 0.0, label_weight))
    if infinite.any():
        new = _shares(probs, np.where(infinite, target_prior, 0.0))
        has_mass = (probs[:, infinite] > 0).any(axis=1)
        out[has_mass] = new[has_mass]
    return out


def _shares(probs: FloatMatrix, factors: FloatArray) -> FloatMatrix:
    largest = float(factors.max(initial=0.0))
    scale = factors / largest if largest > 0 else factors
    out = probs * scale.astype(probs.dtype)
    total = out.sum(axis=1, dtype=np.float64, keepdims=True)
    stuck = total[:, 0] == 0.0
    np.divide(out, total, out=out, where=total > 0, casting="same_kind")
    out[stuck] = probs[stuck]
    return out
