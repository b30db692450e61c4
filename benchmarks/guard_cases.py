"""Fixed inputs for the instruction counts: run under callgrind by `benchmarks.guard`.

Every case is called twice to warm up and five times between two marks, which evens out
what the allocator does, with the kernels on one thread. The inputs are large enough for
the kernels to be nearly all of it, but for the last cases, which are what a call costs
by itself.
"""

import ctypes
import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import distfreeuq as dfu
from distfreeuq import metrics
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.row_uniforms import RowKey, hashed_uniforms
from distfreeuq._numerics.mixture_likelihood import maximize_likelihood

from . import data

Case = tuple[str, Callable[[], Any]]

WARM_UP, CALLS = 2, 5


def cases(rows: int) -> Iterator[Case]:
    """Yield names and calls; `rows` is the number of rows of the smallest matrix."""
    yield from scores_and_sets(rows)
    yield from few_classes(20 * rows)
    yield from vectors(100 * rows)
    yield from assessment(10 * rows)
    yield from scaling(10 * rows)
    yield from label_shift(10 * rows)
    yield from small_calls()


def scores_and_sets(rows: int) -> Iterator[Case]:
    uniforms = np.random.default_rng(1).random(rows)
    for dtype in ("float64", "float32"):
        probs, labels = data.rows(rows, 1000, data.FLAT, dtype)
        yield f"validation {dtype}", lambda p=probs: Arguments("guard").probs(p)
        yield (
            f"uniforms by hash {dtype}",
            lambda p=probs: hashed_uniforms(
                Arguments("guard"), p, RowKey(1, by_id=False), None
            ),
        )
        for score in ("aps", "raps", "saps", "margin"):
            yield (
                f"{score} of the true labels {dtype}",
                lambda s=score, p=probs, y=labels: dfu.nested_scores(
                    p, y, score=s, uniforms=uniforms
                ),
            )
        for shape, spread in data.SHAPES.items():
            new, _ = data.rows(rows, 1000, spread, dtype)
            fit = dfu.split_conformal(new, labels, rng=0)
            yield (
                f"sets, {shape} {dtype}",
                lambda f=fit, p=new: f.predict(p, uniforms=uniforms),
            )
    probs, _ = data.rows(rows, 1000)
    yield "aps of all labels", lambda: dfu.nested_scores(probs, uniforms=uniforms)


def few_classes(n: int) -> Iterator[Case]:
    """Yield what is done for many rows at a time."""
    uniforms = np.random.default_rng(1).random(n)
    for dtype in ("float64", "float32"):
        probs, labels = data.rows(n, 10, data.FLAT, dtype)
        yield (
            f"validation, ten classes {dtype}",
            lambda p=probs: Arguments("guard").probs(p),
        )
        yield (
            f"split_conformal, ten classes {dtype}",
            lambda p=probs, y=labels: dfu.split_conformal(p, y, rng=0),
        )
        fit = dfu.split_conformal(probs, labels, rng=0)
        yield (
            f"sets, ten classes {dtype}",
            lambda f=fit, p=probs: f.predict(p, uniforms=uniforms),
        )
    probs, labels = data.rows(n, 10)
    fit = dfu.split_conformal(probs, labels, rng=0)
    yield "p-values", lambda: fit.p_values(probs, uniforms=uniforms)
    yield "top-label ECE, ten classes", lambda: metrics.ece(probs, labels)
    yield "class-wise ECE, ten classes", lambda: metrics.classwise_ece(probs, labels)
    yield "to_logits", lambda: dfu.to_logits(probs)
    logits = np.log(probs)
    yield "temperature, ten classes", lambda: dfu.temperature_scaling(logits, labels)
    yield (
        "temperature by Brier score",
        lambda: dfu.temperature_scaling(logits, labels, loss="brier"),
    )
    yield "Platt scaling", lambda: dfu.platt_scaling(logits, labels)
    curves = dfu.isotonic_calibration(probs, labels)
    yield "isotonic calibration, predict", lambda: curves.predict(probs)
    yield "Venn-Abers, ten classes", lambda: dfu.venn_abers(probs, labels)
    pairs = dfu.venn_abers(probs, labels)
    yield "Venn-Abers, predict", lambda: pairs.predict(probs)
    shift = dfu.label_weights(np.full(10, 0.1), np.arange(1, 11) / 55)
    yield "probabilities for the target prior", lambda: shift.adapt(probs)


