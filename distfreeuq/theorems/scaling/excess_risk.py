"""Theorems on the excess risk of fitted temperatures.

The population has finitely many rows of logits with known label probabilities, so that
expected losses are sums and every excess risk is exact. A draw is the counts of all
pairs of a row and a label, fitted as weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.calibration.classwise_temperature import classwise_temperature_scaling
from distfreeuq.calibration.temperature import temperature_scaling
from distfreeuq.references import FITTED_ELSEWHERE, ZHAO_2020
from distfreeuq.theorems.draws.scaling_designs import (
    excess_designs,
    stated_draw,
    with_masked,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

FAMILY = "calibration by scaling"
DELTA = 0.1
ALPHAS = (0.05, 3.0)
LOGIT_RANGE, N_CLASSES = 4.0, 3
TIGHT, PAPER, CLOSED = "within ours", "within the paper's", "within (4.4)"
ASSUMPTIONS = (
    "calibration rows and new rows i.i.d.",
    FITTED_ELSEWHERE,
    "the range of a row's logits is known to be at most 4",
)


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """All pairs of a row of logits and a label, with their probabilities (P,)."""

    logits: FloatMatrix
    labels: IntArray
    masses: FloatArray

    @property
    def predicted(self) -> IntArray:
        """The column of each pair's largest logit."""
        columns: IntArray = self.logits.argmax(axis=1)
        return columns

    def losses(self, alphas: FloatArray, loss: str) -> FloatArray:
        """Return the loss of every pair at one alpha per predicted class, (P,)."""
        scaled = alphas[self.predicted][:, None] * self.logits
        probs = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        probs /= probs.sum(axis=1, keepdims=True)
        own = np.eye(self.logits.shape[1])[self.labels]
        if loss == "nll":
            return np.asarray(-np.log((probs * own).sum(axis=1)))
        return np.asarray(((probs - own) ** 2).sum(axis=1))


@cache
def population() -> Population:
    """Return over-confident logits in [0, 4]; how much depends on the prediction."""
    rng = np.random.default_rng(0)
    n_rows = 12
    rows = LOGIT_RANGE * rng.random((n_rows, N_CLASSES))
    rows[np.arange(n_rows), np.arange(n_rows) % N_CLASSES] = LOGIT_RANGE
    sharpness = np.linspace(0.2, 1.0, N_CLASSES)[rows.argmax(axis=1), None]
    truth = np.exp(sharpness * rows)
    truth /= truth.sum(axis=1, keepdims=True)
    share = rng.dirichlet(np.full(n_rows, 5.0))
    return Population(
        logits=np.repeat(rows, N_CLASSES, axis=0),
        labels=np.tile(np.arange(N_CLASSES), n_rows),
        masses=(share[:, None] * truth).ravel(),
    )


Fit = Callable[[Population, FloatArray, str, float], FloatArray]
"""From counts of all pairs, a loss and gamma to one alpha per class (K,)."""


def fit_alphas(
    pop: Population, counts: FloatArray, loss: str, gamma: float
) -> FloatArray:
    """Fit by the public functions; gamma = 0 is one temperature for all."""
    if gamma == 0.0:
        one = temperature_scaling(
            pop.logits, pop.labels, sample_weight=counts, loss=loss, bounds=ALPHAS
        )
        return np.full(N_CLASSES, one.inverse_temperature)
    many = classwise_temperature_scaling(
        pop.logits,
        pop.labels,
        sample_weight=counts,
        loss=loss,
        bounds=ALPHAS,
        gamma=gamma,
        min_rows=1,
    )
    return many.inverse_temperatures


def fit_to_next_label(
    pop: Population, counts: FloatArray, loss: str, gamma: float
) -> FloatArray:
    """Fit with every label taken for the next: a broken procedure."""
    shifted = Population(pop.logits, (pop.labels + 1) % N_CLASSES, pop.masses)
    return fit_alphas(shifted, counts, loss, gamma)


def both_bounds(
    n: int | IntArray, loss: str, gamma: float, n_temperatures: int, delta: float
) -> tuple[FloatArray, FloatArray]:
    """Return our bound and the paper's, with the range known in advance."""
    own, paper, factor = loss_constants(loss)
    fixed: dict[str, Any] = {"alpha_bounds": ALPHAS, "gamma": gamma}
    return (
        factor
        * bounds.cts_excess_risk_tight(
            n, n_temperatures, delta, **fixed, **own._asdict()
        ),
        factor
        * bounds.cts_excess_risk(n, n_temperatures, delta, **fixed, **paper._asdict()),
    )


