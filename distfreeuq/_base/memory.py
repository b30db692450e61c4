"""How much memory this machine has: work that cannot fit is refused before it begins.

Linux grants more memory than there is, and ends the process that uses it. An error that
says what is needed must come before the first of the large arrays.
"""

import os
import sys

from distfreeuq._base.arguments import Arguments

_GIB = float(1 << 30)


def available_memory() -> float:
    """Return the bytes that this process can have at most; +inf if it is not known."""
    return min(_physical_memory(), _address_space())


def _physical_memory() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # on Windows, allocation itself fails
        return float("inf")


def _address_space() -> float:
    if sys.platform == "win32":
        return float("inf")
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return float("inf") if limit == resource.RLIM_INFINITY else float(limit)


def check_memory(args: Arguments, parameter: str, must: str, needed: float) -> None:
    """Raise an InputError if these many bytes are more than there are.

    Parameters
    ----------
    args : Arguments
    parameter : str
        What is too large.
    must : str
        What it must be, and what to do instead.
    needed : float
        Bytes.
    """
    available = available_memory()
    if needed > available:
        got = (
            f"work that needs about {needed / _GIB:.3g} GiB of the machine's "
            f"{available / _GIB:.3g} GiB"
        )
        args.invalid(parameter, must, got)
