"""One BLAS thread for fits that make many small products."""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from threading import Lock
from typing import NamedTuple, ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Value = TypeVar("_Value")

_LINKED = ("numpy.linalg._umath_linalg", "scipy.linalg._fblas")
"""Modules that are linked against a BLAS each, most often not the same one.

Their packages are imported first, here as everywhere: a thread that asks for a module
of a package while another imports the package may be given half of it.
"""
_NAMES = (
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
)


def on_one_blas_thread(
    function: Callable[_Arguments, _Value],
) -> Callable[_Arguments, _Value]:
    """Let a function's matrix products run on one thread.

    A small product takes microseconds: waking a second thread costs as much as it
    saves. BLAS threads then wait actively for the next one, for milliseconds, on the
    cores that our own kernels or other programs want: fits that alternate between the
    two took several times as long on two cores as on one. With one, results do not
    depend on the number of threads either. Where the BLAS is none that we know,
    nothing is changed, and ``OPENBLAS_NUM_THREADS=1`` does the same.
    """

    @wraps(function)
    def limited(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Value:
        with _one_thread():
            return function(*args, **kwargs)

    return limited


class _Switch(NamedTuple):
    """Reads and sets the number of threads of one library."""

    read: Callable[[], int]
    set: Callable[[int], object]


class _Limit:
    """The fits under way in this process, which hold BLAS to one thread."""

    def __init__(self, before: list[int] | None = None) -> None:
        self.lock = Lock()
        self.depth = 0
        self.before = before
        """What is restored after the last fit; None if it is yet to be read."""


_limit = _Limit()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Hold BLAS to one thread from the first fit under way to the end of the last."""
    switches, limit = _switches(), _limit
    with limit.lock:
        limit.depth += 1
        if limit.depth == 1:
            if limit.before is None:
                limit.before = [switch.read() for switch in switches]
            for switch in switches:
                switch.set(1)
    try:
        yield
    finally:
        if limit is _limit:  # else this is a child that was forked from within
            _leave(limit, switches)


def _leave(limit: _Limit, switches: tuple[_Switch, ...]) -> None:
    with limit.lock:
        limit.depth -= 1
        if limit.depth == 0:
            for switch, before in zip(switches, limit.before or (), strict=True):
                switch.set(before)
            limit.before = None


def _begin_anew() -> None:
    """Forget fits that the parent's other threads had under way: none goes on here.

    One of them may have held the lock. If BLAS was limited at that moment it stays so
    until a fit of the child's own ends: to set more threads here would start them.
    """
    global _limit
    _limit = _Limit(_limit.before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


@cache
def _switches() -> tuple[_Switch, ...]:
    """Return a switch for each BLAS that NumPy and SciPy are linked against."""
    found: dict[int, _Switch] = {}
    for name in _LINKED:
        try:  # looking a name up in an extension finds it in what it is linked against
            importlib.import_module(name.rpartition(".")[0])
            library = ctypes.CDLL(str(importlib.import_module(name).__file__))
        except (ImportError, OSError):
            continue
        for getter, setter in _NAMES:
            read, set_to = (
                getattr(library, getter, None),
                getattr(library, setter, None),
            )
            if read is None or set_to is None:
                continue
            read.restype, set_to.argtypes, set_to.restype = (
                ctypes.c_int,
                [ctypes.c_int],
                None,
            )
            address = ctypes.cast(set_to, ctypes.c_void_p).value or 0
            found[address] = _Switch(read, set_to)
            break
    return tuple(found.values())
