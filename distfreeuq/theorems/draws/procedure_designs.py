"""Designs for coverage of further procedures: n + 1 rows, any of which may be new.

As in `set_designs`, of which these are the groups, many classes and counted
proportions: coverage is a finite sum over the rows, ties and all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._numerics.quantiles import conformal_rank
from distfreeuq.conformal.covariate_shift_sets import covariate_shift_conformal
from distfreeuq.conformal.label_conditional_sets import label_conditional_conformal
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.conformal.many_classes.clustered_sets import clustered_conformal
from distfreeuq.conformal.many_classes.interpolated_sets import interpolated_conformal
from distfreeuq.conformal.many_classes.rank_calibrated_sets import (
    rank_calibrated_conformal,
)
from distfreeuq.conformal.nonconformity import nested_scores
from distfreeuq.conformal.planning.sample_size import plan
from distfreeuq.conformal.scores.prevalence_adjusted import PAS
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.theorems.draws.pac_designs import first_low, is_low, rows
from distfreeuq.theorems.draws.set_designs import (
    ROUNDING,
    SCORES,
    coverage,
    random_alpha,
    random_rows,
    wide_weights,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design

Setting = dict[str, Any]


def _covers(level: float) -> Claim:
    return Claim("covered", at_least=max(0.0, level - ROUNDING))


def _some_rows(
    generator: np.random.Generator, most: int = 13
) -> tuple[FloatMatrix, IntArray, float]:
    """Return n + 1 rows with labels, and a level."""
    n = int(generator.integers(1, most + 1))
    probs, labels = random_rows(generator, int(generator.integers(2, 5)), n + 1)
    return probs, labels, random_alpha(generator, n)


# ------------------------------------------------------------------------------- groups


def group_of(probs: FloatMatrix) -> IntArray:
    """Return a function of the inputs with two values: which half is class 0's."""
    return np.asarray((probs[:, 0] > 0.4) * 1)


def _grouped_sets(
    probs: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    new: FloatMatrix,
    own: float,
    *,
    kind: str,
    alpha: float,
    score: str,
    label_weight: FloatArray,
    of_row: dict[tuple[float, ...], float],
    by_group: bool,
) -> BoolArray:
    if not own:  # never the new row
        return np.zeros(new.shape, dtype=np.bool_)
    options: Setting = {"alpha": alpha, "score": score, "randomized": False, "rng": 0}
    both = (group_of(probs), group_of(new)) if by_group else (labels * 0, [0])
    options["groups"] = both[0]
    fit: Any
    if kind == "covariate shift":
        weight = np.array([of_row[tuple(row)] for row in probs])
        if not weight[both[0] == both[1][0]].any():  # nothing to weigh in the group
            return np.ones(new.shape, dtype=np.bool_)
        fit = covariate_shift_conformal(probs, labels, weight, **options)
        mask: BoolArray = fit.predict(new, both[1], np.array([own]), rng=1).mask
        return mask
    if kind == "label shift":
        fit = label_shift_conformal(probs, labels, label_weight, **options)
    elif kind == "label-conditional":
        fit = label_conditional_conformal(probs, labels, **options)
    else:
        fit = split_conformal(probs, labels, **options)
    mask = fit.predict(new, both[1], rng=1).mask
    return mask


