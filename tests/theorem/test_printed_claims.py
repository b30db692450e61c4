"""No summary promises what nothing stands behind: `printed_claims` lists what does.

Every kind of summary is made, taken apart into pieces, and each piece that promises
something, by its words or by a number, must be covered by an entry.
"""

import re
import warnings

import numpy as np
import pytest
from scipy import special

import distfreeuq as dfu
from distfreeuq import theorems
from distfreeuq.guarantees import Guarantee, NoGuarantee, at_least, at_most
from distfreeuq.label_shift.inference.regions import Box
from distfreeuq.results import Result
from tests.theorem import test_registry_completeness as made_elsewhere
from tests.theorem.printed_claims import ENTRIES, FACTS, HEADERS, REFUTED
from tests.theorem.test_registry_completeness import (
    HITS,
    LABELS,
    LOGITS,
    ONE,
    PROBS,
    RATIO,
    TARGET,
    bbse,
    binned,
    pieces,
    shifted,
)

PROMISES = re.compile(
    r"\d|guarant|cover|valid|at least|at most|trust|exact|bias|probab|\bholds?\b|"
    r"p-value|finite|always|never|\btrue\b|correct|claim|\brely\b|prove|bound|sure|\bcan\b",
    re.IGNORECASE,
)
ALWAYS = {"Guarantee", "Also", "Error"}
"""Notes that promise something whatever their words."""
NOT_CLAIMS = re.compile(
    r"Needs|By|States|Design \d+|Scenario|Not caught|Violated|Undecided"
)
"""Notes that cite, assume or repeat; assumptions and references have other tests."""


def as_it_is(logits, labels, sample_weight=None):
    """Fit a calibrator of one's own, which changes nothing."""
    return lambda new: special.softmax(new, axis=1)


