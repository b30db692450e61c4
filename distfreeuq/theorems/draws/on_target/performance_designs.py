"""Designs for performance without labels: finite tables, rare classes, few rows.

A metric's finite-sample interval must hold its value in the target, by itself, whatever
carries the source to the target. Classes may have no source rows, and rows no weight.
Whether it does is remembered by the counts that it depends on: samples of few rows, and
of nearly certain ones, come again and again.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from distfreeuq._base.array_types import BoolArray, FloatArray, IntArray
from distfreeuq.label_shift.confusion_estimators import bbse
from distfreeuq.label_shift.known_priors import label_weights
from distfreeuq.monitoring.performance.certificates import (
    every_third,
    every_third_of_class,
)
from distfreeuq.monitoring.performance.mean_intervals import recall_ends
from distfreeuq.monitoring.performance.unlabelled_target import target_performance
from distfreeuq.theorems.draws.set_designs import ROUNDING
from distfreeuq.theorems.draws.weight_designs import (
    Setting,
    one_hot,
    random_setting,
    sample,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design

_NEGLIGIBLE = 1e-13
METRICS = ("accuracy", "recall", "precision", "balanced_accuracy")


def value_of(metric: str, of_class: int, joint: Any) -> float:
    """Return a metric of the table (K, K) of shares by predicted class and label."""
    table = np.asarray(joint, dtype=np.float64)
    right, of_label, said = table.diagonal(), table.sum(axis=0), table.sum(axis=1)
    if metric == "accuracy":
        return float(right.sum())
    if metric == "recall":
        return float(right[of_class] / of_label[of_class])
    if metric == "precision":
        return float(right[of_class] / said[of_class]) if said[of_class] else 0.0
    return float((right / of_label).mean())


def holds(result: Any, metric: str, of_class: int, truth: float) -> bool:
    """Return whether the interval holds the value; it does where there is none."""
    own = of_class if metric in ("recall", "precision") else -1
    at = next(
        i
        for i, name in enumerate(result.metrics)
        if name == metric and result.row_class[i] == own
    )
    low, high = result.certified_low[at], result.certified_high[at]
    return bool(np.isnan(low) or low - 1e-12 <= truth <= high + 1e-12)


# ------------------------------------------------------------------------- label shift


def label_shift_draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    setting: Setting,
    metric: str,
    of_class: int,
    delta: float,
    given: str,
    factor: float = 1.0,
    used: Any = None,
    labelled: int = 0,
) -> dict[str, BoolArray]:
    """Ask whether the interval holds the metric; `used` are the proportions given.

    The first target rows have labels, `labelled` of them. With `factor` other than 1
    the interval is asked for at factor * delta.
    """
    source, target = np.asarray(setting["source"]), np.asarray(setting["target"])
    truth = value_of(metric, of_class, np.asarray(setting["conditional"]) * target)
    k, taken = target.size, target if used is None else np.asarray(used)
    shift: Any = None
    if given == "priors":
        shift = label_weights(source, taken)
    elif given == "weights":
        shift = taken / source
    known: dict[bytes, bool] = {}
    held = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        said, labels = sample(generator, setting, "source", setting["n"])
        new, new_labels = sample(generator, setting, "target", setting["m"])
        some: Any = None
        if labelled:
            some = np.full(new.size, np.nan)
            some[:labelled] = new_labels[:labelled]
        counts = _counted(said, labels, new, some, k)
        if counts not in known:
            probs, probs_target = one_hot(said, k), one_hot(new, k)
            if given == "nothing":  # the interval is the same whatever estimates
                shift = bbse(probs, labels, probs_target)
            result = target_performance(
                probs,
                labels,
                probs_target,
                shift=shift,
                metrics=metric,
                delta=min(factor * delta, 0.99),
                labels_target=some,
            )
            known[counts] = holds(result, metric, of_class, truth)
        held[i] = known[counts]
    return {"holds": held}


def _counted(said: Any, labels: Any, new: Any, some: Any, k: int) -> bytes:
    """Return what the interval depends on: rows by whether they fit, and labels."""
    source = (every_third_of_class(labels) * k + said) * k + labels
    target = every_third(new.size) * k + new
    if some is not None:
        target = target * (k + 1) + np.nan_to_num(some, nan=float(k)).astype(np.int64)
    return np.bincount(source).tobytes() + b"|" + np.bincount(target).tobytes()


def _asked(generator: np.random.Generator, k: int) -> Setting:
    return {
        "metric": str(generator.choice(METRICS)),
        "of_class": int(generator.integers(k)),
        "delta": float(generator.choice([0.05, 0.2, 0.5])),
    }


def estimated_designs(generator: np.random.Generator, *, factor: float = 1.0) -> Design:
    """Return a setting in which proportions are estimated from the rows."""
    setting = random_setting(generator)
    asked = _asked(generator, np.asarray(setting["target"]).size)
    options = {**asked, "given": "nothing"}
    return Design(
        setting | options,
        Claim("holds", at_least=1.0 - asked["delta"]),
        draw=partial(label_shift_draw, setting=setting, factor=factor, **options),
    )


def labelled_designs(generator: np.random.Generator, *, factor: float = 1.0) -> Design:
    """Return a setting in which some of the target rows have labels."""
    setting = random_setting(generator)
    setting["m"] = max(int(setting["m"]), 2)
    asked = _asked(generator, np.asarray(setting["target"]).size)
    given = str(generator.choice(["nothing", "priors", "weights"]))
    options = {**asked, "given": given, "metric": "accuracy"}
    options["labelled"] = int(generator.integers(1, setting["m"] + 1))
    return Design(
        setting | options,
        Claim("holds", at_least=1.0 - asked["delta"]),
        draw=partial(label_shift_draw, setting=setting, factor=factor, **options),
    )


def recall_held(
    *, n: int, share: float, recall: float, delta: float, factor: float = 1.0
) -> float:
    """Return P(the interval holds the recall), summed over the class's rows and hits.

    The class has this `share` of n source rows. Broken: `factor` times delta.
    """
    sizes = np.arange(n + 1)
    held = 0.0
    for size, mass in zip(sizes, stats.binom.pmf(sizes, n, share), strict=True):
        if mass > _NEGLIGIBLE:
            hits = np.arange(size + 1)
            ends = [
                recall_ends(float(h), float(size), delta, factor * delta)[1]
                for h in hits
            ]
            inside = [low <= recall <= high for low, high in ends]
            held += float(mass * (stats.binom.pmf(hits, size, recall) @ inside))
    return held


def recall_designs(generator: np.random.Generator, *, factor: float = 1.0) -> Design:
    """Return a recall just outside the interval of some sample, of a common class."""
    n = int(generator.integers(1, 31))
    delta = float(generator.choice([0.05, 0.2, 0.5]))
    size = int(generator.integers(1, n + 1))
    hits = int(generator.integers(size + 1))
    low, high = recall_ends(float(hits), float(size), delta, factor * delta)[1]
    near = low - 1e-9 if generator.random() < 0.5 else high + 1e-9
    settings: dict[str, Any] = {
        "n": n,
        "share": float(generator.choice([0.3, 0.9, 1.0])),
        "recall": float(np.clip(near, 0.0, 1.0)),
        "delta": delta,
    }
    return Design(
        settings,
        Claim("interval holds", at_least=1.0 - delta - ROUNDING),
        probability=partial(recall_held, factor=factor, **settings),
    )


# ----------------------------------------------------------- given weights, of any kind


def ratio_draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    setting: Setting,
    metric: str,
    of_class: int,
    delta: float,
    bound: float,
    flat: bool = False,
) -> dict[str, BoolArray]:
    """Ask the same under covariate shift between atoms of the inputs.

    With `flat` rows count equally, which is the mistake that weights are to mend.
    """
    source, target = np.asarray(setting["p"]), np.asarray(setting["q"])
    said, of_label = np.asarray(setting["said"]), np.asarray(setting["of_label"])
    k = of_label.shape[1]
    joint = np.zeros((k, k))
    np.add.at(joint, said, target[:, None] * of_label)
    truth = value_of(metric, of_class, joint)
    ratio: FloatArray = target / source
    known: dict[bytes, bool] = {}
    held = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        x: IntArray = generator.choice(source.size, p=source, size=int(setting["n"]))
        labels = (generator.random((x.size, 1)) > of_label[x].cumsum(axis=1)).sum(
            axis=1
        )
        new = generator.choice(target.size, p=target, size=setting["m"])
        weight = np.ones(x.size) if flat else ratio[x]
        if not weight.any():  # which is refused
            held[i] = True
            continue
        labels = np.minimum(labels, k - 1)
        counts = np.bincount(x * k + labels).tobytes() + np.bincount(new).tobytes()
        if counts not in known:
            result = target_performance(
                one_hot(said[x], k),
                labels,
                one_hot(said[new], k),
                sample_weight=weight,
                weight_bound=max(bound, 1.0),
                metrics=metric,
                delta=delta,
            )
            known[counts] = holds(result, metric, of_class, truth)
        held[i] = known[counts]
    return {"holds": held}


def given_designs(generator: np.random.Generator, *, wrong: bool = False) -> Design:
    """Return a setting with given proportions, class weights or density ratios.

    With `wrong` those of the source are given.
    """
    if generator.random() < 0.5:
        setting = random_setting(generator)
        source = np.asarray(setting["source"])
        asked = _asked(generator, source.size)
        options = {**asked, "given": str(generator.choice(["priors", "weights"]))}
        used = source if wrong else None
        draw = partial(label_shift_draw, setting=setting, used=used, **options)
    else:
        atoms, k = int(generator.integers(3, 7)), int(generator.integers(2, 4))
        target = generator.dirichlet(np.full(atoms, 0.5))
        target = np.where(generator.random(atoms) < 0.3, 0.0, target) + 1e-3 * (
            np.arange(atoms) == 0
        )
        setting = {
            "n": int(10.0 ** generator.uniform(0.5, 2.7)),
            "m": int(10.0 ** generator.uniform(0.5, 2.7)),
            "p": 0.9 * generator.dirichlet(np.full(atoms, 0.5)) + 0.1 / atoms,
            "q": target / target.sum(),
            "said": generator.integers(k, size=atoms),
            "of_label": 0.98 * generator.dirichlet(np.full(k, 0.3), atoms) + 0.02 / k,
        }
        asked = _asked(generator, k)
        bound = float((np.asarray(setting["q"]) / np.asarray(setting["p"])).max())
        options = {**asked, "bound": bound}
        draw = partial(ratio_draw, setting=setting, flat=wrong, **options)
    return Design(
        setting | options, Claim("holds", at_least=1.0 - asked["delta"]), draw=draw
    )
