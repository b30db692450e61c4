"""Running the experiments: the same table whatever the number of workers."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import RandomState
from distfreeuq._base.arrays import describe, is_integer
from distfreeuq._base.progress import progress_bar
from distfreeuq._base.random_streams import stream
from distfreeuq._numerics.parallel import Workers
from distfreeuq.exceptions import DistFreeWarning
from distfreeuq.theorems.engine import registry
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem
from distfreeuq.theorems.engine.guarantees import error_statement
from distfreeuq.theorems.engine.results import (
    ClaimRecord,
    TheoremRecord,
    TheoremResult,
)
from distfreeuq.theorems.engine.sequential import Plan, plan_for

ERROR = 1e-3
"""Probability, at most, that any verdict of a run is wrong."""
CLAIMS_PLANNED = 1000
"""Claims that `ERROR` is shared among, also where a run makes fewer: what is found of a
theorem then does not depend on the others of the run."""
SHARPNESS = {"fast": 1.0, "thorough": 3.0}
"""What the claims' tolerances are divided by; draws grow by the square."""


def verify(
    theorems: str | Theorem | Sequence[str | Theorem],
    *,
    n_sim: int | None = None,
    effort: str = "fast",
    n_jobs: int = 1,
    progress: bool = False,
    rng: RandomState = 0,
) -> TheoremResult:
    """Check theorems by simulation, and that their controls fail.

    Parameters
    ----------
    theorems : str or Theorem, or a sequence of these
        Names as in ``theorems.names()``.
    n_sim : int, optional
        Draws per experiment at most, in place of what its tolerances ask for. With too
        few, verdicts are "undecided".
    effort : {"fast", "thorough"}
        "thorough" divides every tolerance by 3, which takes about 9 times as long.
    n_jobs : int, default 1
        Worker processes of joblib; -1 for all cores, or for all workers of the backend
        chosen with ``joblib.parallel_config``, such as a Dask cluster.
    progress : bool, default False
        Show a bar that counts decided experiments.
    rng : seed, Generator, SeedSequence or None, default 0

    Returns
    -------
    TheoremResult

    Notes
    -----
    Every claim is about the probability of an event, so that the number of draws in
    which it happens is exactly binomial. Counts are looked at a few times, at planned
    numbers of draws that double; an experiment ends when its claims are decided, a
    control when one of its claims is refuted. Intervals are exact and their error is
    shared among all looks and claims, so that the probability of any wrong verdict in a
    run is at most 0.001.

    Each batch of draws has a generator of its own, seeded by the seed, the theorem's
    and the experiment's names, and the batch's number: results depend neither on the
    number of workers nor on which other theorems are checked.

    Examples
    --------
    >>> from distfreeuq import theorems
    >>> result = theorems.verify(["aps-uniform", "pac-coverage"])
    >>> result.verdicts
    {'aps-uniform': 'holds', 'pac-coverage': 'holds'}
    """
    args = Arguments("theorems.verify")
    if isinstance(theorems, str | Theorem):
        theorems = [theorems]
    if not isinstance(theorems, Sequence):
        args.invalid("theorems", "names or Theorem objects", describe(theorems))
    chosen: dict[str, Theorem] = {}
    for one in theorems:
        if not isinstance(one, str | Theorem):
            args.invalid("theorems", "names or Theorem objects", describe(one))
        theorem = registry.find(args, "theorems", one)
        chosen[theorem.name] = theorem
    if not chosen:
        args.invalid("theorems", "at least one name", "none")
    if n_sim is not None:
        n_sim = args.count(n_sim, "n_sim", low=1)
    n_jobs = args.jobs(n_jobs)
    progress = args.flag(progress, "progress")
    sharpness = SHARPNESS[args.choice(effort, "effort", SHARPNESS)]
    seed = _as_seed(rng)

    n_claims = sum(
        len(experiment.claims)
        for theorem in chosen.values()
        for experiment in (*theorem.experiments, *theorem.controls)
    )
    error = ERROR / max(CLAIMS_PLANNED, n_claims)
    runs = [
        _Run(
            theorem.name,
            experiment,
            control,
            plan_for(
                experiment.claims,
                error=error,
                batch=experiment.batch,
                sharpness=sharpness,
                n_draws=n_sim,
            ),
            sharpness,
        )
        for theorem in chosen.values()
        for control, experiments in (
            (False, theorem.experiments),
            (True, theorem.controls),
        )
        for experiment in experiments
    ]
    _run_all(runs, seed, n_jobs, progress)
    overall = min(ERROR, error * n_claims)
    return TheoremResult(
        theorems=tuple(
            TheoremRecord(
                t.name, t.title, t.reference, t.statement, t.assumptions, t.family
            )
            for t in chosen.values()
        ),
        claims=tuple(record for run in runs for record in run.records()),
        effort=effort,
        seed=seed,
        error=overall,
        guarantee=error_statement(overall, n_claims),
    )


