"""Nested-set scores: how unlikely a label looks, from the classifier's probabilities.

With rho_y the probability of the labels strictly more likely than y, rank_y one more
than their number, and u one uniform per row (u = 1 where a score is not randomised):

======  =========================================================================
lac     1 - pi_y
aps     rho_y + u pi_y
raps    rho_y + u pi_y + penalty (rank_y - k_reg)+
saps    u pi_max if rank_y = 1, else pi_max + (rank_y - 2 + u) weight
rank    rank_y - 1 + u
margin  max_{k != y} pi_k - pi_y
======  =========================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments, UncheckedProbs
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.persistence import register
from distfreeuq._numerics.row_blocks import refuse_blocks
from distfreeuq.conformal.scores.compiled_scores import (
    kernel_scores_of,
    kernel_scores_of_all,
)
from distfreeuq.conformal.scores.nested_score import ROUNDING, NestedScore, ScoreLike
from distfreeuq.conformal.scores.own_score import OwnScore, is_own_score
from distfreeuq.conformal.scores.ranked_scores import APS, RAPS, SAPS, Rank

__all__ = [
    "APS",
    "LAC",
    "RAPS",
    "SAPS",
    "Margin",
    "Rank",
    "all_label_scores",
    "as_score",
    "nested_scores",
    "true_label_scores",
]


@register("lac")
@dataclass(frozen=True, slots=True)
class LAC(NestedScore):
    """Least ambiguous classifier: one minus the label's probability.

    References
    ----------
    Sadinle, Lei and Wasserman (2019), JASA 114.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> dfu.nested_scores([[0.7, 0.2, 0.1]], score=dfu.LAC()).round(2).tolist()
    [[0.3, 0.8, 0.9]]
    """

    name: ClassVar[str] = "lac"
    description: ClassVar[str] = "LAC"
    code: ClassVar[int] = 0
    _takes_uniforms: ClassVar[bool] = False

    def upper(self, n_classes: int) -> float:
        """Return a number that no score exceeds."""
        return 1.0 + ROUNDING


@register("margin")
@dataclass(frozen=True, slots=True)
class Margin(NestedScore):
    """How far the label's probability falls short of the best rival's.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> dfu.nested_scores([[0.7, 0.2, 0.1]], score=dfu.Margin()).round(2).tolist()
    [[-0.5, 0.5, 0.6]]
    """

    name: ClassVar[str] = "margin"
    description: ClassVar[str] = "margin"
    code: ClassVar[int] = 5
    _takes_uniforms: ClassVar[bool] = False

    def upper(self, n_classes: int) -> float:
        """Return a number that no score exceeds."""
        return 1.0 + ROUNDING


_BY_NAME: dict[str, NestedScore] = {
    score.name: score for score in (LAC(), APS(), RAPS(), SAPS(), Rank(), Margin())
}


def as_score(score: ScoreLike, args: Arguments) -> NestedScore:
    """Return the score object that a name stands for, or one that calls the user's."""
    if isinstance(score, NestedScore):
        return score
    if is_own_score(score):
        return OwnScore(score)
    return _BY_NAME[args.choice(score, "score", _BY_NAME)]


def true_label_scores(
    score: NestedScore, probs: UncheckedProbs, labels: IntArray, uniforms: FloatArray
) -> FloatArray:
    """Return each row's score of its own label, shape (n,); rows are checked."""
    if not score.compiled:
        return score.true_scores(probs.checked(), labels, uniforms)
    return kernel_scores_of(score, probs, labels, uniforms)


def all_label_scores(
    score: NestedScore, probs: UncheckedProbs, uniforms: FloatArray
) -> FloatMatrix:
    """Return the scores of all labels, shape (n, K); rows are checked."""
    if not score.compiled:
        return score.all_scores(probs.checked(), uniforms)
    return kernel_scores_of_all(score, probs, uniforms)


_INSTEAD = (
    "Call it for each block: probs.map_blocks(distfreeuq.nested_scores) of a Dask "
    "array."
)


def nested_scores(
    probs: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    score: ScoreLike = "aps",
    uniforms: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> FloatArray:
    """Scores of the true labels, or of all labels.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        Rows sum to one.
    labels : array_like (n,), optional
        With labels, each row's score of its label; without, every label's.
    score : str or score object, default "aps"
        "aps", "lac", "raps", "saps", "rank", "margin", an object such as ``RAPS()``, or
        one's own, as in `split_conformal`.
    uniforms : array_like (n,), optional
        One number in [0, 1] per row; None means u = 1, the non-randomised score.
    classes : sequence, optional
        Class names by column.

    Returns
    -------
    ndarray (n,) or (n, K)

    Notes
    -----
    The score of a label is the same number, bit for bit, in both forms: sums are taken
    over probabilities rounded to multiples of 2^-52, which double precision adds
    exactly in any order. Tied labels have the same score.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> dfu.nested_scores([[0.1, 0.5, 0.15, 0.25]], uniforms=[0.5]).round(3).tolist()
    [[0.95, 0.25, 0.825, 0.625]]
    >>> dfu.nested_scores([[0.1, 0.5, 0.15, 0.25]], [3], uniforms=[0.5]).tolist()
    [0.625]
    """
    args = Arguments("nested_scores")
    refuse_blocks(args, {"probs": probs}, _INSTEAD)
    unchecked, names = args.unchecked_probs(probs, classes=classes)
    chosen = as_score(score, args)
    n = unchecked.matrix.shape[0]
    u = np.ones(n) if uniforms is None else args.uniforms(uniforms, n)
    if labels is None:
        return all_label_scores(chosen, unchecked, u)
    return true_label_scores(chosen, unchecked, args.labels(labels, names, n), u)
