"""Searching for a counterexample: many random designs, the worst judged afresh."""

from __future__ import annotations

import hashlib
import math
import time
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import RandomState
from distfreeuq._base.arrays import describe, is_integer
from distfreeuq._base.progress import progress_bar
from distfreeuq._base.random_streams import stream
from distfreeuq._numerics.parallel import Workers
from distfreeuq.exceptions import DistFreeWarning
from distfreeuq.theorems.engine import registry
from distfreeuq.theorems.engine.designs import Design
from distfreeuq.theorems.engine.experiment import Theorem
from distfreeuq.theorems.engine.guarantees import search_statement
from distfreeuq.theorems.engine.results import TheoremRecord
from distfreeuq.theorems.engine.search_results import DesignRecord, SearchResult
from distfreeuq.theorems.engine.sequential import exact_interval

ERROR = 1e-3
"""Probability, at most, that a search says "violated" though no design is."""
ROUNDING = 1e-9
"""How far beyond its claim a probability found without simulation may be."""
FINALISTS = 5
"""Designs of each kind, exact and drawn, that are reported."""
SCREENED = 60
"""Draws of a design at first. The better half are dropped, the others' doubled."""
FRESH = 4000
"""Fresh draws of a finalist where `n_designs` fixes the extent of a search."""
_LEAST, _MOST = 200, 1_000_000
_BLOCK = 16
_SCREENING, _HALVING = 0.45, 0.65
"""Shares of the budget at which screening and halving end."""


def search(
    name: str | Theorem,
    budget: float = 60.0,
    *,
    n_designs: int | None = None,
    rng: RandomState = None,
    n_jobs: int = 1,
    progress: bool = False,
) -> SearchResult:
    """Try to falsify a theorem: random designs, of which the worst are judged afresh.

    Parameters
    ----------
    name : str or Theorem
        One that declares `designs`.
    budget : float, default 60
        Seconds, about; a design that is under way is ended.
    n_designs : int, optional
        Designs to try, whatever time that takes. The search is then the same on every
        machine.
    rng : seed, Generator, SeedSequence or None
    n_jobs : int, default 1
        Worker processes of joblib; -1 for all cores.
    progress : bool, default False
        Show a bar that counts designs.

    Returns
    -------
    SearchResult

    Notes
    -----
    A design is a situation in which the theorem's assumptions hold: a finite space, its
    probabilities, weights, sizes of samples. Where possible its probability is a finite
    sum, and the design is judged without error but for rounding (1e-9). The others are
    screened with few draws, and those with the larger standardised shortfall kept
    while draws double (successive halving). The worst five are then drawn afresh, which
    undoes the selection, and judged by exact binomial intervals at an error of 0.001,
    Bonferroni over the five.

    A search that finds nothing proves nothing. It tells which designs come nearest.

    Examples
    --------
    >>> from distfreeuq import theorems
    >>> theorems.search("pac-coverage", n_designs=10, rng=0)
    <SearchResult pac-coverage: no counterexample among 10 designs>
    """
    args = Arguments("theorems.search")
    if not isinstance(name, str | Theorem):
        args.invalid("name", "a name or a Theorem", describe(name))
    theorem = registry.find(args, "name", name)
    if theorem.designs is None:
        got = repr(theorem.name)
        if theorem.unsearched:
            got += f", which has none: {theorem.unsearched}"
        args.invalid("name", "a theorem that declares designs", got)
    budget = args.number(budget, "budget", "a positive number", low=0.0, open_ends=True)
    if n_designs is not None:
        n_designs = args.count(n_designs, "n_designs", low=1)
    n_jobs = args.jobs(n_jobs)
    progress = args.flag(progress, "progress")
    seed = _as_seed(rng)
    with Workers(n_jobs) as workers:
        search = _Search(theorem, seed, workers, _Clock(budget, n_designs))
        search.screen(progress)
        exact = [one for one in search.tried if one.exact is not None]
        drawn = search.halve([one for one in search.tried if one.exact is None])
        worst = sorted(exact, key=_shortfall, reverse=True)[:FINALISTS]
        records = [search.judged_exactly(one) for one in worst]
        records += search.judged_afresh(drawn)
    return SearchResult(
        theorem=TheoremRecord(
            theorem.name,
            theorem.title,
            theorem.reference,
            theorem.statement,
            theorem.assumptions,
            theorem.family,
        ),
        worst=tuple(records),
        n_designs=len(search.tried),
        n_exact=len(exact),
        n_draws=sum(one.draws for one in search.tried),
        seed=seed,
        error=ERROR,
        guarantee=search_statement(ERROR, len(search.tried), len(drawn)),
    )


