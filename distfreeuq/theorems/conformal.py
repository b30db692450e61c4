"""Theorems on prediction sets without shift, on average and given the rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from distfreeuq._typing import BoolArray, FloatArray, IntArray
from distfreeuq.conformal.calibration import CHOSEN_ELSEWHERE, PAPER_A
from distfreeuq.conformal.scores import (
    APS,
    LAC,
    RAPS,
    SAPS,
    Margin,
    NestedScore,
    Rank,
)
from distfreeuq.conformal.split import split_conformal
from distfreeuq.conformal.thresholds import exchangeable_threshold
from distfreeuq.quantiles import conformal_rank, smallest_order_statistic
from distfreeuq.theorems.claims import Claim
from distfreeuq.theorems.draws import (
    Rows,
    few_valued_rows,
    gaussian_source,
    gaussian_target,
    scored_draws,
    simplex_rows,
)
from distfreeuq.theorems.experiment import Experiment, Theorem

FAMILY = "prediction sets"
EXCHANGEABLE = "the calibration rows and the new row are exchangeable"
SCORES: tuple[NestedScore, ...] = (
    LAC(),
    APS(),
    RAPS(penalty=0.1, k_reg=1),
    SAPS(),
    Rank(),
    Margin(),
)
overconfident = partial(simplex_rows, sharpness=0.5)
Rule = Callable[[FloatArray, IntArray], float]


# ---------------------------------------------------------------- through the functions


def public_split(
    generator: np.random.Generator,
    n_draws: int,
    *,
    rows: Rows,
    n: int,
    alpha: float,
    never_empty: bool = False,
    reuse_uniforms: bool = False,
) -> dict[str, BoolArray]:
    """Fit and predict by the public functions, one integer seed for both as users do.

    `reuse_uniforms` is the broken variant: the test row gets a calibration row's.
    """
    probs, labels = rows(generator, n_draws * (n + 1))
    probs = probs.reshape(n_draws, n + 1, -1)
    labels = labels.reshape(n_draws, n + 1)
    covered = np.empty(n_draws, dtype=np.bool_)
    for i, seed in enumerate(generator.integers(2**62, size=n_draws)):
        rng = np.random.default_rng(seed) if reuse_uniforms else seed
        fit = split_conformal(
            probs[i, :n], labels[i, :n], alpha=alpha, never_empty=never_empty, rng=rng
        )
        rng = np.random.default_rng(seed) if reuse_uniforms else seed
        sets = fit.predict(probs[i, n:], rng=rng)
        covered[i] = sets.mask[0, labels[i, n]]
    return {"covered": covered}


def certain_rows(
    generator: np.random.Generator, size: int
) -> tuple[FloatArray, IntArray]:
    """Return a classifier that is certain, and right: its APS score is u itself."""
    return np.tile([1.0, 0.0], (size, 1)), np.zeros(size, dtype=np.int64)


# ------------------------------------------------------------------ many sets at a time


def split_draws(
    generator: np.random.Generator,
    n_draws: int,
    *,
    rows: Rows,
    n: int,
    alpha: float,
    score: NestedScore,
    target: Rows | None = None,
    randomized: bool = True,
    rule: Callable[[FloatArray, float], float] = exchangeable_threshold,
) -> dict[str, BoolArray]:
    """Threshold by `rule(scores, alpha)`, the package's own unless it is broken."""
    draws = scored_draws(
        generator,
        n_draws,
        source=rows,
        target=target,
        n=n,
        score=score,
        randomized=randomized,
    )
    thresholds = draws.thresholds(lambda scores, labels: rule(scores, alpha))
    return {"covered": draws.covered(thresholds)}


def atom_dropped(scores: FloatArray, alpha: float) -> float:
    """Return the (1 - alpha)-quantile of the calibration scores by themselves."""
    return smallest_order_statistic(scores, math.ceil((1.0 - alpha) * scores.size))


def rank_moved(scores: FloatArray, alpha: float, by: int) -> float:
    """Return an order statistic next to the right one."""
    return smallest_order_statistic(scores, conformal_rank(scores.size, alpha) + by)


def covers(alpha: float, tolerance: float = 0.01) -> tuple[Claim, ...]:
    """Return the claim of every lower bound on coverage."""
    return (Claim("covered", at_least=1.0 - alpha, tolerance=tolerance),)


# ------------------------------------------------------------------------- the theorems

