"""Density ratios and weighted prediction sets, at three sizes."""

import contextlib
import io
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import distfreeuq as dfu

from . import by_hand, data
from .harness import OURS, Job, peer
from .jobs_sets import same_sets

SIZES = (500, 1000, 2000)
N_FEATURES = 5


def jobs() -> Iterator[Job]:
    for n in SIZES:
        yield logistic(n)
        yield nearest_neighbors(n)
        yield kernels("ulsif", "uLSIF", n)
        yield kernels("kliep", "KLIEP", n)
        yield alone("rulsif", "RuLSIF", n)
        yield alone("mlp", "network", n)
    for n in SIZES:
        yield weigh(n)
    for n in SIZES:
        yield weighted_calibration(n)
        yield comparison(n)
    for n in (1000, 10_000, 100_000):
        yield weighted_sets(n, 10)


def samples(n: int) -> tuple[Any, Any]:
    """Return source and target features: a shift of one standard deviation."""
    rng = np.random.default_rng(0)
    source = rng.normal(size=(n, N_FEATURES))
    return source, rng.normal(size=(n, N_FEATURES)) + np.eye(N_FEATURES)[0]


def similar(results: Mapping[str, Any]) -> None:
    """Refuse weights that go another way: tuning and folds differ, ratios hardly."""
    for name, got in results.items():
        agreement = np.corrcoef(np.log(got + 1e-3), np.log(results[OURS] + 1e-3))[0, 1]
        assert agreement > 0.8, f"{name}: correlation {agreement:.2f} of log weights"


def logistic(n: int) -> Job:
    """Return the job: five cross-fitted discriminators, ridge chosen by each."""
    source, target = samples(n)

    def scikit_learn() -> Any:
        from sklearn.linear_model import LogisticRegressionCV
        from sklearn.model_selection import cross_val_predict

        x = np.vstack([source, target])
        y = np.repeat([0, 1], n)
        fit = LogisticRegressionCV(
            Cs=5,
            cv=5,
            scoring="neg_log_loss",
            l1_ratios=(0,),
            use_legacy_attributes=False,
        )
        p = cross_val_predict(fit, x, y, cv=5, method="predict_proba")[:n, 1]
        return p / (1.0 - p)

    return Job(
        name="density ratio, logistic",
        size={"n": n, "d": N_FEATURES},
        ours=lambda: dfu.density_ratio(source, target, rng=0).source_weight,
        peers=peer("sklearn", "scikit-learn, cross-fitted", scikit_learn),
        check=similar,
        effort=0.2,
    )


def nearest_neighbors(n: int) -> Job:
    source, target = samples(n)

    def by_scipy() -> Any:
        from scipy.spatial import cKDTree

        k = max(2, int(np.sqrt(n)))
        own = cKDTree(source).query(source, k + 1)[0][:, -1]
        other = cKDTree(target).query(source, k)[0][:, -1]
        return (own / other) ** N_FEATURES

    return Job(
        name="density ratio, nearest neighbours",
        size={"n": n, "d": N_FEATURES},
        ours=lambda: (
            dfu.density_ratio(source, target, method="knn", rng=0).source_weight
        ),
        peers={"SciPy, not cross-fitted": by_scipy},
        check=lambda results: None,  # one k against a chosen one: timed, not compared
        effort=0.2,
    )


def kernels(method: str, name: str, n: int) -> Job:
    source, target = samples(n)

    def densratio() -> Any:
        from densratio import densratio as estimate

        with contextlib.redirect_stdout(io.StringIO()):
            fit = estimate(target, source, method=name, kernel_num=100, verbose=False)
        return fit.compute_density_ratio(source)

    slow = n > (500 if method == "kliep" else 1000)  # seconds, and it grows
    return Job(
        name=f"density ratio, {name}",
        size={"n": n, "d": N_FEATURES},
        ours=lambda: (
            dfu.density_ratio(
                source, target, method=method, n_kernels=100, rng=0
            ).source_weight
        ),
        peers={} if slow else peer("densratio", "densratio", densratio),
        check=similar,
        effort=0.2,
    )


def alone(method: str, name: str, n: int) -> Job:
    """Return the job: a method that none of the peers has."""
    source, target = samples(n)
    return Job(
        name=f"density ratio, {name}",
        size={"n": n, "d": N_FEATURES},
        ours=lambda: (
            dfu.density_ratio(source, target, method=method, rng=0).source_weight
        ),
        threads=(1,),
        effort=0.1,
    )


def weigh(n: int) -> Job:
    source, target = samples(n)
    fit = dfu.density_ratio(source, target, rng=0)
    return Job(
        name="weights of new rows",
        size={"n": n, "d": N_FEATURES},
        ours=lambda: fit.weight(target),
        reads=target.nbytes,
        effort=0.1,
    )


def classified(n: int) -> tuple[Any, Any, Any, Any]:
    """Return source features, logits, labels, and target features."""
    source, target = samples(n)
    coef = np.random.default_rng(1).normal(size=(N_FEATURES, 3))
    noise = np.random.default_rng(2).gumbel(size=(n, 3))
    return source, 2.0 * source @ coef, (source @ coef + noise).argmax(axis=1), target


def weighted_calibration(n: int) -> Job:
    source, logits, labels, target = classified(n)
    return Job(
        name="calibration under covariate shift",
        size={"n": n, "d": N_FEATURES},
        ours=lambda: dfu.covariate_shift_calibration(
            logits, labels, source, target, rng=0
        ).predict(logits),
        effort=0.2,
    )


def comparison(n: int) -> Job:
    """Return the job: four ways to calibrate, on ten splits of the rows."""
    _, logits, labels, _ = classified(n)
    weight = np.array([0.5, 1.0, 2.0])
    return Job(
        name="comparison of calibrations, ten splits",
        size={"n": n},
        ours=lambda: dfu.compare_calibrations(
            logits, labels, logits[::2], labels[::2], label_weight=weight, rng=0
        ).to_frame()["mean"],
        threads=(1,),
        effort=0.2,
    )


def weighted_sets(n: int, n_classes: int) -> Job:
    """Return the job: weighted split conformal, a threshold for every new row."""
    probs, labels = data.rows(n, n_classes, seed=0)
    new_probs, _ = data.rows(n, n_classes, seed=1)
    rng = np.random.default_rng(5)
    weight, new_weight = rng.uniform(0.5, 2.0, (2, n))

    def ours() -> Any:
        fit = dfu.covariate_shift_conformal(
            probs, labels, weight, rng=np.random.default_rng(2)
        )
        return fit.predict(new_probs, new_weight, rng=np.random.default_rng(3)).mask

    def by_numpy() -> Any:
        scores = by_hand.aps_scores(probs, labels, np.random.default_rng(2).random(n))
        order = np.argsort(scores)
        cumulative = np.cumsum(weight[order])
        needed = 0.9 * (cumulative[-1] + new_weight)
        place = np.searchsorted(cumulative, needed)
        thresholds = np.append(scores[order], np.inf)[place]
        uniforms = np.random.default_rng(3).random(n)
        return by_hand.all_aps_scores(new_probs, uniforms) <= thresholds[:, None]

    return Job(
        name="APS fit + sets, covariate shift",
        size={"n": n, "K": n_classes},
        ours=ours,
        peers={"NumPy, argsort": by_numpy},
        check=same_sets,
        reads=probs.nbytes + new_probs.nbytes,
        effort=0.2,
    )
