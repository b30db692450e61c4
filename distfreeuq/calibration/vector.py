"""Vector scaling: a scale and a bias for every class's logit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._arrays import listed
from distfreeuq._kernels import _scaling
from distfreeuq._typing import ArrayLike, BoolArray, FloatArray, FloatMatrix
from distfreeuq._validate import LARGEST, Door
from distfreeuq.calibration.logits import read_new_logits
from distfreeuq.calibration.newton import Curvature, minimise_convex
from distfreeuq.calibration.result import (
    CalibrationResult,
    change_fields,
    coefficient_headers,
    coefficients,
    named_coefficient_rows,
)
from distfreeuq.calibration.rows import CalibrationRows, count_blocks, read_rows
from distfreeuq.exceptions import FitAtBoundWarning
from distfreeuq.guarantees import NoGuarantee
from distfreeuq.results import read_only
from distfreeuq.threads import threads_for

if TYPE_CHECKING:
    import pandas as pd
    from statsmodels.iolib.summary import Summary

ABSENT_BIAS = -50.0
"""Of a class that no row is labelled as: its optimum is minus infinity."""
FLAT = 1e-8
"""Curvature in a class's bias below which its parameters have run off to infinity."""
_CHUNK_ENTRIES = 1 << 20
_SAMPLE_PER_PARAMETER = 25
_SAMPLE_RIDGE = 1e-3
_SAMPLE_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VectorResult(CalibrationResult):
    """A fitted scale and bias per class.

    Attributes
    ----------
    scale, bias : ndarray (K,)
        Logits become scale * logits + bias. The biases sum to zero over the classes
        that occur in the labels.
    std_err : ndarray (2, K)
        Of the scales and of the biases: sandwich estimates, weights included; nan where
        the data do not determine the parameter.
    ridge : float

    The other attributes are those of every `CalibrationResult`.
    """

    scale: FloatArray
    bias: FloatArray
    std_err: FloatMatrix
    ridge: float

    def __repr__(self) -> str:
        """Return one line."""
        return f"<VectorResult n={self.n} K={len(self.classes)}>"

    def predict(self, logits: ArrayLike) -> FloatMatrix:
        """Probabilities softmax(scale * logits + bias), shape (n, K).

        Parameters
        ----------
        logits : array_like (n, K)
            Columns as in the fit.

        Notes
        -----
        The most likely class of a row may change.
        """
        door = Door("VectorResult.predict")
        matrix = read_new_logits(door, logits, self.classes)
        return affine_softmax(matrix, self.scale, self.bias)

    def to_frame(self) -> pd.DataFrame:
        """Return the coefficient table: K scales, then K biases.

        Columns: parameter, class, estimate, std_err, z (of scale = 1 or bias = 0),
        p_value, low, high.
        """
        import pandas as pd

        parts = [
            pd.DataFrame(
                {
                    "parameter": name,
                    "class": list(self.classes),
                    **coefficients(estimates, std_err, null),
                }
            )
            for name, estimates, std_err, null in (
                ("scale", self.scale, self.std_err[0], 1.0),
                ("bias", self.bias, self.std_err[1], 0.0),
            )
        ]
        return pd.concat(parts, ignore_index=True)

    def summary(self) -> Summary:
        """Return losses and coefficient tables as a ``Summary``."""
        from distfreeuq._summary import Table

        frame = self.to_frame()
        tables = [
            Table(
                [name, *coefficient_headers(null)],
                named_coefficient_rows(frame[frame["parameter"] == name]),
            )
            for name, null in (("scale", "a=1"), ("bias", "b=0"))
        ]
        facts = [("Ridge", f"{self.ridge:g}")] if self.ridge else []
        return self._summarise("Vector scaling", facts, tables, [])


