"""Several fits to the same blocks, whose passes are made together.

Each fit runs in a thread of its own until it asks for a total. When all that have not
ended have asked, one pass over the blocks answers all of them, made by the thread that
began. So a fit for each class costs as many passes as the longest of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from threading import Condition, Thread
from typing import Any, Generic, TypeVar

from distfreeuq._numerics.passes.block_parts import Blocks
from distfreeuq._numerics.row_blocks import Block

_T = TypeVar("_T")

_MOST = 64
"""Fits that run together: each has a thread, and its part of what a pass returns."""


def fit_in_step(blocks: Blocks, tasks: Sequence[Callable[[Blocks], _T]]) -> list[_T]:
    """Return what each task returns, given blocks whose passes they share."""
    out: list[_T] = []
    for first in range(0, len(tasks), _MOST):
        out += _run(blocks, tasks[first : first + _MOST])
    return out


def _run(blocks: Blocks, tasks: Sequence[Callable[[Blocks], _T]]) -> list[_T]:
    if len(tasks) == 1:
        return [tasks[0](blocks)]
    meeting = _Meeting(len(tasks))
    fits = [_Fit(task, meeting) for task in tasks]
    for fit in fits:
        fit.start()
    try:
        while asked := meeting.wait_for_all():
            meeting.answer(blocks, asked)
    except BaseException as error:
        meeting.give_up(error)
        raise
    finally:
        for fit in fits:
            fit.join()
    for fit in fits:
        if fit.error is not None:
            raise fit.error
    return [fit.output for fit in fits]


@dataclass(eq=False, slots=True)
class _Request:
    """A total that a fit waits for."""

    function: Callable[[Block], Any]
    add_up: Callable[[Sequence[Any]], Any]
    is_answered: bool = False
    output: Any = None


@dataclass(eq=False, slots=True)
class _Meeting:
    """Where fits leave their requests."""

    n_running: int
    requests: list[_Request] = field(default_factory=list)
    changed: Condition = field(default_factory=Condition)
    error: BaseException | None = None

    def ask(self, request: _Request) -> Any:
        """Return the answer to a request, when all other fits have asked too."""
        with self.changed:
            self.requests.append(request)
            self.changed.notify_all()
            self.changed.wait_for(lambda: request.is_answered or self.error is not None)
            if not request.is_answered:
                raise _GivenUp
            return request.output

    def leave(self) -> None:
        """End a fit."""
        with self.changed:
            self.n_running -= 1
            self.changed.notify_all()

    def wait_for_all(self) -> list[_Request]:
        """Return the requests of all fits that have not ended."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.requests) == self.n_running)
            asked, self.requests = self.requests, []
            return asked

    def answer(self, blocks: Blocks, asked: list[_Request]) -> None:
        """Make the pass."""
        functions = tuple(one.function for one in asked)
        sums = tuple(one.add_up for one in asked)
        outputs = blocks.total(_Each(functions), _AddEach(sums))
        with self.changed:
            for one, output in zip(asked, outputs, strict=True):
                one.output, one.is_answered = output, True
            self.changed.notify_all()

    def give_up(self, error: BaseException) -> None:
        """End all fits: a pass has failed."""
        with self.changed:
            self.error = error
            self.changed.notify_all()


class _GivenUp(Exception):
    """A pass has failed, in the thread that made it."""


class _Fit(Thread, Generic[_T]):
    """Runs a task, which sees blocks that answer when all tasks have asked."""

    def __init__(self, task: Callable[[Blocks], _T], meeting: _Meeting) -> None:
        super().__init__(daemon=True)
        self._task = task
        self._meeting = meeting
        self.output: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Run the task to its end."""
        try:
            self.output = self._task(_SharedBlocks(self._meeting))
        except _GivenUp:
            pass
        except BaseException as error:
            self.error = error
        finally:
            self._meeting.leave()


@dataclass(frozen=True, slots=True)
class _SharedBlocks:
    """Blocks of which every total waits for those of other fits."""

    meeting: _Meeting

    def total(
        self,
        function: Callable[[Block], _T],
        add_up: Callable[[Sequence[_T]], _T],
    ) -> _T:
        """Return the sum of what the function makes of each block."""
        output: _T = self.meeting.ask(_Request(function, add_up))
        return output

    def map(self, function: Callable[[Block], _T]) -> list[_T]:
        """Return what the function makes of each block, in their order."""
        found = self.total(_Alone(function), _chain)
        return [output for _, output in sorted(found, key=lambda pair: pair[0])]


@dataclass(frozen=True, slots=True)
class _Alone(Generic[_T]):
    """Makes a list of what a function makes of a block, and its number."""

    function: Callable[[Block], _T]

    def __call__(self, block: Block) -> list[tuple[int, _T]]:
        return [(block.args.block, self.function(block))]


def _chain(found: Sequence[list[_T]]) -> list[_T]:
    return list(chain.from_iterable(found))


@dataclass(frozen=True, slots=True)
class _Each:
    """Makes of a block what each function does."""

    functions: tuple[Callable[[Block], Any], ...]

    def __call__(self, block: Block) -> tuple[Any, ...]:
        return tuple(function(block) for function in self.functions)


@dataclass(frozen=True, slots=True)
class _AddEach:
    """Adds up each entry of tuples in its own way."""

    sums: tuple[Callable[[Sequence[Any]], Any], ...]

    def __call__(self, found: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
        entries = zip(*found, strict=True)
        return tuple(
            add_up(entry) for add_up, entry in zip(self.sums, entries, strict=True)
        )
