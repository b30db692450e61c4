"""Every theorem that a result refers to is registered, and so checked by simulation.

Public functions make every guarantee that the package has; each piece of each printed
reference is then looked up among the registered theorems.
"""

import ast
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import metrics, theorems

PACKAGE = Path(dfu.__file__).parent
A, D = "Podkopaev & Ramdas (2021)", "Zhao, Chen & Oymak (2020)"

# A reference is split at semicolons; every piece must be one of these patterns.
PROVED = {
    "Papadopoulos, Proedrou, Vovk & Gammerman (2002)": ["split-coverage"],
    "Vovk, Gammerman & Shafer (2005)": ["split-coverage"],
    "Vovk, Gammerman & Shafer (2005), label-conditional": [
        "label-conditional-coverage"
    ],
    "Tibshirani, Barber, Candes & Ramdas (2019) for weights": ["label-shift-coverage"],
    f"{A}, Thm 1": ["split-coverage", "split-coverage-exact"],
    f"{A}, eq. (10)": ["label-conditional-coverage"],
    f"{A}, Thm 2": ["label-shift-coverage", "label-shift-coverage-exact"],
    f"{A}, Cor. 1, whose no-jump assumption is not needed (theory page, 1.3)": [
        "label-shift-coverage-limit"
    ],
    "class proportions counted from the labels (theory page, 1.7)": [
        "counted-proportions-coverage"
    ],
    "Vovk, Nouretdinov, Manokhin & Gammerman (2018)": ["cross-conformal-coverage"],
    "Romano, Sesia & Candes (2020), CV+": ["cross-conformal-coverage"],
    "Vovk & Wang (2020) for means of p-values (theory page, 1.11)": [
        "cross-conformal-coverage"
    ],
    "Ding, Fermanian & Salmon (2025), interpolated thresholds (theory page, 1.8)": [
        "interpolated-coverage"
    ],
    "Ding, Angelopoulos, Bates, Jordan & Tibshirani (2023), clustered (theory page, "
    "1.9)": ["cluster-coverage"],
    "Shi, Ghosh, Belkhouja, Doppa & Yan (2024), ranks cut without loss (theory page, "
    "1.10)": ["rank-calibrated-coverage"],
    "by groups: Vovk, Gammerman & Shafer (2005) (theory page, 1.6)": ["group-coverage"],
    "Vovk (2012), Prop. 2a, union over groups": ["group-pac"],
    "total variation (theory page, 4.1 and 4.13)": [
        "total-variation-coverage",
        "total-variation-of-counts",
    ],
    "union sets (theory page, 4.2)": ["union-coverage"],
    "one direction (theory page, 4.10)": ["directional-coverage"],
    "Clopper and Pearson (1934) for caps of the proportions": ["prior-caps"],
    "stratified sets (theory page, 4.11)": ["capped-coverage"],
    "stratified means (theory page, 5.1 and 5.2)": ["capped-pac"],
    "stratified means in one direction (theory page, 5.3)": ["directional-pac"],
    "Vovk (2012), Prop. 2a, union over classes": ["label-conditional-pac"],
    "Vovk (2012): Beta law of coverage, for numbers of rows": ["planned-rows"],
    "Vovk (2012): Beta law of coverage": ["training-conditional-coverage"],
    "Vovk (2012): Beta(*, *) law of coverage": ["training-conditional-coverage"],
    "rejection sampling, then Vovk (2012), Prop. 2a (theory page, 5)": [
        "label-shift-pac"
    ],
    "Clopper and Pearson (1934) in each class, and a union (theory page, 5)": [
        "label-shift-pac"
    ],
    "Tibshirani, Barber, Candes & Ramdas (2019), Corollary 1": [
        "covariate-shift-coverage"
    ],
    "rejection sampling, then Vovk (2012), Prop. 2a": ["covariate-shift-pac"],
    "Clopper and Pearson (1934)": [
        "evaluated-coverage",
        "assessed-accuracy",
        "verdict-error",
    ],
    "Waudby-Smith & Ramdas (2024), with bets fixed in advance (theory page, 2.5)": [
        "block-coverage"
    ],
    f"{A}, Thm 3": ["binning-bound"],
    f"{A}, Thm 3, exact: Clopper-Pearson for every subset (theory page, 2.1)": [
        "binning-bound",
        "binning-one-probability",
    ],
    f"{A}, Thm 3, with 2^K - 2 (Weissman et al., 2003)": ["binning-bound"],
    f"{A}, Thm 3, by bounded differences (theory page, 2.1)": ["binning-bound"],
    "edges at order statistics: Gupta & Ramdas (2021)": ["uniform-mass-rows"],
    "Vovk, Petej & Fedorova (2015), inductive Venn-Abers (theory page, 8.5)": [
        "venn-abers-calibration"
    ],
    "Kumar, Liang & Ma (2019), in finite samples (theory page, 8.8)": [
        "scaling-binning-bound",
        "scaling-binning-cost",
    ],
    "hashed uniforms (theory page, 12.8)": ["seeded-coverage"],
    "statistically equivalent blocks (theory page, 2.2)": ["simplex-cell-rows"],
    f"{A}, Prop. 1 and Thm 4, repaired (theory page, 2.3)": [
        "label-shift-posterior",
        "label-shift-error",
        "binning-bound-target",
    ],
    "Hoeffding (1963), for weighted rows (theory page, 2.4)": [
        "binning-bound-weighted"
    ],
    "Waudby-Smith & Ramdas (2024), with bets fixed in advance, for weighted rows "
    "(theory page, 2.4)": ["binning-bound-weighted"],
    "Clopper and Pearson (1934) for each cell": ["bbse-region"],
    "Oettli and Prager (1964) for the weights they allow (theory page, 4.3)": [
        "bbse-region"
    ],
    "bounded differences of mean vectors (theory page, 4.4)": ["bbse-ball"],
    "shares of labels beside it (theory page, 4.15)": [
        "weights-with-labels",
        "outputs-with-labels",
    ],
    "score intervals of the moment equations (theory page, 4.6)": ["mlls-intervals"],
    f"{D}, Thm 4.1": ["temperature-excess-risk"],
    f"{D}, Cor. 4.2 with the observed counts": ["class-excess-risk"],
    "tighter constants: theory page, 8": ["temperature-excess-risk"],
    "Clopper and Pearson (1934), with a union over the bins": ["reliability-intervals"],
    "Dimitriadis, Duembgen, Henzi, Puke & Ziegel (2023)": ["isotonic-band"],
    "Chernoff's bound, summed over the bins (theory page, 9.7)": ["l2-error-interval"],
    "Hoeffding (1963), with a union over the bins": ["weighted-reliability-intervals"],
    "Monte Carlo test: Barnard (1963)": ["calibration-test"],
    "Vaicenavicius et al. (2019)": ["calibration-test"],
    "random signs in bins (theory page, 9.2)": [
        "target-calibration-test",
        "weighted-calibration-test",
    ],
    "Vovk, Nouretdinov & Gammerman (2003): p-values (theory page, 11.1)": [
        "stream-p-values"
    ],
    "Podkopaev & Ramdas (2022): risk of a stream (theory page, 11.4)": ["stream-risk"],
    "Howard et al. (2021): running means (theory page, 11.4)": ["stream-means"],
    "Ville (1939): bets on them (theory page, 11.2)": ["stream-alarms"],
    "Bonferroni": ["verdict-error"],
    "means carried by class indicators (theory page, 10.2)": [
        "target-performance-limit"
    ],
    "one inequality for every prior below caps (theory page, 10.3)": [
        "target-performance-certificate"
    ],
    "stratified means (theory page, 10.4)": ["target-performance-given"],
    "weighted means (theory page, 10.4)": ["target-performance-given"],
    "bounded weighted means (theory page, 10.4)": ["target-performance-given"],
    "Clopper and Pearson (1934) for recalls": ["target-recall"],
    "labelled rows beside carried means (theory page, 10.6)": [
        "target-performance-labelled"
    ],
    "Park, Bastani, Weimer & Lee (2020), Thm 1, with the true weights": [
        "decision-error-bound"
    ],
    "Waudby-Smith & Ramdas (2024), for weighted rows (theory page, 7.5)": [
        "decision-error-bound"
    ],
}