def vector_scaling(
    logits: ArrayLike,
    labels: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    ridge: float = 0.0,
    classes: ArrayLike | None = None,
) -> VectorResult:
    """Scale and shift every class's logit, by maximum likelihood.

    Parameters
    ----------
    logits : array_like (n, K), or (n,) for the log-odds of class 1
        A classifier's logits on rows that it was not fitted on.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`.
    sample_weight : array_like (n,), optional
        Non-negative weights; their scale has no effect.
    ridge : float, default 0
        Adds ridge / 2 times the squared distance of the parameters from those that
        change nothing (scale 1, bias 0) to the mean loss.
    classes : sequence, optional
        Class names by column.

    Returns
    -------
    VectorResult

    Notes
    -----
    The probabilities are softmax(scale * logits + bias), paper D eq. (4.5). The loss is
    convex, and its minimum is found to rounding. Adding a constant to all biases
    changes nothing; the ones that sum to zero are returned. Adding a constant to the
    logits of a row does change its probabilities, unless all scales are equal: use the
    logits as the classifier made them.

    Without a ridge, a class that no row is labelled as has no finite bias, nor have
    classes that the logits separate perfectly; the fit then stops at finite parameters,
    with a `FitAtBoundWarning`.

    References
    ----------
    .. [1] Guo, Pleiss, Sun and Weinberger (2017), "On calibration of modern neural
       networks", ICML.
    .. [D] Zhao, Chen and Oymak (2020), eq. (4.5).

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(0.0, 2.0, (4000, 3))
    >>> truth = logits * [0.5, 1.0, 1.0] + [0.3, 0.0, -0.3]
    >>> labels = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    >>> fit = dfu.vector_scaling(logits, labels)
    >>> fit
    <VectorResult n=4000 K=3>
    >>> fit.scale.round(2), fit.bias.round(2)
    (array([0.49, 0.99, 0.94]), array([ 0.27, -0.01, -0.27]))
    """
    door = Door("vector_scaling")
    rows = read_rows(door, logits, labels, sample_weight, classes)
    ridge = read_ridge(door, ridge)
    present = np.bincount(rows.labels, rows.weights, rows.n_classes) > 0.0
    free = np.tile(present | (ridge > 0.0), 2)
    problem = VectorLoss(rows, free, ridge)
    theta = problem.minimise()
    scale, bias = problem.expand(theta)
    std_err, flat = problem.std_err(theta)
    lost = ~free[rows.n_classes :] | flat
    if lost.any():
        warn_lost(rows, lost)
    probs = affine_softmax(rows.logits, scale, bias)
    return VectorResult(
        **change_fields(rows, probs),
        guarantee=NoGuarantee(
            "no finite-sample theorem for vector scaling; paper D's Thm 4.1 is about "
            "temperatures"
        ),
        scale=read_only(scale),
        bias=read_only(bias),
        std_err=read_only(std_err),
        ridge=ridge,
    )


def affine_softmax(
    logits: FloatMatrix, scale: FloatArray, bias: FloatArray
) -> FloatMatrix:
    """Return softmax(scale * logits + bias) by rows, in the logits' precision."""
    probs = np.empty_like(logits)
    scratch = np.empty((count_blocks(logits), logits.shape[1]))
    threads = threads_for(logits.size)
    _scaling._affine_softmax(logits, scale, bias, scratch, probs, threads)
    return probs


def vector_loss(
    rows: CalibrationRows, scale: FloatArray, bias: FloatArray
) -> tuple[float, FloatArray]:
    """Return the mean NLL of softmax(scale * logits + bias), and its gradient (2K,)."""
    n_blocks = count_blocks(rows.logits)
    sums = np.zeros((n_blocks, 1 + 2 * rows.n_classes))
    _scaling._sum_vector_nll(
        rows.logits,
        rows.labels,
        rows.weights,
        scale,
        bias,
        np.empty((n_blocks, rows.n_classes)),
        sums,
        threads_for(rows.logits.size),
    )
    means = sums.sum(axis=0) / rows.total_weight
    return float(means[0]), means[1:]


