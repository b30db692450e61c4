"""What a search tries: one situation, and a claim that must be true of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.arrays import describe
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Draw, Experiment

Designs = Callable[[np.random.Generator], "Design"]
"""A random situation, all of whose randomness is the generator's."""


@dataclass(frozen=True, slots=True)
class Design:
    """A situation in which a theorem's assumptions hold, and what it claims there.

    Exactly one of `probability` and `draw` is given.

    Parameters
    ----------
    parameters : mapping of str to anything
        What a reader needs to set up the situation again, printed as it is.
    claim : Claim
        Its tolerance is not used.
    probability : callable, optional
        Returns the event's probability itself: an enumeration, a binomial sum.
    draw : callable, optional
        As in `Experiment`, where the probability is not to be had.

    Examples
    --------
    >>> from distfreeuq import theorems
    >>> claim = theorems.Claim("heads", at_most=0.5)
    >>> design = theorems.Design({"coin": "bent"}, claim, probability=lambda: 0.6)
    >>> design.excess(design.probability())
    0.09999999999999998
    """

    parameters: Mapping[str, Any]
    claim: Claim
    probability: Callable[[], float] | None = None
    draw: Draw | None = field(default=None)

    def __post_init__(self) -> None:
        """Reject a design that can be evaluated in no way, or in two."""
        args = Arguments("Design")
        if not isinstance(self.parameters, Mapping):
            args.invalid("parameters", "a mapping", describe(self.parameters))
        if not isinstance(self.claim, Claim):
            args.invalid("claim", "a Claim", describe(self.claim))
        for name in ("probability", "draw"):
            function = getattr(self, name)
            if function is not None and not callable(function):
                args.invalid(name, "a function, or None", describe(function))
        if (self.probability is None) == (self.draw is None):
            got = "neither" if self.draw is None else "both"
            args.invalid("draw", "given, or else probability", got)

    def excess(self, probability: float) -> float:
        """Return by how much a probability is on the wrong side of the claim."""
        args, must = Arguments("Design.excess"), "a probability in [0, 1]"
        probability = args.number(probability, "probability", must, low=0.0, high=1.0)
        over = probability - self.claim.bound
        if self.claim.sense == "=":
            return abs(over)
        return over if self.claim.sense == "<=" else -over

    def count(self, generator: np.random.Generator, n_draws: int) -> int:
        """Return in how many of n draws the event happened."""
        if self.draw is None:
            args = Arguments("Design.count")
            args.invalid("n_draws", "0: the probability is known", describe(n_draws))
        experiment = Experiment(str(dict(self.parameters)), self.draw, (self.claim,))
        return experiment.count(generator, n_draws)[self.claim.event]