def verify_all(
    *,
    n_sim: int | None = None,
    effort: str = "fast",
    n_jobs: int = 1,
    progress: bool = False,
    rng: RandomState = 0,
) -> TheoremResult:
    """Check every theorem that is registered, the user's own included.

    Parameters
    ----------
    n_sim, effort, n_jobs, progress, rng
        As in `verify`.

    Returns
    -------
    TheoremResult

    Examples
    --------
    >>> from distfreeuq import theorems
    >>> result = theorems.verify_all(n_sim=1)  # too few draws to decide much
    >>> "violated" in result.verdicts.values()
    False
    """
    return verify(
        registry.names(),
        n_sim=n_sim,
        effort=effort,
        n_jobs=n_jobs,
        progress=progress,
        rng=rng,
    )


@dataclass
class _Run:
    """One experiment under way."""

    theorem: str
    experiment: Experiment
    control: bool
    plan: Plan
    sharpness: float
    hits: dict[str, int] = field(default_factory=dict)
    draws: int = 0
    looks: int = 0
    seconds: float = 0.0
    decided: dict[Claim, ClaimRecord] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        """Whether nothing more can change the outcome."""
        if self.looks == len(self.plan.looks):
            return True
        verdicts = [
            self.decided[claim].verdict if claim in self.decided else "undecided"
            for claim in self.experiment.claims
        ]
        if self.control and "violated" in verdicts:
            return True
        return "undecided" not in verdicts

    def next_batches(self) -> range:
        """Return the numbers of the batches before the next look."""
        batch = self.plan.batch
        return range(self.draws // batch, self.plan.looks[self.looks] // batch)

    def add(self, counts: dict[str, int], seconds: float) -> None:
        """Take in a batch."""
        for event, hits in counts.items():
            self.hits[event] = self.hits.get(event, 0) + hits
        self.draws += self.plan.batch
        self.seconds += seconds

    def look(self) -> None:
        """Judge the claims that no earlier look has decided."""
        self.looks += 1
        for claim in self.experiment.claims:
            before = self.decided.get(claim)
            if before is None or before.verdict == "undecided":
                self.decided[claim] = self._judged(claim)

    def _judged(self, claim: Claim) -> ClaimRecord:
        hits, tolerance = self.hits[claim.event], claim.tolerance / self.sharpness
        low, high = self.plan.interval(hits, self.draws)
        return ClaimRecord(
            theorem=self.theorem,
            experiment=self.experiment.name,
            control=self.control,
            event=claim.event,
            sense=claim.sense,
            bound=claim.bound,
            tolerance=tolerance,
            mean=claim.mean,
            hits=hits,
            draws=self.draws,
            low=low,
            high=high,
            verdict=claim.verdict(low, high, tolerance),
            seconds=0.0,
        )

    def records(self) -> list[ClaimRecord]:
        """Return what became of the claims, in their order."""
        return [
            replace(self.decided[claim], seconds=self.seconds)
            for claim in self.experiment.claims
        ]


def _run_all(runs: list[_Run], seed: int, n_jobs: int, progress: bool) -> None:
    """Draw and look in rounds, until every experiment has ended."""
    with (
        progress_bar(total=len(runs), shown=progress, desc="verify") as bar,
        Workers(n_jobs) as workers,
    ):
        while under_way := [run for run in runs if not run.ended]:
            tasks = [(run, batch) for run in under_way for batch in run.next_batches()]
            batches = (
                _Batch(
                    run.experiment,
                    run.plan.batch,
                    _batch_seed(seed, run.theorem, run.experiment.name, batch),
                )
                for run, batch in tasks
            )
            found = workers.run(_count, batches)
            last = {id(run): i for i, (run, _) in enumerate(tasks)}
            for i, ((run, _), counted) in enumerate(zip(tasks, found, strict=True)):
                run.add(*counted)
                if last[id(run)] == i:
                    run.look()
                    bar.update(run.ended)


class _Batch(NamedTuple):
    """Draws of one experiment with a seed of their own."""

    experiment: Experiment
    n_draws: int
    seed: np.random.SeedSequence


def _count(batch: _Batch) -> tuple[dict[str, int], float]:
    """Return a batch's counts and seconds."""
    start = time.process_time()
    generator = np.random.Generator(np.random.PCG64(batch.seed))
    with warnings.catch_warnings():
        # calibration sets too small, on purpose or by chance, are part of the claims
        warnings.simplefilter("ignore", DistFreeWarning)
        counts = batch.experiment.count(generator, batch.n_draws)
    return counts, time.process_time() - start


def _batch_seed(
    seed: int, theorem: str, experiment: str, batch: int
) -> np.random.SeedSequence:
    """Return a seed that depends on names, and not on the order of anything."""
    digest = hashlib.sha256(f"{theorem}\0{experiment}".encode()).digest()
    words = np.frombuffer(digest[:16], dtype=">u4")
    return np.random.SeedSequence(seed, spawn_key=(*map(int, words), batch))


def _as_seed(rng: Any) -> int:
    """Return an integer that gives the same run again."""
    if is_integer(rng) and rng >= 0:
        return int(rng)
    return int(stream(rng, "fit", "theorems.verify").integers(2**63))
