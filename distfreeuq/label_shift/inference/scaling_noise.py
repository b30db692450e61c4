"""What the fit of a scaling of logarithms adds to the noise of MLLS: first order.

With phi = (scale, bias), c the centred logarithms, f the calibrated probabilities and
psi = ((e_Y - f) c, e_Y - f), the fitted phi errs by M (M' I M)^-1 M' mean psi, M the
derivative of phi by the parameters that are free. The weights get from a source row

    u(X, Y) = (D - D_P) (phi's error) - (e_Y - p),

D the derivative of E_Q s by phi and D_P that of the source prior: that of E_P f where
the prior is the mean prediction (and then f replaces e_Y), zero where it is the labels'
frequencies (theory page, 4.8).
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntMatrix
from distfreeuq._numerics.row_sums import mixture_sums
from distfreeuq.label_shift.data import Samples
from distfreeuq.label_shift.inference.likelihood_delta_method import LikelihoodCurvature
from distfreeuq.label_shift.scalings.log_scaling import (
    LogScaling,
    blocks_of,
    centred_logs,
    scaling_sums,
    solve_identified,
)


def noise_of_scaling(
    samples: Samples,
    calibrated: Samples,
    calibration: LogScaling,
    prior_from: str,
    weight: FloatArray,
    curvature: LikelihoodCurvature,
) -> FloatMatrix:
    """Return the covariance of u(X, Y), (K, K).

    Parameters
    ----------
    samples, calibrated : Samples
        Before and after the calibration.
    calibration : LogScaling
    prior_from : {"predictions", "labels"}
    weight : ndarray (K,)
    curvature : LikelihoodCurvature
    """
    n, k = calibrated.probs.shape
    linear, given = calibration.from_parameters(), (calibration.scale, calibration.bias)
    hessian = scaling_sums(samples.probs, None, None, *given).hessian
    derivative = _by_scaling(samples, calibrated, calibration, weight, curvature)
    if prior_from == "predictions":
        derivative -= hessian[k:]
    per_score = solve_identified(linear.T @ hessian @ linear, (derivative @ linear).T)
    influence = linear @ per_score  # (2 K, K)
    total, products = np.zeros(k), np.zeros((k, k))
    for rows in blocks_of(calibrated.probs):
        f = calibrated.probs[rows].astype(np.float64, copy=False)
        logs = centred_logs(samples.probs[rows], calibration.present)
        error = -f
        error[np.arange(len(f)), calibrated.labels[rows]] += 1.0
        u = (error * logs) @ influence[:k] + error @ influence[k:] - f
        if prior_from == "labels":
            u -= error
        total += u.sum(axis=0)
        products += u.T @ u
    mean = total / n
    return np.asarray(products / n - np.outer(mean, mean))


def _by_scaling(
    samples: Samples,
    calibrated: Samples,
    calibration: LogScaling,
    weight: FloatArray,
    curvature: LikelihoodCurvature,
) -> FloatMatrix:
    """Return D, the derivative of E_Q s by (scale, bias), shape (K, 2 K)."""
    k = weight.size
    by_scale = np.zeros((k, k))
    density, _ = mixture_sums(calibrated.probs_target, None, weight)
    for rows in blocks_of(calibrated.probs_target):
        f = calibrated.probs_target[rows].astype(np.float64, copy=False)
        logs = centred_logs(samples.probs_target[rows], calibration.present)
        own = density[rows, None]
        s = np.divide(f, own, out=np.zeros_like(f), where=own > 0)
        by_scale -= s.T @ (s * logs * weight)
        by_scale[np.diag_indices(k)] += (s * logs).sum(axis=0)
    by_bias = np.diag(curvature.mean) - curvature.matrix * weight
    return np.hstack([by_scale / max(curvature.rows, 1.0), by_bias])


class ScalingScores:
    """What the fit takes from the scores of Hausman's test, for many sets of labels.

    Parameters
    ----------
    calibration : LogScaling
        Of the classes that take part.
    n_sets : int
        Sets of labels.
    """

    def __init__(self, calibration: LogScaling, n_sets: int) -> None:
        k = calibration.bias.size
        self._calibration = calibration
        self._gradient = np.zeros((2 * k, n_sets))
        self._cross, self._information = np.zeros((k, 2 * k)), np.zeros((2 * k,) * 2)

    def add(
        self,
        before: FloatMatrix,
        g: FloatMatrix,
        posterior: FloatMatrix,
        w: FloatArray,
        labels: IntMatrix,
    ) -> None:
        """Add a block of rows.

        Parameters
        ----------
        before, g : ndarray (b, K)
            Probabilities before and after the calibration.
        posterior : ndarray (b, K)
            Those of the target.
        w : ndarray (K,)
            Class weights.
        labels : ndarray (b, S)
            Sets of labels by column.
        """
        k = w.size
        logs = centred_logs(before, self._calibration.present)
        tilt = g * (w - (g @ w)[:, None])
        self._cross[:, :k] += posterior.T @ (tilt * logs)
        self._cross[:, k:] += posterior.T @ tilt
        own = np.take_along_axis(logs, labels, axis=1)
        for column in range(labels.shape[1]):
            of, into = labels[:, column], self._gradient[:, column]
            into[:k] += np.bincount(of, weights=own[:, column], minlength=k)
            into[k:] += np.bincount(of, minlength=k)
        self._gradient[:k] -= (g * logs).sum(axis=0)[:, None]
        self._gradient[k:] -= g.sum(axis=0)[:, None]
        both = np.hstack([g * logs, g])
        self._information -= both.T @ both
        scale, bias = np.arange(k), np.arange(k, 2 * k)
        for row, across, power in (
            (scale, scale, 2),
            (scale, bias, 1),
            (bias, scale, 1),
            (bias, bias, 0),
        ):
            self._information[row, across] += (g * logs**power).sum(axis=0)

    def correction(self) -> FloatMatrix:
        """Return what the fit takes from the sums of scores, (K, S)."""
        linear = self._calibration.from_parameters()
        information = linear.T @ self._information @ linear
        solved = solve_identified(information, linear.T @ self._gradient)
        return np.asarray(self._cross @ linear @ solved)
