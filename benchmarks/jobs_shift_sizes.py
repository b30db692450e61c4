"""Estimators of label shift at three sizes, and what is done with their weights."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import distfreeuq as dfu

from . import data
from .harness import OURS, Job

SIZES = ((1000, 10), (10_000, 10), (100_000, 10))


def jobs() -> Iterator[Job]:
    for size in SIZES:
        yield black_box(*size, soft=False)
        yield black_box(*size, soft=True)
        yield regularized(*size)
        yield likelihood(*size)
    for size in SIZES:
        yield adapt(*size)
    for size in ((1000, 3), (3000, 3), (10_000, 3)):
        yield robust_sets(*size)
    for size in SIZES:
        yield binning_under_shift(*size)


def samples(n: int, n_classes: int) -> tuple[Any, Any, Any]:
    probs, labels = data.rows(n, n_classes, data.PEAKED)
    target, _ = data.rows(n, n_classes, data.PEAKED, seed=1)
    return probs, labels, target


def black_box(n: int, n_classes: int, soft: bool) -> Job:
    probs, labels, target = samples(n, n_classes)

    def by_numpy() -> Any:
        one_hot = np.eye(n_classes)[labels]
        rows = probs if soft else np.eye(n_classes)[probs.argmax(axis=1)]
        new = target if soft else np.eye(n_classes)[target.argmax(axis=1)]
        return np.linalg.solve(rows.T @ one_hot / n, new.mean(axis=0))

    return Job(
        name=f"BBSE, {'soft' if soft else 'hard'}, with standard errors",
        size={"n": n, "m": n, "K": n_classes},
        ours=lambda: dfu.bbse(probs, labels, target, soft=soft).raw,
        peers={"NumPy, weights alone": by_numpy},
        reads=probs.nbytes + target.nbytes,
        effort=0.2,
    )


def regularized(n: int, n_classes: int) -> Job:
    probs, labels, target = samples(n, n_classes)
    return Job(
        name="RLLS",
        size={"n": n, "m": n, "K": n_classes},
        ours=lambda: dfu.rlls(probs, labels, target).label_weight,
        reads=probs.nbytes + target.nbytes,
        effort=0.2,
    )


def likelihood(n: int, n_classes: int) -> Job:
    """Return the job: the target prior by EM to the same likelihood, by hand."""
    probs, labels, target = samples(n, n_classes)
    prior = probs.mean(axis=0)

    def by_numpy() -> Any:
        q = prior.copy()
        for _ in range(10_000):
            weighted = target * (q / prior)
            new = (weighted / weighted.sum(axis=1, keepdims=True)).mean(axis=0)
            if np.abs(new - q).max() < 1e-9:
                break
            q = new
        return q

    def ours() -> Any:
        fit = dfu.mlls(probs, labels, target, calibrate=None)
        return fit.target_prior

    def check(results: Mapping[str, Any]) -> None:
        np.testing.assert_allclose(results["NumPy, EM"], results[OURS], atol=1e-5)

    return Job(
        name="MLLS without calibration, with standard errors",
        size={"n": n, "m": n, "K": n_classes},
        ours=ours,
        peers={"NumPy, EM": by_numpy},
        check=check,
        reads=target.nbytes,
        effort=0.2,
    )


def adapt(n: int, n_classes: int) -> Job:
    probs, labels, target = samples(n, n_classes)
    fit = dfu.bbse(probs, labels, target)

    def by_numpy() -> Any:
        weighted = target * fit.label_weight
        return weighted / weighted.sum(axis=1, keepdims=True)

    return Job(
        name="probabilities for the target prior",
        size={"n": n, "K": n_classes},
        ours=lambda: fit.adapt(target),
        peers={"NumPy": by_numpy},
        reads=2 * target.nbytes,
        effort=0.1,
    )


def robust_sets(n: int, n_classes: int) -> Job:
    """Return the job: thresholds over a region of estimated weights; nobody has it."""
    probs, labels, target = samples(n, n_classes)
    estimate = dfu.bbse(probs, labels, target)
    return Job(
        name="robust label-shift thresholds",
        size={"n": n, "K": n_classes},
        ours=lambda: (
            dfu.label_shift_conformal(
                probs, labels, estimate, robust=True, rng=0
            ).thresholds
        ),
        effort=0.2,
    )


def binning_under_shift(n: int, n_classes: int) -> Job:
    probs, labels, _ = samples(n, n_classes)
    fit = dfu.histogram_binning(probs, labels, n_bins=16, partition_on=probs[:500])
    weight = np.random.default_rng(6).uniform(0.5, 2.0, n_classes)

    def by_numpy() -> Any:
        weighted = fit.frequencies * weight
        return weighted / weighted.sum(axis=1, keepdims=True)

    return Job(
        name="bins for the target prior, with radii",
        size={"n": n, "K": n_classes, "bins": 16},
        ours=lambda: fit.under_label_shift(weight).frequencies,
        peers={"NumPy, without radii": by_numpy},
        threads=(1,),
        effort=0.1,
    )