def further_results():
    """Make the summaries that have no guarantee, and those of other options."""
    yield dfu.assess(PROBS, LABELS, n_sim=9, n_boot=19, rng=0)
    yield dfu.assess(PROBS, LABELS, n_sim=9, n_boot=19, sample_weight=RATIO, rng=0)
    flat = np.sqrt(PROBS) / np.sqrt(PROBS).sum(axis=1, keepdims=True)
    yield dfu.compare({"a": PROBS, "b": flat}, LABELS, n_boot=19, rng=0)
    sure = np.tile([0.98, 0.01, 0.01], (200, 1))
    yield dfu.assess(sure, np.zeros(200, dtype=int), n_sim=9, n_boot=19, rng=0)
    yield dfu.compare_calibrations(LOGITS, LABELS, sample_weight=RATIO, n_rep=2, rng=0)
    yield dfu.label_weights([0.3, 0.4, 0.3], [0.5, 0.2, 0.3])

    likelihood = dfu.mlls(PROBS, LABELS, TARGET)
    for options in ({}, {"robust": True}, {"independent": True}):
        yield shifted(likelihood, **options)
    yield shifted(likelihood, robust="directional")
    yield shifted(likelihood, robust="directional", confidence=0.9)
    for shift in ("none", None, [1.0, 2.0, 1.0]):
        yield dfu.prediction_sets(PROBS, LABELS, shift, rng=0)
    for claim in ("finite-sample", "asymptotic", "combined"):
        yield dfu.prediction_sets(PROBS, LABELS, likelihood, claim=claim, rng=0)
    yield dfu.prediction_sets(PROBS, LABELS, likelihood, confidence=0.9, rng=0)
    yield shifted(Box(np.full(3, 0.8), np.full(3, 1.2), True), robust=True)
    yield shifted([1.0, 0.0, 1.0])
    sites = np.resize(["north", "south"], 400)
    for options in ({}, {"robust": True}):
        yield shifted(bbse(), groups=sites, **options)
    yield shifted([1.0, 2.0, 1.0], groups=sites)
    yield shifted([1.0, 2.0, 1.0], groups=sites, confidence=0.9)
    for confidence in (None, 0.9):
        yield dfu.label_conditional_conformal(
            PROBS, LABELS, groups=sites, confidence=confidence, alpha=0.3, rng=0
        )
    yield dfu.covariate_shift_conformal(PROBS, LABELS, RATIO, groups=sites, rng=0)
    for share in (0.0, 0.5):
        yield dfu.interpolated_conformal(PROBS, LABELS, share=share)
    few = np.arange(30) % 10
    for alpha in (0.01, 0.4):
        yield dfu.cross_conformal(PROBS[:30], LABELS[:30], few, alpha=alpha, rng=0)
    yield dfu.clustered_conformal(PROBS, LABELS, rng=0)
    yield dfu.rank_calibrated_conformal(PROBS, LABELS, rng=0)
    for confidence in (None, 0.9):
        yield dfu.plan(0.1, confidence)
        yield dfu.plan(0.1, confidence, tolerance=0.05, source_prior=[0.5, 0.5])
    ties = dfu.APS(ties="random")
    yield dfu.split_conformal(PROBS, LABELS, score=ties, rng=0).at(0.3)
    yield dfu.split_conformal(PROBS, LABELS, score=lambda probs: -probs, rng=0)
    grouped = dfu.split_conformal(PROBS, LABELS, groups=sites, rng=0)
    sets = grouped.predict(PROBS, sites)
    yield sets
    yield sets.evaluate(LABELS, groups=sites)
    yield sets.evaluate(LABELS, blocks=sites)
    yield dfu.coverage_table({"by group": sets}, LABELS)
    yield dfu.assess(PROBS, LABELS, groups=sites, n_sim=9, rng=0)
    few = dfu.split_conformal(PROBS[:5], LABELS[:5], rng=0)
    yield few
    for fit in (few, shifted([1.0, 2.0, 1.0]), shifted(likelihood)):
        yield fit.predict(TARGET, rng=0)

    for some in (LABELS != 2, (LABELS != 2) | (np.cumsum(LABELS == 2) <= 3)):
        for estimate in (dfu.mlls, dfu.bbse, dfu.rlls):  # no rows of a class, or few
            yield estimate(PROBS[some], LABELS[some], TARGET)

    # labels of some target rows beside the outputs, and what is made of such weights
    some = [int(y) if i % 3 else None for i, y in enumerate(LABELS[: len(TARGET)])]
    rows = PROBS, LABELS, TARGET
    beside = {"labels_target": some}
    labelled = [
        dfu.bbse(*rows, **beside),
        dfu.bbse(*rows, **beside, soft=True),
        dfu.rlls(*rows, **beside),
        dfu.mlls(*rows, **beside),
    ]
    yield from labelled
    for estimate in (labelled[0], labelled[3]):
        for options in ({}, {"robust": True}, {"independent": True}):
            yield shifted(estimate, **options)
        yield shifted(estimate, confidence=0.9)
        yield shifted(estimate, robust="directional")
        yield shifted(estimate, robust="directional", confidence=0.9)
        yield binned().under_label_shift(estimate)
        yield dfu.target_performance(*rows, shift=estimate, **beside)
        for claim in ("finite-sample", "asymptotic", "combined"):
            yield dfu.prediction_sets(PROBS, LABELS, estimate, claim=claim, rng=0)
    third = np.resize(["north", "south"], len(TARGET))
    yield dfu.target_performance(*rows, groups=sites, groups_target=third)
    for bound in (None, float(RATIO.max())):
        yield dfu.target_performance(*rows, sample_weight=RATIO, weight_bound=bound)

    yield binned(mode="classwise").under_label_shift(likelihood)
    atoms = np.repeat([0.2, 0.5, 0.8], [970, 60, 970])
    yield dfu.histogram_binning(atoms, np.arange(2000) % 2, n_bins=2)
    sure = np.vstack([LOGITS, np.tile([9.0, 0.0, 0.0], (20, 1))])
    sure[: len(LOGITS), 0] -= 50.0
    certain = np.append(LABELS, np.zeros(20, dtype=int))
    yield dfu.classwise_temperature_scaling(sure, certain)
    yield binned(mode="top-label")
    yield binned().under_label_shift(bbse())
    yield dfu.histogram_binning(ONE, HITS, n_bins=4, sample_weight=RATIO)
    yield dfu.temperature_scaling(LOGITS, LABELS, sample_weight=RATIO)
    for calibrator in (dfu.beta_calibration, dfu.dirichlet_scaling, dfu.venn_abers):
        yield calibrator(PROBS, LABELS)
    yield dfu.venn_abers(ONE, HITS, sample_weight=RATIO)

    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 0.3
    ratio = dfu.density_ratio(x, z, rng=0)
    yield ratio
    yield dfu.density_ratio(x, z, method="ulsif", rng=0)
    some = LOGITS[:200], LABELS[:200]
    yield dfu.covariate_shift_conformal(PROBS[:200], LABELS[:200], ratio)
    yield dfu.covariate_shift_calibration(*some, x, z, rng=0)
    yield dfu.covariate_shift_calibration(*some, x, z, loss="brier", upper=3.0, rng=0)
    yield dfu.density_ratio(x, z, method="kmm", rng=0)
    candidates = ["temperature", "platt"]
    yield dfu.choose_calibration(*some, x, z, candidates, ratio="logistic", rng=0)
    decided = np.argmax(some[0], axis=1)
    decision = dfu.decision_calibration(*some, decided, sample_weight=ratio)
    yield decision
    yield decision.evaluate(*some, decided, n_bins=5)
    yield dfu.groupwise_calibration("vector", *some, gamma=0.5)
    own = dfu.groupwise_calibration(as_it_is, *some, groups=np.arange(200) % 2)
    yield from (own, own.fits[0])
    yield dfu.groupwise_calibration("binning", PROBS, LABELS, groups=sites).fits[0]
    yield dfu.groupwise_calibration("temperature", *some, gamma=[0.1, 1.0])
    yield dfu.groupwise_calibration("isotonic", PROBS, LABELS, gamma=0.5)
    yield dfu.tally(PROBS, LABELS, rng=0, n_bins=5, per_unit=1000)
    yield dfu.indistinguishable_features(
        x, LABELS[:200], z, n_hidden=4, n_epochs=3, rng=0
    )
    yield theorems.search("pac-coverage", n_designs=2, rng=0)
    yield theorems.search("binning-bound", n_designs=1, rng=0)
    yield theorems.verify(["verdict-error", "aps-uniform"], n_sim=10)
    yield dfu.simulate("three-gaussians", lambda data, rng: {"a": 1.0}, 3, rng=0)


