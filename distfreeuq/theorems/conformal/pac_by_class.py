"""Theorems on coverage given the calibration rows, by class and under label shift."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.conformal.label_conditional_sets import label_conditional_conformal
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.conformal.pac_thresholds import (
    stratified_pac_threshold,
    thinned_pac_threshold,
)
from distfreeuq.conformal.results import ConformalResult
from distfreeuq.conformal.thresholds import label_shift_thresholds
from distfreeuq.label_shift.known_priors import label_weights
from distfreeuq.references import VOVK_2012
from distfreeuq.theorems.conformal.known_weights import ASSUMPTIONS, BASICS
from distfreeuq.theorems.conformal.split_coverage import FAMILY
from distfreeuq.theorems.conformal.training_conditional import reach
from distfreeuq.theorems.draws.calibration_draws import PowerScores
from distfreeuq.theorems.draws.pac_designs import (
    label_conditional_pac_designs,
    label_shift_pac_designs,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

POWERS = PowerScores()
Fit = Callable[..., ConformalResult]


def fitted_thresholds(
    generator: np.random.Generator, n_draws: int, n: int, fit: Fit
) -> tuple[FloatMatrix, list[Any]]:
    """Return public fits' thresholds (R, K) for rows whose scores have known laws."""
    probs, labels = POWERS.rows(generator, n_draws * n)
    fits = []
    for i in range(n_draws):
        rows = slice(i * n, (i + 1) * n)
        fits.append(fit(probs[rows], labels[rows], score="lac", rng=generator))
    return np.array([one.thresholds for one in fits]), fits


def by_class(
    generator: np.random.Generator, n_draws: int, *, n: int, alpha: float, fit: Fit
) -> dict[str, BoolArray]:
    """Return whether all classes at once are covered at 1 - alpha."""
    thresholds, _ = fitted_thresholds(generator, n_draws, n, partial(fit, alpha=alpha))
    coverage = POWERS.class_coverage(thresholds)
    return {"reached": np.asarray((coverage >= 1.0 - alpha).all(axis=1))}


def by_class_as_printed(
    generator: np.random.Generator, n_draws: int, *, n: int
) -> dict[str, BoolArray]:
    """Return whether each class is covered as its row of the table says."""
    thresholds, fits = fitted_thresholds(
        generator, n_draws, n, label_conditional_conformal
    )
    printed = np.array([fit.class_lower for fit in fits])
    reached = POWERS.class_coverage(thresholds) >= printed - 1e-12
    return {f"class {k} as printed": reached[:, k] for k in range(3)}


def on_target(
    generator: np.random.Generator, n_draws: int, *, n: int, alpha: float, fit: Fit
) -> dict[str, BoolArray]:
    """Return whether the target is covered at 1 - alpha."""
    thresholds, _ = fitted_thresholds(generator, n_draws, n, partial(fit, alpha=alpha))
    return {"reached": POWERS.target_coverage(thresholds) >= 1.0 - alpha}


def known_ratio(
    probs: FloatMatrix, labels: IntArray, **options: Any
) -> ConformalResult:
    """Fit with the weights alone: rejection."""
    fit: ConformalResult = label_shift_conformal(
        probs, labels, POWERS.label_weight, **options
    )
    return fit


def known_priors(
    probs: FloatMatrix, labels: IntArray, **options: Any
) -> ConformalResult:
    """Fit with both priors: bounds by class, or rejection, by the counts."""
    priors = label_weights(POWERS.source_prior, POWERS.target_prior)
    fit: ConformalResult = label_shift_conformal(probs, labels, priors, **options)
    return fit


def weighted(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    alpha: float,
    delta: float,
    method: str,
) -> dict[str, BoolArray]:
    """Return whether the target is covered by thresholds of one method."""
    labels = generator.choice(3, size=(n_draws, n), p=POWERS.source_prior)
    exponents = np.array(POWERS.exponents)[labels]
    scores = generator.random((n_draws, n)) ** (1.0 / exponents)
    weight, prior = POWERS.label_weight, np.array(POWERS.target_prior)
    thresholds = np.empty((n_draws, 3))
    for i, (s, y) in enumerate(zip(scores, labels, strict=True)):
        if method == "stratified":
            t: float | FloatArray = stratified_pac_threshold(s, y, prior, alpha, delta)
        elif method == "marginal":
            t = label_shift_thresholds(s, y, weight, alpha)
        elif method == "source prior":
            source = np.array(POWERS.source_prior)
            t = stratified_pac_threshold(s, y, source, alpha, delta)
        else:
            w = {"inverted": 1.0 / weight}.get(method, weight)
            bound = float(w.max()) * (0.3 if method == "bound exceeded" else 1.0)
            t = thinned_pac_threshold(s, w[y], bound, alpha, delta, generator)[0]
        thresholds[i] = t
    return {"reached": POWERS.target_coverage(thresholds) >= 1.0 - alpha}


