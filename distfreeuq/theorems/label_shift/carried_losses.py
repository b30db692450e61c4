"""Theorems on performance on the target without its labels."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray, IntArray
from distfreeuq.label_shift.confusion_estimators import bbse
from distfreeuq.monitoring.performance.certificates import (
    certified_interval,
    known_prior_interval,
    shift_rows,
)
from distfreeuq.monitoring.performance.guarantees import AT_RANDOM
from distfreeuq.monitoring.performance.indicator_functions import (
    class_indicators,
    one_hot,
)
from distfreeuq.monitoring.performance.mean_intervals import (
    bounded_mean_interval,
    recall_ends,
    score_interval,
)
from distfreeuq.monitoring.performance.target_means import EstimatedPriors, GivenPriors
from distfreeuq.monitoring.performance.unlabelled_target import target_performance
from distfreeuq.references import IID, LABEL_SHIFT, TWO_SAMPLES
from distfreeuq.theorems.draws.on_target import performance_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import ASYMPTOTIC, Experiment, Theorem
from distfreeuq.theorems.label_shift.weight_estimates import FAMILY

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.15, 0.25, 0.6])
A = np.array([[0.9, 0.2, 0.1], [0.05, 0.7, 0.3], [0.05, 0.1, 0.6]])
"""Shares of predictions (rows) in classes (columns)."""
TRUTH = float(Q @ np.diag(A))


def rows(
    generator: np.random.Generator, n: int, prior: object, shares: object = A
) -> tuple[IntArray, IntArray]:
    """Return predicted classes and labels."""
    labels = generator.choice(3, p=np.asarray(prior), size=n)
    edges = np.cumsum(np.asarray(shares), axis=0)[:, labels]
    said = (generator.random(n) > edges).sum(axis=0)
    return np.minimum(said, 2), labels


def in_the_limit(
    generator: np.random.Generator, n_draws: int, *, n: int, known: bool = False
) -> dict[str, BoolArray]:
    """Ask whether the asymptotic interval holds the accuracy.

    With `known` the estimated proportions are taken to be the true ones.
    """
    out = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        said, labels = rows(generator, n, P)
        new, _ = rows(generator, n, Q)
        carried = class_indicators(one_hot(said, 3), labels, one_hot(new, 3), 3)
        design: EstimatedPriors | GivenPriors = EstimatedPriors(labels, carried)
        if known:
            design = GivenPriors(labels, carried.prior)
        hits = ((said == labels) * 1.0)[:, None]
        found = design.estimate(hits, np.zeros((n, 1)))
        value, variance = float(found.values[0]), float(found.covariance[0, 0])
        low, high = score_interval(value, variance, 0.0, 1.0, 0.1)
        out[i] = low <= TRUTH <= high
    return {"inside": out}


def at_every_size(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    delta: float,
    shares: object = A,
    shrink: float = 1.0,
) -> dict[str, BoolArray]:
    """Ask whether the finite-sample interval, or part of it, holds the accuracy."""
    out = np.empty(n_draws, dtype=np.bool_)
    truth = float(Q @ np.diag(np.asarray(shares)))
    for i in range(n_draws):
        said, labels = rows(generator, n, P)
        new, _ = rows(generator, n, Q, shares)
        both = shift_rows(one_hot(said, 3), labels, one_hot(new, 3), said, new, delta)
        low, high = certified_interval((said == labels) * 1.0, 0.0, 1.0, both)
        middle, half = (low + high) / 2.0, shrink * (high - low) / 2.0
        out[i] = abs(truth - middle) <= half
    return {"inside": out}


def given(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    delta: float,
    priors: bool,
    used: object = Q,
) -> dict[str, BoolArray]:
    """Ask the same of intervals for given proportions, or given weights of rows."""
    prior = np.asarray(used)
    weight = prior / P
    out = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        said, labels = rows(generator, n, P)
        hits = (said == labels) * 1.0
        if priors:
            ends = known_prior_interval(hits, 0.0, 1.0, labels, prior, delta)
        else:
            most = float(weight.max())
            own = weight[labels]
            ends = bounded_mean_interval(hits, own, most, 0.0, 1.0, delta)
        out[i] = ends[0] <= TRUTH <= ends[1]
    return {"inside": out}


def recalled(
    generator: np.random.Generator, n_draws: int, *, n: int, delta: float, of: float
) -> dict[str, BoolArray]:
    """Ask whether class 1's interval holds its recall `of`."""
    counts = generator.binomial(n, P[1], size=n_draws)
    hits = generator.binomial(counts, A[1, 1])
    ends = [
        recall_ends(float(h), float(c), delta, delta)[1]
        for h, c in zip(hits, counts, strict=True)
    ]
    return {"inside": np.array([low <= of <= high for low, high in ends])}


def labelled(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    known: int,
    exact: bool,
    at_random: bool = True,
) -> dict[str, BoolArray]:
    """Ask whether intervals that use some of the target's labels hold the accuracy.

    Else than at random, most rows that are predicted wrongly are left out.
    """
    out = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        said, labels = rows(generator, n, P)
        new, truth = rows(generator, n, Q)
        chance = generator.random(n)
        if not at_random:
            chance += 0.8 * (new != truth)
        some = np.full(n, np.nan)
        chosen = np.argsort(chance)[:known]
        some[chosen] = truth[chosen]
        probs, target = one_hot(said, 3), one_hot(new, 3)
        found = target_performance(
            probs,
            labels,
            target,
            shift=bbse(probs, labels, target),
            metrics="accuracy",
            labels_target=some,
            alpha=0.1,
            delta=0.3,
        )
        ends = (found.low[0], found.high[0])
        if exact:
            ends = (found.certified_low[0], found.certified_high[0])
        out[i] = ends[0] <= TRUTH <= ends[1]
    return {"inside": out}


