"""Scores by the kernels, which check the rows in the same read."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.arguments import UncheckedProbs
from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._kernels import _scores
from distfreeuq._kernels.threads import threads_for
from distfreeuq.conformal.scores.nested_score import NestedScore


def kernel_scores_of(
    score: NestedScore, probs: UncheckedProbs, labels: IntArray, uniforms: FloatArray
) -> FloatArray:
    """Return each row's score of its own label, shape (n,); rows are checked."""
    matrix = probs.matrix
    out = np.empty(matrix.shape[0])
    bad = _scores._true_label_scores(
        score.kernel_arguments(),
        matrix,
        probs.tolerance,
        labels,
        uniforms,
        out,
        threads_for(matrix.size),
    )
    probs.raise_if_invalid(bad)
    return out


def kernel_scores_of_all(
    score: NestedScore, probs: UncheckedProbs, uniforms: FloatArray
) -> FloatMatrix:
    """Return the scores of all labels, shape (n, K); rows are checked."""
    matrix = probs.matrix
    out = np.empty(matrix.shape)
    bad = _scores._all_label_scores(
        score.kernel_arguments(),
        matrix,
        probs.tolerance,
        uniforms,
        out,
        threads_for(matrix.size),
    )
    probs.raise_if_invalid(bad)
    return out
