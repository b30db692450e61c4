"""Assessment: every metric at three sizes, the large matrices, bootstrap intervals."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import distfreeuq as dfu
from distfreeuq import metrics

from . import by_hand_metrics, data
from .harness import OURS, Job, Target, peer, second_core

SIZES = ((1000, 10), (10_000, 10), (100_000, 10))
LARGE = ((200_000, 100), (20_000, 1000))
CLASSES = ((10_000, 10), (10_000, 100), (10_000, 1000))

METRICS: dict[str, Callable[..., Any]] = {
    "accuracy": metrics.accuracy,
    "mean confidence": metrics.mean_confidence,
    "over-confident ECE": metrics.overconfident_ece,
    "max-ECE": metrics.max_ece,
    "average ECE": metrics.average_ece,
    "debiased ECE": metrics.debiased_ece,
    "Brier score": metrics.brier_score,
    "negative log-likelihood": metrics.nll,
}
BY_HAND: dict[str, Callable[..., Any]] = {
    "accuracy": by_hand_metrics.accuracy,
    "mean confidence": by_hand_metrics.mean_confidence,
    "over-confident ECE": by_hand_metrics.overconfident_ece,
    "max-ECE": by_hand_metrics.max_ece,
    "average ECE": by_hand_metrics.average_ece,
    "debiased ECE": by_hand_metrics.debiased_ece,
    "Brier score": by_hand_metrics.brier_score,
    "negative log-likelihood": by_hand_metrics.nll,
}


def jobs() -> Iterator[Job]:
    for size in dict.fromkeys((*SIZES, *CLASSES, *LARGE)):
        yield top_label(*size)
    yield top_label(*LARGE[0], dtype="float32")
    for size in dict.fromkeys((*SIZES, *CLASSES, (100_000, 100))):
        yield class_wise(*size)
    yield class_wise(100_000, 100, dtype="float32")
    for name in METRICS:
        for size in SIZES:
            yield metric(name, *size)
    for size in SIZES:
        yield brier_terms(*size)
        yield reliability(*size)
    for size in SIZES:
        yield assess(*size)
        yield compare(*size)
    for size in SIZES:
        yield bootstrap(*size, n_boot=1000)
    yield bootstrap_of_all(100_000, 10, 1000)


def top_label(n: int, n_classes: int, dtype: str = "float64") -> Job:
    """Return the job: top-label ECE, validation included."""
    probs, labels = data.rows(n, n_classes, data.PEAKED, dtype)
    edges = by_hand_metrics.EDGES.astype(dtype)

    def by_numpy() -> float:
        predicted = probs.argmax(axis=1)
        confidence = probs[np.arange(n), predicted]
        bins = np.searchsorted(edges, confidence, side="left")
        gap = confidence.astype(np.float64) - (predicted == labels)
        return float(np.abs(np.bincount(bins, weights=gap)).sum() / n)

    def by_netcal() -> float:
        from netcal.metrics import ECE

        return float(ECE(by_hand_metrics.N_BINS).measure(probs, labels))

    standard = (n, n_classes, dtype) == (*LARGE[0], "float64")
    peers = {"NumPy": by_numpy}
    if dtype == "float64":
        peers |= peer("netcal", "netcal", by_netcal)
        if n <= 10_000:
            peers |= uncertainty_calibration(probs, labels, "top-label")
    one_read = {"probs.sum()": probs.sum}
    return Job(
        name="top-label ECE",
        size={"n": n, "K": n_classes},
        dtype=dtype,
        ours=lambda: metrics.ece(probs, labels),
        peers=peers,
        yardsticks=one_read if standard else {},
        reads=probs.nbytes,
        targets=(
            Target("NumPy", ratio=2.0),
            Target("netcal", ratio=8.0),
            Target("probs.sum()", ratio=0.5),
        )
        if standard
        else (),
        effort=1.0 if standard else 0.4,
    )


def class_wise(n: int, n_classes: int, dtype: str = "float64") -> Job:
    """Return the job: class-wise ECE, validation included."""
    probs, labels = data.rows(n, n_classes, data.PEAKED, dtype)

    standard = (n, n_classes, dtype) == (100_000, 100, "float64")
    peers = {"NumPy": lambda: by_hand_metrics.classwise_ece(probs, labels)}
    if n * n_classes <= 1_000_000 and dtype == "float64":
        peers |= uncertainty_calibration(probs, labels, "marginal")
    return Job(
        name="class-wise ECE",
        size={"n": n, "K": n_classes},
        dtype=dtype,
        ours=lambda: metrics.classwise_ece(probs, labels),
        peers=peers,
        check=close_for(dtype),
        reads=probs.nbytes,
        targets=(Target("NumPy", ratio=10.0), second_core("")) if standard else (),
        effort=1.0 if standard else 0.4,
    )


def uncertainty_calibration(probs: Any, labels: Any, mode: str) -> dict[str, Any]:
    """Return the peer's ECE of the predicted class, or averaged over the classes."""

    def run() -> float:
        import calibration

        return float(
            calibration.lower_bound_scaling_ce(
                probs,
                labels,
                p=1,
                debias=False,
                num_bins=by_hand_metrics.N_BINS,
                binning_scheme=calibration.get_equal_prob_bins,
                mode=mode,
            )
        )

    return peer("calibration", "uncertainty-calibration", run)


