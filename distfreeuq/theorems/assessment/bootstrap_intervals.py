"""Intervals of metrics: exact for accuracy, approximate for what is bootstrapped."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import BoolArray, FloatArray, IntArray
from distfreeuq.assessment.bootstrap import intervals, resample
from distfreeuq.assessment.classifier_assessment import assess
from distfreeuq.assessment.classifier_comparison import compare
from distfreeuq.assessment.data import read_measures
from distfreeuq.references import ASSESSED_ELSEWHERE, CLOPPER_PEARSON_1934, IID
from distfreeuq.theorems.assessment.metric_tables import FAMILY
from distfreeuq.theorems.draws.interval_designs import (
    binomial_designs,
    of_accuracy,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import ASYMPTOTIC, Experiment, Theorem

# ------------------------------------------------------------------- accuracy, exactly


def accuracies(
    generator: np.random.Generator, n_draws: int, *, n: int, bootstrap: bool = False
) -> dict[str, BoolArray]:
    """Assess n rows of which 95% are right on average.

    Broken: percentile intervals of a `bootstrap`.
    """
    held = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        labels = (generator.random(n) < 0.95).astype(np.int64)
        probs = np.full(n, 0.9)
        if bootstrap:
            low, high = _bootstrapped(probs, labels, "accuracy", 100, generator)
        else:
            result = assess(probs, labels, n_boot=1, level=0.9, n_sim=0, rng=generator)
            low, high = result.interval("accuracy")
        held[i] = low <= 0.95 <= high
    return {"holds the accuracy": held}


def _bootstrapped(
    probs: FloatArray,
    labels: IntArray,
    metric: str,
    n_boot: int,
    generator: np.random.Generator,
    predicted: IntArray | None = None,
) -> tuple[float, float]:
    """Return the bootstrap's 90% interval, whether it is one to be given or not."""
    args = Arguments("assess")
    options = (10, "equal-width", "predicted", predicted, None, None)
    measures = read_measures(args, probs, labels, *options)
    estimates = measures.values(measures.sums())[0]
    (samples,) = resample([measures], n_boot, generator, 1, False)
    _, low, high = intervals(measures.names, estimates, samples, 0.9)
    place = measures.names.index(metric)
    return float(low[place]), float(high[place])


HOLDS_ACCURACY = (Claim("holds the accuracy", at_least=0.9, tolerance=0.06),)

ACCURACY = Theorem(
    name="assessed-accuracy",
    title="The interval of an assessed accuracy holds it",
    reference=CLOPPER_PEARSON_1934,
    statement="P(interval holds the accuracy) >= level, if weights are equal.",
    assumptions=(IID, ASSESSED_ELSEWHERE),
    family=FAMILY,
    designs=partial(binomial_designs, ends=of_accuracy),
    experiments=(
        Experiment(
            "public: 25 rows", partial(accuracies, n=25), HOLDS_ACCURACY, batch=200
        ),
    ),
    controls=(
        Experiment(
            "bootstrap",
            partial(accuracies, n=25, bootstrap=True),
            HOLDS_ACCURACY,
            batch=100,
        ),
    ),
)


# -------------------------------------------------------- what is bootstrapped, roughly


def sharpened(generator: np.random.Generator, n: int) -> tuple[FloatArray, IntArray]:
    """Draw uniform probabilities, labels by them, and return log-odds tripled."""
    p = generator.random(n)
    labels = (generator.random(n) < p).astype(np.int64)
    return p**3 / (p**3 + (1.0 - p) ** 3), labels


def _truths() -> dict[str, float]:
    """Return the metrics of `sharpened` rows by integration."""
    p = (np.arange(200_000) + 0.5) / 200_000
    q = p**3 / (p**3 + (1.0 - p) ** 3)
    top, right = np.maximum(q, 1.0 - q), np.maximum(p, 1.0 - p)
    brier = 2.0 * (p * (1.0 - q) ** 2 + (1.0 - p) * q**2)
    logit = 3.0 * (np.log(p) - np.log1p(-p))
    nll = p * np.logaddexp(0.0, -logit) + (1.0 - p) * np.logaddexp(0.0, logit)
    # over-confident everywhere, so that bins do not matter
    means = {"ece": top - right, "brier_score": brier, "nll": nll}
    # of the comparison with probabilities that are right
    means["difference"] = brier - 2.0 * p * (1.0 - p)
    return {name: float(values.mean()) for name, values in means.items()}


