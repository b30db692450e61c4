"""Scores that depend on which labels are more likely: APS, RAPS, SAPS and the rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments, UncheckedProbs
from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, count, real, text
from distfreeuq.conformal.scores.compiled_scores import (
    kernel_scores_of,
    kernel_scores_of_all,
)
from distfreeuq.conformal.scores.nested_score import ROUNDING, NestedScore
from distfreeuq.conformal.scores.tied_labels import places_of_all, places_of_labels

_TIES = ("together", "random")


class _Tied(NamedTuple):
    """Labels among others of the same probability: one of each row, or all.

    Attributes
    ----------
    together : ndarray
        The score if all labels that tie are treated alike.
    above, before : ndarray
        Number of labels more likely, and of equal ones before it.
    own, top : ndarray
        The label's probability, and the row's largest.
    uniforms : ndarray
    """

    together: FloatArray
    above: IntArray
    before: IntArray
    own: FloatArray
    top: FloatArray
    uniforms: FloatArray


@dataclass(frozen=True, slots=True)
class _RankedScore(NestedScore):
    """A score that depends on which labels are more likely: ties matter."""

    @property
    def ties(self) -> str:
        """How labels of the same probability are ordered."""
        raise NotImplementedError

    @property
    def compiled(self) -> bool:
        """Whether the kernels know it: not if labels that tie are ordered at random."""
        return self.ties == "together"

    def __post_init__(self) -> None:
        """Check the parameters: with others the sets would not be nested."""
        args = Arguments(type(self).__name__)
        self._check_parameters(args)
        args.choice(self.ties, "ties", _TIES)

    def _check_parameters(self, args: Arguments) -> None:
        """Check those that are the score's own."""

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        return {**fields, "ties": "together"}

    def describe(self, randomized: bool) -> str:
        """Return the line that a summary prints."""
        randomized = Arguments("describe").flag(randomized, "randomized")
        tied = ", ties at random" if self.ties == "random" else ""
        how = "" if randomized else "not "
        return f"{self._with_parameters()}, {how}randomised{tied}"

    def _with_parameters(self) -> str:
        return self.description

    def true_scores(
        self, probs: FloatMatrix, labels: IntArray, uniforms: FloatArray
    ) -> FloatArray:
        """Return each row's score of its own label, ties in a random order."""
        rows = UncheckedProbs(probs, np.inf, Arguments("score"), "probs")
        together = kernel_scores_of(self, rows, labels, uniforms)
        above, before = places_of_labels(probs, labels, uniforms)
        own = probs[np.arange(len(labels)), labels].astype(np.float64)
        top = probs.max(axis=1).astype(np.float64) if len(labels) else own
        return self._after_ties(_Tied(together, above, before, own, top, uniforms))

    def all_scores(self, probs: FloatMatrix, uniforms: FloatArray) -> FloatMatrix:
        """Return the scores of all labels, ties in a random order."""
        rows = UncheckedProbs(probs, np.inf, Arguments("score"), "probs")
        scores = kernel_scores_of_all(self, rows, uniforms)
        ranked = np.sort(probs, axis=1)
        tied = np.flatnonzero((ranked[:, 1:] == ranked[:, :-1]).any(axis=1))
        if tied.size:  # as a rule few rows: all labels of these are put in order
            above, before = places_of_all(probs[tied], uniforms[tied])
            own = probs[tied].astype(np.float64)
            top = own.max(axis=1, keepdims=True)
            u = uniforms[tied, None]
            scores[tied] = self._after_ties(
                _Tied(scores[tied], above, before, own, top, u)
            )
        return scores

    def _after_ties(self, tied: _Tied) -> FloatArray:
        """Return the scores with `before` equal labels before each."""
        raise NotImplementedError


