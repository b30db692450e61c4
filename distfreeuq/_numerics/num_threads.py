"""The user's choice of how many threads the kernels use."""

from distfreeuq._base.arguments import Arguments
from distfreeuq._kernels.threads import get_num_threads, use_threads

__all__ = ["get_num_threads", "set_num_threads"]

# Larger values are almost certainly a mistake; OpenMP aborts the process if it cannot
# create the threads.
_MOST_THREADS = 1024


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
    use_threads(Arguments("set_num_threads").count(n, "n", low=1, high=_MOST_THREADS))
