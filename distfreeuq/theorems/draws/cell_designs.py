"""Designs for the cells of BBSE's exact region: one sample is as good as known.

The other sample's counts are enumerated, so that the probability of a miss is a sum.
Where all of the noise is that of few cells, the region may miss no oftener than their
shares of delta say, which is far less than delta: a Bonferroni count that is too small,
or an end at the level of both, is seen here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import special, stats

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq.bounds import unchecked
from distfreeuq.bounds.unchecked import stratified_chernoff
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.inference.finite_sample_regions import exact_region
from distfreeuq.theorems.draws.weight_draws import of_counts
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design

KNOWN = 10**10
"""Rows of the sample that is as good as known: its ends are within 3e-5 of it."""
_NEGLIGIBLE = 1e-13

_BESIDE = 1e-4
"""Distance of a share from an end; samples as good as known are within 3e-5."""

Region = Callable[[Confusion, float], Any]
LabelledRegion = Callable[[Confusion, float, Any], Any]


def compositions(total: int, cells: int) -> Iterator[tuple[int, ...]]:
    """Yield all counts of so many cells that add up to `total`."""
    if cells == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, cells - 1):
            yield (first, *rest)


def multinomial_masses(counts: FloatMatrix, shares: FloatArray) -> FloatArray:
    """Return the probabilities of rows of counts (N, cells)."""
    total = counts[0].sum()
    logs = special.gammaln(total + 1.0) - special.gammaln(counts + 1.0).sum(axis=1)
    logs = logs + special.xlogy(counts, shares).sum(axis=1)
    masses: FloatArray = np.exp(logs)
    return masses


def shares_as_counts(shares: FloatMatrix) -> FloatMatrix:
    """Return whole numbers that add up to `KNOWN`, in proportion."""
    counts = np.floor(shares * KNOWN)
    counts.flat[int(counts.argmax())] += KNOWN - counts.sum()
    return counts


def miss_of_target_cells(
    rows: int, delta: float, conditional: FloatMatrix, region: Region = exact_region
) -> float:
    """Return P(region misses w) where the source is known and there is no shift.

    Classes are equally likely; `rows` are those of the target.
    """
    k = len(conditional)
    prior = np.full(k, 1.0 / k)
    joint = shares_as_counts(conditional * prior)
    mu = (joint / KNOWN).sum(axis=1)
    counts = np.array(list(compositions(rows, k)), dtype=np.float64)
    masses = multinomial_masses(counts, mu)
    return _missed(
        masses, counts, lambda c: of_counts(joint, c), np.ones(k), delta, region
    )


def miss_of_source_cells(
    rows: int,
    delta: float,
    column: FloatArray,
    share: float,
    region: Region = exact_region,
) -> float:
    """Return P(region misses w) where the target is known, and all of its first class.

    The first class has this `share` of the source, and predictions as in `column`. The
    cells of the others do not matter: their weights are zero. `rows` are the source's.
    """
    k = column.size
    target = shares_as_counts(column)
    cells = np.append(column * share, 1.0 - share)
    counts = np.array(list(compositions(rows, k + 1)), dtype=np.float64)
    masses = multinomial_masses(counts, cells)
    weight = np.zeros(k)
    weight[0] = 1.0 / share

    def confusion(found: FloatArray) -> Confusion:
        joint = np.zeros((k, k))
        joint[:, 0], joint[0, 1] = found[:k], found[k]
        return of_counts(joint, target)

    return _missed(masses, counts, confusion, weight, delta, region)


def _missed(
    masses: FloatArray,
    counts: FloatMatrix,
    confusion: Callable[[FloatArray], Confusion],
    weight: FloatArray,
    delta: float,
    region: Region,
) -> float:
    near = masses > _NEGLIGIBLE
    return float(
        sum(
            mass
            for mass, found in zip(masses[near], counts[near], strict=True)
            if not region(confusion(found), delta).contains(weight)
        )
    )


def draw_of_target_cells(
    generator: np.random.Generator,
    n_draws: int,
    *,
    rows: int,
    delta: float,
    conditional: FloatMatrix,
    region: Region = exact_region,
) -> dict[str, BoolArray]:
    """Draw what `miss_of_target_cells` enumerates."""
    k = len(conditional)
    joint = shares_as_counts(conditional / k)
    drawn = generator.multinomial(rows, (joint / KNOWN).sum(axis=1), size=n_draws)
    kinds, which = np.unique(drawn, axis=0, return_inverse=True)
    held = [region(of_counts(joint, c), delta).contains(np.ones(k)) for c in kinds]
    return {"missed": ~np.array(held)[which.ravel()]}


def known_sample_designs(
    generator: np.random.Generator, *, region: Region = exact_region
) -> Design:
    """Return a known source with a target of few rows, or the other way round."""
    delta = float(generator.choice([0.05, 0.2, 0.5, 0.9]))
    k = int(generator.choice([2, 2, 3]))
    each = delta / (k * (k + 1))
    if generator.random() < 0.5:
        rows = int(generator.integers(1, 200 if k == 2 else 13))
        noise = generator.dirichlet(np.full(k, 0.5), size=k).T
        conditional = 0.5 * np.eye(k) + 0.5 * noise
        # two cells that add up to all of the target miss together
        cells = 1 if k == 2 else k
        return Design(
            {"target rows": rows, "delta": delta, "conditional": conditional},
            Claim("missed", at_most=cells * each),
            probability=partial(miss_of_target_cells, rows, delta, conditional, region),
        )
    rows = int(generator.integers(1, 16 if k == 2 else 8))
    column = generator.dirichlet(np.full(k, float(generator.choice([0.3, 1.0]))))
    share = float(generator.uniform(0.3, 1.0))
    return Design(
        {"source rows": rows, "delta": delta, "column": column, "share": share},
        Claim("missed", at_most=min(1.0, k * each)),
        probability=partial(miss_of_source_cells, rows, delta, column, share, region),
    )


# ------------------------------------------------------- labels of some target rows


def miss_of_label_shares(
    rows: int, delta: float, share: float, region: LabelledRegion = exact_region
) -> float:
    """Return P(region misses w) where both samples are known and `rows` have labels.

    Two classes that are always told apart, half of the source each; the second has this
    `share` of the target. All noise is that of the labels' counts.
    """
    target = np.array([1.0 - share, share])
    confusion = of_counts(
        shares_as_counts(0.5 * np.eye(2)), shares_as_counts(target[None])[0]
    )
    hits = np.arange(rows + 1)
    held = [
        region(confusion, delta, np.array([rows - h, h])).contains(2.0 * target)
        for h in hits
    ]
    return float(stats.binom.pmf(hits, rows, share) @ ~np.array(held))


def label_share_designs(
    generator: np.random.Generator, *, region: LabelledRegion = exact_region
) -> Design:
    """Return labelled rows and a share just outside the ends of some sample.

    With two classes there are K^2 + 3 K = 10 intervals; of those of the labels' counts
    either two miss, or none.
    """
    delta = float(generator.choice([0.05, 0.2, 0.5, 0.9]))
    each, rows = delta / 10.0, int(generator.integers(1, 200))
    low, high = unchecked.clopper_pearson(int(generator.integers(rows + 1)), rows, each)
    near = float(low) - _BESIDE if generator.random() < 0.5 else float(high) + _BESIDE
    settings: dict[str, Any] = {
        "rows": rows,
        "delta": delta,
        "share": min(max(near, 0.0), 1.0),
    }
    return Design(
        settings,
        Claim("missed", at_most=each),
        probability=partial(miss_of_label_shares, region=region, **settings),
    )


# ------------------------------------------------------------------- stratified means


def stratified_share_is_small(
    *,
    counts: tuple[int, ...],
    prior: FloatArray,
    rates: FloatArray,
    delta: float,
    factor: float = 1.0,
) -> float:
    """Return P(sum_k q_k (hits of class k) / n_k <= `stratified_chernoff`'s share)."""
    alpha = float(prior @ rates)
    n = np.array(counts)
    limit = factor * stratified_chernoff(alpha, float((prior / n).max()), delta)
    means, masses = np.zeros(1), np.ones(1)
    for size, q, rate in zip(counts, prior, rates, strict=True):
        hits = np.arange(size + 1)
        means = np.add.outer(means, q * hits / size).ravel()
        masses = np.outer(masses, stats.binom.pmf(hits, size, rate)).ravel()
    return float(masses[means <= limit + 1e-12].sum())


def stratified_designs(
    generator: np.random.Generator, *, factor: float = 1.0
) -> Design:
    """Return up to three classes, their rows, proportions and rates of misses."""
    k = int(generator.integers(1, 4))
    settings: dict[str, Any] = {
        "counts": tuple(int(10.0 ** generator.uniform(0.0, 1.8)) for _ in range(k)),
        "prior": generator.dirichlet(np.ones(k)),
        "rates": generator.beta(0.5, 1.5, k) * 0.98 + 0.01,
        "delta": float(generator.choice([0.01, 0.1, 0.3, 0.6])),
    }
    return Design(
        settings,
        Claim("below", at_most=settings["delta"]),
        probability=partial(stratified_share_is_small, factor=factor, **settings),
    )