def close_for(dtype: str) -> Callable[[Mapping[str, Any]], None]:
    """Return a check; floats on an edge of float32 may be on either side for others."""
    tolerance = 1e-9 if dtype == "float64" else 1e-4

    def check(results: Mapping[str, Any]) -> None:
        for name, got in results.items():
            np.testing.assert_allclose(
                got, results[OURS], rtol=tolerance, err_msg=f"{name} differs"
            )

    return check


def metric(name: str, n: int, n_classes: int) -> Job:
    probs, labels = data.rows(n, n_classes, data.PEAKED)
    return Job(
        name=name,
        size={"n": n, "K": n_classes},
        ours=lambda: METRICS[name](probs, labels),
        peers={"NumPy": lambda: BY_HAND[name](probs, labels)},
        reads=probs.nbytes,
        effort=0.2,
    )


def brier_terms(n: int, n_classes: int) -> Job:
    probs, labels = data.rows(n, n_classes, data.PEAKED)
    return Job(
        name="Brier decomposition",
        size={"n": n, "K": n_classes},
        ours=lambda: metrics.brier_decomposition(probs, labels).calibration,
        peers={"NumPy": lambda: by_hand_metrics.brier_calibration(probs, labels)},
        reads=probs.nbytes,
        effort=0.2,
    )


def reliability(n: int, n_classes: int) -> Job:
    """Return the job: the table of bins of confidences, with its intervals."""
    probs, labels = data.rows(n, n_classes, data.PEAKED)
    _, confidence, right = by_hand_metrics.top_label(probs, labels)

    def by_numpy() -> float:
        bins = by_hand_metrics.bin_of(confidence)
        return float(
            np.abs(np.bincount(bins, weights=confidence - right)).sum() / right.size
        )

    return Job(
        name="reliability table",
        size={"n": n},
        ours=lambda: metrics.reliability(confidence, right).ece,
        peers={"NumPy, without intervals": by_numpy},
        reads=confidence.nbytes + right.nbytes,
        effort=0.2,
    )


def assess(n: int, n_classes: int) -> Job:
    """Return the job: all metrics at once, and the test of calibration."""
    probs, labels = data.rows(n, n_classes, data.PEAKED)
    functions = ("ece", "overconfident_ece", "max_ece", "average_ece", "classwise_ece")

    def ours() -> Any:
        result = dfu.assess(probs, labels, n_sim=0)
        return [result[name] for name in functions]

    def by_numpy() -> Any:
        for unasked in ("accuracy", "mean_confidence", "nll", "brier_score"):
            getattr(by_hand_metrics, unasked)(probs, labels)
        return [getattr(by_hand_metrics, name)(probs, labels) for name in functions]

    return Job(
        name="assess, without the test",
        size={"n": n, "K": n_classes},
        ours=ours,
        peers={"NumPy, one by one": by_numpy},
        reads=probs.nbytes,
        effort=0.2,
    )


def compare(n: int, n_classes: int) -> Job:
    """Return the job: two classifiers side by side, 200 paired bootstrap samples."""
    probs, labels = data.rows(n, n_classes, data.PEAKED)
    flat = np.sqrt(probs)
    flat /= flat.sum(axis=1, keepdims=True)
    return Job(
        name="compare two, 200 samples",
        size={"n": n, "K": n_classes},
        ours=lambda: dfu.compare(probs, flat, labels, n_boot=200, rng=0).low,
        reads=2 * probs.nbytes,
        threads=(1,),
        effort=0.2,
    )


def bootstrap(n: int, n_classes: int, n_boot: int) -> Job:
    """Return the job: intervals of the top-label metrics, by resampled rows."""
    probs, labels = data.rows(n, n_classes, data.PEAKED)
    labels = (labels + (np.arange(n) % 5 == 0)) % n_classes  # an ECE far from zero
    predicted, confidence, _ = by_hand_metrics.top_label(probs, labels)

    def ours() -> float:
        result = dfu.assess(
            confidence, labels, predicted=predicted, n_boot=n_boot, n_sim=0, rng=0
        )
        return float(np.ptp(result.interval("ece")))

    def similar(results: Mapping[str, float]) -> None:
        np.testing.assert_allclose(list(results.values()), results[OURS], rtol=0.2)

    return Job(
        name="bootstrap of the ECE",
        size={"n": n, "samples": n_boot},
        ours=ours,
        peers={"NumPy": lambda: by_hand_metrics.bootstrap_width(probs, labels, n_boot)},
        check=similar,
        targets=(Target(seconds=1.0),) if n == 100_000 else (),
        effort=0.2,
    )


def bootstrap_of_all(n: int, n_classes: int, n_boot: int) -> Job:
    """Return the job: intervals of all metrics, class-wise errors among them."""
    probs, labels = data.rows(n, n_classes, data.PEAKED)
    return Job(
        name="bootstrap of all metrics",
        size={"n": n, "K": n_classes, "samples": n_boot},
        ours=lambda: dfu.assess(probs, labels, n_boot=n_boot, n_sim=0, rng=0).low,
        reads=probs.nbytes,
        targets=(Target(seconds=1.0),),
        effort=0.2,
    )
