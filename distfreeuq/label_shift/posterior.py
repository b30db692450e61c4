"""From source to target posteriors: Podkopaev and Ramdas (2021), eq. (16)."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._kernels import _mixture
from distfreeuq._kernels.threads import threads_for


def reweight(
    probs: FloatMatrix, label_weight: FloatArray, target_prior: FloatArray
) -> FloatMatrix:
    """Return w_k probs_k / sum_j w_j probs_j by rows, in the precision of `probs`."""
    out = np.empty_like(probs)
    check_and_reweight(probs, label_weight, target_prior, np.inf, out)
    return out


def check_and_reweight(
    probs: FloatMatrix,
    label_weight: FloatArray,
    target_prior: FloatArray,
    tolerance: float,
    out: FloatMatrix,
) -> int:
    """Write what `reweight` returns to `out`, if the rows are probability vectors.

    An infinite weight is a limit: a row with mass on such classes keeps only these, in
    proportion to q_k probs_k. A row with mass on classes of weight zero alone stays as
    it is, the limit of weights that are equally small.

    Parameters
    ----------
    probs : ndarray (n, K)
    label_weight, target_prior : ndarray (K,)
    tolerance : float
        How far a row's sum may be from one.
    out : ndarray (n, K)

    Returns
    -------
    int
        The first row that is no probability vector, or -1.
    """
    infinite = np.isinf(label_weight)
    if not infinite.any():
        return _write_shares(probs, label_weight, out, tolerance)
    bad = _write_shares(probs, np.where(infinite, 0.0, label_weight), out, tolerance)
    if bad < 0:
        new = np.empty_like(probs)
        _write_shares(probs, np.where(infinite, target_prior, 0.0), new, tolerance)
        has_mass = (probs[:, infinite] > 0).any(axis=1)
        out[has_mass] = new[has_mass]
    return bad


def _write_shares(
    probs: FloatMatrix, factors: FloatArray, out: FloatMatrix, tolerance: float
) -> int:
    largest = float(factors.max(initial=0.0))
    scale = factors / largest if largest > 0 else factors
    return _mixture._reweight_rows(
        probs, scale, tolerance, out, threads_for(probs.size)
    )
