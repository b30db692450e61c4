"""What a score is: a number for a row and a label, larger for less plausible labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)

ROUNDING = 1e-3
"""How far beyond one the sum of a row's probabilities may be."""


@dataclass(frozen=True, slots=True)
class NestedScore:
    """A score whose prediction sets {y : score_y <= t} grow with t."""

    name: ClassVar[str]
    description: ClassVar[str]
    code: ClassVar[int] = -1
    _takes_uniforms: ClassVar[bool] = True

    @property
    def uses_uniforms(self) -> bool:
        """Whether the score has a randomised form."""
        return self._takes_uniforms

    @property
    def compiled(self) -> bool:
        """Whether the kernels know it; else its own two methods are called."""
        return self.code >= 0

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

    def upper(self, n_classes: int) -> float | None:
        """Return a number that no score exceeds; None if there is none."""
        return None

    def needs(self) -> tuple[str, ...]:
        """Return what every guarantee of sets by this score needs besides."""
        return ()

    def cited(self) -> tuple[str, ...]:
        """Return what is to be cited for sets by this score besides."""
        return ()

    @property
    def knows_labels(self) -> bool:
        """Whether the score was made of the calibration labels."""
        return False

    def made_of(self, labels: IntArray, classes: Classes) -> NestedScore:
        """Return the score for these calibration labels: most do not know them."""
        return self

    def true_scores(
        self, probs: FloatMatrix, labels: IntArray, uniforms: FloatArray
    ) -> FloatArray:
        """Return each row's score of its own label, if the kernels do not know it."""
        raise NotImplementedError

    def all_scores(self, probs: FloatMatrix, uniforms: FloatArray) -> FloatMatrix:
        """Return the scores of all labels, if the kernels do not know it."""
        raise NotImplementedError


class ScoreMethods(Protocol):
    """An object that scores labels: the same number for a label in both methods."""

    def of_labels(
        self, probs: FloatMatrix, labels: IntArray, uniforms: FloatArray
    ) -> ArrayLike:
        """Return each row's score of its own label, shape (n,)."""

    def of_all_labels(self, probs: FloatMatrix, uniforms: FloatArray) -> ArrayLike:
        """Return the scores of all labels, shape (n, K)."""


ScoreLike: TypeAlias = str | NestedScore | ScoreMethods | Callable[[Any], Any]
"""What the procedures take for a score."""
