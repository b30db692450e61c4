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
    parallel = workers(n_jobs, "generator_unordered")
    with parallel:
        if parallel.return_generator:
            yield from _closed_quietly(parallel(_tasks(function, items)))
        else:
            yield from _in_rounds(parallel, function, items, n_jobs)


def workers(n_jobs: int, return_as: str = "generator") -> Any:
    """Return joblib's Parallel, giving results as they come if its backend can.

    Some backends only return lists, when all is done: multiprocessing's, Ray's.
    """
    from joblib import Parallel

    try:
        return Parallel(n_jobs=n_jobs, return_as=return_as)
    except ValueError:
        return Parallel(n_jobs=n_jobs)


def _in_rounds(
    parallel: Any,
    function: Callable[[Item], Output],
    items: Iterable[Item],
    n_jobs: int,
) -> Generator[Output, None, None]:
    from joblib import effective_n_jobs

    remaining = iter(items)
    length = _PER_ROUND * effective_n_jobs(n_jobs)
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