def _holds(level: float, tolerance: float) -> tuple[Claim, ...]:
    return (Claim("inside", at_least=level, tolerance=tolerance),)


LIMIT = Theorem(
    name="target-performance-limit",
    title="Performance without labels, in the limit",
    reference="means carried by class indicators (theory page, 10.2)",
    statement=(
        "The mean over the target of h = sum_k L_k phi_k estimates E_Q l; its variance "
        "is sum_j q_j^2 Var_j(l - h) / n_j + Var_Q(h) / m in the limit, and intervals "
        "made of it hold E_Q l with their nominal probability."
    ),
    assumptions=(LABEL_SHIFT, TWO_SAMPLES),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        Experiment(
            "accuracy, three classes, n = m = 1000",
            partial(in_the_limit, n=1000),
            _holds(0.9, 0.03),
            batch=100,
        ),
    ),
    controls=(
        Experiment(
            "estimated proportions taken to be the true ones",
            partial(in_the_limit, n=1000, known=True),
            _holds(0.9, 0.03),
            batch=100,
        ),
    ),
)

CERTIFICATE = Theorem(
    name="target-performance-certificate",
    title="Performance without labels, at every sample size",
    reference="one inequality for every prior below caps (theory page, 10.3)",
    statement=(
        "E_Q l = E_Q h + sum_j q_j E[l - h | Y = j] lies between the ends of one "
        "exponential inequality, maximised over all q below caps, with probability >= "
        "1 - delta in finite samples; h is fitted on other rows."
    ),
    assumptions=(LABEL_SHIFT, TWO_SAMPLES),
    family=FAMILY,
    designs=performance_designs.estimated_designs,
    experiments=tuple(
        Experiment(
            f"accuracy, three classes, n = m = {n}",
            partial(at_every_size, n=n, delta=0.3),
            _holds(0.7, 0.1),
            batch=50,
        )
        for n in (60, 600)
    ),
    controls=(
        Experiment(
            "no label shift: class 2 is predicted otherwise in the target",
            partial(at_every_size, n=2000, delta=0.3, shares=A[:, [0, 1, 0]] * 1.0),
            _holds(0.7, 0.1),
            batch=50,
        ),
        Experiment(
            "a fifth of the interval",
            partial(at_every_size, n=600, delta=0.3, shrink=0.2),
            _holds(0.7, 0.1),
            batch=50,
        ),
    ),
)

GIVEN = Theorem(
    name="target-performance-given",
    title="Performance for given proportions or weights",
    reference=(
        "stratified means (theory page, 10.4); bounded weighted means (theory page, "
        "10.4); weighted means (theory page, 10.4)"
    ),
    statement=(
        "For given proportions q, and for given bounded weights of rows, the intervals "
        "of the mean loss hold it with probability >= 1 - delta in finite samples."
    ),
    assumptions=(LABEL_SHIFT, IID),
    family=FAMILY,
    designs=performance_designs.given_designs,
    experiments=tuple(
        Experiment(
            f"{'proportions' if priors else 'weights'}, n = {n}",
            partial(given, n=n, delta=0.3, priors=priors),
            _holds(0.7, 0.08),
            batch=100,
        )
        for priors in (True, False)
        for n in (30, 400)
    ),
    controls=(
        Experiment(
            "the source's proportions",
            partial(given, n=3000, delta=0.3, priors=True, used=P),
            _holds(0.7, 0.08),
            batch=50,
        ),
        Experiment(
            "no weights",
            partial(given, n=3000, delta=0.3, priors=False, used=P),
            _holds(0.7, 0.08),
            batch=50,
        ),
    ),
)

RECALL = Theorem(
    name="target-recall",
    title="Recalls are those of the source",
    reference="Clopper and Pearson (1934) for recalls",
    statement=(
        "Under label shift a class's recall is the same in source and target: the "
        "interval of the source's rows holds it with probability >= 1 - delta."
    ),
    assumptions=(LABEL_SHIFT, IID),
    family=FAMILY,
    designs=performance_designs.recall_designs,
    experiments=(
        Experiment(
            "n = 50", partial(recalled, n=50, delta=0.2, of=0.7), _holds(0.8, 0.03)
        ),
    ),
    controls=(
        Experiment(
            "the accuracy in place of the recall",
            partial(recalled, n=400, delta=0.2, of=TRUTH),
            _holds(0.8, 0.03),
        ),
    ),
)

LABELLED = Theorem(
    name="target-performance-labelled",
    title="Performance with labels of some target rows",
    reference="labelled rows beside carried means (theory page, 10.6)",
    statement=(
        "The combination of least variance of the labelled rows' mean loss and of what "
        "the source carries has intervals that hold E_Q l with their nominal "
        "probability in the limit; the common part of the two finite-sample intervals "
        "at delta / 2 holds it with probability >= 1 - delta."
    ),
    assumptions=(LABEL_SHIFT, TWO_SAMPLES, AT_RANDOM),
    family=FAMILY,
    designs=performance_designs.labelled_designs,
    experiments=(
        Experiment(
            "asymptotic, 100 of 400 labels",
            partial(labelled, n=400, known=100, exact=False),
            _holds(0.9, 0.1),
            batch=50,
        ),
        Experiment(
            "finite-sample, 40 of 200 labels",
            partial(labelled, n=200, known=40, exact=True),
            _holds(0.7, 0.2),
            batch=50,
        ),
    ),
    controls=(
        Experiment(
            "rows that are predicted rightly are labelled first",
            partial(labelled, n=400, known=100, exact=False, at_random=False),
            _holds(0.9, 0.1),
            batch=50,
        ),
    ),
)

THEOREMS = (LIMIT, CERTIFICATE, GIVEN, RECALL, LABELLED)
