"""Theorems on what spoils confidence: few training rows, and noise in their labels."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq import bounds, scenarios
from distfreeuq._base.array_types import BoolArray, FloatMatrix, IntMatrix
from distfreeuq.calibration.platt import platt_scaling
from distfreeuq.references import ZHAO_2020
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem, as_event
from distfreeuq.theorems.scaling.excess_risk import FAMILY

# ------------------------------------------------------------------------ Theorem 3.1

N_SMALL, EPSILON = 100, 1e-3
RADIUS = 6.0 * float(np.log(50 * N_SMALL + 1 / EPSILON))
"""Largest norm of a classifier, as the theorem wants it for confidence 1 - epsilon."""
ANGLES = np.linspace(-np.pi / 2, 0.0, 2001)


def constrained_scores(counts: IntMatrix) -> FloatMatrix:
    """Return the scores (S, 3) of v, v', -v by each training set's best (a, b).

    `counts` (S, 3) are of these points; |a| is at most `RADIUS`. The sets are
    separable, so that the best a has the largest norm: a = R (sin t u + cos t v). At
    the optimum all margins are at least R/3 > 17, where ln(1 + exp(-m)) is exp(-m) but
    for a relative 1e-8; then the loss is A exp(-b) + B exp(b), least at
    b = ln(A / B) / 2, and what remains is sought on a grid of t.
    """
    of_v = RADIUS * np.cos(ANGLES)
    of_rare = RADIUS * (np.cos(ANGLES) + np.sin(ANGLES)) / np.sqrt(2.0)
    # few different sets are drawn often
    sets, place = np.unique(counts, axis=0, return_inverse=True)
    with np.errstate(divide="ignore"):
        v, rare, minus_v = np.log(sets).T[:, :, None]
    log_a = v - of_v
    log_b = np.logaddexp(minus_v - of_v, rare + of_rare)
    best = (log_a + log_b).argmin(axis=1)
    b = 0.5 * (log_a - log_b)[np.arange(len(sets)), best]
    scores = np.column_stack([of_v[best] + b, of_rare[best] + b, -of_v[best] + b])
    return np.asarray(scores[place.ravel()])


def training_sets(
    generator: np.random.Generator, n_draws: int, *, multiple: int
) -> dict[str, BoolArray]:
    """Return what becomes of classifiers from `multiple` times 100 rows."""
    rare = scenarios.rare_feature(N_SMALL)
    masses = rare.source.sum(axis=1)
    signs = np.where(rare.source[:, 1] > 0.0, 1.0, -1.0)
    counts = generator.multinomial(multiple * N_SMALL, masses, size=n_draws)
    scores = constrained_scores(counts)
    confident = (1.0 / (1.0 + np.exp(-np.abs(scores))) >= 1.0 - EPSILON).all(axis=1)
    accuracy = (np.sign(scores) == signs) @ masses
    limit = 1.0 - float(masses.min())
    return {
        "confident, not perfect": confident & (accuracy <= limit + 1e-12),
        "confident and perfect": confident & (accuracy > 1.0 - 1e-12),
    }


_effect = bounds.sample_size_effect(N_SMALL, multiple=50, radius=RADIUS)
_as_printed = bounds.sample_size_effect(N_SMALL, multiple=30, radius=RADIUS)

SAMPLE_SIZE = Theorem(
    name="few-rows-over-confident",
    title="Few training rows make a classifier over-confident",
    reference=f"{ZHAO_2020}, Thm 3.1, corrected: 50 n rows in place of 30 n",
    statement=(
        "A linear classifier from n rows and one from 50 n rows are both at least "
        "1 - epsilon confident everywhere; with probability >= 0.9 each, the first "
        "errs with probability at least 1 / (20 n), and the second never."
    ),
    assumptions=(
        "x is v, -v or, with probability 1 / (20 n), v' = (u + v) / sqrt(2)",
        "maximum likelihood over |a| <= R, any b",
    ),
    family=FAMILY,
    unsearched="a construction: the statement fixes its laws",
    experiments=(
        Experiment(
            "n = 100",
            partial(training_sets, multiple=1),
            (
                Claim("confident, not perfect", at_least=0.9),
                Claim("confident, not perfect", at_least=_effect.probability_small),
            ),
            batch=10_000,
        ),
        Experiment(
            "50 n = 5000",
            partial(training_sets, multiple=50),
            (
                Claim("confident and perfect", at_least=0.9),
                Claim("confident and perfect", at_least=_effect.probability_large),
            ),
            batch=2000,
        ),
        Experiment(
            "30 n = 3000: what is true instead",
            partial(training_sets, multiple=30),
            (Claim("confident and perfect", equals=_as_printed.probability_large),),
            batch=2000,
        ),
    ),
    controls=(
        Experiment(
            "as printed, with 30 n rows",
            partial(training_sets, multiple=30),
            (Claim("confident and perfect", at_least=0.9),),
            batch=2000,
        ),
    ),
)

# -------------------------------------------------------------------------- Lemma 3.3

NOISE = {"p_plus": 0.3, "p_minus": 0.1, "p_test": 0.05}
PLUS, MINUS = "confidence at +1", "confidence at -1"
OFF, OVER = "not the frequency", "over-confident"


def noisy_training(
    generator: np.random.Generator, n_draws: int, *, n: int, p_train: float | None
) -> dict[str, BoolArray]:
    """Train logistic regressions by the public function; test each on one row.

    With `p_train`, labels at +1 are wrong with that probability instead.
    """
    scenario = scenarios.label_noise(**NOISE)
    table = scenario.source.copy()
    if p_train is not None:
        table[0] = 0.5 * np.array([p_train, 1.0 - p_train])
    x, labels = np.array([1.0, 1.0, -1.0, -1.0]), np.array([0, 1, 0, 1])
    new, new_labels = scenario.sample(n_draws, "target", rng=generator)
    confidence = np.empty((n_draws, 2))
    right, off = np.zeros((2, n_draws), dtype=np.bool_)
    for i, counts in enumerate(generator.multinomial(n, table.ravel(), size=n_draws)):
        fit = platt_scaling(x, labels, sample_weight=counts)
        probs = fit.predict(np.array([1.0, -1.0, new[i, 0]]))
        confidence[i] = probs[0, 1], probs[1, 0]
        right[i] = probs[2].argmax() == new_labels[i]
        shares = counts[1] / counts[:2].sum(), counts[2] / counts[2:].sum()
        off[i] = np.abs(confidence[i] - shares).max() > 1e-7
    return {
        PLUS: as_event(confidence[:, 0], generator),
        MINUS: as_event(confidence[:, 1], generator),
        "right": right,
        OFF: off,
        OVER: confidence.max(axis=1) > 1.0 - NOISE["p_test"],
    }


_lemma = bounds.label_noise_confidence(**NOISE)


def noisy_claims() -> tuple[Claim, ...]:
    """Return what Lemma 3.3 says of confidence and accuracy."""
    return (
        Claim(PLUS, equals=_lemma.confidence_plus, tolerance=0.08, mean=True),
        Claim(MINUS, equals=_lemma.confidence_minus, tolerance=0.08, mean=True),
        Claim("right", equals=_lemma.accuracy, tolerance=0.05),
        Claim(OFF, at_most=0.0, tolerance=0.05),
        Claim(OVER, at_most=0.05, tolerance=0.05),
    )


LABEL_NOISE = Theorem(
    name="label-noise-under-confident",
    title="Noise in training labels makes a classifier under-confident",
    reference=f"{ZHAO_2020}, Lemma 3.3",
    statement=(
        "A logistic regression on labels that are wrong with probability p_+ at "
        "x = +1 and p_- at -1 has confidence 1 - p_+ and 1 - p_-, and on labels that "
        "are wrong with probability p_test the accuracy 1 - p_test."
    ),
    assumptions=("x is +1 or -1", "p_+, p_- and p_test below 1/2"),
    family=FAMILY,
    unsearched="a construction: the statement fixes its laws",
    experiments=(
        Experiment(
            "public: noise 0.3 and 0.1, n = 1000",
            partial(noisy_training, n=1000, p_train=None),
            noisy_claims(),
            batch=200,
        ),
    ),
    controls=(
        Experiment(
            "less noise at +1 than is said",
            partial(noisy_training, n=1000, p_train=0.05),
            noisy_claims(),
            batch=200,
        ),
    ),
)

THEOREMS = (SAMPLE_SIZE, LABEL_NOISE)
