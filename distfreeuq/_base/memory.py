"""How much memory this machine has: work that cannot fit is refused before it begins.

Linux grants more memory than there is, and ends the process that uses it. An error that
says what is needed must come before the first of the large arrays.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from distfreeuq._base.arguments import Arguments

_GIB = float(1 << 30)
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def available_memory() -> float:
    """Return the bytes that this process can have at most; +inf if it is not known."""
    return min(_physical_memory(), _address_space(), _control_groups())


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


def _control_groups() -> float:
    """Return what a container or a job scheduler allows by Linux's control groups.

    A group has no more than any of those that it is in. Inside a container its path may
    be the host's, and only the root is there.
    """
    allowed = float("inf")
    lines: list[str] = []
    with suppress(OSError, ValueError):  # not Linux
        lines = _OWN_GROUPS.read_text().splitlines()
    for line in lines:
        _, kinds, path = (*line.split(":", 2), "", "")[:3]
        if kinds == "":  # version 2
            root, name = _GROUPS, "memory.max"
        elif "memory" in kinds.split(","):
            root, name = _GROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        inside = Path(path.strip("/"))
        for group in (inside, *inside.parents):
            with suppress(OSError, ValueError):  # not there, or "max"
                allowed = min(allowed, float(int((root / group / name).read_text())))
    return allowed


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
