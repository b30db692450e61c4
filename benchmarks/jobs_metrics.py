"""Assessment: calibration errors of large matrices, and bootstrap intervals."""

from collections.abc import Iterator

import numpy as np

import distfreeuq as dfu
from distfreeuq import metrics

from . import data
from .harness import Job, Target, peer

N_BINS = 15
EDGES = np.arange(1, N_BINS) / N_BINS


def jobs() -> Iterator[Job]:
    yield top_label(200_000, 100)
    yield top_label(200_000, 100, dtype="float32")
    yield top_label(20_000, 1000)
    yield class_wise(100_000, 100)
    yield class_wise(100_000, 100, dtype="float32")
    yield class_wise(20_000, 1000)
    yield bootstrap(100_000, 1000)


def top_label(n: int, n_classes: int, dtype: str = "float64") -> Job:
    """Return the job: top-label ECE, validation included."""
    probs, labels = data.rows(n, n_classes, data.PEAKED, dtype)
    edges = EDGES.astype(dtype)

    def by_numpy() -> float:
        predicted = probs.argmax(axis=1)
        confidence = probs[np.arange(n), predicted]
        bins = np.searchsorted(edges, confidence, side="left")
        gap = confidence.astype(np.float64) - (predicted == labels)
        return np.abs(np.bincount(bins, weights=gap)).sum() / n

    def by_netcal() -> float:
        from netcal.metrics import ECE

        return float(ECE(N_BINS).measure(probs, labels))

    standard = n == 200_000 and dtype == "float64"
    targets = (Target("NumPy", ratio=2.0), Target("netcal", ratio=8.0))
    netcal = peer("netcal", "netcal", by_netcal)
    return Job(
        name="top-label ECE",
        size={"n": n, "K": n_classes},
        dtype=dtype,
        ours=lambda: metrics.ece(probs, labels),
        peers={"NumPy": by_numpy, **(netcal if dtype == "float64" else {})},
        reads=probs.nbytes,
        targets=targets[: 2 if netcal else 1] if standard else (),
    )


def class_wise(n: int, n_classes: int, dtype: str = "float64") -> Job:
    """Return the job: class-wise ECE, validation included."""
    probs, labels = data.rows(n, n_classes, data.PEAKED, dtype)
    edges = EDGES.astype(dtype)
    columns = np.arange(n_classes)

    def by_numpy() -> float:
        bins = np.searchsorted(edges, probs, side="left")
        cells = (bins * n_classes + columns).ravel()
        size = N_BINS * n_classes
        gaps = np.bincount(cells, weights=probs.ravel(), minlength=size)
        own = bins[np.arange(n), labels] * n_classes + labels
        gaps -= np.bincount(own, minlength=size)
        return np.abs(gaps).sum() / n / n_classes

    standard = n == 100_000 and dtype == "float64"
    return Job(
        name="class-wise ECE",
        size={"n": n, "K": n_classes},
        dtype=dtype,
        ours=lambda: metrics.classwise_ece(probs, labels),
        peers={"NumPy": by_numpy},
        reads=probs.nbytes,
        targets=(Target("NumPy", ratio=10.0),) if standard else (),
    )


def bootstrap(n: int, n_boot: int) -> Job:
    """Return the job: intervals of the top-label metrics, by resampled rows."""
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1.0, n)
    labels = (rng.random(n) < confidence - 0.1).astype(np.int64)
    predicted = np.ones(n, dtype=np.int64)
    bins = np.searchsorted(EDGES, confidence, side="left")
    gap = confidence - labels

    def ours() -> float:
        result = dfu.assess(
            confidence, labels, predicted=predicted, n_boot=n_boot, n_sim=0, rng=0
        )
        return float(np.ptp(result.interval("ece")))

    def by_numpy() -> float:
        generator = np.random.default_rng(0)
        errors = np.empty(n_boot)
        for b in range(n_boot):
            rows = generator.integers(0, n, n)
            sums = np.bincount(bins[rows], weights=gap[rows])
            errors[b] = np.abs(sums).sum() / n
        return float(np.ptp(np.quantile(errors, [0.025, 0.975])))

    def similar(results: dict[str, float]) -> None:
        np.testing.assert_allclose(list(results.values()), results["NumPy"], rtol=0.15)

    return Job(
        name="bootstrap of the ECE",
        size={"n": n, "samples": n_boot},
        ours=ours,
        peers={"NumPy": by_numpy},
        check=similar,
        targets=(Target(seconds=1.0),),
        threads=(1,),
    )