def group_designs(generator: np.random.Generator, *, by_group: bool = True) -> Design:
    """Return rows of two groups, the new one of a given one (and class).

    Broken: all rows in one group, though the new one is of this.
    """
    probs, labels, alpha = _some_rows(generator)
    kinds = ("split", "label-conditional", "label shift", "covariate shift")
    kind = str(generator.choice(kinds))
    k = probs.shape[1]
    label_weight = wide_weights(generator, k)
    drawn = wide_weights(generator, labels.size)
    of_row = {tuple(row): float(w) for row, w in zip(probs, drawn, strict=True)}
    group = int(group_of(probs[:1])[0])
    weights = (group_of(probs) == group) * 1.0
    if kind == "label-conditional":
        weights *= labels == labels[0]
    elif kind == "label shift":
        weights *= label_weight[labels]
    elif kind == "covariate shift":
        weights *= [of_row[tuple(row)] for row in probs]
    if not weights.any():
        kind, weights = "split", (group_of(probs) == group) * 1.0
    score = str(generator.choice(SCORES))
    sets = partial(
        _grouped_sets,
        kind=kind,
        alpha=alpha,
        score=score,
        label_weight=label_weight,
        of_row=of_row,
        by_group=by_group,
    )
    settings: Setting = {
        "kind": kind,
        "alpha": alpha,
        "score": score,
        "group": group,
        "weights": weights,
        "probs": probs,
        "labels": labels,
    }
    return Design(
        settings,
        _covers(1.0 - alpha),
        probability=partial(coverage, probs, labels, weights, sets),
    )


def group_failure(
    sizes: tuple[int, int],
    alpha: float,
    delta: float,
    shares: tuple[float, float],
    spent: float = 1.0,
) -> float:
    """Return P(some group is covered below 1 - alpha), given the groups' sizes.

    Scores take two values, as in `pac_designs`. Broken: `spent` times delta is used.
    """
    reached = 1.0
    for group, size in enumerate(sizes):

        def low(hits: int, group: int = group, size: int = size) -> bool:
            probs, labels = rows(hits, size)
            fit: Any = split_conformal(
                np.vstack([probs, [[0.5, 0.5]]]),
                np.append(labels, 0),
                groups=np.append(np.full(size, group), 1 - group),
                alpha=alpha,
                confidence=1.0 - spent * delta,
                score="lac",
                rng=0,
            )
            return is_low(float(fit.thresholds[list(fit.names).index(group)][0]))

        first = first_low(low, size)
        reached *= 1.0 - float(stats.binom.sf(first - 1, size, shares[group]))
    return 1.0 - reached


def group_pac_designs(generator: np.random.Generator, *, spent: float = 1.0) -> Design:
    """Return two groups of unlike sizes."""
    alpha = float(generator.choice([0.05, 0.1, 0.2, 0.4]))
    delta = float(generator.choice([0.05, 0.1, 0.3]))
    sizes = tuple(int(10.0 ** generator.uniform(0.0, 2.3)) for _ in "ab")
    short = 10.0 ** generator.uniform(-9.0, -2.5, size=2)
    shares = tuple(float(1.0 - alpha - one) for one in short)
    settings: Setting = {"sizes": sizes, "alpha": alpha, "delta": delta}
    settings["shares"] = shares
    return Design(
        settings,
        Claim("coverage below 1 - alpha", at_most=delta),
        probability=partial(group_failure, spent=spent, **settings),
    )


# ------------------------------------------------------------------------- many classes

Fit = Callable[..., Any]


def _sets_of(
    probs: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    new: FloatMatrix,
    own: float,
    *,
    fit: Fit,
    **options: Any,
) -> BoolArray:
    if not own:
        return np.zeros(new.shape, dtype=np.bool_)
    mask: BoolArray = (
        fit(probs, labels, randomized=False, rng=0, **options).predict(new, rng=1).mask
    )
    return mask


def interpolated_designs(
    generator: np.random.Generator, *, times: float = 2.0
) -> Design:
    """Return rows, and a weight of the two thresholds; 1 - `times` alpha is claimed."""
    probs, labels, alpha = _some_rows(generator)
    alpha = 0.5 * alpha
    options: Setting = {
        "alpha": alpha,
        "share": float(generator.choice([0.0, 0.3, 0.5, 0.8, 1.0])),
        "score": str(generator.choice(SCORES)),
    }
    sets = partial(_sets_of, fit=interpolated_conformal, **options)
    return Design(
        options | {"probs": probs, "labels": labels},
        _covers(1.0 - times * alpha),
        probability=partial(coverage, probs, labels, np.ones(labels.size), sets),
    )


