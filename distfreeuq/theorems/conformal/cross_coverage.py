"""The theorem of cross-conformal sets: twice the miscoverage asked for, and no more.

The hard case has two folds whose classifiers order the rows of a small region in
opposite ways. Each fold's p-value is uniform, but where one is large the other is
small, so that their mean is below alpha on nearly twice the share of rows.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import stats

from distfreeuq import scenarios
from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._numerics.quantiles import conformal_rank
from distfreeuq.conformal.cross_fitted.cross_conformal_sets import cross_conformal
from distfreeuq.conformal.cross_fitted.guarantees import coverage_bound
from distfreeuq.references import (
    EXCHANGEABLE,
    FOLDS_ELSEWHERE,
    ROMANO_2020,
    SCORE_AND_ALPHA_ELSEWHERE,
    VOVK_2018,
    VOVK_2020,
)
from distfreeuq.theorems.conformal.split_coverage import FAMILY
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

SCENARIO = scenarios.three_gaussians()
CELLS = 64
"""Values that x has in the region where the classifiers contradict each other."""


def _bound(n: int, n_folds: int, alpha: float) -> float:
    counts = np.bincount(np.arange(n) % n_folds)
    return coverage_bound(counts, min(conformal_rank(n, alpha), n + 1))


# ---------------------------------------------------------- classifiers that are fitted


def _nearest_means(x: FloatMatrix, y: IntArray, new: FloatMatrix) -> FloatMatrix:
    """Return probabilities by the distances from the classes' means in (x, y)."""
    means = np.array(
        [x[y == k].mean(axis=0) if (y == k).any() else x.mean(axis=0) for k in range(3)]
    )
    odds = np.exp(-((new[:, None, :] - means) ** 2).sum(axis=2))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _nearest_row(x: FloatMatrix, y: IntArray, new: FloatMatrix) -> FloatMatrix:
    """Return probabilities of a classifier that is sure of the nearest row's label."""
    distance = ((new[:, None, :] - x) ** 2).sum(axis=2)
    probs: FloatMatrix = 0.02 + 0.94 * np.eye(3)[y[distance.argmin(axis=1)]]
    return probs


def fitted(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    n_folds: int,
    alpha: float,
    method: str = "exchangeable",
    label: int | None = None,
    memory: bool = False,
    seen: bool = False,
) -> dict[str, BoolArray]:
    """Fit a classifier without each fold; with `seen` the folds are not left out."""
    classify = _nearest_row if memory else _nearest_means
    covered = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        x, y = SCENARIO.sample(n, "source", rng=generator)
        new, truth = SCENARIO.sample(60, "source", rng=generator)
        row = 0 if label is None else int(np.argmax(truth == label))
        folds = generator.permutation(n) % n_folds
        probs, parts = np.empty((n, 3)), []
        for fold in range(n_folds):
            out = folds == fold
            train = slice(None) if seen else ~out
            probs[out] = classify(x[train], y[train], x[out])
            parts.append(classify(x[train], y[train], new[[row]]))
        fit = cross_conformal(
            probs, y, folds, alpha=alpha, method=method, rng=generator
        )
        sets = fit.predict(parts, rng=generator)
        covered[i] = sets.mask[0, truth[row]]
    return {"covered": covered}


# ------------------------------------------------------- classifiers that contradict


def _opposite(cells: IntArray, fold: int) -> FloatMatrix:
    """Return probabilities of labels that are all 0; cell -1 is outside the region."""
    inside = cells >= 0
    order = cells if fold == 0 else CELLS - 1 - cells
    p: FloatArray = np.where(inside, 0.4 - 0.3 * order / CELLS, 0.9)
    return np.column_stack([p, 1.0 - p])


def contradicting(
    generator: np.random.Generator, n_draws: int, *, n: int, alpha: float, share: float
) -> dict[str, BoolArray]:
    """Return whether a new row is covered; `share` of all rows are in the region."""
    covered = np.empty(n_draws, dtype=np.bool_)
    folds = np.arange(n) % 2
    for i in range(n_draws):
        inside = generator.random(n + 1) < share
        cells = np.where(inside, generator.integers(CELLS, size=n + 1), -1)
        probs = np.where(
            folds[:, None] == 0, _opposite(cells[:n], 0), _opposite(cells[:n], 1)
        )
        fit = cross_conformal(
            probs, np.zeros(n, dtype=np.int64), folds, alpha=alpha, score="lac"
        )
        sets = fit.predict([_opposite(cells[n:], fold) for fold in (0, 1)])
        covered[i] = sets.mask[0, 0]
    return {"covered": covered}


