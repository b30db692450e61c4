"""Theorems on prediction sets without shift: coverage on average over calibrations."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from distfreeuq import scenarios
from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._numerics.quantiles import conformal_rank, smallest_order_statistic
from distfreeuq.conformal.nonconformity import (
    APS,
    LAC,
    RAPS,
    SAPS,
    Margin,
    Rank,
    nested_scores,
)
from distfreeuq.conformal.scores.nested_score import NestedScore
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.conformal.tallied_scores import round_up
from distfreeuq.conformal.thresholds import exchangeable_threshold
from distfreeuq.references import (
    CHOSEN_ELSEWHERE,
    EXCHANGEABLE,
    PAPADOPOULOS_2002,
    PODKOPAEV_RAMDAS_2021,
    VOVK_2005,
)
from distfreeuq.theorems.draws import procedure_designs
from distfreeuq.theorems.draws.calibration_draws import (
    Rows,
    covered_by_fits,
    scenario_rows,
    scored_draws,
    simplex_rows,
)
from distfreeuq.theorems.draws.row_designs import p_value_designs
from distfreeuq.theorems.draws.set_designs import split_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

FAMILY = "prediction sets"
SCORES: tuple[NestedScore, ...] = (
    LAC(),
    APS(),
    RAPS(penalty=0.1, k_reg=1),
    SAPS(),
    Rank(),
    Margin(),
)

overconfident = partial(simplex_rows, sharpness=0.5)
underconfident = partial(simplex_rows, sharpness=2.0)
tied = partial(scenario_rows, scenario="ties-everywhere")
gaussian = partial(scenario_rows, scenario="three-gaussians")
gaussian_target = partial(scenario_rows, scenario="three-gaussians", domain="target")


def certain(generator: np.random.Generator, size: int) -> tuple[FloatMatrix, IntArray]:
    """Return a classifier that is certain, and right: its APS score is u itself."""
    return np.tile([1.0, 0.0], (size, 1)), np.zeros(size, dtype=np.int64)


def covers(alpha: float, tolerance: float = 0.01) -> tuple[Claim, ...]:
    """Return the claim of every lower bound on coverage."""
    return (Claim("covered", at_least=1.0 - alpha, tolerance=tolerance),)


# ---------------------------------------------------------------------------- the draws


def public(
    generator: np.random.Generator,
    n_draws: int,
    *,
    rows: Rows,
    n: int,
    alpha: float,
    seeded: bool = True,
    **options: Any,
) -> dict[str, BoolArray]:
    """Fit and predict by the public functions."""
    fit = partial(split_conformal, alpha=alpha, **options)
    covered, _ = covered_by_fits(
        generator, n_draws, fit, source=rows, n=n, seeded=seeded
    )
    return {"covered": covered}


def batch(
    generator: np.random.Generator,
    n_draws: int,
    *,
    rows: Rows,
    target: Rows | None = None,
    n: int,
    alpha: float,
    score: NestedScore | None = None,
    randomized: bool = True,
    rule: Callable[[FloatArray, float], float] = exchangeable_threshold,
) -> dict[str, BoolArray]:
    """Threshold by `rule`, which is the package's own unless something is broken."""
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


def p_values(
    generator: np.random.Generator,
    n_draws: int,
    *,
    rows: Rows,
    n: int,
    alpha: float,
    own_mass: bool = True,
) -> dict[str, BoolArray]:
    """Return whether the true label's p-value is at most alpha, and if sets agree."""
    probs, labels = rows(generator, n_draws * (n + 1))
    probs, labels = probs.reshape(n_draws, n + 1, -1), labels.reshape(n_draws, n + 1)
    small, disagree = np.zeros((2, n_draws), dtype=np.bool_)
    for i, seed in enumerate(generator.integers(2**62, size=n_draws)):
        fit = split_conformal(probs[i, :n], labels[i, :n], alpha=alpha, rng=int(seed))
        p = fit.p_values(probs[i, n:])[0]
        if not own_mass:
            p = (p * (n + 1) - 1) / n
        small[i] = p[labels[i, n]] <= alpha + 1e-12
        mask = fit.predict(probs[i, n:]).mask[0]
        disagree[i] = (mask != (p > alpha + 1e-12)).any()
    return {"p <= alpha": small, "p and set disagree": disagree}


