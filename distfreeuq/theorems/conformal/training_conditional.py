"""Theorems on coverage given the calibration rows: its law, and PAC ranks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from distfreeuq import bounds
from distfreeuq._base.array_types import BoolArray, FloatArray
from distfreeuq._numerics.quantiles import conformal_rank, smallest_order_statistic
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.references import CHOSEN_ELSEWHERE, NEW_ROW_IID, VOVK_2012
from distfreeuq.theorems.conformal.split_coverage import FAMILY
from distfreeuq.theorems.draws.calibration_draws import simplex_rows
from distfreeuq.theorems.draws.pac_designs import split_pac_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

# Under the Bayes rule the randomised APS score is uniform ("aps-uniform"), so that the
# coverage of a threshold t, given the calibration rows, is t itself.


# --------------------------------------------------------- one threshold, without shift


def order_statistic(
    generator: np.random.Generator, n_draws: int, *, n: int, rank: int, values: int = 0
) -> FloatArray:
    """Return coverage given the calibration rows, by the rank-th of n scores.

    Scores are uniform, or take so many `values` with equal probability.
    """
    scores = generator.random((n_draws, n))
    if values:
        scores = np.ceil(scores * values) / values
    found = [smallest_order_statistic(row, rank) for row in scores]
    return np.minimum(found, 1.0)


def beta_law(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    alpha: float,
    values: int = 0,
    moved: int = 0,
) -> dict[str, BoolArray]:
    """Return whether coverage lies below quantiles of its law, of a `moved` rank."""
    rank = conformal_rank(n, alpha)
    coverage = order_statistic(
        generator, n_draws, n=n, rank=rank + moved, values=values
    )
    return {
        f"coverage <= {level} quantile": coverage
        <= bounds.beta_coverage_quantile(n, rank, level)
        for level in QUANTILES
    }


def public_statement(
    generator: np.random.Generator, n_draws: int, *, n: int
) -> dict[str, BoolArray]:
    """Return whether coverage reaches the second guarantee that a fit states."""
    probs, labels = simplex_rows(generator, n_draws * n)
    reached = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        rows = slice(i * n, (i + 1) * n)
        fit = split_conformal(probs[rows], labels[rows], rng=generator)
        promised = fit.further[0].lower
        assert promised is not None
        reached[i] = fit.thresholds[0] >= promised
    return {"as promised": reached}


def pac(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    alpha: float,
    delta: float,
    values: int = 0,
    rank_of: Callable[[int, float, float], int] = bounds.pac_rank,
) -> dict[str, BoolArray]:
    """Return whether coverage reaches 1 - alpha, by a rank of the batch's own."""
    rank = rank_of(n, alpha, delta)
    coverage = order_statistic(generator, n_draws, n=n, rank=rank, values=values)
    return {"reached": coverage >= 1.0 - alpha}


def public_pac(
    generator: np.random.Generator, n_draws: int, *, n: int, alpha: float, delta: float
) -> dict[str, BoolArray]:
    """Return whether coverage reaches 1 - alpha by public fits."""
    probs, labels = simplex_rows(generator, n_draws * n)
    reached = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        rows = slice(i * n, (i + 1) * n)
        fit = split_conformal(
            probs[rows],
            labels[rows],
            alpha=alpha,
            confidence=1.0 - delta,
            rng=generator,
        )
        reached[i] = fit.thresholds[0] >= 1.0 - alpha
    return {"reached": reached}


def marginal_rank(n: int, alpha: float, delta: float) -> int:
    """Return the rank that is right on average over calibration draws."""
    return conformal_rank(n, alpha)


def one_rank_less(n: int, alpha: float, delta: float) -> int:
    """Return a rank below the smallest that is allowed."""
    return bounds.pac_rank(n, alpha, delta) - 1


def reach(confidence: float, tolerance: float = 0.02) -> tuple[Claim, ...]:
    """Return the claim of every PAC threshold."""
    return (Claim("reached", at_least=confidence, tolerance=tolerance),)


# ------------------------------------------------------------------------- the theorems