def vectors(n: int) -> Iterator[Case]:
    rng = np.random.default_rng(2)
    values, weights = rng.random(n), rng.exponential(size=n)
    labels = rng.integers(0, 50, n)
    shift = rng.uniform(0.5, 2.0, 50)
    binary = (rng.random(n) < values).astype(np.int64)
    yield "weighted quantile", lambda: dfu.weighted_quantile(values, weights, 0.9)
    for method, more in (
        ("exchangeable", {}),
        ("label-shift", {"label_weight": shift}),
        ("label-conditional", {}),
    ):
        yield (
            f"thresholds, {method}",
            lambda m=method, o=more: dfu.conformal_thresholds(
                values, labels, alpha=0.1, n_classes=50, method=m, **o
            ),
        )
    fit = dfu.histogram_binning(values, binary, n_bins=50)
    yield (
        "uniform-mass bins, fit",
        lambda: dfu.histogram_binning(values, binary, n_bins=50),
    )
    yield "uniform-mass bins, predict", lambda: fit.predict(values)


def assessment(n: int) -> Iterator[Case]:
    for dtype in ("float64", "float32"):
        probs, labels = data.rows(n, 100, data.PEAKED, dtype)
        yield f"top-label ECE {dtype}", lambda p=probs, y=labels: metrics.ece(p, y)
        yield (
            f"class-wise ECE {dtype}",
            lambda p=probs, y=labels: metrics.classwise_ece(p, y),
        )
    probs, labels = data.rows(n, 100, data.PEAKED)
    yield "Brier score", lambda: metrics.brier_score(probs, labels)
    yield "Brier terms", lambda: metrics.brier_decomposition(probs, labels)
    yield (
        "16 bootstrap samples",
        lambda: dfu.assess(probs, labels, n_boot=16, n_sim=0, rng=0),
    )
    yield (
        "cells of the simplex, fit",
        lambda: dfu.histogram_binning(probs, labels, n_bins=16),
    )


def scaling(n: int) -> Iterator[Case]:
    for dtype in ("float64", "float32"):
        probs, labels = data.rows(n, 100, 2.0, dtype)
        logits = np.log(probs)
        yield (
            f"temperature {dtype}",
            lambda z=logits, y=labels: dfu.temperature_scaling(z, y),
        )
    probs, labels = data.rows(n, 20, 2.0)
    logits = np.log(probs)
    yield (
        "class-wise temperatures",
        lambda: dfu.classwise_temperature_scaling(logits, labels),
    )
    yield "vector scaling", lambda: dfu.vector_scaling(logits, labels)
    fit = dfu.temperature_scaling(logits, labels)
    yield "temperature, predict", lambda: fit.predict(logits)


def label_shift(n: int) -> Iterator[Case]:
    probs, labels = data.rows(n, 20, 2.0)
    target, _ = data.rows(n, 20, 2.0, seed=1)
    prior = probs.mean(axis=0)
    yield "BBSE", lambda: dfu.bbse(probs, labels, target)
    yield "likelihood of the target", lambda: maximize_likelihood(target, prior)


def small_calls() -> Iterator[Case]:
    probs, labels = data.rows(100, 10)
    fit = dfu.split_conformal(probs, labels, rng=0)
    yield "call: split_conformal", lambda: dfu.split_conformal(probs, labels, rng=0)
    yield "call: predict", lambda: fit.predict(probs)
    yield "call: ece", lambda: metrics.ece(probs, labels)


def main(library: str, rows: int) -> None:
    """Call every case between two marks of the library."""
    marks = ctypes.CDLL(library)
    warnings.simplefilter("ignore", dfu.DistFreeWarning)
    dfu.set_num_threads(1)
    for name, call in cases(rows):
        for _ in range(WARM_UP):
            call()
        gc.collect()
        gc.disable()
        marks.begin()
        for _ in range(CALLS):
            call()
        marks.end(name.encode())
        gc.enable()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
