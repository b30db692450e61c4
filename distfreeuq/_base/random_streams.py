"""Streams of uniforms: calibration and prediction never share one."""

from typing import Any, Literal, get_args

import numpy as np

from distfreeuq._base.array_types import FloatArray, RandomState
from distfreeuq._base.arrays import describe
from distfreeuq.exceptions import InputError

Purpose = Literal[
    "fit", "predict", "thin", "split", "bootstrap", "source", "target", "replicate"
]

# One integer is often used for everything: data drawn with seed 0, fitted with seed 0.
# Each purpose has a stream of its own, and none is what NumPy makes of the same seed by
# itself: default_rng(0), or the children 0, 1, 2, ... of SeedSequence(0).spawn.
_FIRST_KEY = int.from_bytes(b"dfu\0", "big")
_SPAWN_KEYS = {purpose: _FIRST_KEY + i for i, purpose in enumerate(get_args(Purpose))}


def stream(rng: RandomState, purpose: Purpose, caller: str) -> np.random.Generator:
    """Return a generator; one integer seed gives each purpose a different stream.

    With the same uniforms in calibration and prediction, a test row's score would not
    be exchangeable with the calibration scores, and coverage would be lost. So it is
    with scores randomised by the numbers that the labels were drawn with.
    """
    _check(rng, caller)
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


def spawn_key(purpose: Purpose) -> int:
    """Return what sets a purpose's stream apart from the others of one seed."""
    return _SPAWN_KEYS[purpose]


def row_uniforms(
    n_rows: int,
    rng: RandomState,
    purpose: Purpose,
    caller: str,
    randomized: bool,
) -> FloatArray:
    """Return one uniform per row, or ones where the score is not randomised.

    A bad `rng` raises an error in either case.
    """
    if randomized:
        return stream(rng, purpose, caller).random(n_rows)
    _check(rng, caller)
    return np.ones(n_rows)


def _check(rng: Any, caller: str) -> None:
    if rng is None or isinstance(rng, np.random.Generator | np.random.SeedSequence):
        return
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0:
        return
    raise InputError(
        f"The 'rng' parameter of {caller} must be a non-negative integer seed, a "
        f"numpy.random.Generator, a SeedSequence or None. Got {describe(rng)} instead."
    )