BETA = Theorem(
    name="training-conditional-coverage",
    title="Coverage given the calibration rows has a Beta law",
    reference=VOVK_2012,
    statement=(
        "coverage given the calibration rows is Beta(k, n + 1 - k), with k the rank of "
        "the threshold, and stochastically larger if scores tie."
    ),
    assumptions=(NEW_ROW_IID, CHOSEN_ELSEWHERE),
    family=FAMILY,
    unsearched=(
        "one law for all continuous scores; pac-coverage has designs with atoms"
    ),
    experiments=(
        *(
            Experiment(
                f"continuous scores, n = {n}, alpha = {alpha}",
                partial(beta_law, n=n, alpha=alpha),
                tuple(
                    Claim(f"coverage <= {level} quantile", equals=level, tolerance=0.02)
                    for level in QUANTILES
                ),
            )
            for n, alpha in ((9, 0.1), (50, 0.3), (200, 0.05))
        ),
        Experiment(
            "scores of ten values, n = 60",
            partial(beta_law, n=60, alpha=0.25, values=10),
            tuple(
                Claim(f"coverage <= {level} quantile", at_most=level, tolerance=0.02)
                for level in QUANTILES
            ),
        ),
        Experiment(
            "public: what the summary states, n = 50",
            partial(public_statement, n=50),
            (Claim("as promised", equals=0.95, tolerance=0.02),),
            batch=400,
        ),
    ),
    controls=(
        *(
            Experiment(
                f"the law of the next {side} rank",
                partial(beta_law, n=50, alpha=0.1, moved=moved),
                (Claim("coverage <= 0.5 quantile", equals=0.5, tolerance=0.02),),
            )
            for side, moved in (("lower", -1), ("higher", 1))
        ),
        Experiment(
            "scores that tie",
            partial(beta_law, n=60, alpha=0.25, values=10),
            (Claim("coverage <= 0.5 quantile", equals=0.5, tolerance=0.02),),
        ),
    ),
)


def _beta_tail(n: int, alpha: float, delta: float) -> float:
    rank = bounds.pac_rank(n, alpha, delta)
    return float(special.betaincc(rank, n + 1 - rank, 1.0 - alpha))


PAC = Theorem(
    name="pac-coverage",
    title="The PAC rank covers with the confidence asked for",
    reference=f"{VOVK_2012}, Prop. 2a",
    statement=(
        "with probability >= 1 - delta over the calibration draw, coverage given the "
        "calibration rows is >= 1 - alpha; no smaller rank has this property."
    ),
    assumptions=(NEW_ROW_IID, CHOSEN_ELSEWHERE),
    family=FAMILY,
    designs=split_pac_designs,
    experiments=(
        Experiment(
            "public: n = 60, alpha = 0.1, delta = 0.1",
            partial(public_pac, n=60, alpha=0.1, delta=0.1),
            (
                *reach(0.9),
                Claim("reached", equals=_beta_tail(60, 0.1, 0.1), tolerance=0.02),
            ),
            batch=400,
        ),
        *(
            Experiment(
                f"continuous scores, n = {n}, alpha = {alpha}, delta = {delta}",
                partial(pac, n=n, alpha=alpha, delta=delta),
                (
                    *reach(1.0 - delta, 0.01),
                    Claim("reached", equals=_beta_tail(n, alpha, delta)),
                ),
                batch=4000,
            )
            for n, alpha, delta in ((30, 0.1, 0.05), (200, 0.1, 0.05), (200, 0.3, 0.5))
        ),
        Experiment(
            "scores of ten values, n = 60",
            partial(pac, n=60, alpha=0.25, delta=0.1, values=10),
            reach(0.9, 0.01),
        ),
    ),
    controls=(
        Experiment(
            "the rank that is right on average",
            partial(pac, n=200, alpha=0.1, delta=0.1, rank_of=marginal_rank),
            reach(0.9),
        ),
        Experiment(
            "rank too low by one",
            partial(pac, n=200, alpha=0.1, delta=0.1, rank_of=one_rank_less),
            reach(0.9),
        ),
    ),
)

THEOREMS = (BETA, PAC)
