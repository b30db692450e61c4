"""How many threads the kernels use."""

import os

from distfreeuq._kernels import _checks

# With fewer matrix entries for each, waking a thread takes longer than its work.
_WORK_PER_THREAD = 1 << 15

_num_threads = _checks._max_threads()


def get_num_threads() -> int:
    """Return the number of threads that the kernels use on large inputs.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> dfu.get_num_threads() >= 1
    True
    """
    return _num_threads


def use_threads(n: int) -> None:
    """Set the number of threads, already checked."""
    global _num_threads
    _num_threads = n


def threads_for(n_entries: int) -> int:
    """Return the threads that pay off for a matrix of this many entries."""
    return max(1, min(_num_threads, n_entries // _WORK_PER_THREAD))


# A child that waited for its parent's worker threads would wait for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: use_threads(1))
