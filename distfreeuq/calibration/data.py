"""The arguments of calibrators, read once: logits, labels, weights and groups."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distfreeuq._base import class_labels
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolArray,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._base.arrays import listed
from distfreeuq._base.row_groups import distinct_groups, few_integers
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._kernels import _softmax
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import count_blocks
from distfreeuq._numerics.sample_weights import effective_sample_size
from distfreeuq.exceptions import IdentificationWarning

LARGEST_LOGIT = 1e30
"""Larger logits are refused: their squares and cubes must be numbers."""
LARGEST_BESIDE_BIAS = 1e5
"""The same where biases are fitted, whose curvature would drown in that of scales."""
SMALLEST_BESIDE_BIAS = 1e-30
"""Logits all of which are smaller, and not all zero, are refused: slopes are huge."""


@dataclass(frozen=True, slots=True)
class CalibrationRows:
    """Logits, labels and weights, and what one pass over the rows tells.

    Attributes
    ----------
    logits : ndarray (n, K)
        For isotonic calibration, probabilities.
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

    def some(self, own: BoolArray) -> CalibrationRows:
        """Return the rows that a mask (n,) marks, described by themselves."""
        return make_rows(
            self.logits[own], self.labels[own], self.weights[own], self.classes
        )

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
    *,
    may_be_probs: bool = False,
) -> CalibrationRows:
    """Check the arguments that all calibrators of logits share."""
    matrix, names = read_logits(args, logits, classes, may_be_probs=may_be_probs)
    n = matrix.shape[0]
    if n == 0:
        args.invalid("logits", "of shape (n, K) with n >= 1", f"shape {matrix.shape}")
    codes = args.labels(labels, names, n)
    return make_rows(matrix, codes, read_weights(args, sample_weight, n), names)


def make_rows(
    logits: FloatMatrix, labels: IntArray, weights: FloatArray | None, classes: Classes
) -> CalibrationRows:
    """Return rows of what is checked already; weights of any scale, None for none."""
    scaled = np.ones(labels.size) if weights is None else weights / weights.max()
    tops, logit_range, logit_norm = describe_rows(logits)
    return CalibrationRows(
        logits=logits,
        labels=labels,
        weights=np.ascontiguousarray(scaled),
        tops=tops,
        classes=classes,
        logit_range=logit_range,
        logit_norm=logit_norm,
    )


SCALED_ALIKE = (
    "such probabilities are scaled as the others, and nothing here tests them"
)
KEPT = (
    "there the classifier's own probability is kept, before rows are divided by their "
    "sums"
)


def warn_absent(rows: CalibrationRows, what: str) -> None:
    """Warn of classes that no row is labelled as, and say what becomes of them."""
    counts = np.bincount(rows.labels[rows.weights > 0.0], minlength=rows.n_classes)
    absent = [rows.classes[k] for k in np.flatnonzero(counts == 0).tolist()]
    if absent:
        warn_user(
            f"No row is labelled {listed(absent)} ({len(absent)} of {rows.n_classes} "
            f"classes): {what}.",
            IdentificationWarning,
        )


def read_weights(
    args: Arguments, sample_weight: ArrayLike | None, n: int
) -> FloatArray | None:
    """Return non-negative weights (n,), None if none are given."""
    if sample_weight is None:
        return None
    return args.weights(sample_weight, "sample_weight", n)


def read_logits(
    args: Arguments,
    value: ArrayLike,
    classes: ArrayLike | None,
    *,
    may_be_probs: bool = False,
) -> tuple[FloatMatrix, Classes]:
    """Return checked logits (n, K) and classes; (n,) are log-odds of class 1."""
    matrix, names = args.logits(
        _two_columns(args, value, "logits"), classes=classes, may_be_probs=may_be_probs
    )
    check_size(args, matrix, "logits")
    return matrix, names


def read_new_logits(
    args: Arguments,
    value: ArrayLike,
    classes: Classes,
    parameter: str = "logits",
    *,
    may_be_probs: bool = False,
) -> FloatMatrix:
    """Return checked logits for a fit with these classes."""
    two = _two_columns(args, value, parameter)
    matrix, names = args.logits(two, parameter, may_be_probs=may_be_probs)
    check_size(args, matrix, parameter)
    if matrix.shape[1] != len(classes):
        must = f"of shape (n, {len(classes)}), as in the fit"
        args.invalid(parameter, must, f"shape {matrix.shape}")
    if not isinstance(names, range):
        class_labels.check_order(args, names, classes, parameter)
    return matrix


def check_size(
    args: Arguments,
    matrix: FloatMatrix,
    parameter: str = "logits",
    limit: float = LARGEST_LOGIT,
    least: float = 0.0,
) -> None:
    """Refuse logits that are too large for the arithmetic of a fit, or too small."""
    largest = float(max(matrix.max(initial=0.0), -matrix.min(initial=0.0)))
    if 0.0 < largest < least:
        must = f"zero, or of at least {least:g} somewhere (multiply all by one number)"
        args.invalid(parameter, must, f"a largest absolute value of {largest:g}")
    if largest <= limit:
        return
    row, column = np.argwhere(np.abs(matrix) > limit)[0]
    must = f"of at most {limit:g} in absolute value (divide all by one number)"
    got = f"{float(matrix[row, column]):g} at row {row}, column {column}"
    args.invalid(parameter, must, got)


def _two_columns(args: Arguments, value: ArrayLike, parameter: str) -> ArrayLike:
    """Return logits (0, s) of two classes where scores (n,) were given."""
    scores = args.array(value, parameter, "logits")
    if scores.ndim != 1:
        return value
    return np.column_stack([np.zeros_like(scores), scores])


def describe_rows(logits: FloatMatrix) -> tuple[IntArray, float, float]:
    """Return the largest column of each row, and the widest range and longest norm."""
    tops = np.empty(logits.shape[0], dtype=np.int64)
    extremes = np.zeros((count_blocks(logits), 2))
    _softmax._find_tops(logits, tops, extremes, threads_for(logits.size))
    widest, longest = extremes.max(axis=0)
    return tops, float(widest), float(np.sqrt(longest))


def split_rows(
    args: Arguments,
    groups: Any,
    logits: ArrayLike,
    matrix: FloatMatrix,
    classes: Classes,
) -> tuple[list[Hashable], IntArray]:
    """Return the different groups as plain Python values, and which each row is in."""
    if isinstance(groups, str):
        tops, _, _ = describe_rows(matrix)
        seen, codes = few_integers(tops)
        return [classes[top] for top in seen], codes
    if callable(groups):
        groups = groups(logits)
    return distinct_groups(args, groups, len(matrix))