def kinds(of):
    """Return the names of a class and of all that inherit from it, each with others."""
    for one in of.__subclasses__():
        yield one.__name__, {parent.__name__ for parent in one.__mro__[1:]}
        yield from kinds(one)


@pytest.fixture(scope="module")
def results():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.DistFreeWarning)
        return [*made_elsewhere.results(), *further_results()]


def reports():
    """Make reports with and without labels of the target, and of many classes."""
    some = [int(y) if i % 3 else None for i, y in enumerate(LABELS[: len(TARGET)])]
    yield dfu.report(PROBS, LABELS, TARGET, rng=0)
    yield dfu.report(PROBS, LABELS, TARGET, labels_target=some, rng=0)
    for claim in ("asymptotic", "combined"):
        yield dfu.report(PROBS, LABELS, TARGET, claim=claim, rng=0)
    yield dfu.report(PROBS, LABELS, TARGET, confidence=0.9, never_empty=True, rng=0)
    yield dfu.report(PROBS[:7], LABELS[:7], TARGET[:3], rng=0)
    wide = np.random.default_rng(0).dirichlet(np.full(60, 0.1), size=400)
    yield dfu.report(wide[:300], wide[:300].argmax(axis=1), wide[300:], rng=0)


@pytest.fixture(scope="module")
def pages(results):
    made = [page for one in reports() for part in one.sections for page in part.pages]
    return [*(result.summary().page for result in results), *made]


def pieces_of(text):
    """Return sentences and halves of them, without the mark of what is asymptotic."""
    plain = text.replace("(asymptotic: no claim at this sample size)", "").strip()
    if plain.startswith("none: "):  # a reason is one piece, whatever it names
        return [plain]
    # a full stop or semicolon that is followed by words, outside parentheses
    ends = re.compile(r"(?<!i\.d)(?<!\be\.g)[.;]\s+(?=[A-Za-z'])(?![^()]*\))")
    return [piece for piece in ends.split(plain) if piece]


def promises(pages):
    """Return (label, piece) of all that promises something."""
    return {
        (label, piece)
        for page in pages
        for label, text in page.notes
        if not NOT_CLAIMS.fullmatch(label)
        for piece in pieces_of(text)
        if label in ALWAYS or PROMISES.search(piece)
    }


def test_every_kind_of_result_is_walked(results):
    """Of classes that others inherit from, these."""
    every = dict(kinds(Result))
    # by name: a class with slots is made twice, and none inherits from the first
    parents = set().union(*every.values())
    missing = set(every) - parents - {type(one).__name__ for one in results}
    assert not missing, f"no summary was walked of {sorted(missing)}"


def test_every_promise_is_covered(pages):
    uncovered = {
        f"{label}: {piece}"
        for label, piece in promises(pages)
        if not any(entry.covers(piece) for entry in ENTRIES)
        and not any(re.search(pattern, piece) for pattern in REFUTED)
    }
    assert not uncovered, "\n".join(sorted(uncovered))


