"""Designs for the test of calibration: few rows, few different confidences."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatMatrix
from distfreeuq.assessment.classifier_assessment import assess
from distfreeuq.assessment.results import CalibrationTest
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design


def p_value_draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    n_sim: int,
    scheme: str,
    points: FloatMatrix,
    weights: Any,
    level: float,
    own_counts: bool = True,
) -> dict[str, BoolArray]:
    """Test a classifier that is calibrated at every point, whatever its weight.

    Without `own_counts` the observed error is not among those it is compared with.
    """
    p_values = np.empty(n_draws)
    cumulated = np.cumsum(points, axis=1)
    for i in range(n_draws):
        at = generator.integers(len(points), size=n)
        labels = (cumulated[at, :-1] <= generator.random((n, 1))).sum(axis=1)
        test = assess(
            points[at],
            labels,
            sample_weight=None if weights is None else weights[at],
            n_bins=5,
            scheme=scheme,
            n_boot=0,
            n_sim=n_sim,
            rng=generator,
        ).test
        assert isinstance(test, CalibrationTest)
        p_values[i] = test.p_value
    if not own_counts:
        p_values = (p_values * (n_sim + 1) - 1) / n_sim
    return {"p <= level": p_values <= level + 1e-12}


def calibration_test_designs(
    generator: np.random.Generator, *, own_counts: bool = True, weighted: float = 0.4
) -> Design:
    """Return one to thirty rows at one to five points, `weighted` of them with weights.

    Weights are the points', and may span four powers of ten.
    """
    k = int(generator.integers(2, 5))
    points = generator.dirichlet(np.ones(k), size=int(generator.integers(1, 6)))
    points = np.round(points, 3)
    points[:, -1] = 1.0 - points[:, :-1].sum(axis=1)
    weights = None
    if generator.random() < weighted:
        weights = 10.0 ** generator.uniform(0.0, 4.0, len(points))
    settings: dict[str, Any] = {
        "n": int(generator.integers(1, 31)),
        "n_sim": int(generator.choice([9, 19])),
        "scheme": str(generator.choice(["equal-width", "uniform-mass"])),
        "points": np.abs(points),
        "weights": weights,
        "level": float(generator.choice([0.03, 0.1, 0.2, 0.5])),
    }
    return Design(
        settings,
        Claim("p <= level", at_most=settings["level"]),
        draw=partial(p_value_draw, own_counts=own_counts, **settings),
    )
