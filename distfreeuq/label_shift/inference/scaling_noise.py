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

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntMatrix
from distfreeuq._numerics.passes.class_rows import ClassRows
from distfreeuq._numerics.row_sums import mixture_sums
from distfreeuq.label_shift.data import SampleRows
from distfreeuq.label_shift.inference.likelihood_delta_method import LikelihoodCurvature
from distfreeuq.label_shift.scalings.log_scaling import (
    LogScaling,
    blocks_of,
    centred_logs,
    scaling_sums,
    solve_identified,
)


def noise_of_scaling(
    samples: SampleRows,
    calibrated: SampleRows,
    calibration: LogScaling,
    prior_from: str,
    weight: FloatArray,
    curvature: LikelihoodCurvature,
) -> FloatMatrix:
    """Return the covariance of u(X, Y), (K, K).

    Parameters
    ----------
    samples, calibrated : SampleRows
        Before and after the calibration, without target rows that have labels.
    calibration : LogScaling
    prior_from : {"predictions", "labels"}
    weight : ndarray (K,)
    curvature : LikelihoodCurvature
    """
    n, k = calibrated.source.n, calibrated.source.n_classes
    linear, given = calibration.from_parameters(), (calibration.scale, calibration.bias)
    hessian = scaling_sums(samples.source, *given).hessian
    derivative = _by_scaling(calibrated, calibration, weight, curvature)
    if prior_from == "predictions":
        derivative -= hessian[k:]
    per_score = solve_identified(linear.T @ hessian @ linear, (derivative @ linear).T)
    influence = linear @ per_score  # (2 K, K)
    scores = _SumScores(calibration, influence, prior_from == "labels")
    total, products = calibrated.source.parts.total(scores)
    mean = total / n
    return np.asarray(products / n - np.outer(mean, mean))


@dataclass(frozen=True, slots=True)
class _SumScores:
    """Sums u over some calibrated rows, and u u'."""

    calibration: LogScaling
    influence: FloatMatrix
    by_labels: bool

    def __call__(self, rows: ClassRows) -> tuple[FloatArray, FloatMatrix]:
        assert rows.before is not None
        k = rows.probs.shape[1]
        total, products = np.zeros(k), np.zeros((k, k))
        for some in blocks_of(rows.probs):
            f = rows.probs[some].astype(np.float64, copy=False)
            logs = centred_logs(rows.before[some], self.calibration.present)
            error = -f
            error[np.arange(len(f)), rows.labels[some]] += 1.0
            u = (error * logs) @ self.influence[:k] + error @ self.influence[k:] - f
            if self.by_labels:
                u -= error
            total += u.sum(axis=0)
            products += u.T @ u
        return total, products


def _by_scaling(
    calibrated: SampleRows,
    calibration: LogScaling,
    weight: FloatArray,
    curvature: LikelihoodCurvature,
) -> FloatMatrix:
    """Return D, the derivative of E_Q s by (scale, bias), shape (K, 2 K)."""
    of_rows = _ByScale(calibration, weight)
    by_scale: FloatMatrix = calibrated.target.parts.total(of_rows)
    by_bias = np.diag(curvature.mean) - curvature.matrix * weight
    return np.hstack([by_scale / max(curvature.rows, 1.0), by_bias])


@dataclass(frozen=True, slots=True)
class _ByScale:
    """Sums the derivative of s by the scale over some calibrated target rows."""

    calibration: LogScaling
    weight: FloatArray

    def __call__(self, rows: ClassRows) -> FloatMatrix:
        assert rows.before is not None
        k = self.weight.size
        by_scale = np.zeros((k, k))
        density, _ = mixture_sums(rows.probs, None, self.weight)
        for some in blocks_of(rows.probs):
            f = rows.probs[some].astype(np.float64, copy=False)
            logs = centred_logs(rows.before[some], self.calibration.present)
            own = density[some, None]
            s = np.divide(f, own, out=np.zeros_like(f), where=own > 0)
            by_scale -= s.T @ (s * logs * self.weight)
            by_scale[np.diag_indices(k)] += (s * logs).sum(axis=0)
        return by_scale


class ScalingScores(NamedTuple):
    """What the fit takes from the scores of Hausman's test: sums over some rows.

    Attributes
    ----------
    gradient : ndarray (2 K, S)
        Of the loss by (scale, bias), for each of S sets of labels.
    cross : ndarray (K, 2 K)
    information : ndarray (2 K, 2 K)
    """

    gradient: FloatMatrix
    cross: FloatMatrix
    information: FloatMatrix

    @classmethod
    def of(
        cls,
        logs: FloatMatrix,
        g: FloatMatrix,
        posterior: FloatMatrix,
        w: FloatArray,
        labels: IntMatrix,
    ) -> ScalingScores:
        """Return the sums over a block of rows.

        Parameters
        ----------
        logs, g : ndarray (b, K)
            Centred logarithms before, and probabilities after the calibration.
        posterior : ndarray (b, K)
            Those of the target.
        w : ndarray (K,)
            Class weights.
        labels : ndarray (b, S)
            Sets of labels by column.
        """
        k = w.size
        tilt = g * (w - (g @ w)[:, None])
        cross = posterior.T @ np.hstack([tilt * logs, tilt])
        own = np.take_along_axis(logs, labels, axis=1)
        gradient = np.empty((2 * k, labels.shape[1]))
        for column in range(labels.shape[1]):
            of = labels[:, column]
            gradient[:k, column] = np.bincount(of, own[:, column], k)
            gradient[k:, column] = np.bincount(of, minlength=k)
        gradient[:k] -= (g * logs).sum(axis=0)[:, None]
        gradient[k:] -= g.sum(axis=0)[:, None]
        both = np.hstack([g * logs, g])
        information = -(both.T @ both)
        scale, bias = np.arange(k), np.arange(k, 2 * k)
        for row, across, power in (
            (scale, scale, 2),
            (scale, bias, 1),
            (bias, scale, 1),
            (bias, bias, 0),
        ):
            information[row, across] += (g * logs**power).sum(axis=0)
        return cls(gradient, cross, information)

    def correction(self, calibration: LogScaling) -> FloatMatrix:
        """Return what the fit takes from the sums of scores, (K, S)."""
        linear = calibration.from_parameters()
        information = linear.T @ self.information @ linear
        solved = solve_identified(information, linear.T @ self.gradient)
        return np.asarray(self.cross @ linear @ solved)
