"""Deciding claims as draws come in, without being wrong more often than agreed.

An experiment looks at its counts a few times: at geometrically growing numbers of draws
that are fixed beforehand. Every look makes a Clopper-Pearson interval at an equal share
of the claim's error. Hits are exactly binomial, so that with probability 1 - error the
intervals of all looks hold the true probability at once, and then no verdict at any of
them is wrong: stopping at the first verdict is free.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special

from distfreeuq.theorems.engine.claims import Claim

N_LOOKS = 7
GROWTH = 2
_SPARE = 2.0
"""Standard errors of bad luck that the last look but one allows for. The last look, at
twice the draws, is for the few that need it, and allows for five."""
_MOST_DRAWS = 10**9


@dataclass(frozen=True, slots=True)
class Plan:
    """When an experiment looks at its counts, and at which error.

    Attributes
    ----------
    looks : tuple of int
        Draws at each look, increasing; whole batches.
    batch : int
        Draws made at a time.
    error : float
        Probability that any look's interval of one claim misses.
    """

    looks: tuple[int, ...]
    batch: int
    error: float

    def interval(self, hits: int, draws: int) -> tuple[float, float]:
        """Return one look's interval; all looks' hold at once but for `error`."""
        return exact_interval(hits, draws, self.error / len(self.looks))


def exact_interval(hits: int, draws: int, error: float) -> tuple[float, float]:
    """Return the Clopper-Pearson interval: it misses with probability `error` at most.

    Examples
    --------
    >>> from distfreeuq.theorems.engine.sequential import exact_interval
    >>> [round(end, 4) for end in exact_interval(3, 10, 0.05)]
    [0.0667, 0.6525]
    """
    tail = 0.5 * error
    low = special.betaincinv(hits, draws - hits + 1, tail) if hits > 0 else 0.0
    high = 1.0
    if hits < draws:
        high = special.betainccinv(hits + 1, draws - hits, tail)
    return float(low), float(high)


def plan_for(
    claims: tuple[Claim, ...],
    *,
    error: float,
    batch: int,
    sharpness: float = 1.0,
    n_draws: int | None = None,
) -> Plan:
    """Return a plan that decides every claim that is true to the letter.

    Parameters
    ----------
    claims : tuple of Claim
        The claims of one experiment.
    error : float
        Probability that any look's interval of one claim misses.
    batch : int
        Draws made at a time.
    sharpness : float
        What the claims' tolerances are divided by.
    n_draws : int, optional
        The last look, in place of what the tolerances ask for.
    """
    if n_draws is None:
        share = error / N_LOOKS
        needed = max(draws_needed(claim, share, sharpness) for claim in claims)
        batch = min(batch, needed)
        last = GROWTH * math.ceil(needed / batch)
    else:
        batch = min(batch, n_draws)
        last = n_draws // batch
    looks = {math.ceil(last / GROWTH**k) * batch for k in range(N_LOOKS)}
    return Plan(tuple(sorted(looks)), batch, error)


def draws_needed(claim: Claim, error: float, sharpness: float = 1.0) -> int:
    """Return after how many draws a claim with p equal to its bound is settled.

    Also with the bad luck of one time in forty. A claim that is false by the tolerance
    is refuted as reliably.

    Examples
    --------
    >>> from distfreeuq.theorems import Claim
    >>> from distfreeuq.theorems.engine.sequential import draws_needed
    >>> draws_needed(Claim("covered", at_least=0.9, tolerance=0.01), 1e-6)
    44927
    """
    bound, tolerance = claim.bound, claim.tolerance / sharpness

    def settled(draws: int) -> bool:
        luck = _SPARE * math.sqrt(draws * bound * (1.0 - bound))
        hits = [max(0, math.floor(draws * bound - luck))]
        hits.append(min(draws, math.ceil(draws * bound + luck)))
        return all(
            claim.verdict(*_around(k, draws, bound, error), tolerance) == "holds"
            for k in hits
        )

    low, high = 0, 1
    while high < _MOST_DRAWS and not settled(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if settled(middle) else (middle, high)
    return high


def _around(hits: int, draws: int, bound: float, error: float) -> tuple[float, float]:
    """Return the interval, stretched to the bound: unlucky draws refute nothing."""
    low, high = exact_interval(hits, draws, error)
    return min(low, bound), max(high, bound)
