"""What each procedure claims, situation by situation.

Every row of the table is a fit and the claim that must be printed for it: what the
probability is over, the bound, the confidence, whether it holds in finite samples, all
that it needs, and who proved it. A need that is dropped, another level, an asymptotic
claim sold as a finite one or a wrong source fails a row.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import distfreeuq as dfu
from distfreeuq import references as r
from distfreeuq import scenarios
from distfreeuq.references import cited
from tests.unit.claims import Claim, assert_claims, assert_claims_nothing, assert_states

SCENARIO = scenarios.three_gaussians()
X, LABELS = SCENARIO.sample(600, "source", rng=0)
X_TARGET, _ = SCENARIO.sample(600, "target", rng=0)
PROBS, PROBS_TARGET = SCENARIO.posterior(X), SCENARIO.posterior(X_TARGET)
WEIGHT = SCENARIO.label_weight
RATIO = np.exp(PROBS[:, 0])

ESTIMATORS: dict[str, Callable[[], dfu.LabelShiftResult]] = {
    "bbse": lambda: dfu.bbse(PROBS, LABELS, PROBS_TARGET),
    "soft": lambda: dfu.bbse(PROBS, LABELS, PROBS_TARGET, soft=True),
    "rlls": lambda: dfu.rlls(PROBS, LABELS, PROBS_TARGET),
    "soft rlls": lambda: dfu.rlls(PROBS, LABELS, PROBS_TARGET, soft=True),
    "mlls": lambda: dfu.mlls(PROBS, LABELS, PROBS_TARGET),
    "mlls, as it is": lambda: dfu.mlls(PROBS, LABELS, PROBS_TARGET, calibrate=None),
}


def drawn() -> np.random.Generator:
    """Return a generator: uniforms that are drawn need nothing of a seed."""
    return np.random.default_rng(1)


SHIFT = {r.LABEL_SHIFT, r.IID, r.CHOSEN_ELSEWHERE}
TWO_SAMPLES = {r.CLASSES_OVERLAP, r.TWO_SAMPLES, r.FITTED_ELSEWHERE}
LIKELIHOOD = {
    r.CLASSES_OVERLAP,
    r.TWO_SAMPLES,
    r.FITTED_ELSEWHERE,
    r.CLASSES_TOLD_APART,
}
AFTER_BCTS = {f"after BCTS {r.CALIBRATED}"}
AS_IT_IS = {r.CALIBRATED}
INDEPENDENT = {
    "the weights were estimated on rows independent of the calibration rows and of the "
    "new row (declared)"
}
CONSISTENT = {"the weights' estimator is consistent"}
RATIO_NEEDS = {
    r.COVARIATE_SHIFT,
    r.TRUE_RATIO_TO_SCALE,
    r.INPUTS_OVERLAP,
    r.IID,
    r.CHOSEN_ELSEWHERE,
}
SPLIT_BY = ["papadopoulos2002", "podkopaev2021", "vovk2005"]
WEIGHTED_BY = ["podkopaev2021", "tibshirani2019"]


@dataclass(frozen=True)
class Row:
    """A situation and its claim; `lower` None if it is not a fixed number."""

    name: str
    fit: Callable[[], object]
    kind: str
    lower: float | None
    needs: set[str]
    by: list[str]
    confidence: float | None = None
    finite_sample: bool = True
    upper: float | None = None


def shifted(weights, **options):
    return dfu.label_shift_conformal(PROBS, LABELS, weights, rng=drawn(), **options)


def estimated(name: str, **options):
    return lambda: shifted(ESTIMATORS[name](), **options)


def of_estimators() -> list[Row]:
    """Return seven rows for each estimator of the weights."""
    rows = []
    for name in ESTIMATORS:
        mlls = name.startswith("mlls")
        own, consistent = set(TWO_SAMPLES), set(CONSISTENT)
        if mlls:  # whose region needs no calibration, but whose weights do
            own = set(LIKELIHOOD)
            consistent |= AFTER_BCTS if name == "mlls" else AS_IT_IS
        rows += [
            Row(
                f"{name}: plug-in",
                estimated(name),
                "marginal",
                0.9,
                SHIFT | own | consistent,
                ["podkopaev2021"],
                finite_sample=False,
            ),
            Row(
                f"{name}: independent",
                estimated(name, independent=True, delta=0.04),
                "marginal",
                None,
                SHIFT | {r.TWO_SAMPLES, r.FITTED_ELSEWHERE} | INDEPENDENT,
                WEIGHTED_BY,
                confidence=0.96,
            ),
            Row(
                f"{name}: robust",
                estimated(name, robust=True, delta=0.03, alpha=0.2),
                "marginal",
                0.77,
                SHIFT | {r.TWO_SAMPLES, r.FITTED_ELSEWHERE},
                ["clopper1934"],
            ),
            Row(
                f"{name}: confidence",
                estimated(name, confidence=0.9, alpha=0.2),
                "training-conditional",
                0.8,
                SHIFT | {r.TWO_SAMPLES, r.FITTED_ELSEWHERE},
                ["clopper1934", "vovk2012"],
                confidence=0.9,
            ),
            Row(
                f"{name}: directional",
                estimated(name, robust="directional", delta=0.03, alpha=0.2),
                "marginal",
                0.77,
                SHIFT | LIKELIHOOD,
                WEIGHTED_BY,
                finite_sample=False,
            ),
            Row(
                f"{name}: directional, confidence",
                estimated(name, robust="directional", confidence=0.9, alpha=0.2),
                "training-conditional",
                0.8,
                SHIFT | LIKELIHOOD,
                [],
                confidence=0.9,
                finite_sample=False,
            ),
            Row(
                f"{name}: directional, confidence, independent",
                estimated(
                    name,
                    robust="directional",
                    confidence=0.9,
                    alpha=0.2,
                    independent=True,
                ),
                "training-conditional",
                0.8,
                SHIFT | LIKELIHOOD | INDEPENDENT,
                [],
                confidence=0.9,
                finite_sample=False,
            ),
        ]
    return rows


def holds(level: str, more: str = "") -> set[str]:
    return {
        f"the region given holds the true weights with probability >= {level}{more}"
    }


def box(finite_sample: bool, delta: float | None = None) -> dfu.Box:
    return dfu.Box(0.9 * WEIGHT, 1.1 * WEIGHT, finite_sample, delta)


KNOWN_UPPER = 0.9 + WEIGHT.max() / (600 * WEIGHT.min() + WEIGHT.max())
PRIORS = dfu.label_weights(SCENARIO.source_prior, SCENARIO.target_prior)

SITES = np.resize(["north", "south"], LABELS.size)


def by_group() -> list[Row]:
    """Return rows for groups: each procedure's own needs, within a group."""
    groups = {r.GROUPS_BY_INPUTS}
    options = {"groups": SITES, "rng": drawn()}
    return [
        Row(
            "split, by group",
            lambda: dfu.split_conformal(PROBS, LABELS, **options),
            "group-conditional",
            0.9,
            {r.GROUP_EXCHANGEABLE, r.CHOSEN_ELSEWHERE} | groups,
            SPLIT_BY,
        ),
        Row(
            "split, by group, confidence",
            lambda: dfu.split_conformal(PROBS, LABELS, confidence=0.8, **options),
            "training-conditional",
            0.9,
            {r.NEW_ROW_IID, r.CHOSEN_ELSEWHERE} | groups,
            ["vovk2005", "vovk2012"],
            confidence=0.8,
        ),
        Row(
            "label-conditional, by group",
            lambda: dfu.label_conditional_conformal(
                PROBS, LABELS, alpha=0.2, **options
            ),
            "group-conditional",
            0.8,
            {r.LABEL_SHIFT, r.CLASS_GROUP_EXCHANGEABLE, r.CHOSEN_ELSEWHERE} | groups,
            ["podkopaev2021", "vovk2005"],
        ),
        Row(
            "known weights, by group",
            lambda: dfu.label_shift_conformal(PROBS, LABELS, WEIGHT, **options),
            "group-conditional",
            0.9,
            SHIFT | {r.TRUE_LABEL_WEIGHT} | groups,
            [*WEIGHTED_BY, "vovk2005"],
        ),
        Row(
            "known priors, by group, confidence: rejection, whatever the priors",
            lambda: dfu.label_shift_conformal(
                PROBS, LABELS, PRIORS, confidence=0.85, **options
            ),
            "training-conditional",
            0.9,
            SHIFT | {r.TRUE_LABEL_WEIGHT} | groups,
            ["vovk2005", "vovk2012"],
            confidence=0.85,
        ),
        Row(
            "bbse, by group",
            lambda: dfu.label_shift_conformal(
                PROBS, LABELS, ESTIMATORS["bbse"](), **options
            ),
            "group-conditional",
            0.9,
            SHIFT | TWO_SAMPLES | CONSISTENT | groups,
            ["podkopaev2021", "vovk2005"],
            finite_sample=False,
        ),
        Row(
            "bbse, by group, robust",
            lambda: dfu.label_shift_conformal(
                PROBS, LABELS, ESTIMATORS["bbse"](), robust=True, delta=0.03, **options
            ),
            "group-conditional",
            0.87,
            SHIFT | TWO_SAMPLES | {r.NEW_ROW_APART} | groups,
            [*WEIGHTED_BY, "vovk2005"],
        ),
        Row(
            "covariate shift, by group",
            lambda: dfu.covariate_shift_conformal(PROBS, LABELS, RATIO, **options),
            "group-conditional",
            0.9,
            RATIO_NEEDS | groups,
            ["tibshirani2019", "vovk2005"],
        ),
    ]


