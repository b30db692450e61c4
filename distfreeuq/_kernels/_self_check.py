"""Kernels on rows whose answers are known: a compiler that errs is noticed at import.

Probabilities and uniforms are multiples of powers of two, so that scores, sets, bins
and squares are exact. There are as many short rows as kernels take side by side
(src_c/lanes.h), no two with the same answer: a lane in another's place shows. Arrays
are made of lists: what NumPy does for the first time takes longer than the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._kernels import (
    _bins,
    _checks,
    _mixture,
    _quantile,
    _row_stats,
    _scores,
    _softmax,
)

if TYPE_CHECKING:
    from distfreeuq._base.array_types import FloatMatrix, IntArray

_APS = (1, 0.0, 0.0, 0.0)
_TOLERANCE = 1e-6
_SHARES = (0.625, 0.25, 0.125)
_ABOVE = (0.0, 0.625, 0.875)
"""Mass of what is more likely than each of the shares."""
_BRIER = (0.21875, 0.96875, 1.21875)
"""Brier score of a row whose label has that share."""

_PLACES = range(16)
_ROWS = [[_SHARES[(k - i) % 3] for k in range(3)] for i in _PLACES]
_LABELS = [i // 3 % 3 for i in _PLACES]
_OF_LABEL = [(label - i) % 3 for i, label in enumerate(_LABELS)]
"""Which of the shares a row's label has."""
_UNIFORMS = [i / 16 for i in _PLACES]

_LOSS = sum(
    u * math.log((32.0 + 4.0 + 2.0) / (32.0, 4.0, 2.0)[j])
    for u, j in zip(_UNIFORMS, _OF_LABEL, strict=True)
)
"""Weighted by the uniforms, of logits log 2 times eight times the shares."""

_Answer = tuple[str, object, object]


def wrong_kernels() -> list[str]:
    """Return the names of kernels that give another answer than the known one."""
    probs, labels = np.array(_ROWS), np.array(_LABELS)
    answers = [
        *_scores_of(probs, labels),
        *_scores_of(probs.astype(np.float32), labels),
        *_sums_over(probs, labels),
        *_of_a_long_row(),
        *_of_values(),
    ]
    return sorted({name for name, got, known in answers if got != known})


def _scores_of(probs: FloatMatrix, labels: IntArray) -> Iterator[_Answer]:
    """Yield the scores of rows that hold the three shares in turn."""
    uniforms, scores = np.array(_UNIFORMS), np.array(_UNIFORMS)
    _scores._true_label_scores(_APS, probs, _TOLERANCE, labels, uniforms, scores, 1)
    known = [
        _ABOVE[j] + u * _SHARES[j] for u, j in zip(_UNIFORMS, _OF_LABEL, strict=True)
    ]
    yield "_true_label_scores", scores.tolist(), known


def _sums_over(probs: FloatMatrix, labels: IntArray) -> Iterator[_Answer]:
    """Yield what is summed within such rows, and over them."""
    weights, brier, nothing = np.array(_UNIFORMS), np.empty(16), np.empty(0)
    hits, tops = np.empty(16, dtype=np.uint8), np.empty(16, dtype=np.int64)
    _row_stats._read_rows(
        probs, labels, _TOLERANCE, hits, tops, nothing, nothing, brier, 1
    )
    yield "_read_rows", tops.tolist(), [i % 3 for i in _PLACES]
    yield "_read_rows", brier.tolist(), [_BRIER[j] for j in _OF_LABEL]

    logits, alphas = probs * (8.0 * math.log(2.0)), np.array([1.0])
    groups, losses = np.array([0] * 16), np.array([[[0.0] * 5]])
    active = np.array([1], dtype=np.uint8)
    _softmax._sum_temperature_losses(
        False, logits, labels, tops, weights, groups, alphas, active, nothing, losses, 1
    )
    loss = float(losses[0, 0, 0])
    close = math.isclose(loss, _LOSS, rel_tol=1e-12)
    yield "_sum_temperature_losses", loss, _LOSS if not close else loss

    density, sums = np.empty(16), np.array([[0.0] * 5])
    by_class = np.array([1.0, 2.0, 4.0])
    _mixture._mixture_likelihood(probs, weights, by_class, density, sums, 1)
    known = (1.625, 2.375, 3.0)
    yield "_mixture_likelihood", density.tolist(), [known[i % 3] for i in _PLACES]


def _of_a_long_row() -> Iterator[_Answer]:
    """Yield what kernels make of a row that is too long for a lane."""
    row, label, score = [0.0078125] * 64, np.array([63]), np.array([0.0])
    row[40] = 0.5078125
    probs, half = np.array([row]), np.array([0.5])
    _scores._true_label_scores(_APS, probs, _TOLERANCE, label, half, score, 1)
    yield "_true_label_scores", float(score[0]), 0.51171875
    row[50], row[40] = -0.0078125, 0.5234375
    bad = _checks._first_bad_row(np.array([row]), True, _TOLERANCE, 1)
    yield "_first_bad_row", bad, 0


def _of_values() -> Iterator[_Answer]:
    """Yield order statistics and bins of 64 values, some of them infinite."""
    values = [math.inf] * 8 + [i / 64 for i in range(56)]
    needed, found = np.array([1.0, 40.0, 60.0]), np.array([0.0] * 3)
    array, weights = np.array(values), np.array([1.0] * 64)
    _quantile._select_quantiles(array, weights, 1.0, 64.0, needed, found)
    yield "_select_quantiles", found.tolist(), [0.0, 39 / 64, math.inf]
    bins, edges = np.array([0] * 64), np.array([0.25, 0.5])
    _bins._assign_bins(array, edges, True, bins, 1)
    yield "_assign_bins", bins.tolist(), [2] * 8 + [0] * 17 + [1] * 16 + [2] * 23
