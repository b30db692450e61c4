"""Scores that depend on which labels are more likely: APS, RAPS, SAPS and the rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

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

    def _check_ties(self) -> None:
        Arguments(type(self).__name__).choice(self.ties, "ties", _TIES)

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
        return self._after_ties(together, above, before, own, top, uniforms)

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
            scores[tied] = self._after_ties(scores[tied], above, before, own, top, u)
        return scores

    def _after_ties(
        self,
        together: FloatArray,
        above: IntArray,
        before: IntArray,
        own: FloatArray,
        top: FloatArray,
        uniforms: FloatArray,
    ) -> FloatArray:
        """Return the score of a label that has `before` of its equals before it.

        Parameters
        ----------
        together : ndarray
            The score if all labels that tie are treated alike.
        above, before : ndarray
            Number of labels more likely, and of equal ones before it.
        own, top : ndarray
            The label's probability, and the row's largest.
        uniforms : ndarray
        """
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

    def __post_init__(self) -> None:
        """Check the parameters."""
        self._check_ties()

    def upper(self, n_classes: int) -> float:
        """Return a number that no score exceeds."""
        return 1.0 + ROUNDING

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        return {**fields, "ties": "together"}

    def _after_ties(
        self,
        together: FloatArray,
        above: IntArray,
        before: IntArray,
        own: FloatArray,
        top: FloatArray,
        uniforms: FloatArray,
    ) -> FloatArray:
        return np.asarray(together + before * own)


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

    def __post_init__(self) -> None:
        """Check the parameters: with others the sets would not be nested."""
        args = Arguments("RAPS")
        must = "a non-negative finite number"
        penalty = args.number(self.penalty, "penalty", must, low=0.0, high=1e300)
        object.__setattr__(self, "penalty", penalty)
        object.__setattr__(self, "k_reg", args.count(self.k_reg, "k_reg", low=0))
        self._check_ties()

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        return {**fields, "ties": "together"}

    def upper(self, n_classes: int) -> float:
        """Return a number that no score exceeds."""
        return 1.0 + ROUNDING + self.penalty * max(n_classes - self.k_reg, 0)

    def _with_parameters(self) -> str:
        return f"RAPS({self.penalty:g}, {self.k_reg})"

    def _after_ties(
        self,
        together: FloatArray,
        above: IntArray,
        before: IntArray,
        own: FloatArray,
        top: FloatArray,
        uniforms: FloatArray,
    ) -> FloatArray:
        beyond = np.maximum(above + 1 + before - self.k_reg, 0)
        beyond -= np.maximum(above + 1 - self.k_reg, 0)
        return np.asarray(together + before * own + self.penalty * beyond)


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

    def __post_init__(self) -> None:
        """Check the parameters: with others the sets would not be nested."""
        must = "a non-negative finite number"
        weight = Arguments("SAPS").number(
            self.weight, "weight", must, low=0.0, high=1e300
        )
        object.__setattr__(self, "weight", weight)
        self._check_ties()

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        return {**fields, "ties": "together"}

    def upper(self, n_classes: int) -> float:
        """Return a number that no score exceeds."""
        return 1.0 + ROUNDING + self.weight * n_classes

    def _with_parameters(self) -> str:
        return f"SAPS({self.weight:g})"

    def _after_ties(
        self,
        together: FloatArray,
        above: IntArray,
        before: IntArray,
        own: FloatArray,
        top: FloatArray,
        uniforms: FloatArray,
    ) -> FloatArray:
        second = top + (before - 1 + uniforms) * self.weight
        later = together + before * self.weight
        moved = np.where(above == 0, second, later)
        return np.where(before > 0, moved, together)


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

    def __post_init__(self) -> None:
        """Check the parameters."""
        self._check_ties()

    def upper(self, n_classes: int) -> float:
        """Return a number that no score exceeds."""
        return float(n_classes)

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        return {**fields, "ties": "together"}

    def _after_ties(
        self,
        together: FloatArray,
        above: IntArray,
        before: IntArray,
        own: FloatArray,
        top: FloatArray,
        uniforms: FloatArray,
    ) -> FloatArray:
        return np.asarray(together + before)
