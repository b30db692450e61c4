"""The general runner of simulation studies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import RandomState
from distfreeuq._base.arrays import describe, read_only
from distfreeuq._base.progress import progress_bar
from distfreeuq._numerics.parallel import as_completed
from distfreeuq.scenarios import catalogue
from distfreeuq.scenarios.scenario import Scenario
from distfreeuq.simulation.guarantees import ESTIMATES
from distfreeuq.simulation.journal import Journal
from distfreeuq.simulation.replicates import (
    Draw,
    Procedure,
    check_same,
    name_of,
    run_replicate,
    seed_of,
    text_of,
)
from distfreeuq.simulation.results import SimulationResult


def simulate(
    scenario: str | Scenario | Callable[[np.random.Generator], Any],
    procedure: Procedure,
    n_rep: int,
    *,
    parameters: Mapping[str, Any] | None = None,
    rng: RandomState = None,
    n_jobs: int = 1,
    progress: bool = False,
    file: str | PathLike[str] | None = None,
) -> SimulationResult:
    """Run a procedure on many independent draws, and collect what it finds.

    Parameters
    ----------
    scenario : str, Scenario or callable
        A scenario or its name, which is handed to the procedure to sample from; or a
        function of a ``numpy.random.Generator`` that returns a draw, anything at all,
        which is handed to the procedure.
    procedure : callable
        ``procedure(scenario_or_draw, generator, **parameters)`` returns a dict of
        numbers, with the same keys in every replicate; NaN where one is undefined. All
        its random numbers must come from `generator`.
    n_rep : int
        Number of replicates.
    parameters : mapping, optional
        Keyword arguments of the procedure. Kept in the result, and in the file.
    rng : seed, Generator, SeedSequence or None
        Each replicate has a generator of its own, made of the seed and its number: the
        table is the same whatever the number of workers, and more replicates leave the
        first ones as they were.
    n_jobs : int, default 1
        Worker processes of joblib; -1 for all cores, or for all workers of the backend
        that was chosen with ``joblib.parallel_config``, such as a Dask cluster.
    progress : bool, default False
        Show a bar.
    file : str or path-like, optional
        Replicates are appended to this file as they come. If it exists, those in it are
        not run again: a killed run continues where it was, and a finished one can be
        made longer. A file of another seed, scenario, procedure or parameters is
        an error; with ``rng=None`` the seed is the file's.

    Returns
    -------
    SimulationResult

    Notes
    -----
    The file has a header and then one line of JSON per replicate, in the order in which
    they were done. A line is written at once; if the run is killed meanwhile, the torn
    line is dropped and its replicate run again. Procedures are known by their names
    alone: after a change of its code, a procedure needs a new file.

    The kernels of this package use one thread in workers.

    Examples
    --------
    Coverage of conformal sets given the calibration rows, with 50 of these:

    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> def coverage(toy, rng, n, alpha):
    ...     x, labels = toy.sample(n, "source", rng=rng)
    ...     fit = dfu.split_conformal(toy.posterior(x), labels, alpha=alpha, rng=rng)
    ...     x, labels = toy.sample(500, "source", rng=rng)
    ...     sets = fit.predict(toy.posterior(x), rng=rng)
    ...     covered = sets.mask[np.arange(500), labels]
    ...     return {"coverage": covered.mean(), "size": sets.sizes.mean()}
    >>> result = dfu.simulate(
    ...     "three-gaussians", coverage, 200, parameters={"n": 50, "alpha": 0.2}, rng=1
    ... )
    >>> found = result.describe().set_index("quantity").loc["coverage"]
    >>> bool(abs(found["mean"] - 41 / 51) < 4 * found["std_err"])  # rank 41 of 50 + 1
    True
    """
    args = Arguments("simulate")
    source = _scenario(args, scenario)
    if not callable(procedure):
        args.invalid("procedure", "a callable", describe(procedure))
    n_rep = args.count(n_rep, "n_rep", low=1)
    given = _parameters(args, parameters)
    progress = args.flag(progress, "progress")
    n_jobs = args.jobs(n_jobs)
    seed = seed_of(rng)
    with Journal(file) if file is not None else nullcontext() as journal:
        if journal is not None:
            seed = _seed_on_file(journal, rng, seed)
            journal.begin(_header(source, procedure, given, seed))
        done = {} if journal is None else dict(journal.done)
        missing = [i for i in range(n_rep) if i not in done]
        bar = progress_bar(
            total=n_rep,
            initial=n_rep - len(missing),
            desc="simulate",
            shown=progress,
        )
        run = partial(run_replicate, source, procedure, given, seed)
        with bar, closing(as_completed(run, missing, n_jobs)) as replicates:
            for i, found in replicates:
                check_same(tuple(next(iter(done.values()), found)), found, i)
                done[i] = found
                if journal is not None:
                    journal.append(i, found)
                bar.update()
    quantities = tuple(done[0])
    table = np.array([[done[i][name] for name in quantities] for i in range(n_rep)])
    return SimulationResult(
        quantities=quantities,
        values=read_only(table),
        seed=seed,
        scenario=_known_as(source),
        procedure=name_of(procedure),
        parameters=tuple((str(k), _text(v)) for k, v in given.items()),
        guarantee=ESTIMATES,
    )


def _scenario(args: Arguments, scenario: Any) -> Scenario | Draw:
    if isinstance(scenario, str):
        return catalogue.get(args.choice(scenario, "scenario", catalogue.names()))
    if not isinstance(scenario, Scenario) and not callable(scenario):
        must = "a Scenario, a name of one, or a function of a generator"
        args.invalid("scenario", must, describe(scenario))
    chosen: Scenario | Draw = scenario
    return chosen


def _parameters(args: Arguments, parameters: Any) -> dict[str, Any]:
    if parameters is None:
        return {}
    named = isinstance(parameters, Mapping) and all(
        isinstance(key, str) for key in parameters
    )
    if not named:
        must = "a mapping of the procedure's arguments by name"
        args.invalid("parameters", must, describe(parameters))
    return dict(parameters)


def _header(
    source: Scenario | Draw,
    procedure: Procedure,
    parameters: Mapping[str, Any],
    seed: int,
) -> dict[str, Any]:
    """Return what replicates of one file have in common."""
    return {
        "seed": seed,
        "scenario": _known_as(source),
        "rows": _first_rows(source),
        "procedure": name_of(procedure),
        "parameters": dict(parameters),
    }


def _first_rows(source: Scenario | Draw) -> str | None:
    """Return a digest of a few rows, which differs between scenarios of one name."""
    if not isinstance(source, Scenario):
        return None
    drawn = [source.sample(8, domain, rng=0) for domain in ("source", "target")]
    rows = [[x.round(6).tolist(), labels.tolist()] for x, labels in drawn]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


def _known_as(source: Scenario | Draw) -> str:
    return source.description if isinstance(source, Scenario) else name_of(source)


def _seed_on_file(journal: Journal, rng: RandomState, seed: int) -> int:
    """Return the seed of the file if the caller gives none."""
    if rng is None and journal.header is not None:
        kept = journal.header.get("seed")
        if isinstance(kept, int):
            return kept
    return seed


def _text(value: Any) -> str:
    return value if isinstance(value, str) else text_of(value)
