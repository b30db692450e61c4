"""Bias-corrected temperature scaling: the calibration that MLLS needs.

MLLS needs probabilities that are calibrated in the source. BCTS turns f into
softmax(slope * log f + bias), fitted on the source labels by maximum likelihood; its
bias makes the mean prediction equal the label frequencies (Alexandari, Kundaje and
Shrikumar, ICML 2020). It must be applied to both samples: the source posterior is the
same function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, real
from distfreeuq._kernels import _mixture
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import ROW_SUMS, add_up
from distfreeuq._numerics.gram_sums import gram
from distfreeuq._numerics.spd import factor_if_regular
from distfreeuq.label_shift.class_matrix import TakingPart
from distfreeuq.label_shift.data import Samples

# Smaller probabilities count as this: an exact zero is an underflow of single
# precision, and its logarithm must be finite.
FLOOR = float(np.finfo(np.float32).tiny)

# Largest entry of the gradient of the mean loss at which the fit stops.
TOLERANCE = 1e-7

_MAX_STEPS = 100
_MAX_HALVINGS = 30

# Every so many-th row is in the smaller problem whose solution a large one starts from.
_FEWER = 5


@register("bias-corrected-temperature")
@dataclass(frozen=True, slots=True, eq=False)
class BiasCorrectedTemperature:
    """softmax(slope * log f + bias).

    Attributes
    ----------
    slope : float
        Inverse temperature.
    bias : ndarray (K,)
        Sums to zero; -inf for classes without source rows, whose probability becomes 0.
    """

    slope: float
    bias: FloatArray

    _state: ClassVar[State] = {
        "slope": real(-1e100, 1e100),
        "bias": floats("K", nan=False),
    }

    @property
    def name(self) -> str:
        """What summaries call it."""
        return "BCTS"

    def apply(self, probs: FloatMatrix) -> FloatMatrix:
        """Return calibrated probabilities (n, K) of the same precision."""
        out = np.empty_like(probs)
        _mixture._scale_rows(
            probs, self.slope, self.bias, FLOOR, out, threads_for(probs.size)
        )
        return out

    def of(self, samples: Samples) -> Samples:
        """Return both samples with calibrated probabilities."""
        return Samples(
            self.apply(samples.probs),
            samples.labels,
            self.apply(samples.probs_target),
        )

    def fitted_again(
        self, probs: FloatMatrix, labels: IntArray, row_weight: FloatArray
    ) -> BiasCorrectedTemperature:
        """Return the fit to weighted rows, begun from this one."""
        return fit_bcts(probs, labels, row_weight, self)


@dataclass(frozen=True, slots=True)
class LossSums:
    """The loss at one point, and its derivatives, as means over the rows.

    Attributes
    ----------
    loss : float
    by_bias : ndarray (K,)
        Mean calibrated probability less label frequency.
    by_slope : float
    cross : ndarray (K,)
        Second derivatives by bias and slope.
    slope_curvature : float
    row_by_slope : ndarray (n,)
        Each row's derivative by the slope.
    """

    loss: float
    by_bias: FloatArray
    by_slope: float
    cross: FloatArray
    slope_curvature: float
    row_by_slope: FloatArray


def loss_sums(
    probs: FloatMatrix,
    labels: IntArray,
    row_weight: FloatArray,
    slope: float,
    bias: FloatArray,
) -> LossSums:
    """Return the mean loss of the labels and its derivatives, in one pass."""
    n, n_classes = probs.shape
    partial, by_slope = ROW_SUMS.zeros(n, 2 * n_classes + 3), np.empty(n)
    _mixture._scaled_likelihood(
        probs,
        labels,
        row_weight,
        slope,
        bias,
        FLOOR,
        by_slope,
        partial,
        threads_for(probs.size),
    )
    sums = add_up(partial) / row_weight.sum()
    return LossSums(
        loss=float(sums[n_classes + 1]),
        by_bias=sums[:n_classes],
        by_slope=float(sums[n_classes]),
        cross=sums[n_classes + 2 : 2 * n_classes + 2],
        slope_curvature=float(sums[2 * n_classes + 2]),
        row_by_slope=by_slope,
    )


def information(
    sums: LossSums, mean: FloatArray, second_moment: FloatMatrix
) -> FloatMatrix:
    """Return the Hessian of the mean loss in (bias, slope), shape (K + 1, K + 1).

    Parameters
    ----------
    sums : LossSums
    mean, second_moment : ndarray (K,), (K, K)
        Moments of the calibrated probabilities.
    """
    n_classes = mean.size
    out = np.empty((n_classes + 1, n_classes + 1))
    out[:-1, :-1] = np.diag(mean) - second_moment
    out[:-1, -1] = out[-1, :-1] = sums.cross
    out[-1, -1] = sums.slope_curvature
    return out


def solve_gauged(
    hessian: FloatMatrix, right: FloatMatrix, present: BoolArray
) -> FloatMatrix:
    """Solve for (bias, slope): absent classes stay, and the biases sum to zero.

    Directions that the data do not identify stay too.
    """
    free = np.append(present, True)
    part = hessian[np.ix_(free, free)].copy()
    # a constant added to the bias changes nothing: with its sum fixed, part is regular
    part[:-1, :-1] += 1.0 / part.shape[0]
    out = np.zeros(right.shape)
    rounding = part.shape[0] * np.finfo(np.float64).eps * float(np.trace(part))
    regular = factor_if_regular(part, rounding)
    if regular is not None:
        out[free] = regular.solve(right[free])
        return out
    values, vectors = np.linalg.eigh(part)
    identified = values > part.shape[0] * np.finfo(np.float64).eps * values[-1]
    basis = vectors[:, identified]
    out[free] = (basis / values[identified]) @ (basis.T @ right[free])
    return out


def fit_bcts(
    probs: FloatMatrix,
    labels: IntArray,
    row_weight: FloatArray | None = None,
    start: BiasCorrectedTemperature | None = None,
    *,
    tolerance: float = TOLERANCE,
) -> BiasCorrectedTemperature:
    """Fit slope and bias by maximum likelihood: Newton's method, first on fewer rows.

    Parameters
    ----------
    probs : ndarray (n, K)
    labels : ndarray (n,)
        Column numbers.
    row_weight : ndarray (n,), optional
        How often each row counts.
    start : BiasCorrectedTemperature, optional
        Where to start.
    tolerance : float
        Largest entry of the gradient of the mean loss at which the fit stops.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.label_shift.scalings.bcts import fit_bcts
    >>> rng = np.random.default_rng(0)
    >>> honest = rng.dirichlet([1, 1, 1], size=20_000)
    >>> labels = (honest.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    >>> sharp = honest**2 / (honest**2).sum(axis=1, keepdims=True)
    >>> round(fit_bcts(sharp, labels).slope, 1)
    0.5
    """
    n, n_classes = probs.shape
    weight = np.ones(n) if row_weight is None else row_weight
    present = np.bincount(labels, weights=weight, minlength=n_classes) > 0
    few = TakingPart.if_few(present)
    if few.classes is not None:  # the others' probability is zero, whatever it was
        if start is not None:
            start = BiasCorrectedTemperature(start.slope, start.bias[few.classes])
        rows = weight > 0.0
        found = fit_bcts(
            few.columns(probs[rows]),
            few.codes(labels[rows]),
            weight[rows],
            start,
            tolerance=tolerance,
        )
        bias = few.vector(found.bias, -np.inf)
        return BiasCorrectedTemperature(found.slope, bias)
    if start is None and n // _FEWER >= max(2048, 20 * n_classes):
        some = slice(None, None, _FEWER)
        start = fit_bcts(
            np.ascontiguousarray(probs[some]),
            np.ascontiguousarray(labels[some]),
            np.ascontiguousarray(weight[some]),
            tolerance=1e-4,
        )
    slope, bias = (
        (1.0, np.zeros(n_classes)) if start is None else (start.slope, start.bias)
    )
    bias = np.where(present, np.where(np.isfinite(bias), bias, 0.0), -np.inf)
    return _newton(probs, labels, weight, slope, bias, tolerance)


def _newton(
    probs: FloatMatrix,
    labels: IntArray,
    weight: FloatArray,
    slope: float,
    bias: FloatArray,
    tolerance: float,
) -> BiasCorrectedTemperature:
    present = np.isfinite(bias)
    sums = loss_sums(probs, labels, weight, slope, bias)
    second_moment: FloatMatrix | None = None
    for _ in range(_MAX_STEPS):
        breach = _breach(sums)
        if breach <= tolerance:
            break
        if second_moment is None:
            second_moment = _second_moment(probs, weight, slope, bias)
        hessian = information(sums, second_moment.sum(axis=1), second_moment)
        gradient = np.append(sums.by_bias, sums.by_slope)
        step = solve_gauged(hessian, gradient, present)
        descent = float(gradient @ step)
        size = 1.0
        for _ in range(_MAX_HALVINGS):
            new_slope = slope - size * float(step[-1])
            new_bias = np.where(present, bias - size * step[:-1], -np.inf)
            new = loss_sums(probs, labels, weight, new_slope, new_bias)
            rounding = 1e-14 * (1.0 + sums.loss)
            if new.loss <= sums.loss - 1e-4 * size * abs(descent) + rounding:
                break
            size *= 0.5
        else:
            break  # no step decreases the loss: it is at its rounding error
        if _breach(new) > 0.1 * breach:
            second_moment = None
        slope, bias, sums = new_slope, new_bias, new
    bias = np.where(present, bias - bias[present].mean(), -np.inf)
    return BiasCorrectedTemperature(slope, bias)


def _breach(sums: LossSums) -> float:
    return max(float(np.abs(sums.by_bias).max()), abs(sums.by_slope))


def _second_moment(
    probs: FloatMatrix, weight: FloatArray, slope: float, bias: FloatArray
) -> FloatMatrix:
    """Return the mean of P P', to the six digits that Newton's method needs.

    Its row sums are the mean of P, since P sums to one.
    """
    scaled = BiasCorrectedTemperature(slope, bias).apply(probs)
    return gram(scaled, np.sqrt(weight), single=True) / float(weight.sum())