def of_many_classes() -> list[Row]:
    """Return rows for the procedures between one threshold and one per class."""
    return [
        Row(
            "interpolated",
            lambda: dfu.interpolated_conformal(PROBS, LABELS),
            "marginal",
            0.8,
            {r.EXCHANGEABLE, r.CHOSEN_ELSEWHERE},
            ["ding2025"],
        ),
        Row(
            "clustered",
            lambda: dfu.clustered_conformal(PROBS, LABELS, rng=drawn()),
            "marginal",
            0.9,
            {r.EXCHANGEABLE, r.CHOSEN_ELSEWHERE, r.SPLIT_AT_RANDOM},
            ["ding2023"],
        ),
        Row(
            "rank-calibrated",
            lambda: dfu.rank_calibrated_conformal(PROBS, LABELS, rng=drawn()),
            "class-conditional",
            0.9,
            {r.LABEL_SHIFT, r.CLASS_EXCHANGEABLE, r.CHOSEN_ELSEWHERE},
            ["shi2024"],
        ),
        Row(
            "split, PAS",
            lambda: dfu.split_conformal(PROBS, LABELS, score=dfu.PAS([1, 2, 3])),
            "marginal",
            0.9,
            {r.EXCHANGEABLE, r.CHOSEN_ELSEWHERE, r.PRIOR_ELSEWHERE},
            SPLIT_BY,
            upper=0.9 + 1 / 601,
        ),
        Row(
            "split, PAS counted",
            lambda: dfu.split_conformal(PROBS, LABELS, score=dfu.PAS()),
            "marginal",
            0.9,
            {r.EXCHANGEABLE, r.CHOSEN_ELSEWHERE},
            SPLIT_BY,
        ),
        Row(
            "split, own score",
            lambda: dfu.split_conformal(PROBS, LABELS, score=lambda probs: -probs),
            "marginal",
            0.9,
            {r.EXCHANGEABLE, r.CHOSEN_ELSEWHERE, r.OWN_SCORE},
            SPLIT_BY,
            upper=0.9 + 1 / 601,
        ),
    ]


