"""Theorems on sets by group: every group covered, with and without shift."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from distfreeuq import scenarios
from distfreeuq._base.array_types import BoolArray, FloatMatrix, IntArray
from distfreeuq.conformal.by_group.results import GroupedConformalResult
from distfreeuq.conformal.covariate_shift_sets import covariate_shift_conformal
from distfreeuq.conformal.label_conditional_sets import label_conditional_conformal
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.references import (
    CHOSEN_ELSEWHERE,
    GROUP_EXCHANGEABLE,
    GROUPS_BY_INPUTS,
    NEW_ROW_IID,
    VOVK_2005,
    VOVK_2012,
)
from distfreeuq.theorems.conformal.split_coverage import FAMILY, covers
from distfreeuq.theorems.draws import procedure_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

SCENARIO = scenarios.three_gaussians()
ALPHA = 0.2


def _rows(
    generator: np.random.Generator, n: int, domain: str
) -> tuple[FloatMatrix, FloatMatrix, IntArray, IntArray]:
    """Return x, probabilities, labels and groups: above and below the first axis.

    In the group above, the classifier takes each class for another one.
    """
    x, labels = SCENARIO.sample(n, domain, rng=generator)  # type: ignore[arg-type]
    groups = (x[:, 1] > 1.0).astype(np.int64)
    probs = SCENARIO.posterior(x)
    mistaken = 0.2 * probs + 0.8 * probs[:, [1, 2, 0]]
    return x, np.where(groups[:, None] == 1, mistaken, probs), labels, groups


def draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    procedure: str,
    group: int,
    n: int = 60,
    label: int | None = None,
    by_group: bool = True,
    shuffled: bool = False,
) -> dict[str, BoolArray]:
    """Fit by the public functions; the new row is one of a group (and a class)."""
    domain = "source" if procedure in ("split", "covariate-shift") else "target"
    new_x, new_probs, new_labels, new_groups = _rows(generator, 80 * n_draws, domain)
    own = new_groups == group
    if procedure == "covariate-shift":  # rejection leaves rows of the target
        own &= generator.random(own.size) < _ratio(new_x)
    if label is not None:
        own &= new_labels == label
    new = np.flatnonzero(own)[:n_draws]
    assert new.size == n_draws
    x, probs, labels, groups = _rows(generator, n * n_draws, "source")
    if shuffled:
        groups = generator.permutation(groups)
    covered = np.empty(n_draws, dtype=np.bool_)
    for i, row in enumerate(new):
        some = slice(i * n, (i + 1) * n)
        given = groups[some] if by_group else np.zeros(n, dtype=np.int64)
        fit = _fit(procedure, x[some], probs[some], labels[some], given, rng=generator)
        to = [group if by_group else 0]
        more: list[Any] = []
        if procedure == "covariate-shift":
            more = [_ratio(new_x[[row]])]
        sets = fit.predict(new_probs[[row]], to, *more, rng=generator)
        covered[i] = sets.mask[0, new_labels[row]]
    return {"covered": covered}


def _ratio(x: FloatMatrix) -> Any:
    """Return the density of x in the target over that in the source, up to scale."""
    return 1.0 / (1.0 + np.exp(-x[:, 0]))


def _fit(
    procedure: str,
    x: FloatMatrix,
    probs: FloatMatrix,
    labels: IntArray,
    groups: IntArray,
    **options: Any,
) -> GroupedConformalResult:
    fit: GroupedConformalResult
    options |= {"alpha": ALPHA, "groups": groups}
    if procedure == "label-shift":
        weights = SCENARIO.label_weight
        fit = label_shift_conformal(probs, labels, weights, **options)
    elif procedure == "covariate-shift":
        fit = covariate_shift_conformal(probs, labels, _ratio(x), **options)
    elif procedure == "label-conditional":
        fit = label_conditional_conformal(probs, labels, **options)
    else:
        fit = split_conformal(probs, labels, **options)
    return fit


POPULATION = _rows(np.random.default_rng(20260), 4000, "source")
"""Rows that are drawn from with replacement, so that coverage is a share of them."""


def reached(
    generator: np.random.Generator,
    n_draws: int,
    *,
    confidence: float,
    n: int = 400,
    shared: bool = True,
) -> dict[str, BoolArray]:
    """Return whether all groups have coverage of 1 - alpha given the calibration."""
    _, probs, labels, groups = POPULATION
    both = np.ones(n_draws, dtype=np.bool_)
    for i, rows in enumerate(generator.integers(labels.size, size=(n_draws, n))):
        fit: GroupedConformalResult = split_conformal(
            probs[rows],
            labels[rows],
            alpha=ALPHA,
            groups=groups[rows],
            confidence=confidence if shared else 1.0 - 2.0 * (1.0 - confidence),
            score="lac",
        )
        sets = fit.predict(probs, groups)
        found = sets.evaluate(labels, groups=groups)
        shares = found.group_covered / found.group_counts
        both[i] = bool((shares >= 1.0 - ALPHA - 1e-12).all())
    return {"reached": both}


COVERAGE = Theorem(
    name="group-coverage",
    title="Calibrated by themselves, the rows of a group cover its new rows",
    reference=f"{VOVK_2005} (theory page, 1.6)",
    statement=(
        "P(Y in C(X) | group g) >= 1 - alpha for every group g that is a function of "
        "the inputs; under label and covariate shift with the weights of all rows."
    ),
    assumptions=(GROUP_EXCHANGEABLE, CHOSEN_ELSEWHERE, GROUPS_BY_INPUTS),
    family=FAMILY,
    designs=procedure_designs.group_designs,
    experiments=tuple(
        Experiment(
            f"public: {procedure}, group {group}",
            partial(draw, procedure=procedure, group=group, label=label),
            covers(ALPHA, 0.03),
            batch=400,
        )
        for procedure, group, label in (
            ("split", 0, None),
            ("split", 1, None),
            ("label-conditional", 1, 1),
            ("label-shift", 0, None),
            ("label-shift", 1, None),
            ("covariate-shift", 1, None),
        )
    ),
    controls=(
        Experiment(
            "one threshold for all groups",
            partial(draw, procedure="split", group=1, by_group=False),
            covers(ALPHA, 0.03),
            batch=400,
        ),
        Experiment(
            "groups of calibration rows shuffled",
            partial(draw, procedure="split", group=1, shuffled=True),
            covers(ALPHA, 0.03),
            batch=400,
        ),
        Experiment(
            "no weights under label shift",
            partial(draw, procedure="split-on-target", group=0),
            covers(ALPHA, 0.03),
            batch=400,
        ),
    ),
)

_REACHED = (Claim("reached", at_least=0.8, tolerance=0.05),)

PAC = Theorem(
    name="group-pac",
    title="With confidence, all groups are covered at once, given the calibration rows",
    reference=f"{VOVK_2012}, Prop. 2a, union over groups (theory page, 1.6)",
    statement=(
        "With probability >= confidence over the calibration draw, coverage of every "
        "group given the calibration rows is >= 1 - alpha, if each of G groups gets "
        "(1 - confidence) / G."
    ),
    assumptions=(NEW_ROW_IID, CHOSEN_ELSEWHERE, GROUPS_BY_INPUTS),
    family=FAMILY,
    designs=procedure_designs.group_pac_designs,
    experiments=(
        Experiment(
            "public: two groups, n = 400",
            partial(reached, confidence=0.8),
            _REACHED,
            100,
        ),
    ),
    controls=(
        Experiment(
            "every group with all of 1 - confidence",
            partial(reached, confidence=0.8, shared=False),
            _REACHED,
            100,
        ),
    ),
)

THEOREMS = (COVERAGE, PAC)
