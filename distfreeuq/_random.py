"""Streams of uniforms: calibration and prediction never share one."""

from typing import Any, Literal

import numpy as np

from distfreeuq._typing import RandomState
from distfreeuq.exceptions import InputError

_SPAWN_KEYS = {"fit": 0, "predict": 1, "thin": 2}


def stream(
    rng: RandomState, purpose: Literal["fit", "predict", "thin"], caller: str
) -> np.random.Generator:
    """Return a generator; one integer seed gives fit and predict different streams.

    With the same uniforms in calibration and prediction, a test row's score would not be
    exchangeable with the calibration scores, and coverage would be lost.
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng()
    key = (_SPAWN_KEYS[purpose],)
    if isinstance(rng, np.random.SeedSequence):
        return np.random.default_rng(
            np.random.SeedSequence(rng.entropy, spawn_key=(*rng.spawn_key, *key))
        )
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(np.random.SeedSequence(int(rng), spawn_key=key))
    got: Any = rng
    raise InputError(
        f"The 'rng' parameter of {caller} must be a non-negative integer seed, a "
        f"numpy.random.Generator, a SeedSequence or None. Got {got!r} instead."
    )
