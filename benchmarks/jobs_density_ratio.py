"""Density ratios: logistic discriminators and least squares."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

import distfreeuq as dfu
from distfreeuq.density_ratios.gaussian_kernels import gaussian, squared_distances
from distfreeuq.density_ratios.logistic_discriminator import LogisticLearner
from distfreeuq.density_ratios.ulsif import coefficients

from .harness import OURS, Job, Target, peer


@lru_cache(maxsize=1)
def samples(n: int, d: int) -> tuple[Any, Any]:
    """Return source and target rows, n of both together; five features have moved."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n, d))
    rows[n // 2 :, :5] += 0.4
    return rows[: n // 2], rows[n // 2 :]


def jobs() -> Iterator[Job]:
    yield discriminator()
    yield cross_fitted()
    yield least_squares()


def sklearn_fit(source: Any, target: Any) -> Any:
    from sklearn.linear_model import LogisticRegression

    rows = np.concatenate([source, target])
    labels = np.arange(len(rows)) >= len(source)
    return LogisticRegression().fit(rows, labels).coef_[0]


def discriminator() -> Job:
    """One fit on all rows, as scikit-learn's."""
    source, target = samples(100_000, 50)
    rows = np.concatenate([source, target])
    is_target = np.arange(len(rows)) >= len(source)

    def ours() -> Any:
        fit = LogisticLearner(rows, is_target, 1.0).fit_all()
        return fit.coef / fit.scale

    def check(results: Mapping[str, Any]) -> None:
        for coef in results.values():
            np.testing.assert_allclose(coef, results[OURS], atol=1e-3)

    return Job(
        name="logistic discriminator",
        size={"n": 100_000, "d": 50},
        ours=ours,
        peers=peer("sklearn", "scikit-learn", lambda: sklearn_fit(source, target)),
        check=check,
        reads=rows.nbytes,
        targets=(Target("scikit-learn", ratio=0.2),),
    )


def cross_fitted() -> Job:
    """All of `density_ratio`: six fits, six temperatures and the diagnostics."""
    source, target = samples(100_000, 50)
    return Job(
        name="density ratio, cross-fitted",
        size={"n": 100_000, "d": 50},
        ours=lambda: dfu.density_ratio(source, target, rng=0).source_weight,
        yardsticks=peer(
            "sklearn", "scikit-learn, one fit", lambda: sklearn_fit(source, target)
        ),
        reads=source.nbytes + target.nbytes,
    )


def least_squares() -> Job:
    """uLSIF, 100 kernels, bandwidth and ridge from the same grid of 81."""
    source, target = samples(4000, 10)
    grid = 10.0 ** np.linspace(-3, 1, 9)

    def ours() -> Any:
        fit = dfu.density_ratio(
            source,
            target,
            method="ulsif",
            n_kernels=100,
            bandwidth=grid,
            ridge=grid,
            rng=0,
        )
        return fit.model.bandwidth, fit.model.ridge

    def densratio() -> Any:
        from densratio import densratio

        fit = densratio(target, source, verbose=False, kernel_num=100)
        centers = fit.kernel_info.centers
        phi = [
            gaussian(squared_distances(rows, centers), fit.kernel_info.sigma)
            for rows in (source, target)
        ]
        theta = coefficients(*phi, fit.lambda_, 0.0)
        np.testing.assert_allclose(theta, fit.theta, rtol=1e-6, atol=1e-9)
        return fit.kernel_info.sigma, fit.lambda_

    def check(results: Mapping[str, Any]) -> None:
        for bandwidth, ridge in results.values():
            assert bandwidth in grid and ridge in grid

    return Job(
        name="uLSIF by leave-one-out",
        size={"n": 2000, "m": 2000, "d": 10, "kernels": 100},
        ours=ours,
        peers=peer("densratio", "densratio", densratio),
        check=check,
        reads=source.nbytes + target.nbytes,
        targets=(Target("densratio", ratio=10.0),),
    )
