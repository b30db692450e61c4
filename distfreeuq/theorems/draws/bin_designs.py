"""Designs for bins in canonical mode: a few atoms, each in a bin of its own."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatMatrix, IntArray
from distfreeuq.binning.histogram import histogram_binning
from distfreeuq.theorems.draws.set_designs import wide_weights
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design

BOUNDS = ("auto", "clopper-pearson", "hoeffding", "weissman", "mcdiarmid")


def favoured(probs: FloatMatrix) -> IntArray:
    """Return the most likely class: a bin for each."""
    best: IntArray = probs.argmax(axis=1)
    return best


def bins_draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    alpha: float,
    bound: str,
    joint: FloatMatrix,
    label_weight: Any = None,
    factor: float = 1.0,
) -> dict[str, BoolArray]:
    """Ask whether some bin's error exceeds `factor` times its radius.

    `joint` has a row per bin and a column per class. With `label_weight` the truth and
    the frequencies are those of the target.
    """
    k = joint.shape[0]
    weighted = joint if label_weight is None else joint * label_weight
    mass = weighted.sum(axis=1, keepdims=True)
    truth = np.divide(weighted, mass, out=np.zeros_like(joint), where=mass > 0.0)
    points = np.eye(k) * 0.5 + 0.5 / k
    failed = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        cells = generator.choice(k * k, size=n, p=joint.ravel())
        fit = histogram_binning(
            points[cells // k],
            cells % k,
            scheme=favoured,
            n_bins=k,
            alpha=alpha,
            bound=bound,
        )
        found = fit if label_weight is None else fit.under_label_shift(label_weight)
        error = np.abs(found.frequencies - truth).sum(axis=1)
        # a bin that has no rows, or no mass in the target, says nothing
        silent = np.isnan(error) | (mass[:, 0] <= 0.0)
        failed[i] = bool((~silent & (error > factor * found.radius + 1e-9)).any())
    return {"some bin fails": failed}


def _random(generator: np.random.Generator) -> dict[str, Any]:
    k = int(generator.integers(2, 4))
    flat = float(generator.choice([0.2, 1.0]))
    joint = generator.dirichlet(np.full(k * k, flat)).reshape(k, k)
    return {
        "n": int(10.0 ** generator.uniform(0.3, 2.7)),
        "alpha": float(generator.choice([0.1, 0.3, 0.6])),
        "bound": str(generator.choice(BOUNDS)),
        "joint": joint,
    }


def source_bin_designs(
    generator: np.random.Generator, *, factor: float = 1.0
) -> Design:
    """Return bins of unlike masses, some nearly empty."""
    settings = _random(generator)
    return Design(
        settings,
        Claim("some bin fails", at_most=settings["alpha"]),
        draw=partial(bins_draw, factor=factor, **settings),
    )


def target_bin_designs(
    generator: np.random.Generator, *, factor: float = 1.0
) -> Design:
    """Return the same with known label weights, zeros and powers of ten among them."""
    settings = _random(generator)
    settings["label_weight"] = wide_weights(generator, settings["joint"].shape[1])
    return Design(
        settings,
        Claim("some bin fails", at_most=settings["alpha"]),
        draw=partial(bins_draw, factor=factor, **settings),
    )
