"""How many threads the kernels use."""

import os

from distfreeuq._kernels import _checks
from distfreeuq.exceptions import InputError

# Below this many matrix entries the work is shorter than waking a second thread.
_SMALL_WORK = 1 << 16

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
    depend on the number of threads.

    Parameters
    ----------
    n : int
        At least 1.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> before = dfu.get_num_threads()
    >>> dfu.set_num_threads(1)
    >>> dfu.set_num_threads(before)
    """
    global _num_threads
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InputError(
            "The 'n' parameter of set_num_threads must be an integer of at least 1. "
            f"Got {n!r} instead."
        )
    _num_threads = n


def threads_for(n_entries: int) -> int:
    """Return the threads that pay off for a matrix of this many entries."""
    return _num_threads if n_entries >= _SMALL_WORK else 1


# The OpenMP runtime's worker threads do not survive a fork: a child that used them would
# wait for them for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: set_num_threads(1))