# ------------------------------------------------------------------------- the theorems

LABEL_CONDITIONAL = Theorem(
    name="label-conditional-pac",
    title="PAC ranks by class cover all classes at once",
    reference=f"{VOVK_2012}, Prop. 2a; union over classes",
    statement=(
        "with probability >= 1 - delta over the calibration draw, every class's "
        "coverage given the calibration rows is >= 1 - alpha; without confidence=, "
        "each class by itself is covered as the table says with probability 0.95."
    ),
    assumptions=BASICS,
    family=FAMILY,
    designs=label_conditional_pac_designs,
    experiments=(
        Experiment(
            "public: three classes, n = 300",
            partial(
                by_class,
                n=300,
                alpha=0.1,
                fit=partial(label_conditional_conformal, confidence=0.9),
            ),
            reach(0.9, 0.03),
            batch=300,
        ),
        Experiment(
            "public: three classes, n = 40",
            partial(
                by_class,
                n=40,
                alpha=0.3,
                fit=partial(label_conditional_conformal, confidence=0.8),
            ),
            reach(0.8, 0.03),
            batch=300,
        ),
        Experiment(
            "public: what the table prints, n = 60",
            partial(by_class_as_printed, n=60),
            tuple(
                Claim(f"class {k} as printed", at_least=0.95, tolerance=0.03)
                for k in range(3)
            ),
            batch=300,
        ),
    ),
    controls=(
        Experiment(
            "delta not shared among the classes",
            partial(
                by_class,
                n=300,
                alpha=0.1,
                fit=partial(label_conditional_conformal, confidence=0.7),
            ),
            reach(0.9, 0.03),
            batch=300,
        ),
        Experiment(
            "ranks that are right on average",
            partial(by_class, n=300, alpha=0.1, fit=label_conditional_conformal),
            reach(0.9, 0.03),
            batch=300,
        ),
    ),
)

WEIGHTED = Theorem(
    name="label-shift-pac",
    title="PAC thresholds under label shift",
    reference=f"theory page, 5; {VOVK_2012}",
    statement=(
        "with probability >= 1 - delta over the calibration draw, coverage of target "
        "rows given the calibration rows is >= 1 - alpha, by rejection sampling and "
        "the PAC rank, or by Clopper-Pearson bounds in each class."
    ),
    assumptions=ASSUMPTIONS,
    family=FAMILY,
    designs=label_shift_pac_designs,
    experiments=(
        *(
            Experiment(
                f"public: {name}, n = {n}",
                partial(on_target, n=n, alpha=0.1, fit=partial(fit, confidence=0.9)),
                reach(0.9, 0.05),
                batch=200,
            )
            for name, n, fit in (
                ("weights known", 200, known_ratio),
                ("priors known", 400, known_priors),
            )
        ),
        *(
            Experiment(
                f"{method}, n = {n}, delta = {delta}",
                partial(weighted, n=n, alpha=0.1, delta=delta, method=method),
                reach(1.0 - delta),
                batch=500,
            )
            for method, n, delta in (
                ("rejection", 300, 0.1),
                ("rejection", 300, 0.5),
                ("stratified", 300, 0.1),
                ("stratified", 300, 0.5),
            )
        ),
    ),
    controls=tuple(
        Experiment(
            name,
            partial(weighted, n=n, alpha=0.1, delta=0.1, method=method),
            reach(0.9),
            batch=200,
        )
        for name, n, method in (
            ("thresholds that are right on average", 300, "marginal"),
            ("rejection with inverted weights", 300, "inverted"),
            ("rejection with weights above their bound", 300, "bound exceeded"),
            ("bounds by class, weighted by the source's prior", 2000, "source prior"),
        )
    ),
)

THEOREMS = (LABEL_CONDITIONAL, WEIGHTED)
