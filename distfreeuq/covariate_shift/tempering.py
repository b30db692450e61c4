"""Temperature of a discriminator, from rows that it was not fitted on."""

from __future__ import annotations

import numpy as np
from scipy import special

from distfreeuq._typing import FloatArray, FloatMatrix
from distfreeuq.calibration.newton import Curvature, minimise_convex

_NO_DIRECTIONS = np.zeros((1, 0))


def fit_inverse_temperature(source: FloatArray, target: FloatArray) -> float:
    """Return the factor of log-ratios that makes a discriminator calibrated.

    Minimises the log loss of telling held-out source rows from target rows, both
    samples given the same total weight (the mixture r of paper C), over factors from 0
    (the log-ratios tell nothing: all weights equal) upwards. Labels are smoothed as
    Platt's are, so that samples which are told apart perfectly have a finite optimum.

    Parameters
    ----------
    source, target : ndarray (n,), (m,)
        Log-ratios, finite.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.covariate_shift.tempering import fit_inverse_temperature
    >>> x = np.random.default_rng(0).normal(size=(2, 4000))  # true log-ratio x - 1/2
    >>> twice = 2.0 * (x[0] - 0.5), 2.0 * (x[1] + 1.0 - 0.5)
    >>> round(fit_inverse_temperature(*twice), 1)
    0.5
    """
    values = np.concatenate([source, -target])  # signed: large is wrong
    largest = float(np.abs(values).max())
    if largest == 0.0:
        return 0.0
    values = values / largest
    weights = np.repeat(
        [0.5 / source.size, 0.5 / target.size], (source.size, target.size)
    )
    wrong = np.repeat(
        [1 / (source.size + 2), 1 / (target.size + 2)], (source.size, target.size)
    )

    def evaluate(beta: FloatArray) -> tuple[float, FloatArray]:
        scaled = beta[0] * values
        losses = np.logaddexp(0.0, scaled) - wrong * scaled
        residuals = special.expit(scaled) - wrong
        return float(weights @ losses), np.array([(weights * values) @ residuals])

    def curvature(beta: FloatArray) -> Curvature:
        p = special.expit(beta[0] * values)
        hessian: FloatMatrix = np.array([[weights @ (values**2 * p * (1.0 - p))]])
        return Curvature(hessian, _NO_DIRECTIONS)

    if evaluate(np.zeros(1))[1][0] >= 0.0:
        return 0.0
    beta = minimise_convex(evaluate, curvature, np.zeros(1), tolerance=1e-16)
    return max(0.0, float(beta[0]) / largest)