SPLIT_COVERAGE = Theorem(
    name="split-coverage",
    title="Split conformal sets cover",
    reference=f"{PAPER_A}, Thm 1",
    statement="P(Y in C(X)) >= 1 - alpha for a new row, whatever classifier and score.",
    assumptions=(EXCHANGEABLE, CHOSEN_ELSEWHERE),
    family=FAMILY,
    experiments=(
        Experiment(
            "public functions, n = 20",
            partial(public_split, rows=overconfident, n=20, alpha=0.1),
            covers(0.1, 0.02),
            batch=500,
        ),
        *(
            Experiment(
                f"{score.name}, over-confident classifier, n = 20",
                partial(split_draws, rows=overconfident, n=20, alpha=0.1, score=score),
                covers(0.1),
                batch=4000,
            )
            for score in SCORES
        ),
        *(
            Experiment(
                f"{score.name}, ties everywhere, not randomised, n = 30",
                partial(
                    split_draws,
                    rows=few_valued_rows,
                    n=30,
                    alpha=0.3,
                    score=score,
                    randomized=False,
                ),
                covers(0.3),
                batch=4000,
            )
            for score in SCORES
        ),
        Experiment(
            "most likely label always added, n = 20",
            partial(
                public_split, rows=overconfident, n=20, alpha=0.3, never_empty=True
            ),
            covers(0.3, 0.03),
            batch=500,
        ),
    ),
    controls=(
        Experiment(
            "atom at infinity dropped",
            partial(
                split_draws,
                rows=overconfident,
                n=20,
                alpha=0.1,
                score=APS(),
                rule=atom_dropped,
            ),
            covers(0.1),
            batch=4000,
        ),
        Experiment(
            "rank too low by one",
            partial(
                split_draws,
                rows=overconfident,
                n=50,
                alpha=0.1,
                score=APS(),
                rule=partial(rank_moved, by=-1),
            ),
            covers(0.1),
            batch=4000,
        ),
        Experiment(
            "label shift: rows not exchangeable",
            partial(
                split_draws,
                rows=gaussian_source,
                target=gaussian_target,
                n=50,
                alpha=0.1,
                score=APS(),
            ),
            covers(0.1),
            batch=4000,
        ),
    ),
)

SPLIT_COVERAGE_EXACT = Theorem(
    name="split-coverage-exact",
    title="Split conformal sets cover no more than they must",
    reference=f"{PAPER_A}, Thm 1, upper side",
    statement=(
        "P(Y in C(X)) = k / (n + 1) <= 1 - alpha + 1 / (n + 1), with k the rank of the "
        "threshold, if no two scores can tie."
    ),
    assumptions=(EXCHANGEABLE, CHOSEN_ELSEWHERE, "scores are continuous"),
    family=FAMILY,
    experiments=(
        Experiment(
            "one seed for fit and prediction, certain classifier, n = 9",
            partial(public_split, rows=certain_rows, n=9, alpha=0.3),
            (Claim("covered", equals=0.7, tolerance=0.04),),
            batch=500,
        ),
        *(
            Experiment(
                f"aps, under-confident classifier, n = {n}, alpha = {alpha}",
                partial(
                    split_draws,
                    rows=partial(simplex_rows, sharpness=2.0),
                    n=n,
                    alpha=alpha,
                    score=APS(),
                ),
                (
                    Claim("covered", equals=rank / (n + 1)),
                    Claim("covered", at_most=1 - alpha + 1 / (n + 1)),
                ),
                batch=max(200, 100_000 // n),
            )
            for n, alpha, rank in ((9, 0.1, 9), (50, 0.05, 49), (200, 0.1, 181))
        ),
    ),
    controls=(
        Experiment(
            "uniforms of the fit used again in prediction",
            partial(
                public_split, rows=certain_rows, n=9, alpha=0.3, reuse_uniforms=True
            ),
            (Claim("covered", equals=0.7, tolerance=0.04),),
            batch=500,
        ),
        Experiment(
            "rank too high by one",
            partial(
                split_draws,
                rows=overconfident,
                n=50,
                alpha=0.05,
                score=APS(),
                rule=partial(rank_moved, by=1),
            ),
            (Claim("covered", equals=49 / 51),),
            batch=2000,
        ),
        Experiment(
            "scores that tie",
            partial(
                split_draws,
                rows=few_valued_rows,
                n=30,
                alpha=0.3,
                score=APS(),
                randomized=False,
            ),
            (Claim("covered", at_most=0.7 + 1 / 31),),
            batch=4000,
        ),
    ),
)

THEOREMS = (SPLIT_COVERAGE, SPLIT_COVERAGE_EXACT)
