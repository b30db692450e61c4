"""A score of the user's own: a function of probabilities, or an object with methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distfreeuq._base import arrays
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, nothing
from distfreeuq.conformal.scores.nested_score import NestedScore
from distfreeuq.references import OWN_SCORE

METHODS = ("of_labels", "of_all_labels")
_COMPARED = 8
"""Rows of which the two methods are compared."""
_CLOSE = 1e-9


@register("own-score")
@dataclass(frozen=True, slots=True)
class OwnScore(NestedScore):
    """What the user gave: a callable, or an object with the two methods.

    A callable takes probabilities (n, K) and returns every label's score (n, K). An
    object has ``of_labels(probs, labels, uniforms)`` and ``of_all_labels(probs,
    uniforms)``, and uses uniforms if its attribute ``uses_uniforms`` is true.
    """

    given: Any

    _state: ClassVar[State] = {"given": nothing()}
    name: ClassVar[str] = "own"
    description: ClassVar[str] = "own"

    def _check_savable(self) -> None:
        must = "one of the package's: a file holds no code"
        Arguments("save").invalid("score", must, arrays.describe(self.given))

    @property
    def uses_uniforms(self) -> bool:
        """Whether the score uses a uniform per row."""
        return bool(getattr(self.given, "uses_uniforms", False))

    def needs(self) -> tuple[str, ...]:
        """Return what every guarantee of sets by this score needs besides."""
        return (OWN_SCORE,)

    def describe(self, randomized: bool) -> str:
        """Return the line that a summary prints."""
        randomized = Arguments("describe").flag(randomized, "randomized")
        given = self.given
        name = getattr(given, "name", None) or getattr(given, "__name__", None)
        text = str(name) if name is not None else type(given).__name__
        if not self.uses_uniforms:
            return f"{text} (given)"
        return f"{text} (given), {'' if randomized else 'not '}randomised"

    def true_scores(
        self, probs: FloatMatrix, labels: IntArray, uniforms: FloatArray
    ) -> FloatArray:
        """Return each row's score of its own label, shape (n,)."""
        if not hasattr(self.given, METHODS[0]):
            return self.all_scores(probs, uniforms)[np.arange(len(labels)), labels]
        n = len(labels)
        scores = self._checked(self.given.of_labels(probs, labels, uniforms), (n,))
        some = slice(0, _COMPARED)
        every = self.all_scores(probs[some], uniforms[some])
        own = every[np.arange(len(every)), labels[some]]
        if not np.allclose(own, scores[some], rtol=_CLOSE, atol=_CLOSE):
            row = int(np.argmax(~np.isclose(own, scores[some], _CLOSE, _CLOSE)))
            must = "an object whose two methods give a label the same score"
            got = f"{scores[row]:g} and {own[row]:g} at row {row}"
            Arguments("score").invalid("score", must, got)
        return scores

    def all_scores(self, probs: FloatMatrix, uniforms: FloatArray) -> FloatMatrix:
        """Return the scores of all labels, shape (n, K)."""
        if hasattr(self.given, METHODS[1]):
            found = self.given.of_all_labels(probs, uniforms)
        else:
            found = self.given(probs)
        return self._checked(found, probs.shape)

    def _checked(self, found: Any, shape: tuple[int, ...]) -> FloatArray:
        args = Arguments("score")
        must = f"a score that returns numbers of shape {shape}, without NaN"
        scores = arrays.as_floats(args.array(found, "score", "numbers"))
        if scores is None or scores.shape != shape:
            got = "no numbers" if scores is None else f"shape {scores.shape}"
            args.invalid("score", must, got)
        if np.isnan(scores).any():
            place = arrays.place(tuple(map(int, np.argwhere(np.isnan(scores))[0])))
            args.invalid("score", must, f"NaN{place}")
        return scores.astype(np.float64, copy=False)


def is_own_score(score: Any) -> bool:
    """Say whether an object can be used as a score."""
    if isinstance(score, type | str):
        return False
    return all(callable(getattr(score, name, None)) for name in METHODS) or callable(
        score
    )
