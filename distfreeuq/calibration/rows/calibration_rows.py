"""Labelled rows in memory, as calibrators are fitted to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from distfreeuq._base.array_types import (
    BoolArray,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._kernels import _softmax
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import count_blocks
from distfreeuq._numerics.passes.row_parts import OnePart
from distfreeuq._numerics.sample_weights import effective_sample_size
from distfreeuq.calibration.rows.masked_logits import describe_masked, spans_masked

_T = TypeVar("_T")


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
    has_masked : bool
        Whether a class of some row is masked. Range and norm are those of the others.
    groups : ndarray (n,) or None
        The group of each row, where rows are calibrated by groups.
    """

    logits: FloatMatrix
    labels: IntArray
    weights: FloatArray
    tops: IntArray
    classes: Classes
    logit_range: float
    logit_norm: float
    groups: IntArray | None = None
    has_masked: bool = False

    @property
    def parts(self) -> OnePart[CalibrationRows]:
        """What is summed in a pass over the rows."""
        return OnePart(self)

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

    @property
    def n_counted(self) -> int:
        """Rows of positive weight."""
        return int((self.weights > 0.0).sum())

    @property
    def label_counts(self) -> IntArray:
        """Rows of positive weight by label, shape (K,)."""
        counted = self.labels[self.weights > 0.0]
        return np.bincount(counted, minlength=self.n_classes)

    @property
    def label_weights(self) -> FloatArray:
        """Weight by label, shape (K,)."""
        return weigh(self.labels, self.weights, self.n_classes)

    @property
    def top_counts(self) -> IntArray:
        """Rows of positive weight by column of the largest logit, shape (K,)."""
        counted = self.tops[self.weights > 0.0]
        return np.bincount(counted, minlength=self.n_classes)

    @property
    def largest_logit(self) -> float:
        """Largest absolute value of a logit."""
        least, most = self.logits.min(initial=0.0), self.logits.max(initial=0.0)
        return float(max(most, -least))

    def of_group(self, code: int) -> CalibrationRows:
        """Return the rows of a group, described by themselves."""
        assert self.groups is not None
        return self.some(self.groups == code)

    def some(self, own: BoolArray) -> CalibrationRows:
        """Return the rows that a mask (n,) marks, described by themselves."""
        return make_rows(
            self.logits[own], self.labels[own], self.weights[own], self.classes
        )

    def in_step(self, fits: Sequence[Callable[[CalibrationRows], _T]]) -> list[_T]:
        """Return what each fit makes of these rows."""
        return [fit(self) for fit in fits]

    def with_logits(
        self, function: Callable[[FloatMatrix], FloatMatrix]
    ) -> CalibrationRows:
        """Return the rows with other logits, and described as before."""
        return replace(self, logits=function(self.logits))

    def every(self, stride: int) -> CalibrationRows:
        """Return every stride-th row: a sample whatever the rows are sorted by."""
        return self.at(slice(None, None, stride))

    def at(self, some: slice) -> CalibrationRows:
        """Return some rows, described as all are."""
        return replace(
            self,
            logits=np.ascontiguousarray(self.logits[some]),
            labels=np.ascontiguousarray(self.labels[some]),
            weights=np.ascontiguousarray(self.weights[some]),
            tops=np.ascontiguousarray(self.tops[some]),
            groups=None,
        )


def make_rows(
    logits: FloatMatrix, labels: IntArray, weights: FloatArray | None, classes: Classes
) -> CalibrationRows:
    """Return rows of what is checked already; weights of any scale, None for none."""
    scaled = np.ones(labels.size) if weights is None else weights / weights.max()
    return described(logits, labels, np.ascontiguousarray(scaled), classes)


def described(
    logits: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    classes: Classes,
    groups: IntArray | None = None,
) -> CalibrationRows:
    """Return rows with these weights as they are."""
    tops, logit_range, logit_norm = describe_rows(logits)
    has_masked = spans_masked(logit_range)
    if has_masked:
        logit_range, logit_norm = describe_masked(logits)
    return CalibrationRows(
        logits=logits,
        labels=labels,
        weights=weights,
        tops=tops,
        classes=classes,
        logit_range=logit_range,
        logit_norm=logit_norm,
        groups=groups,
        has_masked=has_masked,
    )


def weigh(codes: IntArray, weights: FloatArray, n_codes: int) -> FloatArray:
    """Return the sum of the weights of each code."""
    sums: FloatArray = np.bincount(codes, weights, n_codes).astype(np.float64)
    return sums


def describe_rows(logits: FloatMatrix) -> tuple[IntArray, float, float]:
    """Return the largest column of each row, and the widest range and longest norm.

    Of the numbers that are there, those in place of -inf among them.
    """
    tops = np.empty(logits.shape[0], dtype=np.int64)
    extremes = np.zeros((count_blocks(logits), 2))
    _softmax._find_tops(logits, tops, extremes, threads_for(logits.size))
    widest, longest = extremes.max(axis=0)
    return tops, float(widest), float(np.sqrt(longest))
