"""How long OpenMP's threads wait actively for work; set while the core is loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_TURNS = 10_000
"""About a tenth of a millisecond: from one pass of a fit to the next."""
_SETTINGS = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


@contextmanager
def short_waits() -> Iterator[None]:
    """Let GNU's OpenMP library, if it is loaded in this context, wait for a short time.

    It reads its settings once, when it is loaded. By default a thread without work
    turns 300,000 times before it sleeps: several milliseconds in which it keeps a core
    from the threads of BLAS, from other programs, or from the very thread it waits for.
    On two cores that others used as well, fits on two threads took up to ten times as
    long as on one. A user's own setting of either variable is obeyed, and the
    environment is left as it was.
    """
    if any(name in os.environ for name in _SETTINGS):
        yield
        return
    os.environ[_SETTINGS[0]] = str(_TURNS)
    try:
        yield
    finally:
        os.environ.pop(_SETTINGS[0], None)
