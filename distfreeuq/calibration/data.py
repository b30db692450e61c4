"""The rows of a calibration fit, checked once, and sums of their losses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolArray,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._kernels import _softmax
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import count_blocks
from distfreeuq._numerics.sample_weights import effective_sample_size
from distfreeuq.calibration.logits import read_logits

N_SUMS = 5
LOSS, GRADIENT, CURVATURE, SQUARED_SCORE, WRONG = range(N_SUMS)


@dataclass(frozen=True, slots=True)
class CalibrationRows:
    """Logits, labels and weights, and what one look at every row tells.

    Attributes
    ----------
    logits : ndarray (n, K)
    labels : ndarray (n,)
        Column numbers.
    weights : ndarray (n,)
        Divided by their largest, so that their scale has no effect.
    tops : ndarray (n,)
        Column of each row's largest logit, the first of them if tied.
    classes : sequence
    logit_range : float
        Largest max - min of a row.
    logit_norm : float
        Largest Euclidean distance of a row from its mean.
    """

    logits: FloatMatrix
    labels: IntArray
    weights: FloatArray
    tops: IntArray
    classes: Classes
    logit_range: float
    logit_norm: float

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.logits.shape[0])

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return int(self.logits.shape[1])

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    @property
    def is_weighted(self) -> bool:
        """Whether the weights differ from one another."""
        return bool(self.weights.min() < 1.0)

    @property
    def effective_size(self) -> float:
        """Kish's effective sample size, n for equal weights."""
        return effective_sample_size(self.weights)

    def every(self, stride: int) -> CalibrationRows:
        """Return every stride-th row: a sample whatever the rows are sorted by."""
        return replace(
            self,
            logits=np.ascontiguousarray(self.logits[::stride]),
            labels=np.ascontiguousarray(self.labels[::stride]),
            weights=np.ascontiguousarray(self.weights[::stride]),
            tops=np.ascontiguousarray(self.tops[::stride]),
        )


def read_rows(
    args: Arguments,
    logits: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None,
    classes: ArrayLike | None,
) -> CalibrationRows:
    """Check the arguments that all calibrators share."""
    matrix, names = read_logits(args, logits, classes)
    n = matrix.shape[0]
    if n == 0:
        args.invalid("logits", "of shape (n, K) with n >= 1", f"shape {matrix.shape}")
    codes = args.labels(labels, names, n)
    weights = read_weights(args, sample_weight, n)
    tops, logit_range, logit_norm = describe_rows(matrix)
    return CalibrationRows(
        logits=matrix,
        labels=codes,
        weights=weights,
        tops=tops,
        classes=names,
        logit_range=logit_range,
        logit_norm=logit_norm,
    )


def read_weights(
    args: Arguments, sample_weight: ArrayLike | None, n: int
) -> FloatArray:
    """Return weights of at most one; ones if none are given."""
    if sample_weight is None:
        return np.ones(n)
    weights = args.weights(sample_weight, "sample_weight", n)
    return np.ascontiguousarray(weights / weights.max())


def describe_rows(logits: FloatMatrix) -> tuple[IntArray, float, float]:
    """Return the largest column of each row, and the widest range and longest norm."""
    tops = np.empty(logits.shape[0], dtype=np.int64)
    extremes = np.zeros((count_blocks(logits), 2))
    _softmax._find_tops(logits, tops, extremes, threads_for(logits.size))
    widest, longest = extremes.max(axis=0)
    return tops, float(widest), float(np.sqrt(longest))


def temperature_sums(
    rows: CalibrationRows,
    groups: IntArray,
    alphas: FloatArray,
    *,
    brier: bool,
    active: BoolArray | None = None,
    confidence: FloatArray | None = None,
) -> FloatMatrix:
    """Return weighted sums (G, 5) over each group's rows at its inverse temperature.

    Columns: loss, its first and second derivative in alpha, squared scores, and the
    rows whose label has not the largest logit. Groups that are not `active` are zero.
    `confidence` (n,), if given, receives the largest probability of every row of an
    active group.
    """
    n_groups = alphas.size
    blocks = np.zeros((count_blocks(rows.logits), n_groups, N_SUMS))
    everyone = np.ones(n_groups, dtype=bool) if active is None else active
    _softmax._sum_temperature_losses(
        brier,
        rows.logits,
        rows.labels,
        rows.tops,
        rows.weights,
        groups,
        alphas,
        everyone.astype(np.uint8),
        np.empty(0) if confidence is None else confidence,
        blocks,
        threads_for(rows.logits.size),
    )
    return np.asarray(blocks.sum(axis=0))


def brier_slopes(
    rows: CalibrationRows, groups: IntArray, n_groups: int, first: float, n_points: int
) -> FloatMatrix:
    """Return the Brier score's derivatives (G, J) at alphas first * 2^(j / 2).

    In one pass, to about ten digits.
    """
    n_blocks = count_blocks(rows.logits)
    blocks = np.zeros((n_blocks, n_groups, n_points))
    _softmax._sum_brier_slopes(
        rows.logits,
        rows.labels,
        rows.tops,
        rows.weights,
        groups,
        first,
        np.empty((n_blocks, 2 * _softmax._lanes() * rows.n_classes)),
        blocks,
        threads_for(rows.logits.size),
    )
    return np.asarray(blocks.sum(axis=0))


def scaled_softmax(
    logits: FloatMatrix, tops: IntArray, groups: IntArray, alphas: FloatArray
) -> FloatMatrix:
    """Return softmax(alpha * logits), alpha by the row's group; decisions are kept."""
    probs = np.empty_like(logits)
    scratch = np.empty((count_blocks(logits), logits.shape[1]))
    threads = threads_for(logits.size)
    _softmax._scale_softmax(logits, tops, groups, alphas, scratch, probs, threads)
    return probs
