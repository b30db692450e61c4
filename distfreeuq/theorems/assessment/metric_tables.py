"""The family of assessment: what metrics and their tables claim."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq import metrics
from distfreeuq._base.array_types import BoolArray, FloatArray, IntArray
from distfreeuq.assessment.classifier_assessment import assess
from distfreeuq.assessment.results import CalibrationTest
from distfreeuq.bounds import clopper_pearson
from distfreeuq.calibration.isotonic import isotonic_calibration
from distfreeuq.references import (
    ASSESSED_ELSEWHERE,
    CLOPPER_PEARSON_1934,
    IID,
    INDEPENDENT,
)
from distfreeuq.theorems.draws import outcome_designs
from distfreeuq.theorems.draws.assessment_designs import calibration_test_designs
from distfreeuq.theorems.draws.instance_designs import with_instances
from distfreeuq.theorems.draws.interval_designs import reliability_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem, as_event

FAMILY = "assessment"


# ----------------------------------------------------------------------- debiased ECE


def squared_error(
    generator: np.random.Generator, n_draws: int, *, n: int, estimate: str = "debiased"
) -> dict[str, BoolArray]:
    """Estimate the squared calibration error of a classifier that is over-confident.

    Confidences are near 0.6 or 0.9, in bins of their own; accuracies are 0.2 lower.
    Broken: "plain" is not debiased; "own rows" is for a classifier whose confidences
    are the bins' accuracies on these very rows.
    """
    errors = np.empty(n_draws)
    for i in range(n_draws):
        center = np.repeat([0.6, 0.9], n // 2)
        confidence = center + 0.04 * (generator.random(center.size) - 0.5)
        hits = generator.random(center.size) < confidence - 0.2
        truth = 0.2**2
        if estimate == "own rows":
            own = np.clip(hits.reshape(2, -1).mean(axis=1), 0.501, 0.999)
            truth = float(((own - [0.4, 0.7]) ** 2).mean())
            confidence = np.repeat(own, n // 2)
        if estimate == "plain":
            gaps = (confidence - hits).reshape(2, -1).mean(axis=1)
            found = float((gaps**2).mean())
        else:
            probs = np.column_stack([confidence, 1.0 - confidence])
            labels = (~hits).astype(np.int64)
            found = metrics.debiased_ece(probs, labels, n_bins=4, squared=True)
        errors[i] = found - truth
    # without a defect, errors are within (-0.3, 0.7)
    return {SHIFTED: as_event(np.clip(errors + 0.3, 0.0, 1.0), generator)}


SHIFTED = "estimate - truth + 0.3"
UNBIASED = (Claim(SHIFTED, equals=0.3, tolerance=0.035, mean=True),)

DEBIASED = Theorem(
    name="debiased-ece",
    title="The debiased squared calibration error is unbiased in fixed bins",
    reference="Kumar, Liang and Ma (2019), with the exact variance (theory page, 9)",
    statement=(
        "sum_m (N_m/n) (gap_m^2 - s_m^2/N_m) has the mean sum_m P(m) (confidence - "
        "accuracy)^2, with s_m^2 the sample variance of confidence less hit, if all "
        "bins have two rows or more."
    ),
    assumptions=(IID, ASSESSED_ELSEWHERE, "bins fixed in advance"),
    family=FAMILY,
    designs=outcome_designs.debiased_designs,
    experiments=tuple(
        Experiment(
            f"over-confident by 0.2, n = {n}",
            partial(squared_error, n=n),
            UNBIASED,
            batch=500,
        )
        for n in (6, 20)
    ),
    controls=(
        Experiment(
            "not debiased",
            partial(squared_error, n=6, estimate="plain"),
            UNBIASED,
            batch=500,
        ),
        Experiment(
            "calibrated on the test rows themselves",
            partial(squared_error, n=6, estimate="own rows"),
            UNBIASED,
            batch=500,
        ),
    ),
)


# -------------------------------------------------------------- the test of calibration


def p_values(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    n_classes: int = 3,
    scheme: str = "equal-width",
    sharpness: float = 1.0,
    observed_counts: bool = True,
) -> dict[str, BoolArray]:
    """Test a classifier that is calibrated, with nine simulated ones for comparison.

    Labels follow the probabilities raised to `sharpness`: with less than one the
    classifier is over-confident. Without `observed_counts` the observed ECE is not one
    of those that it is compared with.
    """
    found = np.empty(n_draws)
    for i in range(n_draws):
        probs = generator.dirichlet(np.full(n_classes, 0.5), size=n)
        true = probs**sharpness
        position = np.cumsum(true, axis=1)
        point = generator.random((n, 1)) * position[:, -1:]
        labels: IntArray = (position[:, :-1] <= point).sum(axis=1)
        test = assess(
            probs,
            labels,
            n_bins=5,
            scheme=scheme,
            n_boot=0,
            n_sim=N_SIM,
            rng=generator,
        ).test
        assert isinstance(test, CalibrationTest)
        found[i] = test.p_value
    if not observed_counts:
        found = (found * (N_SIM + 1) - 1) / N_SIM
    return {f"p <= {level}": found <= level + 1e-12 for level in (0.05, 0.1, 0.5)}


N_SIM = 9
VALID = tuple(
    Claim(f"p <= {level}", at_most=level, tolerance=tolerance)
    for level, tolerance in ((0.05, 0.05), (0.1, 0.08), (0.5, 0.14))
)
# a comparison with anything but a calibrated classifier would only be too careful
EXACT = tuple(
    Claim(f"p <= {level}", equals=level, tolerance=tolerance)
    for level, tolerance in ((0.1, 0.08), (0.5, 0.14))
)

CALIBRATION_TEST = Theorem(
    name="calibration-test",
    title="The test of calibration is valid at every sample size",
    reference="Barnard (1963); Vaicenavicius et al. (2019); theory page, 9",
    statement=(
        "If P(Y = top | f) = max f, then P(p-value <= a) <= a for every a, whatever "
        "the bins and the number of rows; with equality if a (B + 1) is an integer, B "
        "the number of simulations, and no two ECEs can tie."
    ),
    assumptions=(INDEPENDENT, ASSESSED_ELSEWHERE),
    family=FAMILY,
    designs=calibration_test_designs,
    experiments=(
        Experiment("three classes, n = 30", partial(p_values, n=30), VALID, batch=50),
        Experiment(
            "uniform-mass bins, n = 60",
            partial(p_values, n=60, scheme="uniform-mass"),
            EXACT,
            batch=50,
        ),
    ),
    controls=(
        Experiment(
            "observed ECE not among those compared",
            partial(p_values, n=30, observed_counts=False),
            VALID,
            batch=50,
        ),
        Experiment(
            "over-confident classifier",
            partial(p_values, n=60, sharpness=0.5),
            VALID,
            batch=50,
        ),
    ),
)


# ----------------------------------------------------------------- reliability diagrams


def reliability_bins(
    generator: np.random.Generator, n_draws: int, *, n: int, union: bool = True
) -> dict[str, BoolArray]:
    """Ask whether the intervals of all bins hold the bins' true accuracies.

    Confidences are uniform and hits have probability confidence^2. Without `union`
    every bin has all of alpha.
    """
    held = np.empty(n_draws, dtype=np.bool_)
    edges = np.linspace(0.0, 1.0, 6)
    truth = np.diff(edges**3) / (3.0 * np.diff(edges))
    for i in range(n_draws):
        confidence = generator.random(n)
        correct = generator.random(n) < confidence**2
        table = metrics.reliability(confidence, correct, n_bins=5, level=0.7)
        low, high = table.low, table.high
        if not union:
            sizes = np.rint(table.weight).astype(np.int64)
            hits = np.rint(np.nan_to_num(table.accuracy) * sizes).astype(np.int64)
            low, high = clopper_pearson(hits, sizes, 0.3)
        held[i] = bool(((low <= truth) & (truth <= high)).all())
    return {"all bins hold": held}


ALL_HOLD = (Claim("all bins hold", at_least=0.7, tolerance=0.06),)

RELIABILITY = Theorem(
    name="reliability-intervals",
    title="Intervals of a reliability diagram hold in all bins at once",
    reference=f"{CLOPPER_PEARSON_1934}, with a union over the bins",
    statement=(
        "P(accuracy of every bin within its interval) >= level, in bins that are fixed "
        "in advance."
    ),
    assumptions=(IID, ASSESSED_ELSEWHERE, "bins fixed in advance"),
    family=FAMILY,
    designs=reliability_designs,
    experiments=tuple(
        Experiment(
            f"five bins, n = {n}", partial(reliability_bins, n=n), ALL_HOLD, batch=200
        )
        for n in (20, 400)
    ),
    controls=(
        Experiment(
            "no union over bins",
            partial(reliability_bins, n=400, union=False),
            ALL_HOLD,
            batch=200,
        ),
    ),
)


# ------------------------------------------------------------------ isotonic regression


def isotonic_facts(
    generator: np.random.Generator, n_draws: int, *, ignore_weights: bool = False
) -> dict[str, BoolArray]:
    """Fit isotonic curves to weighted rows with ties, and look for what cannot be.

    `ignore_weights` fits without them.
    """
    names = ("decreases", "mean differs", "worse than before")
    events = {name: np.zeros(n_draws, dtype=np.bool_) for name in names}
    for i in range(n_draws):
        n = int(generator.integers(5, 60))
        scores = np.round(generator.random(n), 2)
        labels = (generator.random(n) < scores**2).astype(np.int64)
        weights = generator.exponential(size=n)
        if labels.min() == labels.max():
            continue  # a class without rows keeps its probabilities
        fit = isotonic_calibration(
            scores, labels, sample_weight=None if ignore_weights else weights
        )
        fitted = fit.predict(scores)[:, 1]
        order = np.argsort(scores)
        events[names[0]][i] = bool((np.diff(fitted[order]) < -1e-12).any())
        events[names[1]][i] = abs(weights @ (fitted - labels)) > 1e-9 * weights.sum()
        events[names[2]][i] = _loss(fitted, labels, weights) > (
            _loss(scores, labels, weights) + 1e-12
        )
    return events


def _loss(probs: FloatArray, labels: IntArray, weights: FloatArray) -> float:
    return float(weights @ (probs - labels) ** 2 / weights.sum())


NEVER = tuple(
    Claim(event, at_most=0.0, tolerance=0.02)
    for event in ("decreases", "mean differs", "worse than before")
)

ISOTONIC = Theorem(
    name="isotonic-fit",
    title="Isotonic calibration keeps order and mean, and lowers the Brier score",
    reference="pool adjacent violators: Ayer et al. (1955)",
    statement=(
        "On the rows of the fit, two classes: fitted probabilities do not decrease in "
        "the score, their weighted mean is that of the labels, and their weighted "
        "Brier score is at most the scores' own."
    ),
    assumptions=("both classes occur",),
    family=FAMILY,
    experiments=(Experiment("weights and ties", isotonic_facts, NEVER, batch=100),),
    controls=(
        Experiment(
            "weights left out",
            partial(isotonic_facts, ignore_weights=True),
            NEVER,
            batch=100,
        ),
    ),
)

THEOREMS = (DEBIASED, CALIBRATION_TEST, RELIABILITY, with_instances(ISOTONIC))