def exact_coverage(n: int, alpha: float, share: float) -> float:
    """Return the probability that `contradicting` covers, as a finite sum.

    Given the new row's cell j, the rows of each fold with scores at least as large are
    binomial: those of cells up to j in one fold, those from j on in the other.
    """
    most = n - min(conformal_rank(n, alpha), n + 1)
    first, second = (n + 1) // 2, n // 2
    missed = 0.0
    counts = np.arange(most + 1)
    for j in range(CELLS):
        above = stats.binom.pmf(counts, first, share * (CELLS - j) / CELLS)
        below = stats.binom.cdf(most - counts, second, share * (j + 1) / CELLS)
        missed += share / CELLS * float(above @ below)
    return 1.0 - missed


def designs(generator: np.random.Generator) -> Design:
    """Return a case of contradicting classifiers; what is missed is near 2 alpha."""
    alpha = float(generator.choice([0.02, 0.05, 0.1, 0.2, 0.3]))
    n = int(generator.integers(4, 400))
    share = float(min(1.0, alpha * generator.uniform(0.5, 3.0)))
    return Design(
        {"n": n, "alpha": alpha, "share": share},
        Claim("covered", at_least=_bound(n, 2, alpha)),
        probability=partial(exact_coverage, n, alpha, share),
    )


def _covers(level: float, tolerance: float = 0.03) -> tuple[Claim, ...]:
    return (Claim("covered", at_least=level, tolerance=tolerance),)


_HARD = partial(contradicting, n=1000, alpha=0.1, share=0.17)

COVERAGE = Theorem(
    name="cross-conformal-coverage",
    title="Cross-conformal sets miss at most about twice alpha, whatever is fitted",
    reference=(f"{VOVK_2018}; {VOVK_2020}; {ROMANO_2020} (theory page, 1.11)"),
    statement=(
        "With F folds and k = ceil((1 - alpha)(n + 1)), P(Y in C(X)) >= "
        "1 - 2 (n - k + F) / (n + F); of each class, with its own n, if scores are "
        "compared within classes."
    ),
    assumptions=(EXCHANGEABLE, FOLDS_ELSEWHERE, SCORE_AND_ALPHA_ELSEWHERE),
    family=FAMILY,
    experiments=(
        Experiment(
            "public: nearest means, n = 60, 4 folds",
            partial(fitted, n=60, n_folds=4, alpha=0.2),
            _covers(_bound(60, 4, 0.2)),
            batch=200,
        ),
        Experiment(
            "public: the nearest row's label, n = 60, 4 folds",
            partial(fitted, n=60, n_folds=4, alpha=0.05, memory=True),
            _covers(_bound(60, 4, 0.05)),
            batch=200,
        ),
        Experiment(
            "public: by class, n = 120, 3 folds, class 1",
            partial(
                fitted, n=120, n_folds=3, alpha=0.2, method="label-conditional", label=1
            ),
            # the class has 40 rows or more but for one draw in a billion
            _covers(_bound(40, 3, 0.2)),
            batch=200,
        ),
        Experiment(
            "public: two classifiers that contradict each other, n = 1000",
            _HARD,
            (
                *_covers(_bound(1000, 2, 0.1), 0.02),
                Claim(
                    "covered", equals=exact_coverage(1000, 0.1, 0.17), tolerance=0.05
                ),
            ),
            batch=300,
        ),
    ),
    controls=(
        Experiment(
            "1 - alpha is promised",
            _HARD,
            _covers(0.9, 0.02),
            batch=300,
        ),
        Experiment(
            "a classifier that has seen its fold",
            partial(fitted, n=60, n_folds=4, alpha=0.05, memory=True, seen=True),
            _covers(_bound(60, 4, 0.05)),
            batch=200,
        ),
    ),
    designs=designs,
)

THEOREMS = (COVERAGE,)
