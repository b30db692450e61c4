"""Theorems on sets for every target prior below caps, at every sample size."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.array_types import BoolArray
from distfreeuq.bounds.unchecked import stratified_chernoff
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.conformal.under_label_shift.capped_priors import (
    capped_class_thresholds,
    capped_pac_threshold,
    capped_threshold,
)
from distfreeuq.label_shift.confusion_estimators import bbse
from distfreeuq.label_shift.inference.proportion_caps import PriorCaps
from distfreeuq.label_shift.maximum_likelihood import mlls
from distfreeuq.references import CLOPPER_PEARSON_1934, TWO_SAMPLES, VOVK_2012
from distfreeuq.theorems.conformal.estimated_weights import TOY, probs_of
from distfreeuq.theorems.conformal.known_weights import BASICS
from distfreeuq.theorems.conformal.split_coverage import FAMILY, covers
from distfreeuq.theorems.draws import cell_designs
from distfreeuq.theorems.draws.weight_designs import (
    one_hot,
    random_setting,
    sample,
    union_designs,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

Q = np.array([0.7, 0.25, 0.05])
"""A target prior, known where it says so."""

# ------------------------------------------------------------------------------- caps


def held(
    generator: np.random.Generator,
    n_draws: int,
    *,
    setting: Any,
    delta: float,
    factor: float = 1.0,
) -> dict[str, BoolArray]:
    """Ask whether all class proportions are below the caps, or `factor` times these."""
    target = np.asarray(setting["target"])
    out = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        predicted, labels = sample(generator, setting, "source", setting["n"])
        new, _ = sample(generator, setting, "target", setting["m"])
        estimate = bbse(
            one_hot(predicted, target.size), labels, one_hot(new, target.size)
        )
        high = estimate._prior_caps(delta).high
        out[i] = bool((target <= factor * high + 1e-12).all())
    return {"below the caps": out}


def cap_designs(generator: np.random.Generator) -> Design:
    """Return a setting in which all proportions must be below the caps."""
    setting = random_setting(generator)
    delta = float(generator.choice([0.05, 0.2, 0.5]))
    return Design(
        setting | {"delta": delta},
        Claim("below the caps", at_least=1.0 - delta),
        draw=partial(held, setting=setting, delta=delta),
    )


SETTING = {
    "n": 400,
    "m": 300,
    "source": np.array([0.3, 0.3, 0.4]),
    "target": Q,
    "conditional": 0.85 * np.eye(3) + 0.05,
}

# --------------------------------------------------------------------------- coverage


def stratified(
    generator: np.random.Generator,
    n_draws: int,
    *,
    counts: tuple[int, ...],
    alpha: float,
    used: tuple[float, ...] = tuple(Q),
) -> dict[str, BoolArray]:
    """Take the threshold of a known prior from classes with these counts.

    Class k's scores are uniform to the power k + 1, the first class's the largest.
    `used` is the prior that the threshold is for.
    """
    labels = np.repeat(np.arange(3), counts)
    caps = PriorCaps(np.array(used))
    covered = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        scores = generator.random(labels.size) ** (labels + 1)
        order = np.argsort(scores)
        t = capped_threshold(scores[order], labels[order], caps, alpha)
        k = generator.choice(3, p=Q)
        covered[i] = generator.random() ** (k + 1) <= t
    return {"covered": covered}


def same_rows(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    m: int,
    alpha: float,
    delta: float,
    likelihood: bool = False,
    moved: tuple[float, float] = (0.0, 0.0),
) -> dict[str, BoolArray]:
    """Estimate and calibrate on the same rows; the new row is among the target's."""
    covered = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        x, labels = TOY.sample(n, "source", rng=generator)
        new, new_labels = TOY.sample(m, "target", rng=generator)
        probs, new_probs = probs_of(x), probs_of(new + np.array(moved))
        estimate = (mlls if likelihood else bbse)(probs, labels, new_probs)
        fit = label_shift_conformal(
            probs,
            labels,
            estimate,
            alpha=alpha,
            delta=delta,
            robust=True,
            rng=generator,
        )
        sets = fit.predict(new_probs[:1], rng=generator)
        covered[i] = sets.mask[0, new_labels[0]]
    return {"covered": covered}


# ----------------------------------------------------------- given the calibration rows


