"""Independent tasks through joblib, on whatever backend the user has chosen.

Workers run the kernels on one thread each, be they processes, threads of this process
or machines of a cluster. The number of threads that the user has set stays as it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack
from itertools import islice
from typing import Any, Generic, TypeVar

from distfreeuq._kernels.threads import one_thread_here

Item = TypeVar("Item")
Output = TypeVar("Output")

# Tasks per worker and round, where a backend gives nothing before all are done.
_PER_ROUND = 8


def in_order(
    function: Callable[[Item], Output], items: Iterable[Item], n_jobs: int
) -> Generator[Output, None, None]:
    """Yield ``function(item)`` in the order of the items."""
    with Workers(n_jobs) as workers:
        yield from workers.run(function, items)


def as_completed(
    function: Callable[[Item], Output], items: Iterable[Item], n_jobs: int
) -> Generator[Output, None, None]:
    """Yield ``function(item)`` as they come, in any order.

    Closing the generator cancels what is under way.
    """
    with Workers(n_jobs, ordered=False) as workers:
        yield from workers.run(function, items)


def on_threads(
    function: Callable[[Item], Output], items: Iterable[Item], n_threads: int
) -> Generator[Output, None, None]:
    """Yield ``function(item)`` in order, computed on threads of this process."""
    with Workers(n_threads, backend="threading") as workers:
        yield from workers.run(function, items)


class Workers:
    """Workers that are kept, in a `with` statement, for several rounds of tasks.

    Parameters
    ----------
    n_jobs : int
        1 runs the tasks in this process, where kernels use all their threads.
    ordered : bool
        Whether results are given in the order of the tasks.
    backend : str, optional
        joblib's name of one, in place of the user's choice.
    """

    def __init__(
        self, n_jobs: int, *, ordered: bool = True, backend: str | None = None
    ) -> None:
        from joblib import Parallel

        self._n_jobs = n_jobs
        self._open = ExitStack()
        return_as = "generator" if ordered else "generator_unordered"
        try:
            self._parallel = Parallel(n_jobs, backend=backend, return_as=return_as)
        except ValueError:  # some only return lists: multiprocessing's, Ray's
            self._parallel = Parallel(n_jobs, backend=backend)

    def __enter__(self) -> Workers:
        """Start them."""
        # Tasks that catch warnings in several threads of this process put the filters
        # back in any order: the user's own are kept here.
        self._open.enter_context(warnings.catch_warnings())
        self._open.enter_context(self._parallel)
        return self

    def __exit__(self, *failure: object) -> None:
        """End them."""
        self._open.close()

    def run(
        self, function: Callable[[Item], Output], items: Iterable[Item]
    ) -> Generator[Output, None, None]:
        """Yield ``function(item)``, as they come if the backend can, else in rounds."""
        task = function if self._n_jobs == 1 else _OnOneThread(function)
        if self._parallel.return_generator:
            yield from _closed_quietly(self._parallel(_delayed(task, items)))
            return
        from joblib import effective_n_jobs

        remaining = iter(items)
        length = _PER_ROUND * effective_n_jobs(self._n_jobs)
        while batch := list(islice(remaining, length)):
            yield from self._parallel(_delayed(task, batch))


class _OnOneThread(Generic[Item, Output]):
    """A function whose kernels use one thread, wherever it is called."""

    def __init__(self, function: Callable[[Item], Output]) -> None:
        self._function = function

    def __call__(self, item: Item) -> Output:
        with one_thread_here():
            return self._function(item)


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


def _delayed(
    function: Callable[[Item], Output], items: Iterable[Item]
) -> Iterable[Any]:
    from joblib import delayed

    return (delayed(function)(item) for item in items)
