"""Bias-corrected temperature scaling: the calibration that MLLS needs.

MLLS needs probabilities that are calibrated in the source. BCTS turns f into
softmax(slope * log f + bias), fitted on the source labels by maximum likelihood; its
bias makes the mean prediction equal the label frequencies (Alexandari, Kundaje and
Shrikumar, ICML 2020). It must be applied to both samples: the source posterior is the
same function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, real
from distfreeuq._kernels import _mixture
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import ROW_SUMS, add_up
from distfreeuq._numerics.gram_sums import gram
from distfreeuq._numerics.matrices.spd import factor_if_regular
from distfreeuq._numerics.passes.class_rows import AnyRows, ClassRows, RowsInMemory
from distfreeuq._numerics.row_sums import column_sums
from distfreeuq.label_shift.class_matrix import TakingPart

# Smaller probabilities count as this: an exact zero is an underflow of single
# precision, and its logarithm must be finite.
FLOOR = float(np.finfo(np.float32).tiny)

# Largest entry of the gradient of the mean loss at which the fit stops.
TOLERANCE = 1e-7

_MAX_STEPS = 100
_MAX_HALVINGS = 30

# Every so many-th row is in the smaller problem whose solution a large one starts from,
# and fewer where it would have more than so many numbers.
_FEWER, _NUMBERS_OF_FEWER = 5, 1 << 22


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

    def fitted_again(
        self, probs: FloatMatrix, labels: IntArray, row_weight: FloatArray
    ) -> BiasCorrectedTemperature:
        """Return the fit to weighted rows, begun from this one."""
        return fit_bcts(probs, labels, row_weight, self)


@dataclass(frozen=True, slots=True)
class LossSums:
    """The loss of labels at one point, and its derivatives, as means over the rows.

    Attributes
    ----------
    loss : float
    by_bias : ndarray (K,)
        Mean calibrated probability less label frequency.
    by_slope : float
    cross : ndarray (K,)
        Second derivatives by bias and slope.
    slope_curvature : float
    """

    loss: float
    by_bias: FloatArray
    by_slope: float
    cross: FloatArray
    slope_curvature: float


def loss_sums(rows: AnyRows, slope: float, bias: FloatArray) -> LossSums:
    """Return the mean loss of the labels and its derivatives, in one pass."""
    k = rows.n_classes
    sums = rows.parts.total(_SumLosses(slope, bias)) / rows.total_weight
    return LossSums(
        loss=float(sums[k + 1]),
        by_bias=sums[:k],
        by_slope=float(sums[k]),
        cross=sums[k + 2 : 2 * k + 2],
        slope_curvature=float(sums[2 * k + 2]),
    )


@dataclass(frozen=True, slots=True)
class _SumLosses:
    """Sums over some rows: derivatives by bias and slope, loss, second derivatives."""

    slope: float
    bias: FloatArray

    def __call__(self, rows: ClassRows) -> FloatArray:
        return self.with_rows(rows)[0]

    def with_rows(self, rows: ClassRows) -> tuple[FloatArray, FloatArray]:
        """Return the sums (2 K + 3,), and each row's derivative by the slope (n,)."""
        n, n_classes = rows.probs.shape
        partial, by_slope = ROW_SUMS.zeros(n, 2 * n_classes + 3), np.empty(n)
        _mixture._scaled_likelihood(
            rows.probs,
            rows.labels,
            rows.counted,
            self.slope,
            self.bias,
            FLOOR,
            by_slope,
            partial,
            threads_for(rows.probs.size),
        )
        return add_up(partial), by_slope


class SlopeSums(NamedTuple):
    """Sums of the scores of the slope, by label and times f (K,), and of squares."""

    by_label: FloatArray
    by_probs: FloatArray
    total: float
    squares: float


