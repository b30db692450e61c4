"""Streams of random numbers: every purpose has one of its own."""

import hashlib
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from distfreeuq._base.array_types import RandomState
from distfreeuq._base.arrays import describe, is_integer
from distfreeuq.exceptions import InputError

Purpose = Literal[
    "fit",
    "predict",
    "thin",
    "split",
    "bootstrap",
    "source",
    "target",
    "replicate",
    "monitor",
]

# One integer is often used for everything: data drawn with seed 0, fitted with seed 0.
# Each purpose has a stream of its own, and none is what NumPy makes of the same seed by
# itself: default_rng(0), or the children 0, 1, 2, ... of SeedSequence(0).spawn.
_FIRST_KEY = int.from_bytes(b"dfu\0", "big")
_SPAWN_KEYS = {purpose: _FIRST_KEY + i for i, purpose in enumerate(get_args(Purpose))}


def stream(rng: RandomState, purpose: Purpose, caller: str) -> np.random.Generator:
    """Return a generator; one integer seed gives each purpose a different stream.

    Scores randomised by the numbers that the labels were drawn with, or rows thinned by
    those that randomised their scores, would lose what is guaranteed. Uniforms of rows
    that have a seed are not drawn at all (`row_uniforms`).
    """
    check_rng(rng, caller)
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng()
    key = spawn_key(purpose)
    if isinstance(rng, np.random.SeedSequence):
        seed = np.random.SeedSequence(
            rng.entropy, spawn_key=(*rng.spawn_key, key), pool_size=rng.pool_size
        )
    else:
        seed = np.random.SeedSequence(int(rng), spawn_key=(key,))
    return np.random.Generator(np.random.PCG64(seed))


def generator_of(*data: NDArray[Any]) -> np.random.Generator:
    """Return a generator whose seed is a digest of the data.

    A fit that is made again prints the same, and over data sets draws are as good as
    independent. With one seed for all of them the error of a Monte Carlo test would be
    the same each time, and its level not what it says.
    """
    digest = hashlib.blake2b(digest_size=16)
    for array in data:
        digest.update(np.ascontiguousarray(array).astype("<f8").tobytes())
    return np.random.default_rng(int.from_bytes(digest.digest(), "little"))


def spawn_key(purpose: Purpose) -> int:
    """Return what sets a purpose's stream apart from the others of one seed."""
    return _SPAWN_KEYS[purpose]


def check_rng(rng: Any, caller: str) -> None:
    """Raise an error unless this is a seed, a generator or None."""
    if rng is None or isinstance(rng, np.random.Generator | np.random.SeedSequence):
        return
    if is_integer(rng) and rng >= 0:
        return
    raise InputError(
        f"The 'rng' parameter of {caller} must be a non-negative integer seed, a "
        f"numpy.random.Generator, a SeedSequence or None. Got {describe(rng)} instead."
    )
