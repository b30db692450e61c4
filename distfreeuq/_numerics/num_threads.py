"""The user's choice of how many threads the kernels use."""

from distfreeuq._base.arguments import Arguments
from distfreeuq._kernels.threads import get_num_threads, use_threads, was_forked

__all__ = ["get_num_threads", "set_num_threads"]

# Larger values are almost certainly a mistake; OpenMP aborts the process if it cannot
# create the threads.
_MOST_THREADS = 1024


def set_num_threads(n: int) -> None:
    """Set the number of threads that the kernels use on large inputs.

    The default is OpenMP's own, so ``OMP_NUM_THREADS`` is respected. Results do not
    depend on the number of threads. A process that was forked has one thread and can
    have no more: GNU's OpenMP would wait for its parent's, which did not come along.
    Processes that start anew can: those of joblib, and of multiprocessing with "spawn"
    or "forkserver".

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
    args = Arguments("set_num_threads")
    number = args.count(n, "n", low=1, high=_MOST_THREADS)
    if number > 1 and was_forked():
        must = "1 in a process that was forked (one that is spawned can have more)"
        args.invalid("n", must, f"{number}")
    use_threads(number)
