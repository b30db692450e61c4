"""How many threads the kernels use."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from distfreeuq._kernels import _checks

# With fewer matrix entries for each, waking a thread takes longer than its work.
_WORK_PER_THREAD = 1 << 15

_num_threads = _checks._max_threads()
_forked = False


class _Here(threading.local):
    """What one thread of Python has for itself."""

    # Where it is set, kernels use so many threads in place of `_num_threads`.
    num_threads: int | None = None


_here = _Here()


def get_num_threads() -> int:
    """Return the number of threads that the kernels use on large inputs.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> dfu.get_num_threads() >= 1
    True
    """
    return _here.num_threads or _num_threads


def use_threads(n: int) -> None:
    """Set the number of threads, already checked; a worker's until its task ends."""
    global _num_threads
    if _here.num_threads is None:
        _num_threads = n
    else:
        _here.num_threads = n


@contextmanager
def one_thread_here() -> Iterator[None]:
    """Let kernels that this thread of Python calls use one thread, others as before."""
    before = _here.num_threads
    _here.num_threads = 1
    try:
        yield
    finally:
        _here.num_threads = before


def threads_for(n_entries: int) -> int:
    """Return the threads that pay off for a matrix of this many entries."""
    number = _here.num_threads or _num_threads
    return max(1, min(number, n_entries // _WORK_PER_THREAD))


def was_forked() -> bool:
    """Return whether this process is a fork of one that had loaded the kernels."""
    return _forked


def _start_with_one() -> None:
    global _num_threads, _forked
    _num_threads, _forked = 1, True
    if _here.num_threads is not None:
        _here.num_threads = 1


# A child that waited for its parent's worker threads would wait for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_with_one)