def rank_designs(generator: np.random.Generator, *, times: float = 1.0) -> Design:
    """Return rows, the new one of a given class; alpha is `times` what is claimed."""
    probs, labels, alpha = _some_rows(generator)
    options: Setting = {
        "alpha": min(0.99, times * alpha),
        "rank_share": float(generator.choice([0.0, 0.3, 0.5, 1.0])),
        "score": str(generator.choice(SCORES)),
    }
    weights = (labels == labels[0]) * 1.0
    sets = partial(_sets_of, fit=rank_calibrated_conformal, **options)
    return Design(
        options | {"class": int(labels[0]), "probs": probs, "labels": labels},
        _covers(1.0 - alpha),
        probability=partial(coverage, probs, labels, weights, sets),
    )


def counted_designs(
    generator: np.random.Generator, *, score: Any = None, shift: bool = True
) -> Design:
    """Return rows whose class proportions are counted; also under label shift.

    Broken: a `score` that moves the wrong way with the counts.
    """
    probs, labels, alpha = _some_rows(generator)
    label_weight = wide_weights(generator, probs.shape[1])
    weights: FloatArray = label_weight[labels]
    if not shift or not weights.any() or generator.random() < 0.5:
        label_weight, weights = np.ones(probs.shape[1]), np.ones(labels.size)

    def fit(probs: FloatMatrix, labels: IntArray, **options: Any) -> Any:
        used = PAS() if score is None else score(labels, probs.shape[1])
        return label_shift_conformal(
            probs, labels, label_weight, score=used, alpha=alpha, **options
        )

    return Design(
        {
            "alpha": alpha,
            "label_weight": label_weight,
            "probs": probs,
            "labels": labels,
        },
        _covers(1.0 - alpha),
        probability=partial(
            coverage, probs, labels, weights, partial(_sets_of, fit=fit)
        ),
    )


def cluster_draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    probs: FloatMatrix,
    labels: IntArray,
    times: float,
    **options: Any,
) -> dict[str, BoolArray]:
    """Let a row at random be the new one, and others at random choose the clusters."""
    covered = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        order = generator.permutation(labels.size)
        old, new = order[:-1], order[-1]
        fit = clustered_conformal(
            probs[old], labels[old], randomized=False, rng=generator, **options
        )
        mask = fit.predict(probs[[new]], rng=generator).mask
        covered[i] = mask[0, labels[new]]
    return {"covered": covered}


def cluster_designs(generator: np.random.Generator, *, times: float = 1.0) -> Design:
    """Return rows of up to six classes; alpha is `times` what is claimed."""
    n = int(generator.integers(4, 40))
    probs, labels = random_rows(generator, int(generator.integers(2, 7)), n + 1)
    alpha = random_alpha(generator, n)
    settings: Setting = {
        "alpha": min(0.99, times * alpha),
        "n_clusters": int(generator.integers(1, 4)),
        "split": float(generator.choice([0.3, 0.5, 0.7])),
        "score": str(generator.choice(SCORES)),
        "probs": probs,
        "labels": labels,
    }
    draw = partial(cluster_draw, times=times, **settings)
    return Design(settings, _covers(1.0 - alpha), draw=draw)


# --------------------------------------------------------- equalities, and planned rows


def exact_split_designs(generator: np.random.Generator, *, moved: int = 0) -> Design:
    """Return rows of scores no two of which tie: coverage is k / (n + 1).

    Broken: the rank is `moved`.
    """
    n = int(generator.integers(1, 25))
    alpha = random_alpha(generator, n)
    first = 0.5 + 0.5 * generator.permutation(np.arange(1.0, n + 2.0)) / (n + 2.0)
    probs, labels = np.column_stack([first, 1.0 - first]), np.zeros(n + 1, np.int64)
    score = str(generator.choice(["lac", "margin", "aps"]))
    sets = partial(_sets_of, fit=split_conformal, alpha=alpha, score=score)
    rank = min(conformal_rank(n, alpha), n + 1) + moved
    return Design(
        {"n": n, "alpha": alpha, "score": score, "probs": probs},
        Claim("covered", equals=min(max(rank / (n + 1), 0.0), 1.0)),
        probability=partial(coverage, probs, labels, np.ones(n + 1), sets),
    )


