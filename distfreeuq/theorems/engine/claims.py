"""A claim about the probability of an event, and when an interval settles it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.arrays import describe

Verdict = Literal["holds", "violated", "undecided"]
Sense = Literal[">=", "<=", "="]


@dataclass(frozen=True, slots=True)
class Claim:
    """An event has at least, at most, or exactly this probability.

    Exactly one of `at_least`, `at_most` and `equals` is given.

    Parameters
    ----------
    event : str
        Name of the event, a key of what the experiment's ``draw`` returns.
    at_least, at_most, equals : float, optional
        The claimed bound, in [0, 1]. ``at_most=0`` stands for a deterministic
        statement: one occurrence refutes it.
    tolerance : float, default 0.01
        No simulation can tell p >= b from p slightly below b. A claim is said to hold
        if p >= b - tolerance is beyond doubt; experiments are planned so that this can
        be said where p = b.
    mean : bool, default False
        Print E[event] in place of P(event): the event stands for a mean (`as_event`).

    Examples
    --------
    >>> from distfreeuq.theorems import Claim
    >>> claim = Claim("covered", at_least=0.9, tolerance=0.02)
    >>> str(claim)
    'P(covered) >= 0.9'
    >>> claim.verdict(0.87, 0.91), claim.verdict(0.885, 0.92), claim.verdict(0.8, 0.89)
    ('undecided', 'holds', 'violated')
    """

    event: str
    at_least: float | None = None
    at_most: float | None = None
    equals: float | None = None
    tolerance: float = 0.01
    mean: bool = False

    def __post_init__(self) -> None:
        """Reject a claim that says nothing, or two things."""
        args = Arguments("Claim")
        if not isinstance(self.event, str):
            args.invalid("event", "a text", describe(self.event))
        object.__setattr__(self, "mean", args.flag(self.mean, "mean"))
        given = [
            name
            for name in ("at_least", "at_most", "equals")
            if getattr(self, name) is not None
        ]
        if len(given) != 1:
            must = "exactly one of at_least, at_most and equals"
            args.invalid("at_least", must, f"{len(given)} of them")
        must = "a probability in [0, 1]"
        bound = getattr(self, given[0])
        number = args.number(bound, given[0], must, low=0.0, high=1.0)
        object.__setattr__(self, given[0], number)
        tolerance = args.probability(self.tolerance, "tolerance")
        object.__setattr__(self, "tolerance", tolerance)

    def __str__(self) -> str:
        """Return the claim as tables print it."""
        return claim_text(self.event, self.sense, self.bound, self.mean)

    @property
    def sense(self) -> Sense:
        """The relation of the probability to the bound."""
        if self.at_least is not None:
            return ">="
        return "=" if self.at_most is None else "<="

    @property
    def bound(self) -> float:
        """The claimed probability."""
        for value in (self.at_least, self.at_most, self.equals):
            if value is not None:
                return value
        raise AssertionError("one of the three is given")

    def verdict(
        self, low: float, high: float, tolerance: float | None = None
    ) -> Verdict:
        """Return what follows from the probability's lying in [low, high].

        Wrong only if the interval misses: "violated" says that the claim is false,
        "holds" that it is at most `tolerance` from being true.
        """
        args, must = Arguments("Claim.verdict"), "a probability in [0, 1]"
        low = args.number(low, "low", must, low=0.0, high=1.0)
        high = args.number(high, "high", must, low=0.0, high=1.0)
        if tolerance is not None:
            must = "a non-negative number, or None"
            tolerance = args.number(tolerance, "tolerance", must, low=0.0)
        margin = self.tolerance if tolerance is None else tolerance
        enough, not_more = self.sense != "<=", self.sense != ">="
        if (enough and high < self.bound) or (not_more and low > self.bound):
            return "violated"
        if (not enough or low >= self.bound - margin) and (
            not not_more or high <= self.bound + margin
        ):
            return "holds"
        return "undecided"


def claim_text(event: str, sense: Sense, bound: float, mean: bool) -> str:
    """Return a claim as tables print it."""
    quantity = f"E[{event}]" if mean else f"P({event})"
    return f"{quantity} {sense} {bound:.4g}"
