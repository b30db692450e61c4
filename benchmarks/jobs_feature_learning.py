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
    yield overhead(1000)


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


def overhead(n: int) -> Job:
    """Time what calibration adds to feature learning (Park et al., 2020, A.2).

    Ours is the second phase alone: weights in learnt features, each row's by a fit
    without it, and the temperature of the decisions. Beside it stands the first phase:
    a quotient of q says that calibration takes 1 / q of the time of feature learning.
    """
    source, labels, others = images(n, 256)
    options = {"n_hidden": 84, "n_epochs": 20, "rng": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.TrainingStoppedWarning)
        fit = dfu.indistinguishable_features(source, labels, others, **options)
    rows = fit.transform(source), fit.transform(others), fit.logits(source)

    def calibrate() -> Any:
        ratio = dfu.density_ratio(rows[0], rows[1], rng=0)
        found = dfu.decision_calibration(
            rows[2], labels, sample_weight=ratio, offset=0.5
        )
        return found.accuracy

    def learn() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dfu.TrainingStoppedWarning)
            again = dfu.indistinguishable_features(source, labels, others, **options)
        return again.source_accuracy

    def check(results: Mapping[str, Any]) -> None:
        assert min(results.values()) > 0.5

    return Job(
        name="calibration after feature learning",
        size={"n": 2 * n, "d": 256, "hidden": 84},
        ours=calibrate,
        yardsticks={"learning the features, 20 epochs": learn},
        check=check,
        reads=source.nbytes + others.nbytes,
        threads=(1,),
    )