def score_law(
    generator: np.random.Generator, n_draws: int, *, rows: Rows, randomized: bool = True
) -> dict[str, BoolArray]:
    """Return whether the true label's APS score is below a few levels."""
    draws = scored_draws(generator, n_draws, source=rows, n=0, randomized=randomized)
    return {f"score <= {t}": draws.test_scores <= t for t in LEVELS}


LEVELS = (0.1, 0.5, 0.9)


def beside_the_oracle(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    alpha: float,
    sharpness: float = 1.0,
    randomized: bool = True,
) -> dict[str, BoolArray]:
    """Return whether the true label is in the oracle's set, and in one set alone.

    Parameters
    ----------
    generator, n_draws
    n : int
        Calibration rows.
    alpha : float
    sharpness : float
        Power of the posterior whose scores the conformal sets are made of.
    randomized : bool
        Of the oracle's sets.
    """
    toy = scenarios.three_gaussians()
    x, labels = toy.sample((n_draws, n + 1), rng=generator)
    probs = toy.posterior(x).reshape(n_draws * (n + 1), -1) ** sharpness
    probs /= probs.sum(axis=1, keepdims=True)
    uniforms = generator.random((n_draws, n + 1))
    scores = nested_scores(probs, uniforms=uniforms.ravel())
    scores = scores.reshape(n_draws, n + 1, -1)
    own = np.take_along_axis(scores, labels[:, :, None], axis=2)[:, :, 0]
    thresholds = np.array([exchangeable_threshold(row[:n], alpha) for row in own])
    of_oracle = toy.oracle_sets(
        x[:, n], alpha, randomized=randomized, uniforms=uniforms[:, n]
    )
    in_oracle = np.take_along_axis(of_oracle, labels[:, n:], axis=1)[:, 0]
    in_conformal = own[:, n] <= thresholds
    return {"oracle covers": in_oracle, "in one alone": in_oracle != in_conformal}


def expected_distance(n: int, alpha: float) -> float:
    """Return E|B - (1 - alpha)|, B the threshold: an order statistic of uniforms."""
    k, level = conformal_rank(n, alpha), 1.0 - alpha
    mean = k / (n + 1)
    below = special.betainc(k, n + 1 - k, level)
    below_mean = mean * special.betainc(k + 1, n + 1 - k, level)
    return float(2.0 * (level * below - below_mean) + mean - level)


# ---------------------------------------------------------------------- broken variants


def on_grid(scores: FloatArray, alpha: float, *, down: bool = False) -> float:
    """Return the threshold of scores rounded up to tenths, or down, which is wrong."""
    rounded = np.floor(scores * 10) / 10 if down else round_up(scores, 10)
    return exchangeable_threshold(rounded, alpha)


def atom_dropped(scores: FloatArray, alpha: float) -> float:
    """Return the (1 - alpha)-quantile of the calibration scores by themselves."""
    return smallest_order_statistic(scores, math.ceil((1.0 - alpha) * scores.size))


def rank_moved(scores: FloatArray, alpha: float, *, by: int) -> float:
    """Return an order statistic next to the right one."""
    return smallest_order_statistic(scores, conformal_rank(scores.size, alpha) + by)


def uniforms_reused(
    generator: np.random.Generator, n_draws: int, *, n: int, alpha: float
) -> dict[str, BoolArray]:
    """Score a certain classifier's test row with the uniform of a calibration row."""
    scores = generator.random((n_draws, n))
    thresholds = np.array([exchangeable_threshold(row, alpha) for row in scores])
    return {"covered": scores[:, 0] <= thresholds}


# ------------------------------------------------------------------------- the theorems

