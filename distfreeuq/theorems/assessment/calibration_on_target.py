"""The test of calibration with weights: about the target, and asymptotic."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import BoolArray, FloatArray
from distfreeuq.assessment.classifier_assessment import assess
from distfreeuq.assessment.data import read_measures
from distfreeuq.assessment.monte_carlo_test import flip_signs, simulate_null
from distfreeuq.assessment.results import CalibrationTest
from distfreeuq.references import (
    ASSESSED_ELSEWHERE,
    FINITE_VARIANCE,
    IID,
    INDEPENDENT,
    TRUE_RATIO,
    WEIGHTS_BY_INPUTS,
)
from distfreeuq.theorems.assessment.metric_tables import FAMILY, N_SIM, VALID
from distfreeuq.theorems.draws.assessment_designs import calibration_test_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import ASYMPTOTIC, Experiment, Theorem

Drawn = tuple[FloatArray, BoolArray, FloatArray]
"""Confidences, hits and weights of a sample."""


def hidden_groups(generator: np.random.Generator, n: int, source: bool) -> Drawn:
    """Draw rows that are right as often as they say on the target, not on the source.

    One row in twenty has a weight of five and makes all errors. With `source` it is
    the source where confidences are right: heavy rows are wrong too often for them.
    """
    heavy, mass = 0.05, 0.25
    confidence = generator.uniform(0.8, 1.0, n)
    group = generator.random(n) < heavy
    weights = np.where(group, mass / heavy, (1.0 - mass) / (1.0 - heavy))
    share = heavy if source else mass
    errors = np.minimum(1.0 - confidence, share) / share
    hits = generator.random(n) >= np.where(group, errors, 0.0)
    return confidence, hits, weights


def label_shift(generator: np.random.Generator, n: int, source: bool) -> Drawn:
    """Draw rows of two normal classes whose proportions are nine to one, then equal.

    Confidences are the target's, or with `source` the source's own.
    """
    labels = generator.random(n) < 0.1
    x = generator.standard_normal(n) + np.where(labels, 1.0, -1.0)
    odds = np.exp(2.0 * x) * (1.0 / 9.0 if source else 1.0)
    posterior = odds / (1.0 + odds)
    confidence = np.maximum(posterior, 1.0 - posterior)
    return confidence, (posterior > 0.5) == labels, np.where(labels, 5.0, 5.0 / 9.0)


def target_p_values(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    shifted: bool = False,
    source: bool = False,
    hits_only: bool = False,
) -> dict[str, BoolArray]:
    """Test rows that are calibrated on the target, with nine simulations.

    Broken: calibrated on the `source`; `hits_only` simulates hits given the
    confidences, as if they did not depend on the weights.
    """
    draw = label_shift if shifted else hidden_groups
    found = np.empty(n_draws)
    for i in range(n_draws):
        confidence, hits, weights = draw(generator, n, source)
        labels = hits.astype(np.int64)  # class 1 is predicted in all rows
        if hits_only:
            measures = read_measures(
                Arguments("assess"),
                confidence,
                labels,
                25,
                "equal-width",
                "predicted",
                None,
                weights,
                None,
            )
            observed = measures.values(measures.sums())[0]
            least = observed[measures.names.index("ece")] * (1.0 - 1e-12)
            null = simulate_null(measures, N_SIM, generator)
            found[i] = (1 + (null >= least).sum()) / (N_SIM + 1)
            continue
        test = assess(
            confidence,
            labels,
            predicted=np.ones(n, dtype=np.int64),
            n_bins=25,
            sample_weight=weights,
            n_sim=N_SIM,
            rng=generator,
        ).test
        assert isinstance(test, CalibrationTest)
        found[i] = test.p_value
    return {f"p <= {level}": found <= level + 1e-12 for level in (0.1, 0.5)}


# The claim is about the limit; three to five percent are left to the sample's size.
NEARLY_VALID = (
    Claim("p <= 0.1", at_most=0.13, tolerance=0.06),
    Claim("p <= 0.5", at_most=0.55, tolerance=0.08),
)

ON_TARGET = Theorem(
    name="target-calibration-test",
    title="The weighted test of calibration is about the target, in the limit",
    reference="random signs in bins (theory page, 9.2)",
    statement=(
        "If E[w (hit - confidence) | bin] = 0 in every bin, limsup P(p-value <= a) <= "
        "a for every a as the number of rows grows; weights may depend on the label."
    ),
    assumptions=(TRUE_RATIO, FINITE_VARIANCE, IID, ASSESSED_ELSEWHERE),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        Experiment(
            "public: heavy rows make all errors, n = 3000",
            partial(target_p_values, n=3000),
            NEARLY_VALID,
            batch=50,
        ),
        Experiment(
            "public: label shift, n = 1000",
            partial(target_p_values, n=1000, shifted=True),
            NEARLY_VALID,
            batch=50,
        ),
    ),
    controls=(
        Experiment(
            "hits simulated as if they did not depend on the weights",
            partial(target_p_values, n=3000, hits_only=True),
            NEARLY_VALID,
            batch=50,
        ),
        Experiment(
            "calibrated on the source",
            partial(target_p_values, n=3000, source=True),
            NEARLY_VALID,
            batch=50,
        ),
        Experiment(
            "label shift, calibrated on the source",
            partial(target_p_values, n=1000, shifted=True, source=True),
            NEARLY_VALID,
            batch=50,
        ),
    ),
)


# ------------------------------------------------- calibrated given the weight as well


def small_samples(
    generator: np.random.Generator, n_draws: int, *, n: int, signs_only: bool = False
) -> dict[str, BoolArray]:
    """Test few rows, nearly always right, as often as they say whatever the weight.

    Broken: the p-value of random signs alone (`signs_only`).
    """
    found = np.empty(n_draws)
    for i in range(n_draws):
        confidence = generator.uniform(0.95, 1.0, n)
        labels = (generator.random(n) < confidence).astype(np.int64)
        weights = generator.choice([0.4, 1.6], n)
        options = (5, "equal-width", "predicted", None, weights, None)
        if signs_only:
            args = Arguments("assess")
            measures = read_measures(args, confidence, labels, *options)
            observed = measures.values(measures.sums())[0]
            least = observed[measures.names.index("ece")] * (1.0 - 1e-12)
            null = flip_signs(measures, N_SIM, generator)
            found[i] = (1 + (null >= least).sum()) / (N_SIM + 1)
            continue
        test = assess(
            confidence,
            labels,
            n_bins=5,
            sample_weight=weights,
            n_sim=N_SIM,
            rng=generator,
        ).test
        assert isinstance(test, CalibrationTest)
        found[i] = test.p_value
    return {f"p <= {level}": found <= level + 1e-12 for level in (0.05, 0.1, 0.5)}


GIVEN_WEIGHT = Theorem(
    name="weighted-calibration-test",
    title="The weighted test is valid at every size given calibration at every weight",
    reference="Barnard (1963); theory page, 9.2",
    statement=(
        "If P(hit | confidence, weight) = confidence, P(p-value <= a) <= a for every a "
        "and any number of rows: the p-value is the larger of two, of which one is "
        "then exact."
    ),
    assumptions=(INDEPENDENT, ASSESSED_ELSEWHERE, WEIGHTS_BY_INPUTS),
    family=FAMILY,
    designs=partial(calibration_test_designs, weighted=1.0),
    experiments=(
        Experiment(
            "public: 30 rows, one wrong on average",
            partial(small_samples, n=30),
            VALID,
            batch=50,
        ),
    ),
    controls=(
        Experiment(
            "random signs alone",
            partial(small_samples, n=30, signs_only=True),
            VALID,
            batch=50,
        ),
    ),
)

THEOREMS = (ON_TARGET, GIVEN_WEIGHT)