def stratified_pac(
    generator: np.random.Generator,
    n_draws: int,
    *,
    counts: tuple[int, ...],
    alpha: float,
    delta: float,
    spent: float | None = None,
) -> dict[str, BoolArray]:
    """Return whether coverage given the rows is 1 - alpha, for a known prior.

    With `spent` the threshold is for another failure probability than `delta`.
    """
    labels = np.repeat(np.arange(3), counts)
    caps = PriorCaps(Q)
    reached = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        scores = generator.random(labels.size) ** (labels + 1)
        order = np.argsort(scores)
        t = capped_pac_threshold(
            scores[order], labels[order], caps, alpha, spent or delta
        )
        coverage = Q @ np.minimum(t, 1.0) ** (1.0 / (1.0 + np.arange(3)))
        reached[i] = coverage >= 1.0 - alpha
    return {"reached": reached}


def common_share(
    generator: np.random.Generator,
    n_draws: int,
    *,
    counts: tuple[int, ...],
    alpha: float,
    delta: float,
    spent: float | None = None,
) -> dict[str, BoolArray]:
    """Return the same where each class leaves out a common share of its rows."""
    labels = np.repeat(np.arange(3), counts)
    reached = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        scores = generator.random(labels.size)
        order = np.argsort(scores)
        t = capped_class_thresholds(
            scores[order], labels[order], PriorCaps(Q), alpha, spent or delta
        )
        reached[i] = Q @ np.minimum(t, 1.0) >= 1.0 - alpha
    return {"reached": reached}


def share_is_rare(
    generator: np.random.Generator,
    n_draws: int,
    *,
    counts: tuple[int, ...],
    alpha: float,
    delta: float,
    factor: float = 1.0,
) -> dict[str, BoolArray]:
    """Return whether a stratified mean of mean alpha is below `stratified_chernoff`."""
    n, q = np.array(counts), Q
    rates = np.minimum(1.0, alpha * np.array([0.8, 1.4, 1.8]))
    rates[2] = (alpha - q[:2] @ rates[:2]) / q[2]
    hits = generator.binomial(n, np.clip(rates, 0.0, 1.0), size=(n_draws, 3))
    share = stratified_chernoff(alpha, float((q / n).max()), delta)
    return {"below": np.asarray(hits @ (q / n) <= factor * share)}


def public_pac(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    alpha: float,
    confidence: float,
    marginal: bool = False,
    robust: Any = False,
) -> dict[str, BoolArray]:
    """Return whether the draw at hand is covered, judged by 2000 new rows.

    That they show less than 1 - alpha - 0.025 has a probability below 1e-3 if coverage
    is 1 - alpha. With `marginal` the sets promise no such thing.
    """
    reached = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        x, labels = TOY.sample(n, "source", rng=generator)
        new, _ = TOY.sample(n, "target", rng=generator)
        probs = probs_of(x)
        estimate = bbse(probs, labels, probs_of(new))
        fit = label_shift_conformal(
            probs,
            labels,
            estimate,
            alpha=alpha,
            confidence=None if marginal else confidence,
            robust=robust,
            rng=generator,
        )
        x_new, y_new = TOY.sample(2000, "target", rng=generator)
        mask = fit.predict(probs_of(x_new), rng=generator).mask
        coverage = float(mask[np.arange(2000), y_new].mean())
        reached[i] = coverage >= 1.0 - alpha - (0.0 if marginal else 0.025)
    return {"reached": reached}


# ------------------------------------------------------------------------- the theorems

CAPS = Theorem(
    name="prior-caps",
    title="Caps of the target's class proportions",
    reference=f"{CLOPPER_PEARSON_1934} for caps of the proportions; theory page, 4.11",
    statement=(
        "q_k <= (upper end of P_Q(predicted k)) / (lower end of P(predicted k | Y = "
        "k)) for all classes at once with probability >= 1 - delta, each end at level "
        "delta / (2 K), in finite samples."
    ),
    assumptions=(*BASICS, TWO_SAMPLES),
    family=FAMILY,
    designs=cap_designs,
    experiments=(
        Experiment(
            "three classes, n = 400, m = 300",
            partial(held, setting=SETTING, delta=0.2),
            (Claim("below the caps", at_least=0.8),),
            batch=200,
        ),
    ),
    controls=(
        Experiment(
            "three quarters of the caps",
            partial(held, setting=SETTING, delta=0.2, factor=0.75),
            (Claim("below the caps", at_least=0.8),),
            batch=200,
        ),
    ),
)

