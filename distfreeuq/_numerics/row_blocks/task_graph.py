"""One graph of Dask for the tasks of all blocks.

A hundred thousand rows of ten classes take two milliseconds. Dask's own `delayed` takes
a tenth of that for each task, since each has a graph of its own, which are merged again
when they are computed; here is one graph from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from distfreeuq._numerics.row_blocks.block import Place

Graph = dict[Hashable, Any]


class TaskGraph:
    """Tasks, as a collection of Dask's: `compute` returns a list of their results.

    Parameters
    ----------
    graph : mapping
        All tasks, by key.
    keys : sequence
        The keys whose results are asked for.
    """

    def __init__(self, graph: Mapping[Hashable, Any], keys: Sequence[Hashable]) -> None:
        self._graph = graph
        self._keys = list(keys)

    def __dask_graph__(self) -> Mapping[Hashable, Any]:
        """Return all tasks."""
        return self._graph

    def __dask_keys__(self) -> list[Hashable]:
        """Return the keys that are asked for."""
        return self._keys

    def __dask_tokenize__(self) -> list[Hashable]:
        """Return what tells this collection from others."""
        return self._keys

    def __dask_postcompute__(self) -> tuple[Callable[..., Any], tuple[()]]:
        """Return what makes one result of those of the keys."""
        return list, ()

    @property
    def __dask_optimize__(self) -> Any:
        """What leaves out tasks of which nothing is asked for."""
        from dask.delayed import optimize

        return optimize

    @property
    def __dask_scheduler__(self) -> Any:
        """The scheduler of those who chose none."""
        from dask.threaded import get

        return get

    def __getitem__(self, which: slice) -> TaskGraph:
        """Return the graph with some of the keys."""
        return TaskGraph(self._graph, self._keys[which])

    def compute(self) -> list[Any]:
        """Return the results, in the order of the keys."""
        from dask.base import compute

        (found,) = compute(self)  # type: ignore[no-untyped-call]
        return list(found)

    @property
    def shares_memory(self) -> bool:
        """Whether tasks run in this process, on Dask's threads or on none."""
        from dask.base import get_scheduler
        from dask.local import get_sync
        from dask.threaded import get

        chosen: Any = get_scheduler(collections=[self])  # type: ignore[no-untyped-call]
        return chosen in (get, get_sync)


def graph_of_blocks(
    task: Callable[..., Any],
    starts: Sequence[int | None],
    pieces: Sequence[Sequence[Any]],
) -> TaskGraph:
    """Return the graph that calls a task for each block, with the block's pieces.

    Pieces are Dask's `Delayed`, or rows in memory that are hidden from Dask.
    """
    graph: Graph = {}
    seen = set()
    for own in pieces:
        for piece in own:
            tasks = getattr(piece, "dask", None)
            if tasks is not None and id(tasks) not in seen:  # one graph for all of them
                seen.add(id(tasks))
                graph.update(tasks)
    name = f"rows-{uuid4().hex}"
    keys = [(name, number) for number in range(len(starts))]
    cut = zip(keys, starts, *pieces, strict=True)
    for key, start, *own in cut:
        graph[key] = (task, Place(key[1], start), *(_argument(one) for one in own))
    return TaskGraph(graph, keys)


def added_up(tasks: TaskGraph, add: Callable[..., Any], at_once: int) -> TaskGraph:
    """Return the graph whose one result is the sum of all, added so many at a time."""
    graph = dict(tasks.__dask_graph__())
    level = tasks.__dask_keys__()
    name = f"sums-{uuid4().hex}"
    n_levels = 0
    while len(level) > 1:
        above: list[Hashable] = []
        for first in range(0, len(level), at_once):
            key = (name, n_levels, first)
            graph[key] = (add, *level[first : first + at_once])
            above.append(key)
        level = above
        n_levels += 1
    return TaskGraph(graph, level)


def _argument(piece: Any) -> Any:
    """Return a key in place of what the graph has by it."""
    return piece.key if hasattr(piece, "dask") else piece