class VectorLoss:
    """Mean NLL plus ridge as a function of those parameters that are free.

    Parameters
    ----------
    rows : CalibrationRows
    free : ndarray (2K,)
        Scales, then biases. A scale that is not free is 1, a bias `ABSENT_BIAS`.
    ridge : float
    """

    __slots__ = ("free", "ridge", "rows")

    def __init__(self, rows: CalibrationRows, free: BoolArray, ridge: float) -> None:
        self.rows, self.free, self.ridge = rows, free, ridge

    def expand(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return all scales and all biases (K,)."""
        full = self._neutral()
        full[~self.free & (np.arange(full.size) >= self.rows.n_classes)] = ABSENT_BIAS
        full[self.free] = theta
        return full[: self.rows.n_classes], full[self.rows.n_classes :]

    def _neutral(self) -> FloatArray:
        """Return the parameters (2K,) that leave the logits as they are."""
        return np.repeat([1.0, 0.0], self.rows.n_classes)

    def minimise(self) -> FloatArray:
        """Return the free parameters of smallest loss.

        The optimum for a sample of the rows and the Hessian there are so near that a
        few gradients over all rows remain.
        """
        neutral = self._neutral()[self.free]
        stride = self.rows.n // (_SAMPLE_PER_PARAMETER * neutral.size)
        if stride < 3:
            return minimise_convex(self.evaluate, self.curvature, neutral)
        # the ridge keeps classes that the sample lacks from running off
        sample = VectorLoss(
            self.rows.every(stride), self.free, max(self.ridge, _SAMPLE_RIDGE)
        )
        start = minimise_convex(
            sample.evaluate, sample.curvature, neutral, tolerance=_SAMPLE_TOLERANCE
        )
        return minimise_convex(self.evaluate, self.curvature, start)

    def evaluate(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss and its gradient."""
        loss, gradient = vector_loss(self.rows, *self.expand(theta))
        away = theta - self._neutral()[self.free]
        loss += 0.5 * self.ridge * float(away @ away)
        return loss, gradient[self.free] + self.ridge * away

    def curvature(self, theta: FloatArray) -> Curvature:
        """Return the factored Hessian."""
        return self._factor(self._moments(theta, with_meat=False)[0])

    def std_err(self, theta: FloatArray) -> tuple[FloatMatrix, BoolArray]:
        """Return sandwich standard errors (2, K), and which classes ran off (K,)."""
        n_classes = self.rows.n_classes
        hessian, meat = self._moments(theta, with_meat=True)
        variances = np.full(2 * n_classes, np.nan)
        variances[self.free] = self._factor(hessian).sandwich(meat)
        flat = self.free[n_classes:] & (np.diag(hessian)[n_classes:] < FLAT)
        variances[np.tile(flat, 2)] = np.nan
        return np.sqrt(variances).reshape(2, n_classes), flat

    def _factor(self, hessian: FloatMatrix) -> Curvature:
        n_classes = self.rows.n_classes
        inside = hessian[np.ix_(self.free, self.free)]
        if self.ridge > 0.0:
            inside = inside + self.ridge * np.eye(len(inside))
            return Curvature(inside, np.zeros((len(inside), 0)))
        level = np.repeat([0.0, 1.0], n_classes)[self.free]
        return Curvature(inside, (level / np.sqrt(level.sum()))[:, None])

    def _moments(
        self, theta: FloatArray, *, with_meat: bool
    ) -> tuple[FloatMatrix, FloatMatrix]:
        """Return the Hessian (2K, 2K) of the mean NLL and, of free ones, the meat.

        With rows x = (p z, p), the Hessian is the mean of diag - x x'; the meat is the
        sum of the scores' outer products, of which the mean is twice divided by n.
        """
        rows, n_classes = self.rows, self.rows.n_classes
        scale, bias = self.expand(theta)
        hessian = np.zeros((2 * n_classes, 2 * n_classes))
        meat = np.zeros_like(hessian)
        diagonal = np.zeros((3, n_classes))
        height = min(rows.n, max(1, _CHUNK_ENTRIES // (2 * n_classes)))
        buffer = np.empty((height, 2 * n_classes))
        for first in range(0, rows.n, height):
            part = slice(first, min(first + height, rows.n))
            logits, weights = rows.logits[part], rows.weights[part]
            x = buffer[: len(logits)]
            threads = threads_for(logits.size)
            _scaling._fill_vector_rows(logits, scale, bias, x, threads)
            diagonal[0] += np.einsum("i,ik,ik->k", weights, x[:, :n_classes], logits)
            diagonal[1:] += (weights @ x).reshape(2, n_classes)
            if with_meat:
                scores = self._scores(x, part)
                meat += scores.T @ scores
            if rows.is_weighted:
                x *= np.sqrt(weights)[:, None]
            hessian -= x.T @ x
        k = np.arange(n_classes)
        hessian[k, k] += diagonal[0]
        hessian[k, n_classes + k] += diagonal[1]
        hessian[n_classes + k, k] += diagonal[1]
        hessian[n_classes + k, n_classes + k] += diagonal[2]
        total = rows.total_weight
        return hessian / total, meat[np.ix_(self.free, self.free)] / total**2

    def _scores(self, x: FloatMatrix, part: slice) -> FloatMatrix:
        """Return the weighted scores w (p z - e z, p - e) of some rows."""
        labels, n_classes = self.rows.labels[part], self.rows.n_classes
        everyone = np.arange(len(labels))
        scores = x.copy()
        scores[everyone, labels] -= self.rows.logits[part][everyone, labels]
        scores[everyone, n_classes + labels] -= 1.0
        if self.rows.is_weighted:
            scores *= self.rows.weights[part][:, None]
        return scores


def read_ridge(door: Door, value: float) -> float:
    """Return a penalty, zero for none."""
    must = "a non-negative finite number"
    return door.number(value, "ridge", must, low=0.0, high=LARGEST)


def warn_lost(rows: CalibrationRows, lost: BoolArray) -> None:
    """Warn of classes whose parameters have no finite optimum."""
    names = [name for name, is_lost in zip(rows.classes, lost, strict=True) if is_lost]
    warnings.warn(
        f"The loss has no minimum in the parameters of {len(names)} of "
        f"{rows.n_classes} classes ({listed(names)}), which no row is labelled as or "
        "which the logits separate perfectly: they stand where the fit stopped. A "
        "ridge > 0 gives a minimum.",
        FitAtBoundWarning,
        stacklevel=3,
    )
