"""Calibration by scaling: temperature, class-wise temperatures, vector scaling."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

import distfreeuq as dfu

from .harness import OURS, Job, Target, peer, second_core

SIZES = ((1_000, 10), (10_000, 10), (100_000, 10), (50_000, 100))
LARGE = SIZES[-1]
PLAIN = "plain temperature, ours"
SERIAL = "factorisations, products of small matrices and results are made by one thread"


@lru_cache(maxsize=2)
def logit_rows(n: int, n_classes: int, dtype: str) -> tuple[Any, Any]:
    """Return over-confident logits (n, K), more so for some classes, and labels."""
    rng = np.random.default_rng(0)
    truth = rng.normal(scale=2.0, size=(n, n_classes))
    labels = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    stretch = np.linspace(1.2, 2.5, n_classes)[truth.argmax(axis=1), None]
    return (stretch * truth).astype(dtype), labels


def jobs() -> Iterator[Job]:
    for dtype, sizes in (("float64", SIZES), ("float32", (LARGE,))):
        for n, n_classes in sizes:
            yield temperature(n, n_classes, dtype)
            yield classwise(n, n_classes, dtype)
            yield vector(n, n_classes, dtype)
    n, n_classes = LARGE
    yield predict(n, n_classes)


def temperature(n: int, n_classes: int, dtype: str) -> Job:
    logits, labels = logit_rows(n, n_classes, dtype)

    def scikit_learn() -> float:
        from sklearn.calibration import _TemperatureScaling

        return 1.0 / float(_TemperatureScaling().fit(logits, labels).beta_)

    large = (n, n_classes) == LARGE
    targets = (Target("scikit-learn", ratio=10.0), second_core(SERIAL)) if large else ()
    return Job(
        name="temperature scaling",
        size={"n": n, "K": n_classes},
        ours=lambda: dfu.temperature_scaling(logits, labels).temperature,
        peers=peer("sklearn", "scikit-learn", scikit_learn),
        check=within(1e-6 if dtype == "float64" else 1e-3),
        dtype=dtype,
        reads=logits.nbytes,
        exponentials=logits.size,
        targets=targets,
    )


def classwise(n: int, n_classes: int, dtype: str) -> Job:
    logits, labels = logit_rows(n, n_classes, dtype)
    predicted = logits.argmax(axis=1)

    def scikit_learn() -> Any:
        from sklearn.calibration import _TemperatureScaling

        return np.array(
            [
                1.0 / float(_TemperatureScaling().fit(logits[own], labels[own]).beta_)
                for own in (predicted == k for k in range(n_classes))
            ]
        )

    targets = ()
    if (n, n_classes) == LARGE:
        targets = (
            Target("scikit-learn, class by class", ratio=10.0),
            Target(PLAIN, ratio=1 / 1.5),
            second_core(SERIAL),
        )
    return Job(
        name="class-wise temperature scaling",
        size={"n": n, "K": n_classes},
        ours=lambda: dfu.classwise_temperature_scaling(logits, labels).temperatures,
        peers=peer("sklearn", "scikit-learn, class by class", scikit_learn),
        yardsticks={PLAIN: lambda: dfu.temperature_scaling(logits, labels)},
        check=within(1e-6 if dtype == "float64" else 2e-3),
        dtype=dtype,
        reads=logits.nbytes,
        exponentials=logits.size,
        targets=targets,
    )


def vector(n: int, n_classes: int, dtype: str) -> Job:
    logits, labels = logit_rows(n, n_classes, dtype)

    def abstention() -> Any:
        from abstention.calibration import VectorScaling

        return VectorScaling()(logits, np.eye(n_classes)[labels])(logits)

    large = (n, n_classes) == LARGE
    targets = (Target("abstention", ratio=10.0), second_core(SERIAL)) if large else ()
    return Job(
        name="vector scaling",
        size={"n": n, "K": n_classes},
        ours=lambda: dfu.vector_scaling(logits, labels).predict(logits),
        peers=peer("abstention", "abstention", abstention),
        check=no_worse(labels),
        dtype=dtype,
        reads=logits.nbytes,
        exponentials=logits.size,
        targets=targets,
    )


def predict(n: int, n_classes: int) -> Job:
    logits, labels = logit_rows(n, n_classes, "float64")
    fit = dfu.classwise_temperature_scaling(logits, labels)

    def by_hand() -> Any:
        scaled = logits / fit.temperatures[logits.argmax(axis=1), None]
        scaled -= scaled.max(axis=1, keepdims=True)
        np.exp(scaled, out=scaled)
        scaled /= scaled.sum(axis=1, keepdims=True)
        return scaled

    return Job(
        name="class-wise temperature, predict",
        size={"n": n, "K": n_classes},
        ours=lambda: fit.predict(logits),
        peers={"NumPy": by_hand},
        reads=2 * logits.nbytes,
        exponentials=logits.size,
    )


def within(tolerance: float) -> Any:
    """Return a check of relative differences."""

    def check(results: Mapping[str, Any]) -> None:
        for name, got in results.items():
            np.testing.assert_allclose(
                got, results[OURS], rtol=tolerance, err_msg=f"{name} differs"
            )

    return check


def no_worse(labels: Any) -> Any:
    """Return a check that our likelihood is the largest: the peer stops early."""

    def nll(probs: Any) -> float:
        return float(-np.log(probs[np.arange(len(labels)), labels]).mean())

    def check(results: Mapping[str, Any]) -> None:
        for name, got in results.items():
            assert nll(results[OURS]) <= nll(got) + 1e-6, f"{name} fits better"

    return check
