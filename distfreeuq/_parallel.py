"""Tasks through joblib, on whatever backend the user has chosen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable
from itertools import islice
from typing import Any, TypeVar

Item = TypeVar("Item")
Output = TypeVar("Output")

# Tasks per worker and round, where a backend gives nothing before all are done.
_PER_ROUND = 8


def as_completed(
    function: Callable[[Item], Output], items: Iterable[Item], n_jobs: int
) -> Generator[Output, None, None]:
    """Yield ``function(item)`` as they come, in any order.

    Closing the generator cancels what is under way.
    """
    from joblib import Parallel

    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    except ValueError:  # a backend that only returns lists: multiprocessing, Ray
        yield from _in_rounds(function, items, n_jobs)
        return
    with parallel:
        yield from _closed_quietly(parallel(_tasks(function, items)))


def _in_rounds(
    function: Callable[[Item], Output], items: Iterable[Item], n_jobs: int
) -> Generator[Output, None, None]:
    from joblib import Parallel, effective_n_jobs

    remaining = iter(items)
    length = _PER_ROUND * effective_n_jobs(n_jobs)
    with Parallel(n_jobs=n_jobs) as parallel:
        while batch := list(islice(remaining, length)):
            yield from parallel(_tasks(function, batch))


def _closed_quietly(
    outputs: Generator[Output, None, None],
) -> Generator[Output, None, None]:
    try:
        for output in outputs:  # noqa: UP028 - "yield from" would close it itself
            yield output
    finally:
        with warnings.catch_warnings():
            # after an error, that tasks under way are cancelled is meant
            warnings.simplefilter("ignore")
            outputs.close()


def _tasks(function: Callable[[Item], Output], items: Iterable[Item]) -> Iterable[Any]:
    from joblib import delayed

    return (delayed(function)(item) for item in items)