TABLE = [
    Row(
        "split",
        lambda: dfu.split_conformal(PROBS, LABELS, rng=drawn()),
        "marginal",
        0.9,
        {r.EXCHANGEABLE, r.CHOSEN_ELSEWHERE},
        SPLIT_BY,
        upper=0.9 + 1 / 601,
    ),
    Row(
        "split, never empty",
        lambda: dfu.split_conformal(PROBS, LABELS, never_empty=True, rng=drawn()),
        "marginal",
        0.9,
        {r.EXCHANGEABLE, r.CHOSEN_ELSEWHERE},
        SPLIT_BY,
    ),
    Row(
        "split, ties",
        lambda: dfu.split_conformal([[0.8, 0.2]] * 30, [0] * 30, score="lac"),
        "marginal",
        0.9,
        {r.EXCHANGEABLE, r.CHOSEN_ELSEWHERE},
        SPLIT_BY,
    ),
    Row(
        "split, confidence",
        lambda: dfu.split_conformal(PROBS, LABELS, confidence=0.8, rng=drawn()),
        "training-conditional",
        0.9,
        {r.NEW_ROW_IID, r.CHOSEN_ELSEWHERE},
        ["vovk2012"],
        confidence=0.8,
    ),
    Row(
        "label-conditional",
        lambda: dfu.label_conditional_conformal(PROBS, LABELS, alpha=0.2, rng=drawn()),
        "class-conditional",
        0.8,
        {r.LABEL_SHIFT, r.CLASS_EXCHANGEABLE, r.CHOSEN_ELSEWHERE},
        ["podkopaev2021", "vovk2005"],
    ),
    Row(
        "label-conditional, a level per class",
        lambda: dfu.label_conditional_conformal(
            PROBS, LABELS, alpha=[0.1, 0.2, 0.3], rng=drawn()
        ),
        "class-conditional",
        0.7,
        {r.LABEL_SHIFT, r.CLASS_EXCHANGEABLE, r.CHOSEN_ELSEWHERE},
        ["podkopaev2021", "vovk2005"],
    ),
    Row(
        "label-conditional, confidence",
        lambda: dfu.label_conditional_conformal(
            PROBS, LABELS, alpha=0.2, confidence=0.9, rng=drawn()
        ),
        "training-conditional",
        0.8,
        SHIFT,
        ["vovk2012"],
        confidence=0.9,
    ),
    Row(
        "known weights",
        lambda: shifted(WEIGHT),
        "marginal",
        0.9,
        SHIFT | {r.TRUE_LABEL_WEIGHT},
        WEIGHTED_BY,
        upper=KNOWN_UPPER,
    ),
    Row(
        "known weights, one of them zero",
        lambda: shifted(WEIGHT * [0, 1, 1]),
        "marginal",
        0.9,
        SHIFT | {r.TRUE_LABEL_WEIGHT},
        WEIGHTED_BY,
    ),
    Row(
        "known priors",
        lambda: shifted(PRIORS),
        "marginal",
        0.9,
        SHIFT | {r.TRUE_LABEL_WEIGHT},
        WEIGHTED_BY,
        upper=KNOWN_UPPER,
    ),
    Row(
        "known weights, confidence",
        lambda: shifted(WEIGHT, confidence=0.85),
        "training-conditional",
        0.9,
        SHIFT | {r.TRUE_LABEL_WEIGHT},
        ["vovk2012"],
        confidence=0.85,
    ),
    Row(
        "known priors, confidence, bounds by class",
        lambda: dfu.label_shift_conformal(
            np.tile(PROBS, (8, 1)),
            np.tile(LABELS, 8),
            dfu.label_weights([0.099, 0.9, 0.001], [0.09, 0.9, 0.01]),
            confidence=0.85,
            rng=drawn(),
        ),
        "training-conditional",
        0.9,
        SHIFT | {r.TRUE_PRIORS},
        ["clopper1934"],
        confidence=0.85,
    ),
    *by_group(),
    *of_many_classes(),
    *of_estimators(),
    Row(
        "a region given, without a level",
        lambda: shifted(box(True), robust=True, delta=0.05),
        "marginal",
        0.85,
        SHIFT | holds("0.95", " (declared by delta=), in finite samples"),
        WEIGHTED_BY,
    ),
    Row(
        "a region given, in the limit",
        lambda: shifted(box(False), robust=True, delta=0.05),
        "marginal",
        0.85,
        SHIFT | holds("0.95", " (declared by delta=)"),
        WEIGHTED_BY,
        finite_sample=False,
    ),
    Row(
        "a region given, with its level",
        lambda: shifted(box(True, 0.2), robust=True, delta=0.05),
        "marginal",
        0.7,
        SHIFT | holds("0.8", ", in finite samples"),
        WEIGHTED_BY,
    ),
    Row(
        "an estimate's region of another level",
        lambda: shifted(ESTIMATORS["bbse"]().region(0.3), robust=True),
        "marginal",
        0.6,
        SHIFT | holds("0.7", ", in finite samples"),
        WEIGHTED_BY,
    ),
    Row(
        "covariate shift",
        lambda: dfu.covariate_shift_conformal(PROBS, LABELS, RATIO, rng=drawn()),
        "marginal",
        0.9,
        RATIO_NEEDS,
        ["tibshirani2019"],
    ),
    Row(
        "covariate shift, confidence",
        lambda: dfu.covariate_shift_conformal(
            PROBS, LABELS, RATIO, confidence=0.9, weight_bound=3.0, rng=drawn()
        ),
        "training-conditional",
        0.9,
        RATIO_NEEDS | {r.WEIGHT_BOUND},
        ["vovk2012"],
        confidence=0.9,
    ),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_claims(row):
    claim = row.fit().guarantee
    assert claim.kind == row.kind
    if row.lower is not None:
        assert claim.lower == pytest.approx(row.lower, abs=1e-12)
    assert claim.upper == (None if row.upper is None else pytest.approx(row.upper))
    assert claim.confidence == (
        None if row.confidence is None else pytest.approx(row.confidence)
    )
    assert claim.finite_sample == row.finite_sample
    assert set(claim.assumptions) == row.needs
    assert sorted(entry.key for entry in cited(claim.reference)) == row.by
    assert len(claim.assumptions) == len(set(claim.assumptions))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_printed_claims(row):
    fit = row.fit()
    printed = " ".join(str(fit).split())
    assert ("asymptotic: no claim" in printed) == (not row.finite_sample)
    assert "variation. (" not in printed and "). (" not in printed
    for need in row.needs:
        assert need in printed
    if not row.finite_sample:
        assert "in finite samples" not in fit.guarantee.statement


NEW_ROW = "P(Y in C(X)) >= 0.9 for a new row, in finite samples; "
NEW_TARGET_ROW = "P(Y in C(X)) >= 0.9 for a new target row, in finite samples"
OVER_THE_DRAW = "with probability >= {} over the calibration draw, coverage "
UNION = "P(Y in C(X)) >= {} for a new target row, {}with estimated weights (union over "
WHATEVER = "whatever the target's class proportions."
KNOWN = f"{NEW_TARGET_ROW}; and <= {{<=}} if scores are continuous."
EVERY_GROUP = "P(Y in C(X) | group g) >= 0.9 for {} of every group g"
STATEMENTS = {
    "split": f"{NEW_ROW}and <= {{<=}} if scores are continuous.",
    "split, never empty": f"{NEW_ROW}no upper bound, as the most likely label is "
    "always added.",
    "split, ties": f"{NEW_ROW}no upper bound, as calibration scores tie.",
    "split, confidence": OVER_THE_DRAW.format(0.8)
    + "given the calibration rows is >= 0.9 (i.i.d. rows).",
    "label-conditional": "P(Y in C(X) | Y = y) >= 0.8 for every class y, in finite "
    f"samples; hence P(Y in C(X)) >= 0.8 {WHATEVER}",
    "label-conditional, a level per class": "P(Y in C(X) | Y = y) >= 1 - alpha_y for "
    f"every class y, in finite samples; hence P(Y in C(X)) >= 0.7 {WHATEVER}",
    "label-conditional, confidence": OVER_THE_DRAW.format(0.9)
    + "of every class y given the calibration rows is >= 0.8, and so coverage of "
    f"target rows given them is >= 0.8 {WHATEVER}",
    "known weights": KNOWN,
    "known weights, one of them zero": f"{NEW_TARGET_ROW}.",
    "known priors": KNOWN,
    "known weights, confidence": OVER_THE_DRAW.format(0.85)
    + "of target rows given the calibration rows is >= 0.9.",
    "known priors, confidence, bounds by class": OVER_THE_DRAW.format(0.85)
    + "of target rows given the calibration rows is >= 0.9.",
    "plug-in": "liminf of P(Y in C(X)) >= 0.9 for a new target row as the data that "
    "the weights are estimated from grow",
    "independent": "with probability >= 0.96 over the rows that the weights were "
    "estimated on, P(Y in C(X)) >= {>=} for a new target row: 0.9 less the weights' "
    "possible error in total variation",
    "robust": "P(Y in C(X)) >= 0.77 for a new target row, in finite samples and with "
    "estimated weights (largest threshold over a 97% region of the target's class "
    "proportions).",
    "confidence": "with probability >= 0.9 over the draw of calibration rows and of "
    "those that the weights are estimated from, coverage of new target rows given all "
    "of them is >= 0.8.",
    "directional": "P(Y in C(X)) >= 0.77 for a new target row, with estimated weights: "
    "the threshold of each label is below that of the true weights with probability "
    "<= 0.03",
    "directional, confidence": "with probability >= 0.9 over the draw of calibration "
    "rows and of those that the weights are estimated from, coverage of new target "
    "rows given all of them is >= 0.8",
    "directional, confidence, independent": "with probability >= 0.9 over the draw of "
    "calibration rows and of those that the weights are estimated from, coverage of "
    "new target rows given all of them is >= 0.8",
    "a region given, without a level": UNION.format(0.85, "in finite samples and ")
    + "the region given, of level 95%).",
    "a region given, in the limit": UNION.format(0.85, "")
    + "the region given, of level 95%)",
    "a region given, with its level": UNION.format(0.7, "in finite samples and ")
    + "the region given, of level 80%).",
    "an estimate's region of another level": UNION.format(0.6, "in finite samples and ")
    + "the region given, of level 70%).",
    "split, by group": f"{EVERY_GROUP.format('a new row')}, in finite samples.",
    "split, by group, confidence": OVER_THE_DRAW.format(0.8)
    + "of every group g given the calibration rows is >= 0.9.",
    "label-conditional, by group": "P(Y in C(X) | Y = y, group g) >= 0.8 for every "
    "class y in every group g, in finite samples; hence P(Y in C(X)) >= 0.8 whatever "
    "the target's proportions of classes and groups.",
    "known weights, by group": f"{EVERY_GROUP.format('a new target row')}, in finite "
    "samples.",
    "rejection, whatever the priors": OVER_THE_DRAW.format(0.85)
    + "of target rows of every group g given the calibration rows is >= 0.9.",
    "bbse, by group": f"liminf of {EVERY_GROUP.format('a new target row')} as the data "
    "that the weights are estimated from grow",
    "bbse, by group, robust": "P(Y in C(X) | group g) >= 0.87 for a new target row of "
    "every group g, in finite samples and with estimated weights (union over a 97% "
    "region of the weights).",
    "covariate shift, by group": f"{EVERY_GROUP.format('a new target row')}, in finite "
    "samples, if the weights are the true ratio up to scale.",
    "interpolated": "P(Y in C(X)) >= 0.8 for a new row, in finite samples: 1 - 2 "
    "alpha, by both thresholds.",
    "clustered": "P(Y in C(X) | cluster of Y) >= 0.9 for every cluster of classes, in "
    "finite samples; hence P(Y in C(X)) >= 0.9. By class approximate: nearly so where "
    "the classes of a cluster have scores alike.",
    "rank-calibrated": "P(Y in C(X) | Y = y) >= 0.9 for every class y, in finite "
    f"samples; hence P(Y in C(X)) >= 0.9 {WHATEVER}",
    "split, PAS": f"{NEW_ROW}and <= {{<=}} if scores are continuous.",
    "split, PAS counted": f"{NEW_ROW}no upper bound, as the score is made of these "
    "labels.",
    "split, own score": f"{NEW_ROW}and <= {{<=}} if scores are continuous.",
    "covariate shift": f"{NEW_TARGET_ROW}, if the weights are the true ratio q(x)/p(x) "
    "up to scale; with estimated weights no finite-sample claim.",
    "covariate shift, confidence": OVER_THE_DRAW.format(0.9)
    + "of target rows given the calibration rows is >= 0.9, if the weights are the "
    "true ratio up to scale.",
}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_statements(row):
    claim = row.fit().guarantee
    name = row.name.split(": ")[-1]
    statement = STATEMENTS[name]
    if name == "independent":
        if claim.lower == 0.0:
            statement += " (vacuous: prefer label_conditional_conformal)"
        statement += "." if row.finite_sample else ""
    expected = Claim(
        statement, "marginal", (), "", lower=claim.lower, upper=claim.upper
    )
    assert_states(claim.statement, expected)


def test_what_is_stated_besides():
    (given,) = dfu.split_conformal(PROBS, LABELS).further
    assert given.lower == pytest.approx(stats.beta(541, 60).ppf(0.05), abs=1e-9)
    expected = Claim(
        OVER_THE_DRAW.format(0.95) + "given the calibration rows is >= {>=} (i.i.d. "
        "rows).",
        "training-conditional",
        (r.NEW_ROW_IID, r.CHOSEN_ELSEWHERE),
        "Vovk (2012): Beta(541, 60) law of coverage",
        confidence=0.95,
        lower=given.lower,
    )
    assert_claims(given, expected)
    (by_class,) = dfu.label_conditional_conformal(PROBS, LABELS).further
    expected = Claim(
        "given the calibration rows, 'coverage >=' holds for each class by itself with "
        "probability >= 0.95 over their draw (i.i.d. rows).",
        "training-conditional",
        (r.LABEL_SHIFT, r.IID, r.CHOSEN_ELSEWHERE),
        "Vovk (2012): Beta law of coverage",
        confidence=0.95,
    )
    assert_claims(by_class, expected)


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_measured_coverage(level):
    sets = dfu.split_conformal(PROBS, LABELS, rng=1).predict(PROBS_TARGET)
    expected = Claim(
        "each interval covers the sets' true coverage on its stratum, for this "
        f"calibration, with probability >= {level}; the intervals are not "
        "simultaneous.",
        "confidence interval",
        (r.IID, r.SETS_ASSESSED_ELSEWHERE),
        "Clopper and Pearson (1934)",
        confidence=level,
    )
    assert_claims(sets.evaluate(LABELS, level=level).guarantee, expected)


def test_measured_coverage_of_blocks():
    sets = dfu.split_conformal(PROBS, LABELS, rng=1).predict(PROBS_TARGET)
    expected = Claim(
        "each interval covers the sets' true coverage of a random row (of the stratum) "
        "of a random block, for this calibration, with probability >= 0.95; the "
        "intervals are not simultaneous.",
        "confidence interval",
        (r.BLOCKS_IID, r.SETS_ASSESSED_ELSEWHERE),
        "Waudby-Smith & Ramdas (2024), with bets fixed in advance (theory page, 2.5)",
        confidence=0.95,
    )
    blocks = np.arange(600) // 20
    assert_claims(sets.evaluate(LABELS, blocks=blocks).guarantee, expected)


def test_sets_by_uniforms_of_the_users_own_need_these_to_be_uniform():
    fit = dfu.split_conformal(PROBS, LABELS, rng=drawn())
    own = np.random.default_rng(2).random(len(PROBS_TARGET))
    claim = fit.predict(PROBS_TARGET, uniforms=own).guarantee
    assert claim.assumptions == (*fit.guarantee.assumptions, r.OWN_UNIFORMS)
    assert claim.statement == fit.guarantee.statement
    plain = fit.predict(PROBS_TARGET, rng=drawn()).guarantee
    assert plain == fit.guarantee


@pytest.mark.parametrize("ids", [None, range(600)], ids=["rows", "ids"])
def test_seeds_add_what_they_need(ids):
    more = (r.SEED_ELSEWHERE, *((r.IDS_OF_ROWS,) if ids else ()))
    for make in (
        lambda **options: dfu.split_conformal(PROBS, LABELS, **options),
        lambda **options: dfu.label_conditional_conformal(PROBS, LABELS, **options),
        lambda **options: dfu.label_shift_conformal(PROBS, LABELS, WEIGHT, **options),
        lambda **options: dfu.covariate_shift_conformal(
            PROBS, LABELS, RATIO, **options
        ),
    ):
        plain, seeded = make(rng=drawn()), make(rng=1, ids=ids)
        pairs = zip(
            (plain.guarantee, *plain.further),
            (seeded.guarantee, *seeded.further),
            strict=True,
        )
        for one, other in pairs:
            assert other.assumptions == (*one.assumptions, *more)
            assert other.reference == (
                f"{one.reference}; hashed uniforms (theory page, 12.8)"
            )


def test_estimated_density_ratios_claim_nothing():
    ratio = dfu.density_ratio(X, X_TARGET, rng=0)
    assert_claims_nothing(
        dfu.covariate_shift_conformal(PROBS, LABELS, ratio, rng=1),
        "the weights are estimated, so that no finite-sample claim is made; if they "
        "were fitted on other rows and have mean one, coverage is at least 1 - alpha - "
        "E_p|w_hat - w| / 2 (Lei & Candes, 2021), which no data can tell",
    )


@pytest.mark.parametrize("name", ESTIMATORS)
def test_sets_need_what_their_weights_need(name):
    estimate = ESTIMATORS[name]()
    claim = shifted(estimate).guarantee
    assert set(estimate.guarantee.assumptions) <= set(claim.assumptions)


def test_weights_of_which_nothing_is_claimed():
    estimate = ESTIMATORS["mlls"]()
    estimate = dataclasses.replace(estimate, guarantee=dfu.NoGuarantee("no reason"))
    ways = [{"robust": True}, {"robust": "directional"}, {"independent": True}]
    for options in [*ways, {"confidence": 0.9}]:
        claim = shifted(estimate, **options).guarantee
        assert not claim
        assert "no reason" in claim.reason


# ------------------------------------------------------------------- levels and regions


def test_regions_carry_their_level():
    for name, make in ESTIMATORS.items():
        region = make().region(0.07)
        assert region.delta == 0.07, name
        assert region.ranges().delta == 0.07
    assert PRIORS.region(0.07).delta == 0.07
    assert box(True).delta is None
    assert repr(box(True, 0.07)) == "<Box K=3 finite-sample delta=0.07>"
    with pytest.raises(dfu.InputError, match="'delta' parameter of Box"):
        box(True, 1.5)


def test_the_level_of_a_region_is_printed():
    estimate = ESTIMATORS["bbse"]()
    text = shifted(estimate.region(0.9), robust=True).guarantee.statement
    assert "of level 10%" in text and "(vacuous)" in text and "99%" not in text
    text = shifted(estimate, robust=True, delta=1e-9).guarantee.statement
    assert "99.99% region" in text


def test_regions_keep_their_level_on_file(tmp_path):
    from distfreeuq._base.persistence import load, save

    for region in (box(True, 0.05), box(False), ESTIMATORS["bbse"]().region(0.02)):
        file = tmp_path / "region.npz"
        save(region, file)
        assert load(file).delta == region.delta


# --------------------------------------------------------------------- what to use else


def test_plug_in_sets_name_label_conditional_sets_first():
    printed = " ".join(str(shifted(ESTIMATORS["bbse"]())).split())
    assert "Instead: label_conditional_conformal covers every class" in printed
    assert printed.index("label_conditional_conformal") < printed.index("robust=True")
    assert "every set would hold" not in printed
    # caps of the class proportions need no estimator's own region
    printed = " ".join(str(shifted(ESTIMATORS["mlls"]())).split())
    assert printed.index("label_conditional_conformal") < printed.index("robust=True")


def test_classes_with_too_few_rows_are_named():
    estimate = ESTIMATORS["bbse"]()
    first = {k: np.flatnonzero(k == LABELS) for k in range(3)}
    for few, said in ((9, None), (8, "class 2: fewer than 9 rows"), (0, "2: no rows")):
        rows = np.concatenate([first[0][:20], first[1][:60], first[2][:few]])
        fit = dfu.label_shift_conformal(
            PROBS[rows], LABELS[rows], estimate, rng=drawn()
        )
        printed = " ".join(str(fit).split())
        assert ("every set would hold" in printed) == (said is not None)
        assert said is None or said in printed


def test_claims_for_finite_samples_give_no_advice():
    for fit in (shifted(WEIGHT), shifted(ESTIMATORS["bbse"](), robust=True)):
        assert "Instead:" not in str(fit)


def test_advice_names_what_robust_sets_cost():
    printed = " ".join(str(shifted(ESTIMATORS["bbse"]())).split())
    assert (
        "robust=True covers target rows with probability >= 1 - alpha - delta, in "
        "finite samples." in printed
    )


# ------------------------------------------------------------------- facts and warnings


def facts(result):
    return dict(result.summary().page.facts)


def test_where_uniforms_and_weights_come_from():
    fit = dfu.split_conformal(PROBS, LABELS, rng=drawn())
    assert facts(fit)["Uniforms"] == "drawn"
    fit = dfu.split_conformal(PROBS, LABELS, rng=1)
    assert facts(fit)["Uniforms"] == "hash of each row"
    fit = dfu.split_conformal(PROBS, LABELS, rng=1, ids=range(600))
    assert facts(fit)["Uniforms"] == "hash of each id"
    assert facts(shifted(ESTIMATORS["rlls"]()))["Weights"] == "RLLS, estimated"
    robust = shifted(ESTIMATORS["rlls"](), robust=True)
    assert facts(robust)["Weights"] == "RLLS, region"
    assert facts(shifted(box(True), robust=True))["Weights"] == "given region"
    assert facts(shifted(WEIGHT))["Weights"] == "known"


@pytest.mark.parametrize("alpha", [0.1, 0.0123456])
def test_nominal_coverage_is_rounded_down(alpha):
    sets = dfu.split_conformal(PROBS, LABELS, alpha=alpha).predict(PROBS_TARGET)
    for result in (sets, sets.evaluate(LABELS)):
        printed = float(facts(result)["Nominal coverage"])
        assert 1.0 - alpha - 1e-4 < printed <= 1.0 - alpha + 1e-9


def warned(make) -> str:
    with pytest.warns(dfu.SmallCalibrationWarning) as caught:
        make()
    return str(caught[0].message)


def test_warnings_say_how_many_rows_are_needed():
    few = PROBS[:8], LABELS[:8]
    assert warned(lambda: dfu.split_conformal(*few)) == (
        "8 calibration rows are too few for alpha=0.1: every set will hold every "
        "label. At least 9 rows are needed."
    )
    # 0.9^n <= 0.05 from 29 rows on
    assert warned(lambda: dfu.split_conformal(*few, confidence=0.95)) == (
        "8 calibration rows are too few for alpha=0.1 with confidence=0.95: every set "
        "will hold every label. At least 29 rows are needed."
    )
    rows = np.flatnonzero((LABELS < 2) | (np.cumsum(LABELS == 2) <= 3))
    names = ["ash", "beech", "cedar"]
    named = [names[k] for k in LABELS[rows]]
    text = warned(
        lambda: dfu.label_conditional_conformal(PROBS[rows], named, classes=names)
    )
    assert text == (
        "too few calibration rows of class 'cedar': every set will hold them. At least "
        "9 rows of a class are needed for alpha=0.1."
    )
    # a third of 0.05 for each class: 0.9^n <= 0.05 / 3 from 39 rows on
    text = warned(
        lambda: dfu.label_conditional_conformal(
            PROBS[rows], named, confidence=0.95, classes=names
        )
    )
    assert text.endswith("At least 39 rows of a class are needed for alpha=0.1.")


# ------------------------------------------------------------------- numbers and bounds


def test_coverage_by_class_is_rounded_down():
    fit = dfu.label_conditional_conformal(PROBS, LABELS, rng=drawn())
    lines = str(fit).splitlines()
    for k, exact in enumerate(fit.class_lower):
        line = next(line for line in lines if line.split()[:1] == [str(k)])
        printed = float(line.split()[-1])
        assert exact - 1e-4 < printed <= exact + 1e-9


def test_nothing_of_the_source_in_the_target():
    two = LABELS < 2
    weights = dfu.label_weights([0.5, 0.5, 0.0], [0.0, 0.0, 1.0])
    for options in ({}, {"confidence": 0.9}):
        with pytest.warns(dfu.SmallCalibrationWarning, match="no class of the source"):
            fit = dfu.label_shift_conformal(
                PROBS[two], LABELS[two], weights, rng=drawn(), **options
            )
        assert np.isinf(fit.thresholds).all()
        assert fit.predict(PROBS_TARGET, rng=drawn()).mask.all()


def test_every_label_with_confidence():
    with pytest.warns(dfu.SmallCalibrationWarning):
        fit = dfu.split_conformal(PROBS[:9], LABELS[:9], confidence=0.9, rng=drawn())
    assert fit.guarantee.lower == 1.0
    assert fit.guarantee.statement.startswith("every set holds every label")
    assert "Beta" not in fit.guarantee.reference


def test_coverage_given_the_calibration_rows_is_not_called_an_average():
    fit = dfu.label_conditional_conformal(PROBS, LABELS, confidence=0.1, rng=drawn())
    assert "P(Y in C(X))" not in fit.guarantee.statement