COVERAGE = Theorem(
    name="split-coverage",
    title="Split conformal sets cover",
    reference=f"{PAPADOPOULOS_2002}; {VOVK_2005}; {PODKOPAEV_RAMDAS_2021}, Thm 1",
    statement="P(Y in C(X)) >= 1 - alpha for a new row, whatever classifier and score.",
    assumptions=(EXCHANGEABLE, CHOSEN_ELSEWHERE),
    family=FAMILY,
    designs=split_designs,
    experiments=(
        Experiment(
            "public: over-confident classifier, n = 20",
            partial(public, rows=overconfident, n=20, alpha=0.1),
            covers(0.1, 0.02),
            batch=500,
        ),
        Experiment(
            "most likely label always added, n = 20",
            partial(public, rows=overconfident, n=20, alpha=0.3, never_empty=True),
            covers(0.3, 0.03),
            batch=500,
        ),
        Experiment(
            "public: ties everywhere, not randomised, n = 30",
            partial(public, rows=tied, n=30, alpha=0.3, randomized=False),
            covers(0.3, 0.03),
            batch=500,
        ),
        *(
            Experiment(
                f"{score.name}, over-confident classifier, n = 20",
                partial(batch, rows=overconfident, n=20, alpha=0.1, score=score),
                covers(0.1),
                batch=4000,
            )
            for score in SCORES
        ),
        *(
            Experiment(
                f"{score.name}, ties everywhere, not randomised, n = 30",
                partial(
                    batch, rows=tied, n=30, alpha=0.3, score=score, randomized=False
                ),
                covers(0.3),
                batch=4000,
            )
            for score in SCORES
        ),
        Experiment(
            "scores rounded up to a grid of ten per unit, as tallies are, n = 20",
            partial(batch, rows=overconfident, n=20, alpha=0.1, rule=on_grid),
            covers(0.1),
            batch=4000,
        ),
        Experiment(
            "too few rows: every label, n = 5",
            partial(batch, rows=overconfident, n=5, alpha=0.1),
            (Claim("covered", at_least=1.0),),
        ),
    ),
    controls=(
        Experiment(
            "atom at infinity dropped",
            partial(batch, rows=overconfident, n=20, alpha=0.1, rule=atom_dropped),
            covers(0.1),
        ),
        Experiment(
            "scores rounded down to a grid",
            partial(
                batch,
                rows=overconfident,
                n=20,
                alpha=0.1,
                rule=partial(on_grid, down=True),
            ),
            covers(0.1),
        ),
        Experiment(
            "rank too low by one",
            partial(
                batch,
                rows=overconfident,
                n=50,
                alpha=0.1,
                rule=partial(rank_moved, by=-1),
            ),
            covers(0.1),
        ),
        Experiment(
            "label shift: rows not exchangeable",
            partial(batch, rows=gaussian, target=gaussian_target, n=50, alpha=0.1),
            covers(0.1),
        ),
    ),
)

COVERAGE_EXACT = Theorem(
    name="split-coverage-exact",
    title="Split conformal sets cover no more than they must",
    reference=f"{PODKOPAEV_RAMDAS_2021}, Thm 1, upper side",
    statement=(
        "P(Y in C(X)) = k / (n + 1) <= 1 - alpha + 1 / (n + 1), with k the rank of the "
        "threshold, if no two scores can tie."
    ),
    assumptions=(EXCHANGEABLE, CHOSEN_ELSEWHERE, "scores are continuous"),
    family=FAMILY,
    designs=procedure_designs.exact_split_designs,
    experiments=(
        Experiment(
            "public: certain classifier, n = 9",
            partial(public, rows=certain, n=9, alpha=0.3, seeded=False),
            (Claim("covered", equals=0.7, tolerance=0.04),),
            batch=500,
        ),
        *(
            Experiment(
                f"under-confident classifier, n = {n}, alpha = {alpha}",
                partial(batch, rows=underconfident, n=n, alpha=alpha),
                (
                    Claim("covered", equals=rank / (n + 1)),
                    Claim("covered", at_most=min(1.0, 1 - alpha + 1 / (n + 1))),
                ),
                batch=40_000 // n,
            )
            for n, alpha, rank in ((9, 0.1, 9), (50, 0.05, 49), (200, 0.05, 191))
        ),
    ),
    controls=(
        Experiment(
            "uniforms of the fit used again in prediction",
            partial(uniforms_reused, n=9, alpha=0.3),
            (Claim("covered", equals=0.7, tolerance=0.04),),
        ),
        Experiment(
            "rank too high by one",
            partial(
                batch,
                rows=underconfident,
                n=50,
                alpha=0.05,
                rule=partial(rank_moved, by=1),
            ),
            (Claim("covered", equals=49 / 51),),
        ),
        Experiment(
            "scores that tie",
            partial(batch, rows=tied, n=30, alpha=0.3, randomized=False),
            (Claim("covered", at_most=0.7 + 1 / 31),),
        ),
    ),
)

