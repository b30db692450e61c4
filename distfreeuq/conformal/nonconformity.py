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
from distfreeuq._base.stored_state import State, count, real
from distfreeuq._kernels import _scores
from distfreeuq._kernels.threads import threads_for


@dataclass(frozen=True, slots=True)
class NestedScore:
    """A score whose prediction sets {y : score_y <= t} grow with t."""

    name: ClassVar[str]
    description: ClassVar[str]
    code: ClassVar[int]
    uses_uniforms: ClassVar[bool] = True

    def kernel_arguments(self) -> tuple[int, float, float, float]:
        """Return kind, penalty, k_reg and weight as the kernels take them."""
        return (
            self.code,
            float(getattr(self, "penalty", 0.0)),
            float(getattr(self, "k_reg", 0)),
            float(getattr(self, "weight", 0.0)),
        )

    def describe(self, randomized: bool) -> str:
        """Return the line that a summary prints."""
        randomized = Arguments("describe").flag(randomized, "randomized")
        if not self.uses_uniforms:
            return self.description
        return f"{self.description}, {'' if randomized else 'not '}randomised"


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
    uses_uniforms: ClassVar[bool] = False


@register("aps")
@dataclass(frozen=True, slots=True)
class APS(NestedScore):
    """Adaptive prediction sets: the probability of all more likely labels, plus u pi_y.

    References
    ----------
    Romano, Sesia and Candes (2020), NeurIPS; Podkopaev and Ramdas (2021), UAI, eq. (6).

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> dfu.nested_scores([[0.7, 0.2, 0.1]], score=dfu.APS()).round(2).tolist()
    [[0.7, 0.9, 1.0]]
    """

    name: ClassVar[str] = "aps"
    description: ClassVar[str] = "APS"
    code: ClassVar[int] = 1


@register("raps")
@dataclass(frozen=True, slots=True)
class RAPS(NestedScore):
    """APS plus a penalty for each rank beyond `k_reg`: smaller sets for many classes.

    References
    ----------
    Angelopoulos, Bates, Malik and Jordan (2021), ICLR.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> score = dfu.RAPS(penalty=0.1, k_reg=1)
    >>> dfu.nested_scores([[0.7, 0.2, 0.1]], score=score).round(2).tolist()
    [[0.7, 1.0, 1.2]]
    """

    penalty: float = 0.01
    k_reg: int = 5

    name: ClassVar[str] = "raps"
    description: ClassVar[str] = "RAPS"
    code: ClassVar[int] = 2

    _state: ClassVar[State] = {
        "penalty": real(0.0),
        "k_reg": count(high=None),
    }

    def __post_init__(self) -> None:
        """Check the parameters: with others the sets would not be nested."""
        args = Arguments("RAPS")
        must = "a non-negative finite number"
        penalty = args.number(self.penalty, "penalty", must, low=0.0, high=1e300)
        object.__setattr__(self, "penalty", penalty)
        object.__setattr__(self, "k_reg", args.count(self.k_reg, "k_reg", low=0))

    def describe(self, randomized: bool) -> str:
        """Return the line that a summary prints."""
        randomized = Arguments("describe").flag(randomized, "randomized")
        how = "" if randomized else "not "
        return f"RAPS({self.penalty:g}, {self.k_reg}), {how}randomised"


@register("saps")
@dataclass(frozen=True, slots=True)
class SAPS(NestedScore):
    """Sorted adaptive sets: only the top probability counts, then a step per rank.

    References
    ----------
    Huang, Xi, Zhang, Yao, Qiu and Wei (2024), ICML.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> score = dfu.SAPS(weight=0.25)
    >>> dfu.nested_scores([[0.7, 0.2, 0.1]], score=score).round(2).tolist()
    [[0.7, 0.95, 1.2]]
    """

    weight: float = 0.2

    name: ClassVar[str] = "saps"
    description: ClassVar[str] = "SAPS"
    code: ClassVar[int] = 3

    _state: ClassVar[State] = {
        "weight": real(0.0),
    }

    def __post_init__(self) -> None:
        """Check the parameters: with others the sets would not be nested."""
        must = "a non-negative finite number"
        weight = Arguments("SAPS").number(
            self.weight, "weight", must, low=0.0, high=1e300
        )
        object.__setattr__(self, "weight", weight)

    def describe(self, randomized: bool) -> str:
        """Return the line that a summary prints."""
        randomized = Arguments("describe").flag(randomized, "randomized")
        how = "" if randomized else "not "
        return f"SAPS({self.weight:g}), {how}randomised"


@register("rank")
@dataclass(frozen=True, slots=True)
class Rank(NestedScore):
    """The label's rank (top-k sets): for classifiers that only order the labels.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> dfu.nested_scores([[0.7, 0.2, 0.1]], score=dfu.Rank()).tolist()
    [[1.0, 2.0, 3.0]]
    """

    name: ClassVar[str] = "rank"
    description: ClassVar[str] = "rank"
    code: ClassVar[int] = 4


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
    uses_uniforms: ClassVar[bool] = False


_BY_NAME: dict[str, NestedScore] = {
    score.name: score for score in (LAC(), APS(), RAPS(), SAPS(), Rank(), Margin())
}


def as_score(score: str | NestedScore, args: Arguments) -> NestedScore:
    """Return the score object that a name stands for."""
    if isinstance(score, NestedScore):
        return score
    return _BY_NAME[args.choice(score, "score", _BY_NAME)]


def true_label_scores(
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


def all_label_scores(
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


def nested_scores(
    probs: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    score: str | NestedScore = "aps",
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
        "aps", "lac", "raps", "saps", "rank", "margin", or an object such as ``RAPS()``.
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
    unchecked, names = args.unchecked_probs(probs, classes=classes)
    chosen = as_score(score, args)
    n = unchecked.matrix.shape[0]
    u = np.ones(n) if uniforms is None else args.uniforms(uniforms, n)
    if labels is None:
        return all_label_scores(chosen, unchecked, u)
    return true_label_scores(chosen, unchecked, args.labels(labels, names, n), u)