@dataclass
class _Tried:
    """A design by its number, and what is known of it so far."""

    number: int
    sign: float
    bound: float
    exact: float | None = None
    hits: int = 0
    draws: int = 0
    seconds: float = 0.0


class _Clock:
    """How much of the budget is used; a search of so many designs has no budget."""

    def __init__(self, budget: float, n_designs: int | None) -> None:
        self.budget, self.n_designs = budget, n_designs
        self.start = time.perf_counter()

    def left(self, share: float) -> float:
        """Return the seconds left until this share of the budget is used."""
        if self.n_designs is not None:
            return math.inf
        return self.start + share * self.budget - time.perf_counter()


class _Search:
    def __init__(
        self, theorem: Theorem, seed: int, workers: Workers, clock: _Clock
    ) -> None:
        self.theorem, self.seed, self.workers = theorem, seed, workers
        self.clock = clock
        self.tried: list[_Tried] = []

    def screen(self, progress: bool) -> None:
        """Try designs with few draws each, or exactly.

        Until half of the time is up, or all of it if no design needs draws.
        """
        most = self.clock.n_designs
        with progress_bar(total=most, shown=progress, desc="search") as bar:
            while not self.tried or (
                self.clock.left(_SCREENING if self._drawn else 1.0) > 0.0
                and (most is None or len(self.tried) < most)
            ):
                first = len(self.tried)
                stop = first + _BLOCK if most is None else min(first + _BLOCK, most)
                tasks = [
                    self._task(i, SCREENED, "screen", 0) for i in range(first, stop)
                ]
                for found in self.workers.run(_try, tasks):
                    self.tried.append(found)
                    bar.update()

    @property
    def _drawn(self) -> bool:
        """Whether designs need draws, as far as is known."""
        return any(one.exact is None for one in self.tried)

    def halve(self, drawn: list[_Tried]) -> list[_Tried]:
        """Drop the better half and double the others' draws, until few are left."""
        draws, turn = SCREENED, 1
        while len(drawn) > FINALISTS:
            drawn = sorted(drawn, key=_standardized, reverse=True)
            keep = max(FINALISTS, len(drawn) // 2)
            cost = sum(one.seconds for one in drawn) / sum(one.draws for one in drawn)
            while keep > FINALISTS and self.clock.left(_HALVING) < keep * draws * cost:
                keep = max(FINALISTS, keep // 2)
            drawn = drawn[:keep]
            if self.clock.left(_HALVING) <= 0.0:
                break
            tasks = [self._task(one.number, draws, "halve", turn) for one in drawn]
            for one, more in zip(drawn, self.workers.run(_try, tasks), strict=True):
                one.hits, one.draws = one.hits + more.hits, one.draws + more.draws
                one.seconds += more.seconds
            draws, turn = 2 * draws, turn + 1
        return sorted(drawn, key=_standardized, reverse=True)[:FINALISTS]

    def judged_exactly(self, one: _Tried) -> DesignRecord:
        """Return the record of a design whose probability is known."""
        assert one.exact is not None
        excess = _shortfall(one)
        return self._record(
            one, one.exact, one.exact, one.exact, 0, 0, excess > ROUNDING
        )

    def judged_afresh(self, finalists: list[_Tried]) -> list[DesignRecord]:
        """Return the records of draws that no choice has seen."""
        if not finalists:
            return []
        draws = FRESH
        if self.clock.n_designs is None:
            cost = sum(one.seconds / one.draws for one in finalists)
            draws = int(max(0.0, self.clock.left(1.0)) / max(cost, 1e-9))
            draws = min(max(draws, _LEAST), _MOST)
        tasks = [self._task(one.number, draws, "fresh", 0) for one in finalists]
        records = []
        for one, found in zip(finalists, self.workers.run(_try, tasks), strict=True):
            ends = exact_interval(found.hits, draws, ERROR / len(finalists))
            design = design_of(self.theorem, self.seed, one.number)
            violated = design.claim.verdict(*ends) == "violated"
            share = found.hits / draws
            records.append(self._record(one, share, *ends, found.hits, draws, violated))
        return records

    def _task(self, number: int, draws: int, stage: str, turn: int) -> _Task:
        return _Task(self.theorem, self.seed, number, draws, f"{stage} {turn}")

    def _record(
        self,
        one: _Tried,
        estimate: float,
        low: float,
        high: float,
        hits: int,
        draws: int,
        violated: bool,
    ) -> DesignRecord:
        design = design_of(self.theorem, self.seed, one.number)
        claim = design.claim
        return DesignRecord(
            number=one.number,
            parameters=parameter_text(design),
            event=claim.event,
            sense=claim.sense,
            bound=claim.bound,
            mean=claim.mean,
            exact=draws == 0,
            estimate=estimate,
            low=low,
            high=high,
            hits=hits,
            draws=draws,
            violated=violated,
        )


class _Task(NamedTuple):
    theorem: Theorem
    seed: int
    number: int
    draws: int
    stage: str


def _try(task: _Task) -> _Tried:
    """Evaluate a design exactly, or draw from it."""
    start = time.perf_counter()
    design = design_of(task.theorem, task.seed, task.number)
    sign = {"<=": 1.0, ">=": -1.0, "=": 0.0}[design.claim.sense]
    tried = _Tried(task.number, sign, design.claim.bound)
    with warnings.catch_warnings():
        # calibration sets too small, on purpose or by chance, are part of the claims
        warnings.simplefilter("ignore", DistFreeWarning)
        if design.probability is not None:
            tried.exact = float(design.probability())
        else:
            words = (task.theorem.name, str(task.number), task.stage)
            generator = _generator(task.seed, words)
            tried.hits, tried.draws = design.count(generator, task.draws), task.draws
    tried.seconds = time.perf_counter() - start
    return tried


def design_of(theorem: Theorem, seed: int, number: int) -> Design:
    """Return the design of a search by its number."""
    assert theorem.designs is not None
    return theorem.designs(_generator(seed, (theorem.name, "design", str(number))))


def parameter_text(design: Design) -> str:
    """Return the parameters as tables print them; arrays by all of their numbers."""

    def text(value: object) -> str:
        if isinstance(value, np.ndarray):
            return str(np.asarray(value).tolist())
        return repr(value.item()) if isinstance(value, np.generic) else str(value)

    return ", ".join(f"{key} = {text(v)}" for key, v in design.parameters.items())


def _generator(seed: int, words: tuple[str, ...]) -> np.random.Generator:
    digest = hashlib.sha256("\0".join(words).encode()).digest()
    key = tuple(int(word) for word in np.frombuffer(digest[:16], dtype=">u4"))
    return np.random.Generator(
        np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key))
    )


def _shortfall(one: _Tried) -> float:
    assert one.exact is not None
    over = one.exact - one.bound
    return abs(over) if one.sign == 0.0 else one.sign * over


def _standardized(one: _Tried) -> float:
    """Return the shortfall in standard errors; of a bound 0 or 1 in single draws."""
    over = one.hits / one.draws - one.bound
    over = abs(over) if one.sign == 0.0 else one.sign * over
    variance = one.bound * (1.0 - one.bound) + 1.0 / one.draws
    return over / math.sqrt(variance / one.draws)


def _as_seed(rng: RandomState) -> int:
    """Return an integer that gives the same designs again."""
    if is_integer(rng) and rng >= 0:
        return int(rng)
    return int(stream(rng, "fit", "theorems.search").integers(2**63))