@dataclass(frozen=True, slots=True)
class SlopeScores:
    """Sums the scores of the slope over some calibrated rows."""

    calibration: BiasCorrectedTemperature

    def __call__(self, rows: ClassRows) -> SlopeSums:
        """Return the sums."""
        assert rows.before is not None
        at_fit = _SumLosses(self.calibration.slope, self.calibration.bias)
        score = -at_fit.with_rows(rows._replace(probs=rows.before))[1]
        k = rows.probs.shape[1]
        return SlopeSums(
            np.bincount(rows.labels, score, k).astype(np.float64),
            column_sums(rows.probs, score),
            float(score.sum()),
            float(score @ score),
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
    rows = RowsInMemory.of(probs, labels, row_weight)
    return fit_bcts_to(rows, start, tolerance=tolerance)


def fit_bcts_to(
    rows: AnyRows,
    start: BiasCorrectedTemperature | None = None,
    *,
    tolerance: float = TOLERANCE,
) -> BiasCorrectedTemperature:
    """Return the same fit to rows that may be in blocks: some passes over them."""
    n_classes = rows.n_classes
    present = rows.label_weight > 0
    few = TakingPart.if_few(present)
    if few.classes is not None:  # the others' probability is zero, whatever it was
        if start is not None:
            start = BiasCorrectedTemperature(start.slope, start.bias[few.classes])
        own = rows.mapped(OfLabelled(few), few.size)
        found = fit_bcts_to(own, start, tolerance=tolerance)
        bias = few.vector(found.bias, -np.inf)
        return BiasCorrectedTemperature(found.slope, bias)
    fewest = max(2048, 20 * n_classes)
    if start is None and rows.n // _FEWER >= fewest:
        most = max(fewest, _NUMBERS_OF_FEWER // n_classes)
        some = rows.every(max(_FEWER, -(-rows.n // most)))
        start = fit_bcts_to(some, tolerance=1e-4)
    slope, bias = (
        (1.0, np.zeros(n_classes)) if start is None else (start.slope, start.bias)
    )
    bias = np.where(present, np.where(np.isfinite(bias), bias, 0.0), -np.inf)
    return _newton(rows, slope, bias, tolerance)


@dataclass(frozen=True, slots=True)
class OfLabelled:
    """Takes the columns of classes with source rows, and rows that count."""

    few: TakingPart

    def __call__(self, rows: ClassRows) -> ClassRows:
        """Return them, with labels as numbers among these classes."""
        probs, labels, weight, start = rows[:4]
        if weight is not None:
            own = weight > 0.0
            probs, labels, weight = probs[own], labels[own], weight[own]
        few = self.few
        return ClassRows(few.columns(probs), few.codes(labels), weight, start)


def _newton(
    rows: AnyRows, slope: float, bias: FloatArray, tolerance: float
) -> BiasCorrectedTemperature:
    present = np.isfinite(bias)
    sums = loss_sums(rows, slope, bias)
    second_moment: FloatMatrix | None = None
    for _ in range(_MAX_STEPS):
        breach = _breach(sums)
        if breach <= tolerance:
            break
        if second_moment is None:
            products = _SumProducts(BiasCorrectedTemperature(slope, bias))
            second_moment = rows.parts.total(products) / rows.total_weight
        # its row sums are the mean of P, since P sums to one
        hessian = information(sums, second_moment.sum(axis=1), second_moment)
        gradient = np.append(sums.by_bias, sums.by_slope)
        step = solve_gauged(hessian, gradient, present)
        descent = float(gradient @ step)
        size = 1.0
        for _ in range(_MAX_HALVINGS):
            new_slope = slope - size * float(step[-1])
            new_bias = np.where(present, bias - size * step[:-1], -np.inf)
            new = loss_sums(rows, new_slope, new_bias)
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


@dataclass(frozen=True, slots=True)
class _SumProducts:
    """Sums P P' over some rows, to the six digits that Newton's method needs."""

    calibration: BiasCorrectedTemperature

    def __call__(self, rows: ClassRows) -> FloatMatrix:
        scaled = self.calibration.apply(rows.probs)
        return gram(scaled, np.sqrt(rows.counted), single=True)