@register("aps")
@dataclass(frozen=True, slots=True)
class APS(_RankedScore):
    """Adaptive prediction sets: the probability of all more likely labels, plus u pi_y.

    Parameters
    ----------
    ties : {"together", "random"}, default "together"
        Labels of equal probability share a score, or are put in a random order by a
        hash of the row's uniform, as if they were not equal.

    References
    ----------
    Romano, Sesia and Candes (2020), NeurIPS; Podkopaev and Ramdas (2021), UAI, eq. (6).

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> dfu.nested_scores([[0.7, 0.2, 0.1]], score=dfu.APS()).round(2).tolist()
    [[0.7, 0.9, 1.0]]
    >>> equal, u = [[0.25] * 4], [0.5]
    >>> dfu.nested_scores(equal, score="aps", uniforms=u).tolist()
    [[0.125, 0.125, 0.125, 0.125]]
    >>> at_random = dfu.APS(ties="random")
    >>> sorted(dfu.nested_scores(equal, score=at_random, uniforms=u)[0].tolist())
    [0.125, 0.375, 0.625, 0.875]
    """

    ties: str = "together"

    _state: ClassVar[State] = {"ties": text(*_TIES)}
    name: ClassVar[str] = "aps"
    description: ClassVar[str] = "APS"
    code: ClassVar[int] = 1

    def upper(self, n_classes: int) -> float:
        """Return a number that no score exceeds."""
        return 1.0 + ROUNDING

    def _after_ties(self, tied: _Tied) -> FloatArray:
        return np.asarray(tied.together + tied.before * tied.own)


@register("raps")
@dataclass(frozen=True, slots=True)
class RAPS(_RankedScore):
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
    ties: str = "together"

    name: ClassVar[str] = "raps"
    description: ClassVar[str] = "RAPS"
    code: ClassVar[int] = 2

    _state: ClassVar[State] = {
        "penalty": real(0.0),
        "k_reg": count(high=None),
        "ties": text(*_TIES),
    }

    def _check_parameters(self, args: Arguments) -> None:
        must = "a non-negative finite number"
        penalty = args.number(self.penalty, "penalty", must, low=0.0, high=1e300)
        object.__setattr__(self, "penalty", penalty)
        object.__setattr__(self, "k_reg", args.count(self.k_reg, "k_reg", low=0))

    def upper(self, n_classes: int) -> float:
        """Return a number that no score exceeds."""
        return 1.0 + ROUNDING + self.penalty * max(n_classes - self.k_reg, 0)

    def _with_parameters(self) -> str:
        return f"RAPS({self.penalty:g}, {self.k_reg})"

    def _after_ties(self, tied: _Tied) -> FloatArray:
        rank = tied.above + 1
        beyond = np.maximum(rank + tied.before - self.k_reg, 0)
        beyond -= np.maximum(rank - self.k_reg, 0)
        moved = tied.together + tied.before * tied.own + self.penalty * beyond
        return np.asarray(moved)


@register("saps")
@dataclass(frozen=True, slots=True)
class SAPS(_RankedScore):
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
    ties: str = "together"

    name: ClassVar[str] = "saps"
    description: ClassVar[str] = "SAPS"
    code: ClassVar[int] = 3

    _state: ClassVar[State] = {
        "weight": real(0.0),
        "ties": text(*_TIES),
    }

    def _check_parameters(self, args: Arguments) -> None:
        must = "a non-negative finite number"
        weight = args.number(self.weight, "weight", must, low=0.0, high=1e300)
        object.__setattr__(self, "weight", weight)

    def upper(self, n_classes: int) -> float:
        """Return a number that no score exceeds."""
        return 1.0 + ROUNDING + self.weight * n_classes

    def _with_parameters(self) -> str:
        return f"SAPS({self.weight:g})"

    def _after_ties(self, tied: _Tied) -> FloatArray:
        second = tied.top + (tied.before - 1 + tied.uniforms) * self.weight
        later = tied.together + tied.before * self.weight
        moved = np.where(tied.above == 0, second, later)
        return np.where(tied.before > 0, moved, tied.together)


@register("rank")
@dataclass(frozen=True, slots=True)
class Rank(_RankedScore):
    """The label's rank (top-k sets): for classifiers that only order the labels.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> dfu.nested_scores([[0.7, 0.2, 0.1]], score=dfu.Rank()).tolist()
    [[1.0, 2.0, 3.0]]
    """

    ties: str = "together"

    _state: ClassVar[State] = {"ties": text(*_TIES)}
    name: ClassVar[str] = "rank"
    description: ClassVar[str] = "rank"
    code: ClassVar[int] = 4

    def upper(self, n_classes: int) -> float:
        """Return a number that no score exceeds."""
        return float(n_classes)

    def _after_ties(self, tied: _Tied) -> FloatArray:
        return np.asarray(tied.together + tied.before)
