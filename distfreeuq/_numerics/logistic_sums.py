"""Losses of logistic regressions on one matrix, with their gradients."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._kernels import _logistic
from distfreeuq._kernels.threads import threads_for


def logistic_sums(
    design: FloatMatrix,
    targets: FloatArray,
    weights: FloatMatrix,
    parameters: FloatMatrix,
) -> FloatMatrix:
    """Return sums (r, 1 + p) of the losses and gradients of r weightings of the rows.

    Parameters
    ----------
    design : ndarray (n, p)
    targets : ndarray (n,)
        In [0, 1].
    weights : ndarray (n, r)
    parameters : ndarray (r, p)
    """
    from distfreeuq.calibration.data import count_blocks  # which imports this

    n_parts, width = parameters.shape
    sums = np.zeros((count_blocks(design), n_parts, 1 + width))
    _logistic._sum_logistic_losses(
        design,
        targets,
        np.ascontiguousarray(weights),
        np.ascontiguousarray(parameters),
        sums,
        threads_for(n_parts * design.size),
    )
    return np.asarray(sums.sum(axis=0))
