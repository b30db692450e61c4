"""The prevalence-adjusted score: a label's probability over its class's proportion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import SMALLEST, Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.intent.class_vectors import (
    by_class,
    by_number,
    names_of,
    without_names,
)
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, flag, masses, maybe
from distfreeuq.conformal.scores.nested_score import NestedScore
from distfreeuq.references import COUNTED_PRIOR, PRIOR_ELSEWHERE

_ONE = 1e-14


@register("pas")
@dataclass(frozen=True, slots=True, eq=False)
class PAS(NestedScore):
    """Prevalence-adjusted softmax: -pi_y / p_y, for many and rare classes.

    Labels are ordered by how much more likely they are than their class's proportion.
    Of all sets of a given mean size, {y : p(y | x)/p(y) >= t} with the true
    probabilities has the largest mean of the classes' coverages [1]_.

    Parameters
    ----------
    class_prior : array_like (K,), optional
        Positive class proportions, up to scale, such as the training labels', chosen
        without the calibration rows; by position, or by name in a dict or Series.
        None: each class's count among the calibration labels, plus one. Scores are then
        not exchangeable, since a new row's own label is not counted; but that only
        makes its score smaller, so that coverage on average over calibration draws is
        still at least 1 - alpha (theory page, 1.7). No law of coverage given the
        calibration rows is left, and `confidence` is refused.

    References
    ----------
    .. [1] Ding, Fermanian and Salmon (2025), "Conformal prediction for long-tailed
       classification".

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> score = dfu.PAS([0.7, 0.2, 0.1])
    >>> dfu.nested_scores([[0.7, 0.1, 0.2]], score=score).round(2).tolist()
    [[-1.0, -0.5, -2.0]]
    """

    class_prior: ArrayLike | Mapping[Any, float] | None = None
    counted: bool = False

    _state: ClassVar[State] = {"class_prior": maybe(masses("*")), "counted": flag()}
    name: ClassVar[str] = "pas"
    description: ClassVar[str] = "PAS"
    _takes_uniforms: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the proportions, and divide them by their sum."""
        counted = Arguments("PAS").flag(self.counted, "counted")
        object.__setattr__(self, "counted", counted)
        if self.class_prior is None:
            return
        must = "positive finite numbers, one per class"
        prior = Arguments("PAS").vector(
            without_names(self.class_prior),
            "class_prior",
            must,
            low=SMALLEST,
            high=1e300,
        )
        if prior.size < 2:
            Arguments("PAS").invalid("class_prior", must, f"{prior.size} of them")
        total = float(prior.sum())
        if abs(total - 1.0) > _ONE:  # or a file would not give back the same digits
            prior = prior / total
        names = names_of(self.class_prior)
        if names is not None:  # kept until a fit tells the order of its classes
            named = dict(zip(names, prior.tolist(), strict=True))
            object.__setattr__(self, "class_prior", MappingProxyType(named))
            return
        object.__setattr__(self, "class_prior", read_only(prior))

    def needs(self) -> tuple[str, ...]:
        """Return what every guarantee of sets by this score needs besides."""
        return () if self.counted else (PRIOR_ELSEWHERE,)

    def upper(self, n_classes: int) -> float:
        """Return a number that no score exceeds."""
        return 0.0

    def cited(self) -> tuple[str, ...]:
        """Return what is to be cited for sets by this score besides."""
        return (COUNTED_PRIOR,) if self.counted else ()

    @property
    def knows_labels(self) -> bool:
        """Whether the score was made of the calibration labels."""
        return self.counted

    def made_of(self, labels: IntArray, classes: Classes) -> NestedScore:
        """Return the score with the calibration labels' counts, if none are given.

        Proportions that have names are put in the order of the classes.
        """
        given = self.class_prior
        if isinstance(given, Mapping):
            return PAS(by_class(Arguments("PAS"), given, classes, "class_prior"))
        if given is not None and not self.counted:
            return self
        return PAS(np.bincount(labels, minlength=len(classes)) + 1.0, counted=True)

    def _prior(self, n_classes: int) -> FloatArray:
        given = by_number(Arguments("PAS"), self.class_prior, "class_prior")
        if given is None:
            must = "given where there are no calibration labels to count"
            Arguments("PAS").invalid("class_prior", must, "None")
        prior = np.asarray(given)
        if prior.size != n_classes:
            must = f"one proportion for each of the {n_classes} classes"
            Arguments("PAS").invalid("class_prior", must, f"{prior.size}")
        return prior

    def true_scores(
        self, probs: FloatMatrix, labels: IntArray, uniforms: FloatArray
    ) -> FloatArray:
        """Return each row's score of its own label, shape (n,)."""
        prior = self._prior(probs.shape[1])[labels]
        own = probs[np.arange(len(labels)), labels].astype(np.float64)
        return -(own / prior)

    def all_scores(self, probs: FloatMatrix, uniforms: FloatArray) -> FloatMatrix:
        """Return the scores of all labels, shape (n, K)."""
        out = np.divide(probs, self._prior(probs.shape[1]), dtype=np.float64)
        return np.negative(out, out=out)