P_VALUES = Theorem(
    name="conformal-p-values",
    title="Conformal p-values are valid",
    reference=f"{PODKOPAEV_RAMDAS_2021}, Thm 1, dual form",
    statement=(
        "P(p of the true label <= alpha) <= alpha, with equality if alpha (n + 1) "
        "is an integer and no two scores can tie; a label is in the set if and only if "
        "its p-value exceeds alpha."
    ),
    assumptions=(EXCHANGEABLE, CHOSEN_ELSEWHERE),
    family=FAMILY,
    designs=p_value_designs,
    experiments=(
        Experiment(
            "public: over-confident classifier, n = 19",
            partial(p_values, rows=overconfident, n=19, alpha=0.1),
            (
                Claim("p <= alpha", equals=0.1, tolerance=0.03),
                Claim("p and set disagree", at_most=0.0),
            ),
            batch=400,
        ),
        Experiment(
            "public: ties everywhere, n = 30",
            partial(p_values, rows=tied, n=30, alpha=0.3),
            (
                Claim("p <= alpha", at_most=0.3, tolerance=0.04),
                Claim("p and set disagree", at_most=0.0),
            ),
            batch=400,
        ),
    ),
    controls=(
        Experiment(
            "the row's own mass left out",
            partial(p_values, rows=overconfident, n=20, alpha=0.1, own_mass=False),
            (Claim("p <= alpha", at_most=0.1, tolerance=0.03),),
            batch=400,
        ),
    ),
)

APS_UNIFORM = Theorem(
    name="aps-uniform",
    title="The randomised APS score of the Bayes rule is uniform",
    reference="Romano, Sesia & Candes (2020)",
    statement="P(score of the true label <= t) = t for every t in [0, 1].",
    assumptions=("the classifier is the Bayes rule", "no two probabilities tie"),
    family=FAMILY,
    designs=procedure_designs.aps_designs,
    experiments=tuple(
        Experiment(
            name,
            partial(score_law, rows=rows),
            tuple(Claim(f"score <= {t}", equals=t, tolerance=0.005) for t in LEVELS),
            batch=50_000,
        )
        for name, rows in (
            (
                "ten classes, uniform on the simplex",
                partial(simplex_rows, n_classes=10),
            ),
            ("three Gaussians", gaussian),
        )
    ),
    controls=(
        Experiment(
            "not randomised",
            partial(score_law, rows=gaussian, randomized=False),
            (Claim("score <= 0.5", equals=0.5, tolerance=0.005),),
        ),
        Experiment(
            "over-confident classifier",
            partial(score_law, rows=overconfident),
            (Claim("score <= 0.5", equals=0.5, tolerance=0.005),),
        ),
    ),
)

ORACLE_SETS = Theorem(
    name="oracle-sets",
    title="Conformal sets of the Bayes rule come to the oracle's",
    reference=f"{PODKOPAEV_RAMDAS_2021}, eq. (3) and (4); theory page, 1.1",
    statement=(
        "With scores of the true posterior, the label is in exactly one of the two sets"
        " with probability E|B - (1 - alpha)|, B the k-th smallest of n uniforms: of "
        "the order n^(-1/2), at every n. The oracle's sets cover with probability 1 - "
        "alpha."
    ),
    assumptions=("the classifier is the Bayes rule", "no two probabilities tie"),
    family=FAMILY,
    unsearched="one law for every posterior, which the statement gives",
    experiments=tuple(
        Experiment(
            f"three Gaussians, n = {n}",
            partial(beside_the_oracle, n=n, alpha=0.1),
            (
                Claim("oracle covers", equals=0.9, tolerance=0.01),
                Claim(
                    "in one alone", equals=expected_distance(n, 0.1), tolerance=0.005
                ),
            ),
            batch=2000,
        )
        for n in (19, 199)
    ),
    controls=(
        Experiment(
            "over-confident classifier",
            partial(beside_the_oracle, n=199, alpha=0.1, sharpness=2.0),
            (
                Claim(
                    "in one alone", equals=expected_distance(199, 0.1), tolerance=0.005
                ),
            ),
            batch=2000,
        ),
        Experiment(
            "an oracle without randomisation",
            partial(beside_the_oracle, n=19, alpha=0.1, randomized=False),
            (Claim("oracle covers", equals=0.9, tolerance=0.01),),
            batch=2000,
        ),
    ),
)

THEOREMS = (COVERAGE, COVERAGE_EXACT, P_VALUES, APS_UNIFORM, ORACLE_SETS)