# ------------------------------------------------------------ a result of every kind


def rows(n, seed, prior=(0.3, 0.4, 0.3)):
    """Probabilities of a classifier that knows something of three classes."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, n, p=prior)
    logits = rng.normal(size=(n, 3)) + 1.5 * np.eye(3)[labels]
    odds = np.exp(logits)
    return odds / odds.sum(axis=1, keepdims=True), labels


PROBS, LABELS = rows(400, 0)
TARGET, TARGET_LABELS = rows(300, 1, prior=(0.5, 0.2, 0.3))
LOGITS = np.log(PROBS)
WEIGHTS = [1.5, 0.7, 0.9]
RATIO = np.random.default_rng(2).uniform(0.5, 2.0, 400)
ONE = PROBS[:, 1] / (PROBS[:, 0] + PROBS[:, 1])
HITS = (LABELS == 1).astype(int)

bbse = partial(dfu.bbse, PROBS, LABELS, TARGET)
shifted = partial(dfu.label_shift_conformal, PROBS, LABELS, rng=0)
binned = partial(dfu.histogram_binning, PROBS, LABELS, n_bins=4)


def results():
    """Make results that have all guarantees that there are."""
    fit = dfu.split_conformal(PROBS, LABELS, rng=0)
    yield fit
    yield fit.predict(TARGET).evaluate(np.zeros(300, dtype=int))
    zeros, blocks = np.zeros(300, dtype=int), np.arange(300) // 9
    yield fit.predict(TARGET).evaluate(zeros, blocks=blocks)
    yield dfu.split_conformal(PROBS, LABELS, confidence=0.9, rng=0)
    for confidence in (None, 0.9):
        yield dfu.label_conditional_conformal(
            PROBS, LABELS, confidence=confidence, rng=0
        )
        yield dfu.covariate_shift_conformal(
            PROBS, LABELS, RATIO, confidence=confidence, weight_bound=confidence and 2.0
        )
    yield dfu.plan(0.1)
    yield dfu.shift_monitor(PROBS, LABELS, rng=0).update(TARGET)
    yield dfu.risk_monitor(PROBS, LABELS).update(PROBS).update_labels(LABELS)
    yield dfu.interpolated_conformal(PROBS, LABELS)
    for method in ("exchangeable", "label-conditional"):
        yield dfu.cross_conformal(
            PROBS, LABELS, np.arange(400) % 4, method=method, rng=0
        )
    yield dfu.clustered_conformal(PROBS, LABELS, rng=0)
    yield dfu.rank_calibrated_conformal(PROBS, LABELS, rng=0)
    yield dfu.split_conformal(PROBS, LABELS, score=dfu.PAS())
    sites = np.resize(["north", "south"], 400)
    for confidence in (None, 0.9):
        yield dfu.split_conformal(
            PROBS, LABELS, confidence=confidence, rng=0, groups=sites
        )
    yield shifted(WEIGHTS)
    yield shifted(WEIGHTS, confidence=0.9)
    # of a rare class with a large weight rejection would leave few rows
    rare = (LABELS < 2) | (np.cumsum(LABELS == 2) <= 5)
    priors = dfu.label_weights([0.4995, 0.4995, 0.001], [0.495, 0.495, 0.01])
    yield dfu.label_shift_conformal(
        PROBS[rare], LABELS[rare], priors, alpha=0.3, confidence=0.9, rng=0
    )
    yield shifted(bbse())
    yield shifted(bbse(), robust=True)
    yield shifted(bbse(), confidence=0.9)
    yield shifted(bbse().region(0.01), robust=True)
    yield shifted(bbse(), robust="directional")
    yield shifted(bbse(), robust="directional", confidence=0.9)
    yield dfu.prediction_sets(PROBS, LABELS, bbse(), claim="combined", rng=0)
    yield shifted(bbse(), independent=True)

    yield bbse()
    yield bbse(soft=True)
    yield dfu.rlls(PROBS, LABELS, TARGET)
    yield dfu.mlls(PROBS, LABELS, TARGET)

    for bound in ("clopper-pearson", "hoeffding", "weissman", "mcdiarmid"):
        yield binned(bound=bound)
    yield binned(split=0.5)
    yield binned(mode="classwise").under_label_shift(bbse())
    yield binned(mode="top-label", sample_weight=RATIO, weight_bound=2.0)
    two = dfu.histogram_binning(ONE, HITS, n_bins=4)
    yield two
    yield two.under_label_shift([1.2, 0.8])

    for loss in ("nll", "brier"):
        yield dfu.temperature_scaling(LOGITS, LABELS, loss=loss)
    yield dfu.classwise_temperature_scaling(LOGITS, LABELS)
    # enough rows for a bound by class that means something
    many = np.tile(LOGITS, (300, 1)), np.tile(LABELS, 300)
    yield dfu.classwise_temperature_scaling(*many, loss="brier", bounds=(0.5, 4.0))
    yield dfu.classwise_temperature_scaling(LOGITS, LABELS, gamma=0.5)
    yield dfu.groupwise_calibration("temperature", LOGITS, LABELS)
    yield dfu.vector_scaling(LOGITS, LABELS)
    yield dfu.isotonic_calibration(ONE, HITS)
    yield dfu.venn_abers(ONE, HITS)
    yield dfu.venn_abers(PROBS, LABELS)
    yield dfu.scaling_binning(LOGITS, LABELS, n_bins=3, rng=0)
    yield dfu.platt_scaling(ONE, HITS)
    decided = np.argmax(LOGITS, axis=1)
    yield dfu.decision_calibration(
        LOGITS, LABELS, decided, sample_weight=RATIO, weight_bound=2.0
    )

    yield dfu.assess(PROBS, LABELS, n_sim=9, rng=0)
    yield dfu.assess(PROBS, LABELS, sample_weight=RATIO, n_sim=9, rng=0)
    yield dfu.target_performance(PROBS, LABELS, TARGET)
    known = dfu.label_weights([0.3, 0.4, 0.3], [0.5, 0.2, 0.3])
    yield dfu.target_performance(PROBS, LABELS, TARGET, shift=known)
    yield dfu.target_performance(PROBS, LABELS, TARGET, shift=WEIGHTS)
    some = np.where(np.arange(300) < 50, TARGET_LABELS, np.nan)
    yield dfu.target_performance(PROBS, LABELS, TARGET, labels_target=some)
    yield dfu.bbse(PROBS, LABELS, TARGET, labels_target=some)
    yield metrics.reliability(ONE, HITS)
    yield metrics.isotonic_band(ONE, HITS)
    yield metrics.l2_ece_interval(ONE, HITS)
    yield metrics.reliability(ONE, HITS, sample_weight=RATIO)
    yield theorems.verify("verdict-error", n_sim=10)
    yield theorems.search("pac-coverage", n_designs=2, rng=0)


# ----------------------------------------------------------------------- the tests


@pytest.fixture(scope="module")
def made():
    """Return (file, function, reference) of all guarantees that `results` print."""
    found = set()
    plain = dfu.Guarantee.__init__

    def recorded(self, *args, **fields):
        plain(self, *args, **fields)
        maker = sys._getframe(1).f_code
        place = ""  # of dataclasses.replace, which adds to one made before
        if PACKAGE in Path(maker.co_filename).parents:
            place = Path(maker.co_filename).relative_to(PACKAGE).as_posix()
        found.add((place, maker.co_name, self.reference))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dfu.Guarantee, "__init__", recorded)
        for result in results():
            str(result.summary())
    return found


def places_in_source():
    """Return (file, function) of every call of Guarantee in the package's source."""
    places = set()
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in nodes(tree, ast.FunctionDef):
            if "Guarantee" in map(called, nodes(function, ast.Call)):
                places.add((place, function.name))
    return places


