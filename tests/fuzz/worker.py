"""A child process that makes the calls of one block, and says where it is."""

import importlib.util
import json
import os
import resource
import sys
from random import Random
from typing import Any

# What the package imports when it is needed, and what others do to the process then:
# joblib sets an environment variable, statsmodels adds warning filters.
IMPORTED_FIRST = (
    "joblib",
    "statsmodels.api",
    "threadpoolctl",
    "scipy.stats",
    "sklearn",
    "dask.array",
)
BLOCK = 200
"""Cases of one block."""

MEMORY = 6 << 30
"""Bytes of address space: a call that wants more gets a MemoryError, a finding."""


def case_of(seed: int, number: int) -> tuple[str, int]:
    """Return the function and the seed of a case, by its number in a run."""
    from tests.fuzz.table import FUNCTIONS

    r = Random(f"{seed} {number}")
    names = list(FUNCTIONS)
    name = r.choices(names, [FUNCTIONS[one].share for one in names])[0]
    return name, r.getrandbits(40)


def import_first() -> None:
    """Import what would change the process when a call imports it."""
    from tests.fuzz.presentation import import_what_tensors_need

    for name in IMPORTED_FIRST:
        if importlib.util.find_spec(name.split(".")[0]):
            importlib.import_module(name)
    import_what_tensors_need()


def blas_threads() -> list[int]:
    """Return how many threads each pool of the process has."""
    from threadpoolctl import threadpool_info

    return [pool["num_threads"] for pool in threadpool_info()]


def say(**message: Any) -> None:
    """Write one line for the parent."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main(seed: int) -> None:
    """Read blocks from the parent, as lines of first and last case, and run them."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    import_first()
    from tests.fuzz import fitted
    from tests.fuzz.case import calls_of

    threads = blas_threads()
    os.chdir(fitted.folder())  # a hostile file name may be a good one
    try:
        for line in sys.stdin:
            first, last = map(int, line.split())
            for number in range(first, last):
                name, case_seed = case_of(seed, number)
                say(at=number, name=name, seed=case_seed)
                calls = returned = refused = 0
                findings: list[tuple[str, str]] = []
                try:
                    for call in calls_of(name, case_seed):
                        calls += 1
                        returned += call.outcome.returned
                        refused += call.outcome.refused
                        findings += call.outcome.findings
                except Exception as error:  # of what makes arguments
                    said = f"{type(error).__name__}: {error}"[:200]
                    findings.append(("no arguments", f"{name}: {said}"))
                if number % BLOCK == BLOCK - 1 and blas_threads() != threads:
                    findings.append(("state changed", "BLAS threads, in this block"))
                say(done=number, counts=[calls, returned, refused], findings=findings)
            say(block=last)
    finally:
        fitted.remove_folder()


if __name__ == "__main__":
    main(int(sys.argv[1]))
