"""Temperature, vector and no-bias vector scaling of logarithms, before MLLS.

The other calibrations that Alexandari, Kundaje and Shrikumar (ICML 2020) try: f becomes
softmax(scale * c + bias), with c = log f less its mean over the classes, as they have
it. "ts" has one scale and no bias, "nbvs" a scale for each class and no bias, "vs" a
scale and a bias for each. (Bias-corrected temperatures have a module of their own.)

All three are one family with the parameters theta, of which (scale, bias) is a linear
function: whatever needs derivatives by theta takes them by (scale, bias).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, require, text
from distfreeuq._kernels import _mixture
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.passes.class_rows import AnyRows, ClassRows, RowsInMemory
from distfreeuq.label_shift.class_matrix import TakingPart
from distfreeuq.label_shift.scalings.bcts import (
    FLOOR,
    TOLERANCE,
    OfLabelled,
    loss_sums,
)

_MAX_STEPS = 100
_MAX_HALVINGS = 30

# Entries of (rows, classes) matrices that are in memory at a time.
_AT_A_TIME = 1 << 20

# Every so many-th row is in the smaller problem whose solution a large one starts from,
# and fewer where it would have more than so many numbers.
_FEWER, _NUMBERS_OF_FEWER = 5, 1 << 22


@register("log-scaling")
@dataclass(frozen=True, slots=True, eq=False)
class LogScaling:
    """softmax(scale * c + bias), c the logarithm of f less its mean over the classes.

    Attributes
    ----------
    kind : str
        "ts", "vs" or "nbvs".
    scale : ndarray (K,)
        All the same for "ts"; 1 for classes without source rows otherwise.
    bias : ndarray (K,)
        Zero but for "vs", where it sums to zero; -inf for classes without source rows,
        whose probability becomes 0.
    """

    kind: str
    scale: FloatArray
    bias: FloatArray

    _state: ClassVar[State] = {
        "kind": text("ts", "vs", "nbvs"),
        "scale": floats("K", finite=True),
        "bias": floats("K", nan=False),
    }

    def _validate_state(self) -> None:
        require(bool((self.bias < np.inf).all()), "below infinity")
        require(bool(np.isfinite(self.bias).any()), "finite for some class")

    @property
    def name(self) -> str:
        """What summaries call it."""
        return self.kind.upper()

    @property
    def slope(self) -> float:
        """The scale of the first class, for "ts" that of all."""
        return float(self.scale[0])

    @property
    def present(self) -> BoolArray:
        """Whether each class keeps its probability, shape (K,)."""
        return np.isfinite(self.bias)

    def apply(self, probs: FloatMatrix) -> FloatMatrix:
        """Return calibrated probabilities (n, K) of the same precision."""
        out = np.empty_like(probs)
        if self.kind == "ts":
            threads = threads_for(probs.size)
            _mixture._scale_rows(probs, self.slope, self.bias, FLOOR, out, threads)
            return out
        for rows in blocks_of(probs):
            logs = centred_logs(probs[rows], self.present)
            out[rows] = _softmax(logs * self.scale + self.bias)[0]
        return out

    def of_classes(self, few: TakingPart) -> LogScaling:
        """Return the part for the classes that take part: those with source rows."""
        return LogScaling(self.kind, few.of(self.scale), few.of(self.bias))

    def fitted_again(
        self, probs: FloatMatrix, labels: IntArray, row_weight: FloatArray
    ) -> LogScaling:
        """Return the fit to weighted rows, begun from this one."""
        return fit_log_scaling(self.kind, probs, labels, row_weight, self)

    def from_parameters(self) -> FloatMatrix:
        """Return the derivative of (scale, bias) by the parameters, (2 K, d)."""
        return _from_parameters(self.kind, self.present)


def blocks_of(probs: FloatMatrix) -> Iterator[slice]:
    """Yield slices of few enough rows."""
    step = max(1, _AT_A_TIME // max(1, probs.shape[1]))
    for start in range(0, len(probs), step):
        yield slice(start, start + step)


def centred_logs(probs: FloatMatrix, present: BoolArray) -> FloatMatrix:
    """Return log f less its mean over the classes that have rows, in float64."""
    logs = np.log(np.maximum(probs, FLOOR), dtype=np.float64)
    logs -= logs[:, present].mean(axis=1, keepdims=True)
    return logs


def fit_log_scaling(
    kind: str,
    probs: FloatMatrix,
    labels: IntArray,
    row_weight: FloatArray | None = None,
    start: LogScaling | None = None,
    *,
    tolerance: float = TOLERANCE,
) -> LogScaling:
    """Fit by maximum likelihood: Newton's method, first on fewer rows.

    Parameters
    ----------
    kind : {"ts", "vs", "nbvs"}
    probs : ndarray (n, K)
    labels : ndarray (n,)
        Column numbers.
    row_weight : ndarray (n,), optional
        How often each row counts.
    start : LogScaling, optional
        Where to start.
    tolerance : float
        Largest entry of the gradient of the mean loss at which the fit stops.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.label_shift.scalings.log_scaling import fit_log_scaling
    >>> rng = np.random.default_rng(0)
    >>> honest = rng.dirichlet([1, 1, 1], size=20_000)
    >>> labels = (honest.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    >>> sharp = honest**2 / (honest**2).sum(axis=1, keepdims=True)
    >>> fit_log_scaling("ts", sharp, labels).scale.round(1).tolist()
    [0.5, 0.5, 0.5]
    """
    rows = RowsInMemory.of(probs, labels, row_weight)
    return fit_log_scaling_to(kind, rows, start, tolerance=tolerance)


def fit_log_scaling_to(
    kind: str,
    rows: AnyRows,
    start: LogScaling | None = None,
    *,
    tolerance: float = TOLERANCE,
) -> LogScaling:
    """Return the same fit to rows that may be in blocks: some passes over them."""
    n_classes = rows.n_classes
    present = rows.label_weight > 0
    few = TakingPart.if_few(present)
    if few.classes is not None:  # the others' probability is zero, whatever it was
        own = rows.mapped(OfLabelled(few), few.size)
        begin = None if start is None else start.of_classes(few)
        found = fit_log_scaling_to(kind, own, begin, tolerance=tolerance)
        scale = few.vector(found.scale, found.scale[0] if kind == "ts" else 1.0)
        return LogScaling(kind, scale, few.vector(found.bias, -np.inf))
    if kind == "ts":
        bias = np.where(present, 0.0, -np.inf)
        slope = 1.0 if start is None else start.slope
        slope = _fit_slope(rows, bias, slope, tolerance)
        return LogScaling(kind, np.full(n_classes, slope), bias)
    fewest = max(2048, 40 * n_classes)
    if start is None and rows.n // _FEWER >= fewest:
        most = max(fewest, _NUMBERS_OF_FEWER // n_classes)
        some = rows.every(max(_FEWER, -(-rows.n // most)))
        if (some.label_weight[present] > 0).all():
            start = fit_log_scaling_to(kind, some, tolerance=1e-4)
    scale = np.ones(n_classes) if start is None else start.scale
    bias = np.zeros(n_classes) if start is None else start.bias
    bias = np.where(present, np.where(np.isfinite(bias), bias, 0.0), -np.inf)
    scale, bias = _newton(kind, rows, (scale, bias), tolerance)
    bias = np.where(present, bias - bias[present].mean(), -np.inf)
    return LogScaling(kind, np.where(present, scale, 1.0), bias)


@dataclass(frozen=True, slots=True)
class ScalingSums:
    """The mean loss, its gradient (2 K,) and Hessian (2 K, 2 K) by (scale, bias)."""

    loss: float
    gradient: FloatArray
    hessian: FloatMatrix


def scaling_sums(
    rows: AnyRows, scale: FloatArray, bias: FloatArray, *, curvature: bool = True
) -> ScalingSums:
    """Return the loss and its derivatives; without labels, the Hessian alone."""
    n_classes, total = rows.n_classes, rows.total_weight
    sums = rows.parts.total(_SumScaled(scale, bias, curvature))
    loss, gradient, diagonal, products = sums
    by_scale, by_bias = np.arange(n_classes), np.arange(n_classes, 2 * n_classes)
    hessian = -products
    hessian[by_scale, by_scale] += diagonal[2]
    hessian[by_bias, by_bias] += diagonal[0]
    hessian[by_scale, by_bias] += diagonal[1]
    hessian[by_bias, by_scale] += diagonal[1]
    return ScalingSums(loss / total, gradient / total, hessian / total)


@dataclass(frozen=True, slots=True)
class _SumScaled:
    """Sums losses over some rows, their gradient, and what makes the Hessian."""

    scale: FloatArray
    bias: FloatArray
    curvature: bool

    def __call__(
        self, rows: ClassRows
    ) -> tuple[float, FloatArray, FloatMatrix, FloatMatrix]:
        probs, n_classes = rows.probs, rows.probs.shape[1]
        present = np.isfinite(self.bias)
        loss, gradient = 0.0, np.zeros(2 * n_classes)
        diagonal = np.zeros((3, n_classes))
        products = np.zeros((2 * n_classes,) * 2)
        for some in blocks_of(probs):
            logs = centred_logs(probs[some], present)
            f, log_f = _softmax(logs * self.scale + self.bias)
            w = np.ones(len(f)) if rows.weight is None else rows.weight[some]
            if rows.labels.size:
                own = np.arange(len(f)), rows.labels[some]
                loss -= float(w[w > 0] @ log_f[own][w > 0])
                residual = f.copy()
                residual[own] -= 1.0
                residual *= w[:, None]
                gradient[:n_classes] += (residual * logs).sum(axis=0)
                gradient[n_classes:] += residual.sum(axis=0)
            if not self.curvature:
                continue
            root = np.sqrt(w)[:, None]
            both = np.hstack([root * f * logs, root * f])
            products += both.T @ both
            for power in range(3):
                diagonal[power] += w @ (f * logs**power)
        return loss, gradient, diagonal, products


def solve_identified(information: FloatMatrix, right: FloatMatrix) -> FloatMatrix:
    """Solve; directions that the data do not identify stay."""
    values, vectors = np.linalg.eigh(information)
    floor = len(values) * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)
    kept = values > floor
    basis = vectors[:, kept]
    return np.asarray((basis / values[kept]) @ (basis.T @ right))


def _newton(
    kind: str,
    rows: AnyRows,
    start: tuple[FloatArray, FloatArray],
    tolerance: float,
) -> tuple[FloatArray, FloatArray]:
    scale, bias = start
    present, k = np.isfinite(bias), bias.size
    linear = _from_parameters(kind, present)
    for _ in range(_MAX_STEPS):
        sums = scaling_sums(rows, scale, bias)
        gradient = linear.T @ sums.gradient
        if float(np.abs(gradient).max(initial=0.0)) <= tolerance:
            break
        information = linear.T @ sums.hessian @ linear
        step = linear @ solve_identified(information, gradient)
        descent, size = float(sums.gradient @ step), 1.0
        for _ in range(_MAX_HALVINGS):
            new = scale - size * step[:k], bias - size * step[k:]
            found = scaling_sums(rows, *new, curvature=False)
            rounding = 1e-14 * (1.0 + sums.loss)
            if found.loss <= sums.loss - 1e-4 * size * abs(descent) + rounding:
                break
            size *= 0.5
        else:
            break  # no step decreases the loss: it is at its rounding error
        scale, bias = new
    return scale, bias


def _fit_slope(
    rows: AnyRows, bias: FloatArray, slope: float, tolerance: float
) -> float:
    """Return the one scale at which the loss is smallest: it is convex in it."""
    sums = loss_sums(rows, slope, bias)
    for _ in range(_MAX_STEPS):
        if abs(sums.by_slope) <= tolerance or not sums.slope_curvature > 0.0:
            break
        step, size = sums.by_slope / sums.slope_curvature, 1.0
        for _ in range(_MAX_HALVINGS):
            new = loss_sums(rows, slope - size * step, bias)
            rounding = 1e-14 * (1.0 + sums.loss)
            decrease = 1e-4 * size * abs(step * sums.by_slope)
            if new.loss <= sums.loss - decrease + rounding:
                break
            size *= 0.5
        else:
            break
        slope, sums = slope - size * step, new
    return slope


def _from_parameters(kind: str, present: BoolArray) -> FloatMatrix:
    k = present.size
    if kind == "ts":
        return np.repeat([[1.0], [0.0]], k, axis=0)
    own = np.eye(k)[:, present]
    scales = np.vstack([own, np.zeros_like(own)])
    if kind == "nbvs":
        return scales
    return np.hstack([scales, np.vstack([np.zeros_like(own), own])])


def _softmax(logits: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
    """Return probabilities and their logarithms; -inf where a bias is."""
    logits = logits - logits.max(axis=1, keepdims=True)
    powers = np.exp(logits)
    total = powers.sum(axis=1, keepdims=True)
    return powers / total, logits - np.log(total)
