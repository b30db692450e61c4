"""Designs for scaling-binning: few atoms, any map of them, any labels."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.array_types import ArrayLike, BoolArray, FloatArray, FloatMatrix
from distfreeuq.calibration.scaled_bins.map_in_bins import scaling_binning
from distfreeuq.exceptions import DistFreeWarning
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design

SLACK = 1e-9
FAILS = "some bin fails"


def given_map(
    logits: FloatMatrix, labels: ArrayLike, sample_weight: FloatArray | None = None
) -> Any:
    """Return the softmax, which no row has a part in: a map that is given."""
    return _softmax


def _softmax(logits: FloatMatrix) -> FloatMatrix:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def atoms_draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    n_bins: int,
    alpha: float,
    split: tuple[float, float],
    scores: FloatArray,
    source: FloatArray,
    positive: FloatArray,
    of_map: bool,
    factor: float = 1.0,
) -> dict[str, BoolArray]:
    """Ask whether some bin's error exceeds `factor` times its radius.

    Atoms have probability `source`, a given map's output `scores` and P(Y = 1)
    `positive`. Of the map's mean with `of_map`, else of the labels' frequency.
    """
    logits = np.log(np.column_stack([1.0 - scores, scores]))
    target = _softmax(logits)[:, 1] if of_map else positive
    failed = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        at = generator.choice(scores.size, size=n, p=source)
        labels = (generator.random(n) < positive[at]).astype(np.int64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DistFreeWarning)  # few rows, empty bins
            fit = scaling_binning(
                logits[at],
                labels,
                given_map,
                n_bins=n_bins,
                alpha=alpha,
                split=split,
                classes=[0, 1],
                rng=generator,
            )
            bins = fit.assign(logits)
        inside = np.ones(scores.size, dtype=np.bool_)
        if fit.binning.n_chose == 0:  # the claim leaves out rows on such edges
            inside = ~fit.binning._on_edges(_softmax(logits))
        shape = {"minlength": fit.binning.n_bins}
        mass = np.bincount(bins[inside], weights=source[inside], **shape)
        total = np.bincount(bins[inside], (source * target)[inside], **shape)
        some = (mass > 0.0) & (fit.binning.bin_counts > 0)
        error = np.abs(fit.outputs[some] - total[some] / mass[some])
        radius = (fit.map_radius if of_map else fit.radius)[some]
        failed[i] = bool((error > factor * radius + SLACK).any())
    return {FAILS: failed}


def scaled_bin_designs(
    generator: np.random.Generator, *, of_map: bool = False, factor: float = 1.0
) -> Design:
    """Return two to six atoms, few rows, and bins chosen by others or by themselves."""
    size = int(generator.integers(2, 7))
    settings: dict[str, Any] = {
        "n": int(generator.integers(9, 80)),
        "n_bins": int(generator.integers(1, 6)),
        "alpha": float(generator.choice([0.1, 0.3, 0.6])),
        "split": ((1 / 3, 1 / 3), (0.2, 0.0), (0.5, 0.1))[generator.integers(3)],
        "scores": np.sort(generator.choice(98, size, replace=False) + 1) / 100.0,
        "source": generator.dirichlet(np.full(size, float(generator.choice([0.5, 3])))),
        "positive": generator.beta(0.5, 0.5, size),
        "of_map": of_map,
    }
    return Design(
        settings,
        Claim(FAILS, at_most=settings["alpha"]),
        draw=partial(atoms_draw, factor=factor, **settings),
    )
