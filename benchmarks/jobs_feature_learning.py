"""Features learnt against a discriminator: time per epoch, and of a whole fit."""

import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

import distfreeuq as dfu

from .harness import OURS, Job, Target

EPOCHS = 100


@lru_cache(maxsize=1)
def images(n: int, d: int) -> tuple[Any, Any, Any]:
    """Return source rows, their labels, and target rows, of the shape of digits."""
    rng = np.random.default_rng(0)
    centers = rng.random((10, d))
    labels, others = rng.integers(0, 10, (2, n))
    source = np.clip(rng.normal(centers[labels], 0.4), 0.0, 1.0)
    target = np.clip(rng.normal(centers[others], 0.5), 0.0, 1.0)
    return source, labels, target


def jobs() -> Iterator[Job]:
    for n in (500, 1000, 2000):
        yield epochs(n, 1, None)
    yield epochs(2000, EPOCHS, Target(OURS, seconds=30.0))


def epochs(n: int, n_epochs: int, target: Target | None) -> Job:
    """So many rows of each sample, 256 columns, 84 features; discriminators anew."""
    source, labels, others = images(n, 256)

    def ours() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dfu.TrainingStoppedWarning)
            return dfu.indistinguishable_features(
                source, labels, others, n_hidden=84, n_epochs=n_epochs, rng=0
            ).source_accuracy

    def check(results: Mapping[str, Any]) -> None:
        if n_epochs == EPOCHS:
            assert results[OURS] > 0.9

    return Job(
        name=f"feature learning, {n_epochs} epoch{'s' if n_epochs > 1 else ''}",
        size={"n": 2 * n, "d": 256, "hidden": 84},
        ours=ours,
        check=check,
        reads=source.nbytes + others.nbytes,
        targets=(target,) if target else (),
        threads=(1,) if target else (1, 2),
    )