COVERAGE = Theorem(
    name="capped-coverage",
    title="Sets for every target prior below caps cover",
    reference="stratified sets (theory page, 4.11)",
    statement=(
        "Given the labels' counts, the smallest t with sum_k q_k N_k(t) / (n_k + 1) >= "
        "1 - alpha covers with probability >= 1 - alpha under the prior q. So the "
        "largest one over priors below caps of level 1 - delta has P(Y in C(X)) >= 1 - "
        "alpha - delta in finite samples, also if all is from the same rows and the "
        "new row is one of them."
    ),
    assumptions=(*BASICS, TWO_SAMPLES),
    family=FAMILY,
    designs=partial(union_designs, by_region=False),
    experiments=(
        *(
            Experiment(
                f"a known prior, {counts} rows by class",
                partial(stratified, counts=counts, alpha=0.1),
                covers(0.1, 0.02),
                batch=500,
            )
            for counts in ((40, 30, 20), (9, 3, 1), (5, 60, 200))
        ),
        *(
            Experiment(
                f"public: {name} on the same rows, n = m = 300",
                partial(
                    same_rows,
                    n=300,
                    m=300,
                    alpha=0.1,
                    delta=0.05,
                    likelihood=name == "MLLS",
                ),
                covers(0.15, 0.03),
                batch=40,
            )
            for name in ("BBSE", "MLLS")
        ),
        Experiment(
            "public: BBSE on the same rows, n = 60, m = 20",
            partial(same_rows, n=60, m=20, alpha=0.3, delta=0.05),
            covers(0.35, 0.03),
            batch=100,
        ),
    ),
    controls=(
        Experiment(
            "the threshold of another prior",
            partial(stratified, counts=(40, 30, 20), alpha=0.1, used=(0.05, 0.25, 0.7)),
            covers(0.1, 0.02),
            batch=500,
        ),
        Experiment(
            "no label shift: the target's features are moved",
            partial(same_rows, n=300, m=300, alpha=0.1, delta=0.05, moved=(6.0, 0.0)),
            covers(0.15, 0.03),
            batch=40,
        ),
    ),
)

PAC = Theorem(
    name="capped-pac",
    title="Coverage given all rows, with estimated weights",
    reference=f"stratified means (theory page, 5.1 and 5.2); {VOVK_2012}, Prop. 2a",
    statement=(
        "With probability >= confidence over the calibration rows and those that the "
        "weights are estimated from, coverage of new target rows given all of them is "
        ">= 1 - alpha: a stratified mean is far below its expectation with probability "
        "exp(-[s ln(s / alpha) - s + alpha] / max_k (q_k / n_k)) at most, and so is "
        "the mean of order statistics' Beta laws."
    ),
    assumptions=(*BASICS, TWO_SAMPLES),
    family=FAMILY,
    designs=cell_designs.stratified_designs,
    experiments=(
        *(
            Experiment(
                f"a known prior, {counts} rows by class",
                partial(stratified_pac, counts=counts, alpha=0.1, delta=0.1),
                (Claim("reached", at_least=0.9),),
                batch=200,
            )
            for counts in ((400, 300, 200), (3000, 60, 30))
        ),
        *(
            Experiment(
                f"a common share per class, {counts} rows by class",
                partial(common_share, counts=counts, alpha=0.1, delta=0.1),
                (Claim("reached", at_least=0.9),),
                batch=200,
            )
            for counts in ((400, 300, 200), (3000, 60, 30))
        ),
        Experiment(
            "a stratified mean, (70, 25, 40) rows by class",
            partial(share_is_rare, counts=(70, 25, 40), alpha=0.2, delta=0.1),
            (Claim("below", at_most=0.1),),
        ),
        Experiment(
            "public: BBSE on the same rows, n = m = 1000",
            partial(public_pac, n=1000, alpha=0.1, confidence=0.9),
            (Claim("reached", at_least=0.9),),
            batch=40,
        ),
    ),
    controls=(
        Experiment(
            "a failure probability of 0.8 in place of 0.1",
            partial(
                stratified_pac, counts=(400, 300, 200), alpha=0.1, delta=0.1, spent=0.8
            ),
            (Claim("reached", at_least=0.9),),
            batch=200,
        ),
        Experiment(
            "a common share, with a failure probability of 0.95 in place of 0.1",
            partial(
                common_share, counts=(400, 300, 200), alpha=0.1, delta=0.1, spent=0.95
            ),
            (Claim("reached", at_least=0.9),),
            batch=200,
        ),
        Experiment(
            "1.4 times the share",
            partial(
                share_is_rare, counts=(70, 25, 40), alpha=0.2, delta=0.1, factor=1.4
            ),
            (Claim("below", at_most=0.1),),
        ),
        Experiment(
            "public: plug-in sets, which promise an average",
            partial(public_pac, n=300, alpha=0.1, confidence=0.9, marginal=True),
            (Claim("reached", at_least=0.9),),
            batch=40,
        ),
    ),
)

THEOREMS = (CAPS, COVERAGE, PAC)
