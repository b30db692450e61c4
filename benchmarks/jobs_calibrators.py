"""Calibrators at three sizes: full logistic, isotonic, by group; and their predict."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import optimize

import distfreeuq as dfu

from .harness import OURS, Job, all_close, peer, second_core
from .jobs_scaling import SERIAL, logit_rows, no_worse, within

SIZES = ((1000, 10), (10_000, 10), (100_000, 10))


def jobs() -> Iterator[Job]:
    for size in SIZES:
        yield platt(*size)
        yield isotonic(*size)
        yield groupwise(*size)
        yield by_brier_score(*size)
        yield to_logits(*size)
    for size in SIZES:
        yield predict("temperature", dfu.temperature_scaling, *size)
        yield predict("vector scaling", dfu.vector_scaling, *size)
        yield predict("Platt", dfu.platt_scaling, *size)
        yield predict_isotonic(*size)


def softmax(logits: Any) -> Any:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def platt(n: int, n_classes: int) -> Job:
    logits, labels = logit_rows(n, n_classes, "float64")

    def scikit_learn() -> Any:
        from sklearn.linear_model import LogisticRegression

        fit = LogisticRegression(C=np.inf, tol=1e-6, max_iter=1000)
        return fit.fit(logits, labels).predict_proba(logits)

    return Job(
        name="Platt scaling",
        size={"n": n, "K": n_classes},
        ours=lambda: dfu.platt_scaling(logits, labels).predict(logits),
        peers=peer("sklearn", "scikit-learn", scikit_learn),
        check=no_worse(labels),
        reads=logits.nbytes,
        exponentials=logits.size,
        targets=(second_core(SERIAL),) if n == SIZES[-1][0] else (),
        effort=0.2,
    )


def isotonic(n: int, n_classes: int) -> Job:
    logits, labels = logit_rows(n, n_classes, "float64")
    probs = softmax(logits)

    def scikit_learn() -> Any:
        from sklearn.isotonic import IsotonicRegression

        fits = [
            IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
            .fit(probs[:, k], labels == k)
            .predict(probs[:, k])
            for k in range(n_classes)
        ]
        each = np.column_stack(fits)
        return each / each.sum(axis=1, keepdims=True)

    return Job(
        name="isotonic calibration, fit + predict",
        size={"n": n, "K": n_classes},
        ours=lambda: dfu.isotonic_calibration(probs, labels).predict(probs),
        peers=peer("sklearn", "scikit-learn, class by class", scikit_learn),
        reads=2 * probs.nbytes,
        effort=0.2,
    )


def groupwise(n: int, n_classes: int) -> Job:
    logits, labels = logit_rows(n, n_classes, "float64")
    groups = np.arange(n) % 4

    def by_scipy() -> Any:
        return [
            _temperature(logits[groups == g], labels[groups == g]) for g in range(4)
        ]

    def ours() -> Any:
        fit = dfu.groupwise_calibration("temperature", logits, labels, groups=groups)
        return [own.temperature for own in fit.fits]

    return Job(
        name="a temperature by group",
        size={"n": n, "K": n_classes},
        ours=ours,
        peers={"SciPy": by_scipy},
        check=within(1e-5),
        reads=logits.nbytes,
        exponentials=logits.size,
        effort=0.2,
    )


def _temperature(logits: Any, labels: Any) -> float:
    rows = np.arange(labels.size)

    def loss(log_alpha: float) -> float:
        scaled = np.exp(log_alpha) * logits
        top = scaled.max(axis=1)
        sums = np.exp(scaled - top[:, None]).sum(axis=1)
        return float((top + np.log(sums) - scaled[rows, labels]).mean())

    return _best(loss)


def _best(loss: Callable[[float], float]) -> float:
    """Return the temperature whose negative logarithm has the smallest loss."""
    found = optimize.minimize_scalar(loss, bounds=(-5, 5), options={"xatol": 1e-8})
    return float(np.exp(-found.x))


def by_brier_score(n: int, n_classes: int) -> Job:
    logits, labels = logit_rows(n, n_classes, "float64")
    one_hot = np.eye(n_classes)[labels]

    def by_scipy() -> float:
        def loss(log_alpha: float) -> float:
            errors = softmax(np.exp(log_alpha) * logits) - one_hot
            return float((errors**2).sum())

        return _best(loss)

    return Job(
        name="temperature by Brier score",
        size={"n": n, "K": n_classes},
        ours=lambda: dfu.temperature_scaling(logits, labels, loss="brier").temperature,
        peers={"SciPy": by_scipy},
        check=within(1e-5),
        reads=logits.nbytes,
        exponentials=logits.size,
        effort=0.2,
    )


def to_logits(n: int, n_classes: int) -> Job:
    logits, _ = logit_rows(n, n_classes, "float64")
    probs = softmax(0.25 * logits)  # none so small that ours would lift it

    def same_differences(results: Mapping[str, Any]) -> None:
        all_close({name: found - found[:, :1] for name, found in results.items()})

    return Job(
        name="to_logits",
        size={"n": n, "K": n_classes},
        ours=lambda: dfu.to_logits(probs),
        peers={"NumPy": lambda: np.log(probs)},
        check=same_differences,
        reads=probs.nbytes,
        effort=0.1,
    )


def predict(name: str, fit_it: Callable[..., Any], n: int, n_classes: int) -> Job:
    logits, labels = logit_rows(n, n_classes, "float64")
    fit = fit_it(logits[:1000], labels[:1000])

    def by_hand() -> Any:
        if name == "temperature":
            return softmax(logits / fit.temperature)
        if name == "Platt":
            return softmax(logits @ fit.coef.T + fit.bias)
        return softmax(logits * fit.scale + fit.bias)

    return Job(
        name=f"{name}, predict",
        size={"n": n, "K": n_classes},
        ours=lambda: fit.predict(logits),
        peers={"NumPy": by_hand},
        reads=2 * logits.nbytes,
        exponentials=logits.size,
        effort=0.1,
    )


def predict_isotonic(n: int, n_classes: int) -> Job:
    logits, labels = logit_rows(n, n_classes, "float64")
    probs = softmax(logits)
    fit = dfu.isotonic_calibration(probs[:1000], labels[:1000])
    frame = fit.to_frame()
    knots = [frame[frame["class"] == k] for k in range(n_classes)]
    pairs = [(own["knot"].to_numpy(), own["value"].to_numpy()) for own in knots]

    def by_hand() -> Any:
        each = np.column_stack([np.interp(p, *pairs[k]) for k, p in enumerate(probs.T)])
        return each / each.sum(axis=1, keepdims=True)

    def check(results: Mapping[str, Any]) -> None:
        used = np.isfinite(results["NumPy"]).all(axis=1)  # all classes at zero
        np.testing.assert_allclose(
            results["NumPy"][used], results[OURS][used], rtol=1e-9, atol=1e-12
        )

    return Job(
        name="isotonic calibration, predict",
        size={"n": n, "K": n_classes},
        ours=lambda: fit.predict(probs),
        peers={"NumPy": by_hand},
        check=check,
        reads=2 * probs.nbytes,
        effort=0.1,
    )
