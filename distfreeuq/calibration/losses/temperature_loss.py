"""The loss of scaled logits as a function of the inverse temperature, by groups."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._kernels import _softmax
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import count_blocks
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows, describe_rows
from distfreeuq.calibration.rows.masked_logits import set_masked, set_nothing

LOSS_NAMES = {"nll": "NLL", "brier": "Brier score"}

N_SUMS = 5
LOSS, GRADIENT, CURVATURE, SQUARED_SCORE, WRONG = range(N_SUMS)


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

    Columns: loss, its first and second derivative in alpha, squared scores, and
    misclassified rows. Groups that are not `active` are zero.
    `confidence` (n,), if given, receives the largest probability of every row of an
    active group.
    """
    n_groups = alphas.size
    blocks = np.zeros((count_blocks(rows.logits), n_groups, N_SUMS))
    mask = np.ones(n_groups, dtype=bool) if active is None else active
    _softmax._sum_temperature_losses(
        brier,
        rows.logits,
        rows.labels,
        rows.tops,
        rows.weights,
        groups,
        alphas,
        mask.astype(np.uint8),
        np.empty(0) if confidence is None else confidence,
        blocks,
        threads_for(rows.logits.size),
    )
    sums: FloatMatrix = np.asarray(blocks.sum(axis=0))
    return set_nothing(sums) if rows.has_masked else sums


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
    slopes: FloatMatrix = np.asarray(blocks.sum(axis=0))
    if rows.has_masked:
        set_nothing(slopes)
    return slopes


def scaled_softmax(
    logits: FloatMatrix, groups: IntArray | None, alphas: FloatArray
) -> FloatMatrix:
    """Return softmax(alpha * logits), alpha by the row's group; decisions are kept.

    The group is the column of the largest logit where none are given.
    """
    tops, widest, _ = describe_rows(logits)
    groups = tops if groups is None else groups
    probs = np.empty_like(logits)
    scratch = np.empty((count_blocks(logits), logits.shape[1]))
    threads = threads_for(logits.size)
    _softmax._scale_softmax(logits, tops, groups, alphas, scratch, probs, threads)
    return set_masked(probs, logits, widest)
