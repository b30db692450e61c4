"""Theorems on weights from predictions and from labels of some target rows."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray
from distfreeuq.label_shift.confusion import hard_confusion
from distfreeuq.label_shift.inference.finite_sample_regions import exact_region
from distfreeuq.label_shift.inference.moments.counted_moments import moments_of_counts
from distfreeuq.label_shift.inference.score_intervals import score_ends
from distfreeuq.label_shift.labelled_shares import weigh_labels
from distfreeuq.references import LABELLED_AT_RANDOM
from distfreeuq.theorems.draws import cell_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem
from distfreeuq.theorems.label_shift.carried_losses import A, P, Q, rows
from distfreeuq.theorems.label_shift.weight_estimates import ASSUMPTIONS, FAMILY

WEIGHT = Q / P
SHARP = np.array([[0.98, 0.01, 0.01], [0.01, 0.98, 0.01], [0.01, 0.01, 0.98]])
"""Shares of predictions (rows) in classes (columns) if it hardly errs."""


def intervals(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    m: int,
    r: int,
    alpha: float,
    shares: object = A,
    at_random: bool = True,
    apart: bool = True,
) -> dict[str, BoolArray]:
    """Ask whether asymptotic intervals hold each weight.

    Else than at random, rows of class 2 are labelled first. Else than apart, labelled
    rows are counted among the moments too, and taken to be independent of them.
    """
    table = np.empty((n_draws, 3), dtype=np.bool_)
    for i in range(n_draws):
        said, labels = rows(generator, n, P, shares)
        new, truth = rows(generator, m, Q, shares)
        chosen = np.zeros(m, dtype=bool)
        chosen[:r] = True
        if not at_random:
            chosen[np.argsort(truth != 2, kind="stable")] = chosen.copy()
        counts = np.bincount(truth[chosen], minlength=3)
        others = new[~chosen] if apart else new
        moments = moments_of_counts(hard_confusion(said, labels, others, 3))
        labelled = weigh_labels(counts, moments)
        low, high = score_ends(moments, alpha, labelled.beside).T
        table[i] = (low <= WEIGHT) & (high >= WEIGHT)
    return {f"holds weight {k}": table[:, k] for k in range(3)}


def region(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    m: int,
    r: int,
    delta: float,
    at_random: bool = True,
) -> dict[str, BoolArray]:
    """Ask whether the exact region holds all weights at once."""
    out = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        said, labels = rows(generator, n, P)
        new, truth = rows(generator, m, Q)
        if not at_random:
            truth = truth[np.argsort(truth != 2, kind="stable")]
        counts = np.bincount(truth[:r], minlength=3)
        polytope = exact_region(hard_confusion(said, labels, new, 3), delta, counts)
        out[i] = polytope.contains(WEIGHT)
    return {"region holds all": out}


def _each(alpha: float, tolerance: float) -> tuple[Claim, ...]:
    level = 1.0 - alpha
    return tuple(
        Claim(f"holds weight {k}", at_least=level, tolerance=tolerance)
        for k in range(3)
    )


def _all(delta: float) -> tuple[Claim, ...]:
    return (Claim("region holds all", at_least=1.0 - delta, tolerance=0.1),)


COMBINED = Theorem(
    name="weights-with-labels",
    title="Weights from predictions, and from labels of some target rows",
    reference="shares of labels beside predictions (theory page, 4.15)",
    statement=(
        "The combination of least variance of the moment estimate of the target rows "
        "without labels and of the labelled rows' shares has score intervals that hold "
        "each weight with their nominal probability in the limit; the polytope of "
        "K^2 + 3 K Clopper-Pearson intervals holds all with probability >= 1 - delta "
        "in finite samples."
    ),
    assumptions=(*ASSUMPTIONS, LABELLED_AT_RANDOM),
    family=FAMILY,
    designs=cell_designs.label_share_designs,
    experiments=(
        *(
            Experiment(
                f"intervals, n = m = {n}, {r} labels",
                partial(intervals, n=n, m=n, r=r, alpha=0.1),
                _each(0.1, 0.05),
                batch=100,
            )
            for n, r in ((400, 50), (1000, 200))
        ),
        Experiment(
            "region, n = m = 200, 40 labels",
            partial(region, n=200, m=200, r=40, delta=0.3),
            _all(0.3),
            batch=100,
        ),
    ),
    controls=(
        Experiment(
            "rows of one class are labelled first",
            partial(intervals, n=400, m=400, r=50, alpha=0.1, at_random=False),
            _each(0.1, 0.05),
            batch=100,
        ),
        Experiment(
            "labelled rows counted twice, as if they were others",
            partial(
                intervals, n=5000, m=300, r=270, alpha=0.1, shares=SHARP, apart=False
            ),
            _each(0.1, 0.05),
            batch=100,
        ),
        Experiment(
            "region, rows of one class labelled first",
            partial(region, n=200, m=200, r=40, delta=0.3, at_random=False),
            _all(0.3),
            batch=100,
        ),
    ),
)

THEOREMS = (COMBINED,)
