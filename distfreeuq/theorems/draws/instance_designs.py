"""Designs for what always holds: one random instance each, in which it does or not.

A theorem's own ``draw`` makes an instance from a generator and returns the events of
violation. Given the seed of the instance nothing is random, and the probability of a
violation is 0 or 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design
from distfreeuq.theorems.engine.experiment import Draw, Theorem


def violation(draw: Draw, events: Sequence[str], seed: int) -> float:
    """Return 1 if any of the events happens in the instance of this seed, else 0."""
    happened = draw(np.random.default_rng(seed), 1)
    return float(any(bool(happened[event][0]) for event in events))


def with_instances(theorem: Theorem) -> Theorem:
    """Return a theorem whose designs are single draws of its experiments.

    Of those that claim that something never happens.
    """
    events = {
        one.name: tuple(c.event for c in one.claims if c.at_most == 0.0)
        for one in theorem.experiments
    }
    draws = {one.name: one.draw for one in theorem.experiments if events[one.name]}
    return replace(
        theorem, designs=partial(single_draw_designs, draws=draws, events=events)
    )


def single_draw_designs(
    generator: np.random.Generator,
    *,
    draws: Mapping[str, Draw],
    events: Mapping[str, Sequence[str]],
) -> Design:
    """Return an instance of one of these draws, whichever; no event must happen."""
    kind = str(generator.choice(list(draws)))
    seed = int(generator.integers(2**31))
    parameters: dict[str, Any] = {"instance": kind, "seed": seed}
    return Design(
        parameters,
        Claim("violated", at_most=0.0),
        probability=partial(violation, draws[kind], tuple(events[kind]), seed),
    )
