"""Theorems on labels of some target rows beside soft predictions and likelihoods."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from distfreeuq import scenarios
from distfreeuq._base.array_types import BoolArray, FloatMatrix, IntArray
from distfreeuq._numerics.quantiles import normal_margin
from distfreeuq.label_shift.confusion import hard_confusion, soft_confusion
from distfreeuq.label_shift.data import SampleRows, Samples, TargetLabels
from distfreeuq.label_shift.inference.finite_sample_regions import norm_region
from distfreeuq.label_shift.inference.moment_estimate import (
    MomentEstimate,
    covariance_of_predictions,
    moments_of_posteriors,
    moments_of_predictions,
)
from distfreeuq.label_shift.inference.moments.limiting_law import law_of
from distfreeuq.label_shift.inference.proportion_caps import prior_caps
from distfreeuq.label_shift.inference.score_intervals import score_box, score_ends
from distfreeuq.label_shift.labelled_shares import weigh_labels, with_shares
from distfreeuq.label_shift.likelihood_solution import solve_likelihood
from distfreeuq.label_shift.scalings import fit_scaling
from distfreeuq.references import CLASSES_TOLD_APART, LABELLED_AT_RANDOM
from distfreeuq.theorems.draws.weight_draws import uneven
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design
from distfreeuq.theorems.engine.experiment import Experiment, Theorem
from distfreeuq.theorems.label_shift.weight_estimates import ASSUMPTIONS, FAMILY

TOY: Any = scenarios.three_gaussians()
WEIGHT, TARGET = TOY.label_weight, TOY.target_prior

DIRECTIONS = {
    "one class": np.array([1.0, 0.0, 0.0]),
    "two against each other": np.array([-1.0, 0.0, 1.0]),
    "all": np.array([0.2, 0.5, 0.3]),
}
"""Combinations c of which c.w is bounded from above."""


class Drawn(NamedTuple):
    """Both samples, and labels of some target rows."""

    kept: Samples
    labels: TargetLabels

    @property
    def samples(self) -> SampleRows:
        """Both samples."""
        return self.kept.rows

    @property
    def others(self) -> SampleRows:
        """The same without the target rows that have labels."""
        return self.samples.without(self.labels)

    @property
    def counts(self) -> IntArray:
        """Labelled rows by class."""
        return self.labels.counts(3)


def draw(
    generator: np.random.Generator, n: int, m: int, r: int, at_random: bool
) -> Drawn:
    """Return samples of a classifier that no temperature and bias calibrate.

    The first r target rows have labels; else than at random, rows of class 2 do first.
    """
    x, labels = TOY.sample(n, "source", rng=generator)
    new, truth = TOY.sample(m, "target", rng=generator)
    if not at_random:
        order = np.argsort(truth != 2, kind="stable")
        new, truth = new[order], truth[order]
    probs, target = uneven(TOY.posterior(x)), uneven(TOY.posterior(new))
    samples, known = Samples(probs, labels, target), np.arange(m) < r
    return Drawn(samples, TargetLabels(known, truth[:r]))


def moments(drawn: Drawn, method: str) -> tuple[MomentEstimate, FloatMatrix]:
    """Return the moment estimate of the rows without labels, and its covariance."""
    if method == "soft BBSE":
        found = moments_of_predictions(drawn.others, None)
        return found, np.asarray(covariance_of_predictions(drawn.others))
    calibration = fit_scaling("bcts", drawn.samples.source)
    known = drawn.labels
    solved = solve_likelihood(drawn.samples, calibration, "predictions", labels=known)
    rest = solved.calibrated.without(known)
    found, covariance = moments_of_posteriors(rest, solved.fit.prior)
    return found, np.asarray(covariance)


def in_the_limit(
    generator: np.random.Generator,
    n_draws: int,
    *,
    method: str,
    n: int,
    r: int,
    alpha: float,
    at_random: bool = True,
    bonferroni: bool = True,
) -> dict[str, BoolArray]:
    """Ask whether intervals hold each weight, and the region all of them."""
    table = np.empty((n_draws, 4), dtype=np.bool_)
    for i in range(n_draws):
        drawn = draw(generator, n, n, r, at_random)
        found, _ = moments(drawn, method)
        beside = weigh_labels(drawn.counts, found).beside
        low, high = score_ends(found, alpha, beside).T
        table[i, :3] = (low <= WEIGHT) & (high >= WEIGHT)
        if bonferroni:
            low, high = score_box(found, alpha, beside).T
        table[i, 3] = ((low <= WEIGHT) & (high >= WEIGHT)).all()
    held = {f"holds weight {k}": table[:, k] for k in range(3)}
    return {**held, "region holds all": table[:, 3]}


def one_direction(
    generator: np.random.Generator,
    n_draws: int,
    *,
    method: str,
    n: int,
    r: int,
    delta: float,
    labels_known: bool = False,
) -> dict[str, BoolArray]:
    """Ask whether c.w is below its bound, for fixed c.

    With `labels_known` the labelled rows' shares are taken to be without error.
    """
    table = np.empty((n_draws, len(DIRECTIONS)), dtype=np.bool_)
    z = normal_margin(2.0 * delta)
    for i in range(n_draws):
        drawn = draw(generator, n, n, r, True)
        found, covariance = moments(drawn, method)
        labelled = weigh_labels(drawn.counts, found)
        spread = np.asarray(with_shares(labelled, covariance, found))
        if labels_known:
            spread = np.outer(1 - labelled.weight, 1 - labelled.weight) * spread
        law = law_of(labelled.beside.combined(found.prior), spread, found)
        for j, c in enumerate(DIRECTIONS.values()):
            bound = c @ law.center + z * np.sqrt(c @ law.covariance @ c)
            table[i, j] = c @ WEIGHT <= bound
    return {f"bound of {name}": table[:, j] for j, name in enumerate(DIRECTIONS)}


def at_every_size(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    m: int,
    r: int,
    delta: float,
    at_random: bool = True,
) -> dict[str, BoolArray]:
    """Ask whether the box of soft predictions and the caps hold what they should."""
    table = np.empty((n_draws, 2), dtype=np.bool_)
    for i in range(n_draws):
        drawn = draw(generator, n, m, r, at_random)
        of, soft = drawn.kept, soft_confusion(drawn.samples)
        table[i, 0] = norm_region(soft, delta, drawn.counts).contains(WEIGHT)
        said = (np.asarray(x.argmax(axis=1)) for x in (of.probs, of.probs_target))
        source, target = said
        hard = hard_confusion(source, of.labels, target, 3)
        caps = prior_caps(hard, delta, drawn.counts)
        table[i, 1] = (caps.high >= TARGET).all()
    return {"region holds all": table[:, 0], "below the caps": table[:, 1]}


def designs(generator: np.random.Generator) -> Design:
    """Return sizes at which the box, or the caps, must hold what they should."""
    n, m = (int(10.0 ** generator.uniform(1.0, 2.5)) for _ in range(2))
    delta = float(generator.choice([0.05, 0.2, 0.5]))
    r = int(generator.integers(1, m))
    setting = {"n": n, "m": m, "r": r, "delta": delta}
    name = str(generator.choice(["region holds all", "below the caps"]))
    return Design(
        setting,
        Claim(name, at_least=1.0 - delta),
        draw=partial(at_every_size, n=n, m=m, r=r, delta=delta),
    )


def _hold(alpha: float, tolerance: float) -> tuple[Claim, ...]:
    names = (*(f"holds weight {k}" for k in range(3)), "region holds all")
    return tuple(
        Claim(name, at_least=1.0 - alpha, tolerance=tolerance) for name in names
    )


def _below(delta: float, tolerance: float) -> tuple[Claim, ...]:
    return tuple(
        Claim(f"bound of {name}", at_least=1.0 - delta, tolerance=tolerance)
        for name in DIRECTIONS
    )


def _certain(delta: float) -> tuple[Claim, ...]:
    names = "region holds all", "below the caps"
    return tuple(Claim(name, at_least=1.0 - delta, tolerance=0.1) for name in names)


METHODS = ("soft BBSE", "MLLS")

BESIDE = Theorem(
    name="outputs-with-labels",
    title="Labels of some target rows beside soft predictions and likelihoods",
    reference="shares of labels beside outputs (theory page, 4.15)",
    statement=(
        "With labels of some target rows, soft BBSE's and MLLS's intervals, region and "
        "bounds of one combination of the weights hold with their nominal probability "
        "in the limit, be the classifier calibrated or not; the ball's box cut to that "
        "of the labels, and caps of the proportions, with probability >= 1 - delta in "
        "finite samples."
    ),
    assumptions=(*ASSUMPTIONS, CLASSES_TOLD_APART, LABELLED_AT_RANDOM),
    family=FAMILY,
    designs=designs,
    experiments=(
        *(
            Experiment(
                f"{method}, n = m = 500, 60 labels",
                partial(in_the_limit, method=method, n=500, r=60, alpha=0.1),
                _hold(0.1, 0.08),
                batch=50,
            )
            for method in METHODS
        ),
        *(
            Experiment(
                f"{method} in one direction, n = m = 500, 60 labels",
                partial(one_direction, method=method, n=500, r=60, delta=0.2),
                _below(0.2, 0.12),
                batch=50,
            )
            for method in METHODS
        ),
        Experiment(
            "box and caps, n = m = 200, 40 labels",
            partial(at_every_size, n=200, m=200, r=40, delta=0.3),
            _certain(0.3),
            batch=100,
        ),
    ),
    controls=(
        *(
            Experiment(
                f"{method}, rows of one class labelled first",
                partial(
                    in_the_limit,
                    method=method,
                    n=500,
                    r=60,
                    alpha=0.1,
                    at_random=False,
                ),
                _hold(0.1, 0.08),
                batch=50,
            )
            for method in METHODS
        ),
        Experiment(
            "intervals of single classes taken for a region",
            partial(
                in_the_limit,
                method="soft BBSE",
                n=500,
                r=60,
                alpha=0.1,
                bonferroni=False,
            ),
            _hold(0.1, 0.08),
            batch=50,
        ),
        Experiment(
            "shares of the labels taken to be without error",
            partial(
                one_direction,
                method="MLLS",
                n=500,
                r=60,
                delta=0.2,
                labels_known=True,
            ),
            _below(0.2, 0.12),
            batch=50,
        ),
        Experiment(
            "box and caps, rows of one class labelled first",
            partial(at_every_size, n=200, m=200, r=40, delta=0.3, at_random=False),
            _certain(0.3),
            batch=100,
        ),
    ),
)

THEOREMS = (BESIDE,)