def nodes(tree, kind):
    return [node for node in ast.walk(tree) if isinstance(node, kind)]


def called(node):
    return getattr(node.func, "id", getattr(node.func, "attr", None))


def pieces(reference):
    """Return what a reference refers to, one by one; numbers of a law as stars."""
    without = re.sub(r"Beta\(\d+, \d+\)", "Beta(*, *)", reference)
    return [piece.removeprefix("source: ") for piece in without.split("; ")]


def test_every_guarantee_of_the_source_was_made(made):
    places = {(place, maker) for place, maker, _ in made if place}
    assert places == places_in_source()


def test_every_printed_reference_is_known(made):
    printed = {piece for _, _, reference in made for piece in pieces(reference)}
    assert printed == set(PROVED)


@pytest.mark.parametrize("piece", PROVED)
def test_what_is_referred_to_is_registered(piece):
    assert set(PROVED[piece]) <= set(theorems.names())


def test_sections_of_the_theory_page_that_are_referred_to_exist(made):
    page = (PACKAGE.parent / "docs" / "theory.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"^(?:## |\*\*)(\d+(?:\.\d+)?) ", page, re.MULTILINE))
    printed = " ".join(reference for _, _, reference in made)
    named = set(re.findall(r"theory page, (\d+(?:\.\d+)?)", printed))
    assert named and named <= sections


def test_a_reference_without_theorem_is_noticed():
    assert pieces("Nobody (1999), Thm 0; source: Beta(3, 4)") == [
        "Nobody (1999), Thm 0",
        "Beta(*, *)",
    ]
    assert "Nobody (1999), Thm 0" not in PROVED