def test_every_interval_and_p_value_is_covered(pages):
    facts = {key for page in pages for key, _ in page.facts}
    claims = [
        key for key in facts if re.search(r"p-value|interval|AUC|test", key, re.I)
    ]
    assert claims
    for key in claims:
        assert any(re.search(pattern, key, re.I) for pattern in FACTS), key
    headers = {h for page in pages for table in page.tables for h in table.headers}
    bounds = r">=|<=|interval|^\d+%$|radius|^low$|^high$|err|P>|0\.0|0\.9|correct"
    for header in headers:
        if re.search(bounds, header) and header not in {"MC error", "5%"}:
            assert any(re.search(pattern, header) for pattern in HEADERS), header


def test_entries_name_registered_theorems_or_a_reason():
    known = set(theorems.names())
    for entry in ENTRIES:
        assert bool(entry.theorems) != bool(entry.reason), entry.pattern
        assert set(entry.theorems) <= known, entry.pattern
    for table in (FACTS, HEADERS):
        assert {name for names in table.values() for name in names} <= known


@pytest.mark.parametrize(
    "invented",
    [
        "coverage of every row is at least 0.9",
        "these intervals can be trusted",
        "the p-value is exact",
        "the bias is removed",
        "with probability >= 0.95 the classifier is right",
        "the weights are always true",
    ],
)
def test_an_invented_promise_is_noticed(invented):
    assert PROMISES.search(invented)
    assert not any(entry.covers(invented) for entry in ENTRIES)


@pytest.mark.parametrize("pattern", REFUTED)
def test_what_was_refuted_is_not_printed(pages, pattern):
    printed = " ".join(text for page in pages for _, text in page.notes)
    assert not re.search(pattern, printed), REFUTED[pattern]


# -------------------------------------------------------------------- each guarantee


@pytest.fixture(scope="module")
def guarantees(results):
    """Return every guarantee of the results, with the text that is printed of it."""
    found = []
    for result in results:
        notes = result.summary().page.notes
        text = " ".join(f"{label}: {line}" for label, line in notes)
        several = [getattr(result, "guarantee", None), *getattr(result, "further", ())]
        found += [(one, text) for one in several if isinstance(one, Guarantee)]
    assert len(found) > 30
    return found


def test_statements_contain_their_numbers_rounded_safely(guarantees):
    for one, _ in guarantees:
        for bound, safe in ((one.lower, at_least), (one.upper, at_most)):
            if bound is not None and np.isfinite(bound):
                assert shows(one.statement, bound, safe), one
        if one.confidence is not None:
            assert shows(one.statement, one.confidence, at_least) or shows(
                one.statement, 1.0 - one.confidence, at_most
            ), one


def shows(statement, bound, safe):
    """Return whether a number is printed, to some digits, on the safe side."""
    numbers = re.findall(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", statement)
    side = -1.0 if safe is at_least else 1.0
    # at_least and at_most give four digits
    near = 1e-3 * abs(bound) if abs(bound) >= 1.0 else 1.1e-4
    return any(
        abs(float(x) - bound) <= near and side * (float(x) - bound) >= -1e-6
        for x in numbers
    )


def test_a_number_rounded_the_wrong_way_is_noticed():
    assert shows("P >= 0.6666", 2 / 3, at_least)
    assert not shows("P >= 0.6667", 2 / 3, at_least)
    assert shows("at most 0.6667", 2 / 3, at_most)
    assert not shows("at most 0.6666", 2 / 3, at_most)


def test_asymptotic_is_printed_as_asymptotic_and_nothing_else_is(guarantees):
    for one, text in guarantees:
        said = re.search(r"asymptotic: no claim|in the limit", text)
        if not one.finite_sample:
            assert said, one
        else:
            assert not re.search(r"asymptotic|in the limit|liminf", one.statement), one


def test_assumptions_are_named_and_references_known(guarantees):
    for one, text in guarantees:
        assert one.assumptions and all(one.assumptions), one
        assert set(pieces(one.reference)) <= set(made_elsewhere.PROVED), one.reference
        assert "Needs: " in text or "Error: " in text


def test_reasons_are_given_where_nothing_is_guaranteed(results):
    several = [getattr(result, "guarantee", None) for result in results]
    reasons = [one.reason for one in several if isinstance(one, NoGuarantee)]
    assert len(reasons) >= 8
    assert all(len(reason.split()) >= 5 for reason in reasons)
