"""How many threads the kernels use."""

import os

from distfreeuq._kernels import _checks

# With fewer matrix entries for each, waking a thread takes longer than its work.
_WORK_PER_THREAD = 1 << 15

# More is a slip, and OpenMP would end the process if the system had not so many.
_MOST_THREADS = 1024

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


def set_num_threads(n: int) -> None:
    """Set the number of threads that the kernels use on large inputs.

    The default is OpenMP's own, so ``OMP_NUM_THREADS`` is respected. Results do not
    depend on the number of threads. A forked child process starts with one thread,
    because those of its parent do not survive the fork.

    Parameters
    ----------
    n : int
        From 1 to 1024.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> before = dfu.get_num_threads()
    >>> dfu.set_num_threads(1)
    >>> dfu.set_num_threads(before)
    """
    from distfreeuq._validate import Door  # which itself asks for threads

    global _num_threads
    _num_threads = Door("set_num_threads").count(n, "n", low=1, high=_MOST_THREADS)


def threads_for(n_entries: int) -> int:
    """Return the threads that pay off for a matrix of this many entries."""
    return max(1, min(_num_threads, n_entries // _WORK_PER_THREAD))


def _use_one_thread() -> None:
    global _num_threads
    _num_threads = 1


# A child that waited for its parent's worker threads would wait for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_use_one_thread)
