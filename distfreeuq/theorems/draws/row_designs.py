"""More designs of n + 1 rows, any of which may be the new one, all without simulation.

Uniforms hashed from rows or their ids, p-values, and weights that are not the true
ones. As in `set_designs`, a probability is a sum over which row is the new one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq.conformal.covariate_shift_sets import covariate_shift_conformal
from distfreeuq.conformal.label_conditional_sets import label_conditional_conformal
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.theorems.draws.set_designs import (
    ROUNDING,
    SCORES,
    random_alpha,
    random_rows,
    wide_weights,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design

Options = dict[str, Any]


def _fit(
    kind: str,
    probs: FloatMatrix,
    labels: IntArray,
    label_weight: FloatArray,
    options: Options,
) -> Any:
    if kind == "split":
        return split_conformal(probs, labels, **options)
    if kind == "label-conditional":
        return label_conditional_conformal(probs, labels, **options)
    return label_shift_conformal(probs, labels, label_weight, **options)


def _weights(kind: str, labels: IntArray, label_weight: FloatArray) -> FloatArray:
    """Return how likely each row is to be the new one, up to scale."""
    if kind == "split":
        return np.ones(labels.size)
    if kind == "label-conditional":  # given the new row's class, that of the first
        return np.asarray(labels == labels[0], dtype=np.float64)
    return np.asarray(label_weight[labels])


def _random(generator: np.random.Generator, kinds: tuple[str, ...]) -> Options:
    n, k = int(generator.integers(1, 14)), int(generator.integers(2, 5))
    probs, labels = random_rows(generator, k, n + 1)
    kind = str(generator.choice(kinds))
    label_weight = wide_weights(generator, k)
    if not _weights(kind, labels, label_weight).any():
        label_weight = np.ones(k)
    return {
        "kind": kind,
        "probs": probs,
        "labels": labels,
        "label_weight": label_weight,
        "alpha": random_alpha(generator, n),
        "score": str(generator.choice(SCORES)),
    }


# --------------------------------------------------------------------- hashed uniforms


def seeded_coverage(
    *,
    kind: str,
    probs: FloatMatrix,
    labels: IntArray,
    label_weight: FloatArray,
    alpha: float,
    score: str,
    seed: int,
    ids: IntArray | None,
    new_key: bool = False,
) -> float:
    """Return the coverage of sets whose uniforms are hashes of rows under one seed.

    Each row is predicted in a call of its own. Broken: `new_key`, another seed there.
    """
    weights = _weights(kind, labels, label_weight)
    options: Options = {"alpha": alpha, "score": score, "rng": seed}
    held = 0.0
    for i in np.flatnonzero(weights):
        old = np.delete(np.arange(labels.size), i)
        if ids is not None:
            options["ids"] = ids[old]
        fit = _fit(kind, probs[old], labels[old], label_weight, options)
        named = {} if ids is None else {"ids": ids[i : i + 1]}
        if new_key:
            u = np.random.default_rng(seed).random(1)
            sets = fit.predict(probs[i : i + 1], uniforms=u)
        else:
            sets = fit.predict(probs[i : i + 1], **named)
        held += float(weights[i]) * bool(sets.mask[0, labels[i]])
    return held / float(weights.sum())


def seeded_designs(generator: np.random.Generator, *, new_key: bool = False) -> Design:
    """Return rows that repeat, a seed, and ids for half of the designs."""
    settings = _random(generator, ("split", "label-conditional", "label shift"))
    settings["seed"] = int(generator.integers(2**31))
    settings["ids"] = None
    if generator.random() < 0.5:
        size = settings["labels"].size
        settings["ids"] = generator.integers(1 + size // 2, size=size)
    lower = max(0.0, 1.0 - settings["alpha"] - ROUNDING)
    return Design(
        settings,
        Claim("covered", at_least=lower),
        probability=partial(seeded_coverage, new_key=new_key, **settings),
    )


# ---------------------------------------------------------------------------- p-values


def small_p_value(
    *,
    kind: str,
    probs: FloatMatrix,
    labels: IntArray,
    label_weight: FloatArray,
    alpha: float,
    score: str,
    own: bool = True,
) -> float:
    """Return P(p-value of the true label <= alpha).

    Broken: the new row is not counted among its `own`.
    """
    weights = _weights(kind, labels, label_weight)
    options: Options = {"score": score, "randomized": False, "rng": 0}
    small = 0.0
    for i in np.flatnonzero(weights):
        old = np.delete(np.arange(labels.size), i)
        fit = _fit(kind, probs[old], labels[old], label_weight, options)
        p = float(fit.p_values(probs[i : i + 1])[0, labels[i]])
        if not own:
            p = (p * labels.size - 1.0) / old.size
        small += float(weights[i]) * (p <= alpha)
    return small / float(weights.sum())


def p_value_designs(generator: np.random.Generator, *, own: bool = True) -> Design:
    """Return rows that tie, at levels that p-values can be."""
    settings = _random(generator, ("split", "label-conditional", "label shift"))
    return Design(
        settings,
        Claim("p <= alpha", at_most=min(1.0, settings["alpha"] + ROUNDING)),
        probability=partial(small_p_value, own=own, **settings),
    )


# ----------------------------------------------------------------- weights not the true


def coverage_with_other_weights(
    *,
    probs: FloatMatrix,
    labels: IntArray,
    true_weight: FloatArray,
    used: FloatArray,
    alpha: float,
    score: str,
) -> float:
    """Return the coverage of sets made with the weights `used`."""
    weights = true_weight[labels]
    options: Options = {"alpha": alpha, "score": score, "randomized": False, "rng": 0}
    held = 0.0
    for i in np.flatnonzero(weights):
        old = np.delete(np.arange(labels.size), i)
        if not used[labels[old]].any():
            held += float(weights[i])
            continue
        fit = label_shift_conformal(probs[old], labels[old], used, **options)
        held += float(weights[i]) * bool(
            fit.predict(probs[i : i + 1]).mask[0, labels[i]]
        )
    return held / float(weights.sum())


def variation_designs(generator: np.random.Generator, *, factor: float = 1.0) -> Design:
    """Return weights that are wrong by little or much; coverage may lose as much.

    Given the rows, what is lost is at most the total variation between the laws of
    which row is the new one, times `factor`, which a broken claim has below one.
    """
    settings = _random(generator, ("label shift",))
    labels, true = settings["labels"], settings.pop("label_weight")
    del settings["kind"]
    used = true * 10.0 ** generator.normal(0.0, generator.choice([0.1, 1.0]), true.size)
    laws = [w[labels] / w[labels].sum() for w in (true, used) if w[labels].any()]
    cost = 0.5 * float(np.abs(laws[0] - laws[-1]).sum())
    settings |= {"true_weight": true, "used": used}
    lower = max(0.0, 1.0 - settings["alpha"] - factor * cost - ROUNDING)
    return Design(
        settings | {"total variation": cost},
        Claim("covered", at_least=lower),
        probability=partial(coverage_with_other_weights, **settings),
    )


def coverage_with_other_ratios(
    *,
    probs: FloatMatrix,
    labels: IntArray,
    ratio: FloatArray,
    used: FloatArray,
    alpha: float,
    score: str,
) -> float:
    """Return the coverage of sets made with `used` in place of the rows' ratios."""
    options: Options = {"alpha": alpha, "score": score, "randomized": False, "rng": 0}
    held = 0.0
    for i in np.flatnonzero(ratio):
        old = np.delete(np.arange(labels.size), i)
        fit = covariate_shift_conformal(probs[old], labels[old], used[old], **options)
        sets = fit.predict(probs[i : i + 1], used[i : i + 1])
        held += float(ratio[i]) * bool(sets.mask[0, labels[i]])
    return held / float(ratio.sum())


def ratio_variation_designs(
    generator: np.random.Generator, *, factor: float = 1.0
) -> Design:
    """Return the same for weights of rows, equal rows having equal weights."""
    settings = _random(generator, ("split",))
    del settings["kind"], settings["label_weight"]
    probs = settings["probs"]
    _, which = np.unique(probs, axis=0, return_inverse=True)
    which = which.ravel()
    ratio = wide_weights(generator, int(which.max()) + 1)[which]
    if not ratio.any():
        ratio = np.ones(which.size)
    wrong = 10.0 ** generator.normal(0.0, generator.choice([0.1, 1.0]), which.size)
    used = np.maximum(ratio, 1e-6) * wrong[which]
    cost = 0.5 * float(np.abs(ratio / ratio.sum() - used / used.sum()).sum())
    settings |= {"ratio": ratio, "used": used}
    lower = max(0.0, 1.0 - settings["alpha"] - factor * cost - ROUNDING)
    return Design(
        settings | {"total variation": cost},
        Claim("covered", at_least=lower),
        probability=partial(coverage_with_other_ratios, **settings),
    )
