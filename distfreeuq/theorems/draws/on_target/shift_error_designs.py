"""Designs for numbers that bound an error on the target: drawn, and summed over laws.

What depends on counts of few rows alone is computed once for each of them.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.array_types import BoolArray
from distfreeuq.covariate_shift.decisions.decision_confidence import (
    decision_calibration,
)
from distfreeuq.exceptions import FitAtBoundWarning
from distfreeuq.label_shift.confusion import hard_confusion
from distfreeuq.label_shift.inference.prior_distance import (
    total_variation,
    total_variation_of_counts,
)
from distfreeuq.metrics.proper_scores import brier_score
from distfreeuq.theorems.draws.finite_shift import FiniteShift, as_probs
from distfreeuq.theorems.draws.weight_designs import Setting, random_setting, sample
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design

# ---------------------------------------------------------------- estimated proportions


def variation_draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    setting: Setting,
    delta: float,
    given: str,
    factor: float = 1.0,
) -> dict[str, BoolArray]:
    """Ask whether the number is below the total variation that it bounds.

    Weights are "estimated" from the same counts, or all "equal"; broken: `factor` times
    the number.
    """
    source, target = np.asarray(setting["source"]), np.asarray(setting["target"])
    k = target.size
    known: dict[bytes, bool] = {}
    below = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        said, labels = sample(generator, setting, "source", setting["n"])
        new, _ = sample(generator, setting, "target", setting["m"])
        counts = np.bincount(said * k + labels).tobytes() + np.bincount(new).tobytes()
        if counts not in known:
            confusion = hard_confusion(said, labels, new, k)
            used = np.ones(k)
            if given == "estimated":
                raw = np.linalg.lstsq(confusion.matrix, confusion.frequencies)[0]
                used = np.maximum(raw, 0.0)
                used = used if used @ source > 0.0 else np.ones(k)
            bound = factor * total_variation_of_counts(confusion, used, delta)
            implied = used * source / (used @ source)
            known[counts] = bound < total_variation(implied, target) - 1e-12
        below[i] = known[counts]
    return {"below": below}


def variation_designs(generator: np.random.Generator, *, factor: float = 1.0) -> Design:
    """Return a setting in which a number must bound the total variation."""
    setting = random_setting(generator)
    delta = float(generator.choice([0.05, 0.2, 0.5]))
    options: Setting = {"delta": delta, "given": "estimated"}
    draw = partial(variation_draw, setting=setting, factor=factor, **options)
    return Design(setting | options, Claim("below", at_most=delta), draw=draw)


# ----------------------------------------------------------- decisions, weighted losses


def random_shift(generator: np.random.Generator, points: int) -> FiniteShift:
    """Return laws of points, labels and forecasts, such that ratios are bounded."""
    p = 0.9 * generator.dirichlet(np.full(points, 0.5)) + 0.1 / points
    q = generator.dirichlet(np.full(points, 0.5))
    one = generator.beta(0.5, 0.5, points)
    forecast = np.clip(generator.beta(0.7, 0.7, points), 0.01, 0.99)
    p, q = p / p.sum(), q / q.sum()
    laws = (tuple(law.tolist()) for law in (p, q, one, forecast))
    return FiniteShift(*laws)


def decision_draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    p: tuple[float, ...],
    q: tuple[float, ...],
    wrong: tuple[float, ...],
    confidence: tuple[float, ...],
    n: int,
    alpha: float,
    same: bool,
    bound: bool = True,
) -> dict[str, BoolArray]:
    """Ask whether the printed bound is above the squared error on the target.

    Decisions are wrong with these probabilities at the points. The bound is that of the
    `same` rows as chose the temperature, or of other ones. Broken: their mean error in
    place of a `bound`.
    """
    law = FiniteShift(p, q, wrong, confidence)
    most = float(law.ratio.max())
    known: dict[bytes, bool] = {}
    above = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        points, labels = law.rows(generator, n, p)
        weights = law.ratio[points]
        counts = np.bincount(2 * points + labels, minlength=2 * len(p)).tobytes()
        if counts not in known:
            known[counts] = True  # without any weight nothing is fitted
            if weights.any():
                known[counts] = _above(law, points, labels, most, alpha, same, bound)
        above[i] = known[counts]
    return {"above": above}


def _above(
    law: FiniteShift,
    points: Any,
    labels: Any,
    most: float,
    alpha: float,
    same: bool,
    bound: bool,
) -> bool:
    rows = law.logits[points], labels, np.zeros(labels.size, dtype=np.int64)
    options: Any = {"weight_bound": most, "alpha": alpha}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitAtBoundWarning)
        fitted = rows
        weights = law.ratio[points]
        if not same:  # a temperature that is near one, whatever the rows
            fitted, weights = (
                (np.zeros(4), np.array([0, 1] * 2), rows[2][:1].repeat(4)),
                np.ones(4),
            )
        fit = decision_calibration(*fitted, sample_weight=weights, **options)
    one = 1.0 / (1.0 + np.exp(-fit.inverse_temperature * law.logits))
    error = float(law.losses(one) @ law.q)
    if same:
        printed = fit.error_bound if bound else fit.loss_after
    else:
        judged = fit.evaluate(*rows, sample_weight=law.ratio[points], **options)
        printed = judged.error_bound if bound else judged.squared_error
    return printed is None or bool(error <= printed + 1e-12)


def decision_designs(generator: np.random.Generator, *, bound: bool = True) -> Design:
    """Return two or three points, few rows and what is wrong of the decisions."""
    law = random_shift(generator, int(generator.integers(2, 4)))
    settings: Setting = {
        "p": law.p,
        "q": law.q,
        "wrong": law.positive,
        "confidence": law.forecast,
        "n": int(10.0 ** generator.uniform(0.5, 2.0)),
        "alpha": float(generator.choice([0.05, 0.2, 0.5])),
        "same": bool(generator.random() < 0.5),
    }
    return Design(
        settings,
        Claim("above", at_least=1.0 - settings["alpha"]),
        draw=partial(decision_draw, bound=bound, **settings),
    )


def weighted_score_is_off(
    law: FiniteShift, scale: float, weighted: bool = True
) -> float:
    """Return 1 if the weighted Brier score of all of the source is not the target's.

    The source is a row for each point and label, with its probability times the ratio
    (in any unit) as its weight. Broken: without the ratio.
    """
    points, labels = np.repeat(np.arange(len(law.p)), 2), np.tile([0, 1], len(law.p))
    one = np.array(law.positive)[points]
    mass = np.array(law.p)[points] * np.where(labels == 1, one, 1.0 - one)
    ratio = law.ratio[points] if weighted else np.ones(points.size)
    probs = as_probs(np.array(law.forecast)[points])
    score = brier_score(probs, labels, sample_weight=scale * mass * ratio)
    return float(abs(score - 2.0 * float(law.losses() @ law.q)) > 1e-9)


def weighted_loss_designs(
    generator: np.random.Generator, *, weighted: bool = True
) -> Design:
    """Return laws on up to six points, and a unit of the weights."""
    law = random_shift(generator, int(generator.integers(2, 7)))
    scale = float(10.0 ** generator.uniform(-6.0, 6.0))
    return Design(
        {"law": law, "scale": scale},
        Claim("means differ", at_most=0.0),
        probability=partial(weighted_score_is_off, law, scale, weighted),
    )