def loss_constants(
    loss: str,
) -> tuple[bounds.LossConstants, bounds.LossConstants, float]:
    """Return our constants, the paper's, and what bounds are to be multiplied by."""
    if loss == "nll":
        own = bounds.nll_constants(LOGIT_RANGE, N_CLASSES, ALPHAS[1])
        return own, own, 1.0
    norm = 0.5 * LOGIT_RANGE * np.sqrt(N_CLASSES)
    paper = bounds.LossConstants(1.0, float(np.sqrt(2.0) * norm))
    return bounds.half_brier_constants(LOGIT_RANGE), paper, 2.0


def excess(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    loss: str,
    gamma: float,
    fit: Fit = fit_alphas,
    deviation: float = 1.0,
) -> dict[str, BoolArray]:
    """Return whether the excess risk of fits to n rows is within the bounds."""
    pop = population()
    best = fit_alphas(pop, pop.masses, loss, gamma)
    smallest = pop.masses @ pop.losses(best, loss)
    risks = np.array(
        [
            pop.masses @ pop.losses(fit(pop, counts.astype(float), loss, gamma), loss)
            for counts in generator.multinomial(n, pop.masses, size=n_draws)
        ]
    )
    tight, paper = both_bounds(n, loss, gamma, 1 if gamma == 0 else N_CLASSES, DELTA)
    return {
        TIGHT: risks - smallest <= deviation * tight,
        PAPER: risks - smallest <= deviation * paper,
        "below the best": risks < smallest - 1e-12,
    }


def stated(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    loss: str,
    by_class: bool = False,
    masked: bool = False,
    factor: float = 1.0,
) -> dict[str, BoolArray]:
    """Ask whether what fits to n rows state is exceeded, on the population's rows.

    Masked: with -inf as the logit of some classes.
    """
    pop = population()
    logits = 0.5 * pop.logits[::N_CLASSES]
    joint = pop.masses.reshape(-1, N_CLASSES)
    if masked:
        logits, joint = with_masked(np.random.default_rng(1), logits, joint)
    return stated_draw(
        generator,
        n_draws,
        n=n,
        loss=loss,
        logits=logits,
        joint=joint,
        by_class=by_class,
        delta=DELTA,
        factor=factor,
    )


STATED = (Claim("excess above what is stated", at_most=DELTA, tolerance=0.06),)


def class_excess(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    fit: Fit = fit_alphas,
    deviation: float = 1.0,
) -> dict[str, BoolArray]:
    """Return whether the excess risks of all predicted classes are within the bounds.

    With the observed counts, and as Corollary 4.2 prints it, by the expected count of
    the rarest class.
    """
    pop, loss = population(), "brier"
    best = fit_alphas(pop, pop.masses, loss, np.inf)
    mass = np.bincount(pop.predicted, pop.masses, N_CLASSES)
    _, paper, factor = loss_constants(loss)
    printed, _ = bounds.cts_corollary(
        n,
        N_CLASSES,
        DELTA / N_CLASSES,
        smallest_class=float(mass.min()),
        alpha_bounds=ALPHAS,
        **paper._asdict(),
    )
    within = np.empty((n_draws, 3), dtype=np.bool_)
    for i, counts in enumerate(generator.multinomial(n, pop.masses, size=n_draws)):
        alphas = fit(pop, counts.astype(float), loss, np.inf)
        gain = pop.losses(alphas, loss) - pop.losses(best, loss)
        risks = np.bincount(pop.predicted, pop.masses * gain, N_CLASSES) / mass
        rows = np.bincount(pop.predicted, counts, N_CLASSES).astype(np.int64)
        limits = both_bounds(rows, loss, 0.0, 1, DELTA / N_CLASSES)
        for j, limit in enumerate([*limits, np.array(factor * printed)]):
            within[i, j] = (risks <= deviation * limit).all()
    return dict(zip((TIGHT, PAPER, CLOSED), within.T, strict=True))


def hold(*events: str, bound: float = 1.0 - DELTA) -> tuple[Claim, ...]:
    """Return that each of these events is as likely as the bounds say."""
    return tuple(Claim(event, at_least=bound, tolerance=0.05) for event in events)


