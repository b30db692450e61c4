"""Designs for estimated label weights: hard predictions of finite tables.

A classifier that predicts i in class j with probability C_ij; unlike priors, few rows,
samples of unequal size. Rows are drawn as counts of (prediction, class, score).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.label_shift.confusion_estimators import bbse
from distfreeuq.label_shift.inference.regions import Box
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design

Setting = dict[str, Any]


def random_setting(generator: np.random.Generator) -> Setting:
    """Return priors, a table of predictions given classes, and two sample sizes."""
    k = int(generator.integers(2, 4))
    source = generator.dirichlet(np.full(k, float(generator.choice([0.3, 1.0, 5.0]))))
    source = 0.98 * source + 0.02 / k
    target = generator.dirichlet(np.full(k, float(generator.choice([0.3, 1.0, 5.0]))))
    skill = float(generator.choice([0.0, 0.3, 0.8, 1.0]))
    noise = generator.dirichlet(np.ones(k), size=k).T
    return {
        "n": int(10.0 ** generator.uniform(0.5, 2.7)),
        "m": int(10.0 ** generator.uniform(0.5, 2.7)),
        "source": source,
        "target": target,
        "conditional": skill * np.eye(k) + (1.0 - skill) * noise,
    }


def one_hot(predictions: Any, k: int) -> FloatMatrix:
    """Return probabilities whose largest is the predicted class's."""
    probs: FloatMatrix = np.full((len(predictions), k), 0.1 / k)
    probs[np.arange(len(predictions)), predictions] += 0.9
    return probs


def sample(
    generator: np.random.Generator, setting: Setting, domain: str, size: int
) -> tuple[Any, Any]:
    """Return predictions and labels of a sample."""
    conditional = np.asarray(setting["conditional"])
    k = conditional.shape[0]
    joint = (conditional * np.asarray(setting[domain])).ravel()
    cells = generator.choice(k * k, size=size, p=joint / joint.sum())
    return cells // k, cells % k


# ------------------------------------------------------------------------------ regions


def region_draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    setting: Setting,
    delta: float,
    soft: bool,
    ranges: bool,
    fit: Any = bbse,
) -> dict[str, BoolArray]:
    """Ask whether the finite-sample region, or its ranges, hold all weights."""
    weight: FloatArray = np.asarray(setting["target"]) / np.asarray(setting["source"])
    held = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        predicted, labels = sample(generator, setting, "source", setting["n"])
        new, _ = sample(generator, setting, "target", setting["m"])
        found = fit(
            one_hot(predicted, weight.size),
            labels,
            one_hot(new, weight.size),
            soft=soft,
        )
        if ranges:
            low, high = found.confint(delta, "finite-sample").T
            held[i] = bool(((low <= weight) & (weight <= high)).all())
        else:
            held[i] = bool(found.region(delta).contains(weight))
    return {"holds": held}


def region_designs(
    generator: np.random.Generator, *, soft: bool = False, fit: Any = bbse
) -> Design:
    """Return a setting in which the region must hold all weights."""
    setting = random_setting(generator)
    delta = float(generator.choice([0.05, 0.2, 0.5]))
    ranges = bool(generator.random() < 0.3)
    options: Setting = {"delta": delta, "soft": soft, "ranges": ranges}
    return Design(
        setting | options,
        Claim("holds", at_least=1.0 - delta),
        draw=partial(region_draw, setting=setting, fit=fit, **options),
    )


# --------------------------------------------------------------------------- union sets


def union_draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    setting: Setting,
    alpha: float,
    delta: float,
    confidences: FloatMatrix,
    no_shift: bool = False,
    by_region: bool = True,
) -> dict[str, BoolArray]:
    """Estimate and calibrate on the same rows; the new row is one more of the target.

    A row's probabilities are those of its prediction: the score of class j is a number
    for every (prediction, class). The region of the weights is given, or the estimate
    itself, which makes it one of the proportions. With `no_shift` the region is of one
    point, equal weights, and need not hold the true ones.
    """
    covered = np.empty(n_draws, dtype=np.bool_)
    equal = np.ones(len(confidences))
    for i in range(n_draws):
        predicted, labels = sample(generator, setting, "source", setting["n"])
        new, new_labels = sample(generator, setting, "target", setting["m"] + 1)
        probs = confidences[predicted]
        estimate: Any = Box(equal, equal, True)
        if not no_shift:
            estimate = bbse(probs, labels, confidences[new[:-1]])
            estimate = estimate.region(delta) if by_region else estimate
        fit = label_shift_conformal(
            probs,
            labels,
            estimate,
            alpha=alpha,
            robust=True,
            delta=delta,
            score="lac",
            rng=generator,
        )
        mask = fit.predict(confidences[new[-1:]], rng=generator).mask
        covered[i] = mask[0, new_labels[-1]]
    return {"covered": covered}


def union_designs(
    generator: np.random.Generator, *, no_shift: bool = False, by_region: bool = True
) -> Design:
    """Return a setting in which union sets must cover 1 - alpha - delta."""
    setting = random_setting(generator)
    k = setting["source"].size
    raw = generator.integers(1, 5, size=(k, k)) / 5.0 + 2.0 * np.eye(k)
    confidences = raw / raw.sum(axis=1, keepdims=True)
    alpha = float(generator.choice([0.05, 0.1, 0.3]))
    delta = float(generator.choice([0.01, 0.1, 0.3]))
    options: Setting = {"alpha": alpha, "delta": delta, "confidences": confidences}
    return Design(
        setting | options,
        Claim("covered", at_least=max(0.0, 1.0 - alpha - delta)),
        draw=partial(
            union_draw,
            setting=setting,
            no_shift=no_shift,
            by_region=by_region,
            **options,
        ),
    )


# ----------------------------------------------------------------------- no-shift test


def shift_test_draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    setting: Setting,
    level: float,
    soft: bool,
    fit: Any = bbse,
) -> dict[str, BoolArray]:
    """Test for a shift where there is none."""
    k = np.asarray(setting["source"]).size
    rejected = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        predicted, labels = sample(generator, setting, "source", setting["n"])
        new, _ = sample(generator, setting, "source", setting["m"])
        found = fit(one_hot(predicted, k), labels, one_hot(new, k), soft=soft)
        rejected[i] = bool(found.test().p_value <= level)
    return {"p <= level": rejected}


def shift_test_designs(generator: np.random.Generator, *, fit: Any = bbse) -> Design:
    """Return rare classes and samples of unequal size, without a shift."""
    k = int(generator.integers(2, 31))
    source = generator.dirichlet(np.full(k, float(generator.choice([0.1, 0.5, 5.0]))))
    setting = {
        "n": int(10.0 ** generator.uniform(1.0, 2.5)),
        "m": int(10.0 ** generator.uniform(1.0, 3.7)),
        "source": 0.99 * source + 0.01 / k,
        "conditional": 0.9 * np.eye(k) + 0.1 / k,
    }
    level = float(generator.choice([0.01, 0.05, 0.2]))
    soft = bool(generator.random() < 0.3)
    return Design(
        setting | {"level": level, "soft": soft},
        Claim("p <= level", at_most=level),
        draw=partial(shift_test_draw, setting=setting, level=level, soft=soft, fit=fit),
    )