def score_below(posterior: FloatArray, t: float, randomized: bool) -> float:
    """Return P(score of the label <= t) for a label drawn by the posterior."""
    row = posterior[None]
    low, high = (nested_scores(row, uniforms=[u])[0] for u in (0.0, 1.0))
    share = (t - low) / (high - low) if randomized else (high <= t) * 1.0
    return float(posterior @ np.clip(share, 0.0, 1.0))


def aps_designs(generator: np.random.Generator, *, randomized: bool = True) -> Design:
    """Return a posterior without ties, and a number that the score may be below."""
    k = int(generator.integers(2, 9))
    # atoms of a grid of powers of two, so that sums are exact
    parts = generator.permutation(np.arange(1, 200))[:k].astype(np.float64)
    posterior = parts / parts.sum()
    t = float(generator.random())
    return Design(
        {"posterior": posterior, "t": t},
        Claim("score <= t", equals=t),
        probability=partial(score_below, posterior, t, randomized),
    )


def plan_reached(
    *, alpha: float, tolerance: float | None, confidence: float | None, more: int
) -> float:
    """Return P(coverage is as planned) with the planned rows and some `more`."""
    n = plan(alpha, confidence, tolerance=tolerance).total + more
    scores = np.arange(1.0, n + 1.0) / (n + 1.0)
    probs = np.column_stack([1.0 - scores, scores])
    fit = split_conformal(
        probs,
        np.zeros(n, dtype=np.int64),
        alpha=alpha,
        score="lac",
        confidence=confidence,
        rng=0,
    )
    threshold = float(fit.thresholds[0])
    if not np.isfinite(threshold):
        return 1.0
    rank = round(threshold * (n + 1))
    floor = 1.0 - alpha - (tolerance or 0.0)
    return float(stats.beta.sf(floor, rank, n + 1 - rank))


def classes_reached(
    *, alpha: float, prior: float, assurance: float, share: float
) -> float:
    """Return P(both classes have the rows that they need) with the planned total."""
    result = plan(alpha, source_prior=[prior, 1.0 - prior], assurance=assurance)
    total = int(share * result.total)
    first, second = (int(one) for one in np.broadcast_to(result.needed, 2))
    return float(
        stats.binom.cdf(total - second, total, prior)
        - stats.binom.cdf(first - 1, total, prior)
    )


def plan_designs(generator: np.random.Generator, *, share: float = 1.0) -> Design:
    """Return what a plan is asked for; broken: a `share` of the rows."""
    alpha = float(np.round(generator.uniform(0.02, 0.4), 3))
    settings: Setting
    if generator.random() < 0.5:
        settings = {
            "alpha": alpha,
            "prior": float(np.round(generator.uniform(0.01, 0.99), 3)),
            "assurance": float(generator.choice([0.5, 0.8, 0.95, 0.99])),
        }
        return Design(
            settings,
            Claim("every class has its rows", at_least=settings["assurance"]),
            probability=partial(classes_reached, share=share, **settings),
        )
    asked, level = bool(generator.random() < 0.5), 0.95
    settings = {"alpha": alpha, "tolerance": None, "confidence": None}
    if asked:
        level = float(generator.choice([0.5, 0.8, 0.9, 0.99]))
        settings["confidence"] = level
    else:
        settings["tolerance"] = float(alpha * generator.uniform(0.2, 0.9))
    settings["more"] = int(generator.integers(0, 30))
    return Design(
        settings,
        Claim("coverage as planned", at_least=level),
        probability=partial(plan_reached, **settings),
    )
