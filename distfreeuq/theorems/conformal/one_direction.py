"""Theorem on label-shift sets with a bound for each label's threshold by itself."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.array_types import BoolArray
from distfreeuq.conformal.chosen_sets import prediction_sets
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.conformal.thresholds import (
    label_conditional_thresholds,
    label_shift_thresholds,
)
from distfreeuq.conformal.under_label_shift.directional_search import (
    directional_pac_threshold,
    directional_thresholds,
)
from distfreeuq.conformal.under_label_shift.results import LabelShiftConformalResult
from distfreeuq.label_shift.confusion_estimators import bbse
from distfreeuq.label_shift.inference.moments.limiting_law import LimitLaw
from distfreeuq.label_shift.maximum_likelihood import mlls
from distfreeuq.references import (
    CLASSES_OVERLAP,
    CLASSES_TOLD_APART,
    PODKOPAEV_RAMDAS_2021,
    TWO_SAMPLES,
    VOVK_2005,
)
from distfreeuq.theorems.conformal.below_caps import Q, public_pac
from distfreeuq.theorems.conformal.estimated_weights import (
    TARGET,
    TOY,
    WEIGHT,
    probs_of,
)
from distfreeuq.theorems.conformal.known_weights import BASICS, draw_sets
from distfreeuq.theorems.conformal.split_coverage import FAMILY, covers
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import ASYMPTOTIC, Experiment, Theorem

SPREAD = 0.2 * np.array([[1.0, -0.5, 0.3], [-0.5, 0.5, -0.4], [0.3, -0.4, 1.0]])
"""A covariance of estimated weights; the true ones are (3, 1/3, 5/3)."""


SPREAD_OF_PRIOR = 0.02 * (1.5 * np.eye(3) - 0.5)
"""A covariance of estimated proportions, which sum to one."""


def normal_estimate(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    alpha: float,
    delta: float,
    smaller: float = 1.0,
) -> dict[str, BoolArray]:
    """Estimate the weights by exactly normal numbers, independent of all rows.

    With `smaller` below one, the covariance is not what it is said to be.
    """
    draws = draw_sets(generator, n_draws, scenario="three-gaussians", n=n)
    found, exact = np.empty((2, n_draws, 3))
    present = np.ones(3, dtype=np.bool_)
    for i, (s, y) in enumerate(zip(draws.scores, draws.labels, strict=True)):
        scores, labels = _ascending(s, y)
        center = generator.multivariate_normal(WEIGHT, SPREAD)
        law = LimitLaw(center, smaller * SPREAD, present, present)
        found[i] = directional_thresholds(scores, labels, law, alpha, delta)
        exact[i] = label_shift_thresholds(scores, labels, WEIGHT, alpha)
    below = found < exact
    events = {f"class {k} below": np.asarray(below[:, k]) for k in range(3)}
    return events | {"covered": draws.covered(found)}


def normal_prior(
    generator: np.random.Generator,
    n_draws: int,
    *,
    counts: tuple[int, ...],
    alpha: float,
    delta: float,
    spent: float | None = None,
    smaller: float = 1.0,
) -> dict[str, BoolArray]:
    """Return whether the draw at hand is covered, proportions being normal numbers.

    Class k's scores are uniform to the power k + 1. With `spent` the threshold is for
    another failure probability, with `smaller` for another covariance.
    """
    labels = np.repeat(np.arange(3), counts)
    everywhere = np.ones(3, dtype=np.bool_)
    reached = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        scores, ordered = _ascending(
            generator.random(labels.size) ** (labels + 1), labels
        )
        center = generator.multivariate_normal(Q, SPREAD_OF_PRIOR)
        law = LimitLaw(center, smaller * SPREAD_OF_PRIOR, everywhere, everywhere)
        t = directional_pac_threshold(
            scores, ordered, law, alpha, spent or delta, independent=True
        )
        coverage = Q @ np.minimum(t, 1.0) ** (1.0 / (1.0 + np.arange(3)))
        reached[i] = coverage >= 1.0 - alpha
    return {"reached": reached}


def _ascending(scores: Any, labels: Any) -> tuple[Any, Any]:
    order = np.argsort(scores, kind="stable")
    return scores[order], labels[order]


def same_rows(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    m: int,
    alpha: float,
    delta: float,
    likelihood: bool = False,
    robust: Any = "directional",
    among: bool = False,
    moved: tuple[float, float] = (0.0, 0.0),
) -> dict[str, BoolArray]:
    """Estimate and calibrate on the same n rows; the new row is another of the target.

    Or, `among`, one of those that the weights are estimated from.
    """
    covered, below = np.empty((2, n_draws), dtype=np.bool_)
    for i in range(n_draws):
        x, labels = TOY.sample(n, "source", rng=generator)
        new, new_labels = TOY.sample(m + 1, "target", rng=generator)
        probs, new_probs = probs_of(x), probs_of(new + np.array(moved))
        estimate = (mlls if likelihood else bbse)(
            probs, labels, new_probs if among else new_probs[:m]
        )
        fit = label_shift_conformal(
            probs,
            labels,
            estimate,
            alpha=alpha,
            delta=delta,
            robust=robust,
            rng=generator,
        )
        assert fit.scores is not None and fit.score_labels is not None
        exact = label_shift_thresholds(fit.scores, fit.score_labels, WEIGHT, alpha)
        label = generator.choice(3, p=TARGET)
        below[i] = fit.thresholds[label] < exact[label]
        sets = fit.predict(new_probs[m:], rng=generator)
        covered[i] = sets.mask[0, new_labels[m]]
    return {"a label's threshold below": below, "covered": covered}


def combined(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    alpha: float,
    delta: float,
    share: float,
    spent: float = 1.0,
) -> dict[str, BoolArray]:
    """Cut directional sets to label-conditional ones; compare with the latter.

    With `spent` above one, both have so much more of alpha than there is.
    """
    covered, larger = np.empty((2, n_draws), dtype=np.bool_)
    for i in range(n_draws):
        x, labels = TOY.sample(n, "source", rng=generator)
        new, new_labels = TOY.sample(n + 1, "target", rng=generator)
        probs, new_probs = probs_of(x), probs_of(new)
        estimate = bbse(probs, labels, new_probs[:n])
        fit = prediction_sets(
            probs,
            labels,
            estimate,
            alpha=spent * alpha,
            delta=delta,
            share=share,
            claim="combined",
            rng=generator,
        ).fit
        assert isinstance(fit, LabelShiftConformalResult)
        assert fit.scores is not None and fit.score_labels is not None
        sets = fit.predict(new_probs[n:], rng=generator)
        covered[i] = sets.mask[0, new_labels[n]]
        by_class = label_conditional_thresholds(
            fit.scores,
            fit.score_labels,
            np.full(3, (1.0 - share) * alpha),
        )
        larger[i] = (fit.thresholds > by_class).any()
    return {"covered": covered, "larger": larger}


def _below(delta: float) -> tuple[Claim, ...]:
    return tuple(Claim(f"class {k} below", at_most=delta) for k in range(3))


DIRECTIONAL = Theorem(
    name="directional-coverage",
    title="A bound for each label's own threshold is enough",
    reference=f"theory page, 4.10; {PODKOPAEV_RAMDAS_2021}, Thm 2",
    statement=(
        "A threshold from which on the upper bound of c(t).w is not positive is below "
        "the true weights' with probability <= delta, if each bound fails with "
        "probability <= delta: no union over thresholds or labels. So P(Y in C(X)) >= "
        "1 - alpha - delta: at every sample size for bounds from other rows, in the "
        "limit for those of the calibration rows."
    ),
    assumptions=(*BASICS, CLASSES_OVERLAP, TWO_SAMPLES, CLASSES_TOLD_APART),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        Experiment(
            "weights estimated by normal numbers, n = 200",
            partial(normal_estimate, n=200, alpha=0.1, delta=0.1),
            (*covers(0.2, 0.02), *_below(0.1)),
            batch=500,
        ),
        *(
            Experiment(
                f"public: BBSE on the same rows, n = {n}, m = {m}",
                partial(same_rows, n=n, m=m, alpha=0.1, delta=0.1),
                (*covers(0.2, 0.03), Claim("a label's threshold below", at_most=0.13)),
                batch=100,
            )
            for n, m in ((500, 500), (200, 1000))
        ),
        Experiment(
            "public: MLLS on the same rows, n = m = 300",
            partial(same_rows, n=300, m=300, alpha=0.1, delta=0.1, likelihood=True),
            (*covers(0.2, 0.03), Claim("a label's threshold below", at_most=0.13)),
            batch=40,
        ),
        Experiment(
            "public: BBSE, the new row among the target rows, n = m = 300",
            partial(same_rows, n=300, m=300, alpha=0.1, delta=0.1, among=True),
            (*covers(0.2, 0.03), Claim("a label's threshold below", at_most=0.13)),
            batch=100,
        ),
    ),
    controls=(
        Experiment(
            "a covariance that is a quarter of the true one",
            partial(normal_estimate, n=200, alpha=0.1, delta=0.1, smaller=0.25),
            _below(0.1),
            batch=500,
        ),
        Experiment(
            "the estimated weights without a bound",
            partial(same_rows, n=500, m=500, alpha=0.1, delta=0.1, robust=False),
            (Claim("a label's threshold below", at_most=0.13),),
            batch=100,
        ),
        Experiment(
            "no label shift: the target's features are moved",
            partial(same_rows, n=500, m=500, alpha=0.1, delta=0.1, moved=(4.0, 0.0)),
            covers(0.2, 0.03),
            batch=100,
        ),
    ),
)

DIRECTIONAL_PAC = Theorem(
    name="directional-pac",
    title="One bound of the share left out is enough for the draw at hand",
    reference="stratified means in one direction (theory page, 5.3)",
    statement=(
        "The smallest score from which on a pointwise upper bound of the share of the "
        "target above t, of level 1 - delta, is at most alpha has coverage >= 1 - "
        "alpha given all rows with probability >= 1 - delta: no union over t. With "
        "normal bounds in the limit: at delta = 0.1 it was so in 0.885 of draws with "
        "900 rows of three classes, and in 0.894 with 3500."
    ),
    assumptions=(*BASICS, CLASSES_OVERLAP, TWO_SAMPLES, CLASSES_TOLD_APART),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        *(
            Experiment(
                f"proportions estimated by normal numbers, {counts} rows by class",
                partial(normal_prior, counts=counts, alpha=0.1, delta=0.1),
                (Claim("reached", at_least=least),),
                batch=200,
            )
            for counts, least in (
                ((400, 300, 200), 0.88),
                ((2000, 1000, 500), 0.89),
            )
        ),
        Experiment(
            "public: BBSE on the same rows, n = m = 1000",
            partial(
                public_pac, n=1000, alpha=0.1, confidence=0.9, robust="directional"
            ),
            (Claim("reached", at_least=0.9),),
            batch=40,
        ),
    ),
    controls=(
        Experiment(
            "a failure probability of 0.5 in place of 0.1",
            partial(
                normal_prior, counts=(400, 300, 200), alpha=0.1, delta=0.1, spent=0.5
            ),
            (Claim("reached", at_least=0.88),),
            batch=200,
        ),
        Experiment(
            "the estimate's error left out",
            partial(
                normal_prior,
                counts=(2000, 1000, 500),
                alpha=0.1,
                delta=0.1,
                smaller=0.0,
            ),
            (Claim("reached", at_least=0.89),),
            batch=200,
        ),
    ),
)

COMBINED = Theorem(
    name="combined-coverage",
    title="Directional sets cut to label-conditional ones cover",
    reference=f"theory page, 4.10; {VOVK_2005}, label-conditional",
    statement=(
        "Labels that are in directional sets at share * alpha and in label-conditional "
        "ones at (1 - share) alpha cover with probability >= 1 - alpha - delta in the "
        "limit, and are never more than the latter hold."
    ),
    assumptions=(*BASICS, CLASSES_OVERLAP, TWO_SAMPLES, CLASSES_TOLD_APART),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=tuple(
        Experiment(
            f"public: BBSE on the same rows, n = m = 400, a share of {share}",
            partial(combined, n=400, alpha=0.2, delta=0.05, share=share),
            (*covers(0.25, 0.03), Claim("larger", at_most=0.0)),
            batch=100,
        )
        for share in (0.3, 0.7)
    ),
    controls=(
        Experiment(
            "three times alpha spent",
            partial(combined, n=400, alpha=0.2, delta=0.05, share=0.5, spent=3.0),
            covers(0.25, 0.03),
            batch=100,
        ),
    ),
)

THEOREMS = (DIRECTIONAL, DIRECTIONAL_PAC, COMBINED)
