"""Regions of the weights that hold at every sample size, from the confusion matrix."""

from __future__ import annotations

import math

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._base.memory import check_memory
from distfreeuq.bounds import unchecked
from distfreeuq.label_shift.class_matrix import ClassMatrix
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.linear_solution import invertibility, solve

# By pairs of classes: both ends of the cells, and what computes them.
_MATRICES = 6


def exact_region(
    confusion: Confusion, delta: float, label_counts: IntArray | None = None
) -> Polytope:
    """Return the Clopper-Pearson polytope: P(w inside) >= 1 - delta at every n and m.

    Each of the K^2 + K cells has its interval at level delta / (K^2 + K). With counts
    of labels of target rows there are 2 K more: p_k w_k = q_k for each class, of which
    both p_k and q_k have an interval. All have the same part of delta, whatever the
    samples have in common.
    """
    n_classes = confusion.target.size
    must = f"of fewer classes: {_MATRICES} matrices of {n_classes} x {n_classes} "
    must += "numbers are made; label_conditional_conformal covers without weights"
    needed = 8.0 * _MATRICES * n_classes**2
    check_memory(Arguments("LabelShiftResult.region"), "self", must, needed)
    n_cells = n_classes * (n_classes + 1)
    if label_counts is not None:
        n_cells += 2 * n_classes
    each = delta / n_cells
    lower, upper = unchecked.clopper_pearson(confusion.counts, confusion.n, each)
    mu_low, mu_high = unchecked.clopper_pearson(confusion.target, confusion.m, each)
    if label_counts is not None:
        by_label = confusion.joint.sum(axis=0)
        r = int(label_counts.sum())
        p_low, p_high = unchecked.clopper_pearson(by_label, confusion.n, each)
        q_low, q_high = unchecked.clopper_pearson(label_counts, r, each)
        lower = np.vstack([lower, np.diag(p_low)])
        upper = np.vstack([upper, np.diag(p_high)])
        mu_low, mu_high = np.append(mu_low, q_low), np.append(mu_high, q_high)
    return Polytope._unchecked(lower, upper, mu_low, mu_high, True, delta)


def exact_enclosure(
    confusion: Confusion, delta: float, label_counts: IntArray | None = None
) -> Box:
    """Return a box around the Clopper-Pearson polytope, without programs.

    Labels of target rows are not used where few of many classes occur.
    """
    joint = confusion.joint
    if not isinstance(joint, ClassMatrix):
        return exact_region(confusion, delta, label_counts).enclosure()
    # a class without source rows may have any weight, and several of them any share of
    # each prediction: no weight is bounded from below
    n_classes = confusion.target.size
    each = delta / (n_classes * (n_classes + 1))
    lower, _ = unchecked.clopper_pearson(joint.block, confusion.n, each)
    _, mu_high = unchecked.clopper_pearson(confusion.target, confusion.m, each)
    high, ends = np.full(n_classes, np.inf), np.full(lower.shape, np.inf)
    rooms = np.broadcast_to(mu_high[joint.rows][:, None], lower.shape)
    np.divide(rooms, lower, out=ends, where=lower > 0.0)
    high[joint.columns] = ends.min(axis=0)
    return Box._unchecked(np.zeros(n_classes), high, True, delta)


def norm_region(
    confusion: Confusion, delta: float, label_counts: IntArray | None = None
) -> Box:
    """Return a box around the l2 ball of the theory page, 4.4.

    P(w inside) >= 1 - delta at every n and m, for hard or soft predictions. Where the
    confusion matrix may be singular for all that the bound knows, it is unbounded. With
    counts of labels of target rows, it is what the ball's box and that of the labels
    have in common, each at half of delta.
    """
    if label_counts is not None:
        ball = norm_region(confusion, delta / 2.0)
        by_label = confusion.joint.sum(axis=0)
        own = _box_of_labels(by_label, label_counts, delta / 2.0)
        low = np.maximum(ball.low, own.low)
        return Box._unchecked(low, np.minimum(ball.high, own.high), True, delta)
    n_classes = confusion.target.size
    raw = solve(confusion)
    source, target = (
        (1.0 + math.sqrt(2.0 * math.log(2.0 / delta))) / math.sqrt(rows)
        for rows in (confusion.n, confusion.m)
    )
    room = invertibility(confusion).smallest - source
    if raw is None or room <= 0.0:
        everything = np.full(n_classes, np.inf)
        return Box._unchecked(np.zeros(n_classes), everything, True, delta)
    radius = (target + float(np.abs(raw).max()) * source) / room
    return Box._unchecked(np.maximum(raw - radius, 0.0), raw + radius, True, delta)


def _box_of_labels(
    source_counts: FloatArray, label_counts: IntArray, delta: float
) -> Box:
    """Return the box of q / p by Clopper-Pearson intervals of both, 2 K in all."""
    each = delta / (2 * label_counts.size)
    p_low, p_high = unchecked.clopper_pearson(
        source_counts, float(source_counts.sum()), each
    )
    q_low, q_high = unchecked.clopper_pearson(
        label_counts, int(label_counts.sum()), each
    )
    high = np.full(p_low.shape, np.inf)
    np.divide(q_high, p_low, out=high, where=p_low > 0.0)
    return Box._unchecked(q_low / p_high, high, True, delta)