def corollary_level(n: int) -> float:
    """Return the probability that Corollary 4.2 promises."""
    pop = population()
    smallest = float(np.bincount(pop.predicted, pop.masses).min())
    _, failure = bounds.cts_corollary(
        n,
        N_CLASSES,
        DELTA / N_CLASSES,
        smallest_class=smallest,
        alpha_bounds=ALPHAS,
        lipschitz=1.0,
    )
    return 1.0 - failure


EXCESS_RISK = Theorem(
    name="temperature-excess-risk",
    title="Fitted temperatures are nearly the best",
    reference=f"{ZHAO_2020}, Thm 4.1; tighter constants: theory page, 8",
    statement=(
        "With probability >= 1 - delta the expected loss of temperatures fitted to n "
        "rows exceeds that of the best ones by at most a bound of order "
        "sqrt(log(n) / n) for one temperature, sqrt(K log(n) / n) for K of them."
    ),
    assumptions=ASSUMPTIONS,
    family=FAMILY,
    designs=excess_designs,
    experiments=(
        *(
            Experiment(
                f"public: what is stated, {loss}, n = {n}",
                partial(stated, n=n, loss=loss),
                STATED,
                batch=50,
            )
            for loss, n in (("brier", 400), ("nll", 3000))
        ),
        Experiment(
            "public: what is stated, masked classes, brier, n = 400",
            partial(stated, n=400, loss="brier", masked=True),
            STATED,
            batch=50,
        ),
        *(
            Experiment(
                f"{words}, {loss.upper() if loss == 'nll' else 'Brier'}, n = {n}",
                partial(excess, n=n, loss=loss, gamma=gamma),
                (
                    *hold(TIGHT, PAPER),
                    Claim("below the best", at_most=0.0, tolerance=0.1),
                ),
                batch=50,
            )
            for words, loss, gamma, n in (
                ("one temperature", "nll", 0.0, 400),
                ("one temperature", "brier", 0.0, 400),
                ("gamma = 0.01: first regime", "nll", 0.01, 400),
                ("gamma = 0.3: second regime", "nll", 0.3, 400),
                ("free temperatures", "nll", np.inf, 50),
                ("free temperatures", "brier", np.inf, 400),
            )
        ),
    ),
    controls=(
        Experiment(
            "public: a thousandth of what is stated",
            partial(stated, n=3000, loss="nll", factor=1e-3),
            STATED,
            batch=50,
        ),
        Experiment(
            "public: a thousandth of what is stated, masked classes",
            partial(stated, n=400, loss="brier", masked=True, factor=1e-3),
            STATED,
            batch=50,
        ),
        Experiment(
            "fitted to wrong labels",
            partial(excess, n=20_000, loss="brier", gamma=0.0, fit=fit_to_next_label),
            hold(TIGHT),
            batch=50,
        ),
        Experiment(
            "a thousandth of the bound",
            partial(excess, n=50, loss="nll", gamma=np.inf, deviation=1e-3),
            hold(PAPER),
            batch=50,
        ),
    ),
)

CLASS_EXCESS_RISK = Theorem(
    name="class-excess-risk",
    title="Class-wise temperatures are nearly the best in every class",
    reference=f"{ZHAO_2020}, Cor. 4.2",
    statement=(
        "With probability >= 1 - delta, for all predicted classes at once, the "
        "expected loss given the class exceeds that of its best temperature by at most "
        "a bound in the number of its rows; as printed, by at most (4.4) with "
        "probability >= 1 - K (delta + exp(-p n / 8)), p that of the rarest class."
    ),
    assumptions=ASSUMPTIONS,
    family=FAMILY,
    designs=partial(excess_designs, by_class=True),
    experiments=(
        Experiment(
            "public: what is stated, brier, n = 3000",
            partial(stated, n=3000, loss="brier", by_class=True),
            STATED,
            batch=50,
        ),
        Experiment(
            "free temperatures, Brier, n = 900",
            partial(class_excess, n=900),
            (
                *hold(TIGHT, PAPER),
                *hold(CLOSED, bound=corollary_level(900)),
            ),
            batch=50,
        ),
    ),
    controls=(
        Experiment(
            "fitted to wrong labels",
            partial(class_excess, n=40_000, fit=fit_to_next_label),
            hold(TIGHT),
            batch=50,
        ),
        Experiment(
            "a thousandth of the bound",
            partial(class_excess, n=900, deviation=1e-3),
            hold(TIGHT),
            batch=50,
        ),
    ),
)

THEOREMS = (EXCESS_RISK, CLASS_EXCESS_RISK)