TRUTHS = _truths()


def assessed(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    metrics: tuple[str, ...] = ("ece", "brier_score", "nll"),
) -> dict[str, BoolArray]:
    """Ask how often 90% intervals are given and miss."""
    missed = {f"{name} missed": np.empty(n_draws, dtype=np.bool_) for name in metrics}
    for i in range(n_draws):
        probs, labels = sharpened(generator, n)
        result = assess(
            probs, labels, n_bins=10, n_boot=160, level=0.9, n_sim=0, rng=generator
        )
        for name in metrics:
            low, high = result.interval(name)
            missed[f"{name} missed"][i] = TRUTHS[name] < low or TRUTHS[name] > high
    return missed


def compared(generator: np.random.Generator, n_draws: int) -> dict[str, BoolArray]:
    """Ask the same of the difference of two Brier scores, on the same rows."""
    missed = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        p = generator.random(400)
        labels = (generator.random(400) < p).astype(np.int64)
        sharper = p**3 / (p**3 + (1.0 - p) ** 3)
        result = compare(p, sharper, labels, n_boot=160, level=0.9, rng=generator)
        low, high = result.interval("brier_score")[1]
        missed[i] = TRUTHS["difference"] < low or TRUTHS["difference"] > high
    return {"brier_score missed": missed}


def few_errors(
    generator: np.random.Generator, n_draws: int, *, rule: bool = True
) -> dict[str, BoolArray]:
    """Ask it of the Brier score of 200 rows of which one is wrong on average.

    Broken: without the `rule`, every interval is given.
    """
    truth = 2.0 * 0.995 * 0.005
    missed = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        probs = np.full(200, 0.995)
        labels = (generator.random(200) < 0.995).astype(np.int64)
        if rule:
            result = assess(probs, labels, n_boot=64, level=0.9, n_sim=0, rng=generator)
            low, high = result.interval("brier_score")
        else:
            low, high = _bootstrapped(probs, labels, "brier_score", 64, generator)
        missed[i] = truth < low or truth > high
    return {"brier_score missed": missed}


def largest_error(generator: np.random.Generator, n_draws: int) -> dict[str, BoolArray]:
    """Ask it of the largest ECE of ten predicted classes, which are all alike.

    Confidences are 0.2 too high. `assess` gives no interval of it, and this is why.
    """
    missed = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        confidence = generator.uniform(0.5, 1.0, 500)
        predicted = generator.integers(0, 10, 500)
        right = generator.random(500) < confidence - 0.2
        labels = np.where(right, predicted, (predicted + 1) % 10)
        low, high = _bootstrapped(
            confidence, labels, "max_ece", 64, generator, predicted
        )
        missed[i] = not low <= 0.2 <= high
    return {"max_ece missed": missed}


# A tenth in the limit; five percent are left to the sizes of samples and bootstrap.
SELDOM = tuple(
    Claim(f"{name} missed", at_most=0.15, tolerance=0.07)
    for name in ("ece", "brier_score", "nll")
)

BOOTSTRAPPED = Theorem(
    name="bootstrap-intervals",
    title="Bootstrap intervals that are given miss about as seldom as they say",
    reference="bootstrap, basic and percentile (theory page, 9.4)",
    statement=(
        "P(an interval is given and misses) -> 1 - level for ECE, Brier score and "
        "likelihood; none is given with fewer than 20 wrong or right rows, with an ECE "
        "near that of noise, or for maxima over bins or classes."
    ),
    assumptions=(IID, ASSESSED_ELSEWHERE),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        Experiment(
            "public: assess, n = 1000", partial(assessed, n=1000), SELDOM, batch=50
        ),
        Experiment("public: compare, n = 400", compared, SELDOM[1:2], batch=50),
        Experiment(
            "public: one wrong row in 200 on average",
            few_errors,
            (Claim("brier_score missed", at_most=0.0, tolerance=0.05),),
            batch=100,
        ),
    ),
    controls=(
        Experiment(
            "no rule about wrong rows",
            partial(few_errors, rule=False),
            SELDOM[1:2],
            batch=100,
        ),
        Experiment(
            "intervals of a maximum",
            largest_error,
            (Claim("max_ece missed", at_most=0.15, tolerance=0.07),),
            batch=100,
        ),
    ),
)

THEOREMS = (ACCURACY, BOOTSTRAPPED)
