"""Searching for counterexamples: planted ones are found, and none where there is none.

The number of designs is fixed, so that a search does not depend on the machine.
"""

import json
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import special

import distfreeuq as dfu
from distfreeuq import theorems
from distfreeuq.__main__ import main
from distfreeuq.label_shift.confusion_estimators import bbse
from distfreeuq.label_shift.inference.finite_sample_regions import exact_region
from distfreeuq.label_shift.inference.regions import Polytope
from distfreeuq.metrics.monotone_bands import band_of_blocks
from distfreeuq.theorems.draws import (
    assessment_designs,
    bin_designs,
    cell_designs,
    instance_designs,
    interval_designs,
    outcome_designs,
    pac_designs,
    procedure_designs,
    row_designs,
    scaling_designs,
    score_bin_designs,
    set_designs,
    stream_designs,
    weight_designs,
)
from distfreeuq.theorems.draws.on_target import (
    performance_designs,
    shift_error_designs,
)
from distfreeuq.theorems.engine import command, searching
from distfreeuq.theorems.engine.experiment import ASYMPTOTIC
from distfreeuq.theorems.engine.registry import family

IN_THE_LIMIT = ("limit", "limsup", "liminf", "asymptotic", "->", "tends to", "normal")
"""Words of which one is in the statement of what holds in the limit."""

# A theorem, and how many of its designs a test has time for.
DESIGNS = {
    "split-coverage": 150,
    "label-conditional-coverage": 150,
    "label-shift-coverage": 150,
    "covariate-shift-coverage": 150,
    "pac-coverage": 200,
    "label-conditional-pac": 12,
    "covariate-shift-pac": 6,
    "union-coverage": 1,
    "bbse-region": 1,
    "bbse-ball": 2,
    "binning-bound": 2,
    "binning-bound-target": 2,
    "calibration-test": 1,
    "label-shift-pac": 12,
    "no-shift-test": 1,
    "bbse-cells": 12,
    "conformal-p-values": 100,
    "seeded-coverage": 100,
    "total-variation-coverage": 100,
    "wrong-ratio-coverage": 100,
    "rlls-limits": 60,
    "mlls-optimum": 4,
    "binning-one-probability": 10,
    "binning-discrete-scores": 2,
    "binning-bound-weighted": 2,
    "label-shift-posterior": 100,
    "label-shift-error": 100,
    "temperature-excess-risk": 1,
    "class-excess-risk": 1,
    "temperatures-keep-decisions": 30,
    "weights-have-no-scale": 30,
    "classes-without-error": 20,
    "importance-variance": 200,
    "feature-map-bias": 200,
    "effective-sample-size": 20,
    "density-ratio-weights": 60,
    "covariate-shift-bound": 200,
    "brier-decomposition": 60,
    "reliability-intervals": 30,
    "isotonic-fit": 60,
    "weighted-calibration-test": 1,
    "evaluated-coverage": 40,
    "assessed-accuracy": 8,
    "capped-coverage": 4,
    "prior-caps": 4,
    "isotonic-band": 20,
    "l2-error-interval": 2,
    "stream-p-values": 60,
    "stream-alarms": 1,
    "stream-means": 40,
    "cross-conformal-coverage": 20,
    "target-performance-certificate": 1,
    "target-performance-given": 3,
    "target-performance-labelled": 1,
    "target-recall": 12,
    "weights-with-labels": 12,
    "outputs-with-labels": 1,
    "split-coverage-exact": 40,
    "aps-uniform": 100,
    "group-coverage": 40,
    "group-pac": 30,
    "counted-proportions-coverage": 40,
    "interpolated-coverage": 40,
    "cluster-coverage": 1,
    "rank-calibrated-coverage": 40,
    "planned-rows": 40,
    "total-variation-of-counts": 1,
    "capped-pac": 200,
    "importance-weighted-loss": 60,
    "discriminator-ratio": 40,
    "weighted-cross-validation": 2,
    "decision-error-bound": 1,
    "venn-abers-calibration": 4,
    "debiased-ece": 10,
    "weighted-reliability-intervals": 12,
    "block-coverage": 8,
    "stream-risk": 3,
    "scaling-binning-bound": 2,
    "scaling-binning-cost": 2,
}


def test_every_family_has_designs():
    having = {theorems.get(name).family for name in DESIGNS}
    assert having == {theorems.get(name).family for name in theorems.names()}


def test_every_theorem_with_designs_is_searched():
    declared = {name for name in theorems.names() if theorems.get(name).designs}
    assert declared == set(DESIGNS)


def test_what_is_not_searched_has_a_reason():
    without = [name for name in theorems.names() if name not in DESIGNS]
    reasons = {name: theorems.get(name).unsearched for name in without}
    assert all(reasons.values()), [name for name in without if not reasons[name]]
    # what speaks of every sample size is not excused by being asymptotic
    for name, reason in reasons.items():
        if reason == ASYMPTOTIC:
            text = theorems.get(name).statement
            assert any(word in text for word in IN_THE_LIMIT), name
    with pytest.raises(dfu.InputError, match="which has none: it claims nothing of"):
        theorems.search("bbse-intervals")


@pytest.mark.parametrize("name", DESIGNS)
def test_no_counterexample_to_what_is_true(name, monkeypatch):
    monkeypatch.setattr(searching, "FRESH", 300)
    result = theorems.search(name, n_designs=DESIGNS[name], rng=1)
    assert not result.violated, str(result)
    assert result.n_designs == DESIGNS[name]


# ---------------------------------------------------------------- planted mistakes


def sets_with(threshold):
    """Return sets of the label's score 1 - p: those below a threshold of the scores."""

    def sets(probs, labels, weights, new, own):
        scores = 1.0 - probs[np.arange(labels.size), labels]
        return 1.0 - new <= threshold(scores, weights, own) + 1e-12

    return sets


def rank_of_n(scores, weights, own, *, alpha=0.2):
    """Forget the new row: ceil((1 - alpha) n) in place of n + 1."""
    return np.sort(scores)[max(0, math.ceil((1.0 - alpha) * scores.size) - 1)]


def unweighted(scores, weights, own, *, alpha=0.2):
    """Forget the weights."""
    rank = math.ceil((1.0 - alpha) * (scores.size + 1))
    return np.sort(scores)[rank - 1] if rank <= scores.size else np.inf


def at_level(kind, threshold, generator):
    """Return designs of a kind with sets of our own, at the level of these."""
    design = set_designs._design(kind, generator, sets_with(threshold))
    return replace(design, claim=theorems.Claim("covered", at_least=0.8))


def transposed_region(*args, soft=False):
    """Confuse classes and predictions."""
    fit = bbse(*args)

    class Estimate:
        def region(self, delta):
            held = fit.region(delta)
            upside_down = held.lower.T, held.upper.T, held.mu_low, held.mu_high
            return Polytope(*upside_down, True)

        def confint(self, delta, method):
            return fit.confint(delta, method)

    return Estimate()


def narrow_pac(generator):
    """Take the marginal rank for the PAC rank."""
    design = pac_designs.split_pac_designs(generator)
    values = dict(design.parameters)
    n, alpha, share = values["n"], values["alpha"], values["low_share"]
    rank = math.ceil((1.0 - alpha) * (n + 1))

    def probability():
        from scipy import stats

        return float(stats.binom.sf(rank - 1, n, share)) if rank <= n else 0.0

    return replace(design, probability=probability)


def p_values_of_a_chi_squared(*args, soft=False):
    """Trust the limit of the chi-squared statistic with few rows."""
    from scipy import stats

    source, _, target = args
    k = source.shape[1]
    table = np.array(
        [np.bincount(p.argmax(axis=1), minlength=k) for p in (source, target)]
    )
    table = table[:, table.sum(axis=0) > 0]

    class Estimate:
        def test(self):
            if table.shape[1] < 2:
                return type("Test", (), {"p_value": 1.0})
            found = stats.chi2_contingency(table, correction=False)
            return type("Test", (), {"p_value": found.pvalue})

    return Estimate()


def shared_among(cells, swapped=False):
    """Return the region of BBSE with delta shared among another number of cells."""

    def region(confusion, delta):
        each = delta / cells(confusion.target.size)
        n, m = confusion.n, confusion.m
        if swapped:
            n, m = m, n
        joint = np.minimum(confusion.joint, n), n
        target = np.minimum(confusion.target, m), m
        lower, upper = dfu.bounds.clopper_pearson(*joint, each)
        return Polytope(lower, upper, *dfu.bounds.clopper_pearson(*target, each), True)

    return region


def cells_with(region):
    return partial(cell_designs.known_sample_designs, region=region), 30


def normal_interval(hits, n, level):
    """Return the interval of the normal limit."""

    share = hits / n
    half = special.ndtri((1 + level) / 2) * math.sqrt(share * (1 - share) / n)
    return share - half, share + half


def bounds_with_all_of_the_error(band, x):
    """Give every one of the band's B (B + 1) bounds all of what may fail."""
    low, high = band_of_blocks(
        band.counts,
        band.hits,
        min(1.0 - band.level, 0.999) * band.counts.size * (band.counts.size + 1),
    )
    before = np.searchsorted(band.ends, x, side="right")
    after = np.searchsorted(band.starts, x, side="left")
    return np.array([np.append(0.0, low)[before], np.append(high, 1.0)[after]])


def from_the_beginning_of_blocks(band, x):
    """Take lower ends to hold in all of a block, not from its end on."""
    before = np.searchsorted(band.starts, x, side="right")
    return np.array([np.append(0.0, band.low)[before], band.at(x)[1]])


def chi_squared_limit(n_bins, alpha):
    """Trust the limit of the likelihood ratio of few rows."""
    return special.chdtri(n_bins, alpha) / 2.0


def against_the_counts(labels, k):
    """Divide by what the theorem multiplies with: the new label's score grows."""
    return dfu.PAS(1.0 / (np.bincount(labels, minlength=k) + 0.01) ** 3)


def labels_not_counted(confusion, delta, counts):
    """Share delta among K^2 + K intervals, though there are 2 K more."""
    return exact_region(confusion, delta * 10.0 / 6.0, counts)


def broken_law(generator, n_draws):
    """Return an event that must never happen, and does once in twenty."""
    return {"never": generator.random(n_draws) < 0.05}


PLANTED = {
    "cells of the target not counted": cells_with(shared_among(lambda k: k * k)),
    "a cell too few": cells_with(shared_among(lambda k: k * k + k - 1)),
    "ends at the level of both": cells_with(shared_among(lambda k: (k * k + k) / 2)),
    "n and m swapped": cells_with(shared_among(lambda k: k * k + k, swapped=True)),
    "one stream per call": (partial(row_designs.seeded_designs, new_key=True), 60),
    "p-values without the new row": (
        partial(row_designs.p_value_designs, own=False),
        60,
    ),
    "half of the total variation": (
        partial(row_designs.variation_designs, factor=0.5),
        400,
    ),
    "normal intervals": (
        partial(interval_designs.binomial_designs, ends=normal_interval),
        20,
    ),
    "a thousandth of the excess risk": (
        partial(scaling_designs.excess_designs, factor=1e-3),
        20,
    ),
    "two thirds of one probability's radius": (
        partial(score_bin_designs.one_probability_designs, factor=0.67),
        30,
    ),
    "a fifth of the weighted radius": (
        partial(score_bin_designs.weighted_designs, factor=0.2),
        12,
    ),
    "rows on edges claimed too": (
        partial(score_bin_designs.atoms_designs, claim_edges=True),
        80,
    ),
    "a band without Bonferroni": (
        partial(outcome_designs.band_designs, at=bounds_with_all_of_the_error),
        12,
    ),
    "lower ends from the beginning of a block": (
        partial(outcome_designs.band_designs, at=from_the_beginning_of_blocks),
        12,
    ),
    "deviations of few rows as in the limit": (
        partial(outcome_designs.l2_designs, budget=chi_squared_limit),
        12,
    ),
    "what never happens does": (
        partial(
            instance_designs.single_draw_designs,
            draws={"law": broken_law},
            events={"law": ("never",)},
        ),
        200,
    ),
    "rank of n": (partial(at_level, "split", rank_of_n), 60),
    "unweighted under label shift": (partial(at_level, "label shift", unweighted), 60),
    "unweighted under covariate shift": (
        partial(at_level, "covariate shift", unweighted),
        60,
    ),
    "marginal rank for the PAC rank": (narrow_pac, 30),
    "a region that does not hold the weights": (
        partial(weight_designs.union_designs, no_shift=True),
        40,
    ),
    "the region transposed": (
        partial(weight_designs.region_designs, fit=transposed_region),
        20,
    ),
    "chi-squared with few rows": (
        partial(weight_designs.shift_test_designs, fit=p_values_of_a_chi_squared),
        20,
    ),
    "half of the radius": (partial(bin_designs.source_bin_designs, factor=0.5), 20),
    "a third of the target's radius": (
        partial(bin_designs.target_bin_designs, factor=0.3),
        20,
    ),
    "observed error not among those compared": (
        partial(assessment_designs.calibration_test_designs, own_counts=False),
        24,
    ),
    "p-values against a fixed sample": (
        partial(stream_designs.line_designs, fixed=True),
        40,
    ),
    "alarms of p-values against a fixed sample": (
        partial(stream_designs.alarm_designs, fixed=True),
        12,
    ),
    "the source's proportions for the target's": (
        partial(performance_designs.given_designs, wrong=True),
        12,
    ),
    "means at half of the evidence": (
        partial(stream_designs.mean_designs, factor=2.0),
        60,
    ),
    "the source's share of errors for its bound": (
        partial(stream_designs.risk_designs, bounded=False),
        12,
    ),
    "one threshold for all groups": (
        partial(procedure_designs.group_designs, by_group=False),
        60,
    ),
    "every group with all of delta": (
        partial(procedure_designs.group_pac_designs, spent=2.0),
        60,
    ),
    "one alpha for interpolated thresholds": (
        partial(procedure_designs.interpolated_designs, times=1.0),
        300,
    ),
    "half as much again for ranks": (
        partial(procedure_designs.rank_designs, times=1.5),
        60,
    ),
    "counted the wrong way round": (
        partial(procedure_designs.counted_designs, score=against_the_counts),
        100,
    ),
    "clusters at twice alpha": (
        partial(procedure_designs.cluster_designs, times=2.0),
        10,
    ),
    "a rank too high by one": (
        partial(procedure_designs.exact_split_designs, moved=1),
        20,
    ),
    "scores not randomised": (
        partial(procedure_designs.aps_designs, randomized=False),
        10,
    ),
    "four fifths of the planned rows": (
        partial(procedure_designs.plan_designs, share=0.8),
        40,
    ),
    "recalls at twice delta": (
        partial(performance_designs.recall_designs, factor=2.0),
        40,
    ),
    "labels not among the cells that share delta": (
        partial(cell_designs.label_share_designs, region=labels_not_counted),
        40,
    ),
    "half as much again of a stratified share": (
        partial(cell_designs.stratified_designs, factor=1.5),
        60,
    ),
    "two fifths of the bound on the total variation": (
        partial(shift_error_designs.variation_designs, factor=0.4),
        20,
    ),
    "source rows not weighted": (
        partial(shift_error_designs.weighted_loss_designs, weighted=False),
        5,
    ),
    "a mean for the decision's bound": (
        partial(shift_error_designs.decision_designs, bound=False),
        4,
    ),
    "the squared error not debiased": (
        partial(outcome_designs.debiased_designs, debiased=False),
        5,
    ),
    "rows counted, whatever they weigh": (
        partial(outcome_designs.weighted_bin_designs, counted=True),
        40,
    ),
    "rows of blocks counted singly": (
        partial(outcome_designs.block_designs, singly=True),
        40,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", PLANTED)
def test_planted_mistakes_are_found(what, monkeypatch):
    monkeypatch.setattr(searching, "FRESH", 600)
    designs, n_designs = PLANTED[what]
    theorem = replace(theorems.get("split-coverage"), name="planted", designs=designs)
    result = theorems.search(theorem, n_designs=n_designs, rng=0)
    assert result.violated, str(result)


def test_a_choice_between_pac_thresholds_by_observed_counts_is_found(monkeypatch):
    """The choice that conditions on the counts, as a fit; its worst design is known."""
    from distfreeuq import bounds
    from distfreeuq.conformal.pac_thresholds import (
        expected_excess,
        stratified_pac_threshold,
    )

    class Fit:
        def __init__(self, scores, labels, priors, alpha, delta):
            counts = np.bincount(labels, minlength=2)
            weights = np.asarray(priors.label_weight)
            expected = int(counts @ weights / weights.max())
            rank = bounds.pac_rank(expected, alpha, delta)
            rejection = rank / (expected + 1) - (1 - alpha) if rank <= expected else 9.0
            target = np.asarray(priors.target_prior)
            by_class = expected_excess(counts, target, alpha, delta)
            self.pac_method = "by class" if by_class < rejection else "rejection"
            self.rest = scores, labels, target, alpha, delta

        @property
        def thresholds(self):
            return [stratified_pac_threshold(*self.rest)]

    def chosen_by_counts(probs, labels, priors, *, alpha, confidence, **others):
        scores = 1.0 - probs[np.arange(labels.size), labels]
        return Fit(scores, labels, priors, alpha, 1.0 - confidence)

    monkeypatch.setattr(pac_designs, "label_shift_conformal", chosen_by_counts)
    found = pac_designs.label_shift_failure(5000, 0.1, 0.1, 0.018539, 0.098269, 1e-9)
    assert found == pytest.approx(0.1103, abs=5e-4)


# ------------------------------------------------------------------------ the result


@pytest.mark.slow
def test_designs_are_made_again_and_do_not_depend_on_workers():
    one = theorems.search("pac-coverage", n_designs=40, rng=3)
    two = theorems.search("pac-coverage", n_designs=40, rng=3, n_jobs=2)
    assert one.to_frame().equals(two.to_frame())
    worst = one.worst[0]
    assert one.design(worst.number).probability() == worst.estimate


def test_a_drawn_search_is_the_same_again():
    one, two = (theorems.search("binning-bound", n_designs=1, rng=5) for _ in "ab")
    assert one.to_frame().equals(two.to_frame())
    assert one.worst[0].draws > 0 and not one.worst[0].exact


def test_a_budget_in_seconds_is_kept_roughly():
    result = theorems.search("pac-coverage", 0.3, rng=0)
    assert result.n_designs > 0


def test_saved_printed_and_drawn(tmp_path):
    result = theorems.search("label-shift-coverage", n_designs=20, rng=0)
    result.save(tmp_path / "search.npz")
    again = dfu.load(tmp_path / "search.npz")
    assert str(again) == str(result)
    assert "Designs tried:" in str(result) and "label_weight = [" in str(result)
    assert "proves nothing" in " ".join(str(result).split())
    assert result.plot().get_title(loc="left").endswith("worst of 20 designs")


def test_what_has_no_designs_is_refused():
    with pytest.raises(dfu.InputError, match="a theorem that declares designs"):
        theorems.search("oracle-sets")
    with pytest.raises(dfu.InputError, match="'budget' parameter"):
        theorems.search("split-coverage", 0)
    claim = theorems.Claim("heads", at_most=0.5)
    with pytest.raises(dfu.InputError, match="neither"):
        theorems.Design({}, claim)


def test_the_command_line(capsys):
    asked = ["search", "split-coverage", "--designs", "5", "--quiet"]
    assert main(asked) == 0
    assert "no counterexample among 5 designs" in capsys.readouterr().out
    assert main(["search", "no-such-theorem", "--quiet"]) == 2
    assert "one of the families prediction sets, label shift" in capsys.readouterr().err


def test_a_family_on_the_command_line_shares_the_budget(capsys, monkeypatch, tmp_path):
    shares = {}

    def noted(name, budget, **options):
        shares[name] = budget
        return theorems.search("pac-coverage", n_designs=2, rng=0)

    monkeypatch.setattr(command, "search", noted)
    file = tmp_path / "found.json"
    asked = ["search", "label-shift", "pac-coverage", "--budget", "30", "--quiet"]
    assert main([*asked, "--json", str(file)]) == 0
    having = [name for name in family("label shift") if theorems.get(name).designs]
    assert list(shares) == [*having, "pac-coverage"]
    assert sum(shares.values()) == pytest.approx(30.0)
    found = json.loads(file.read_text())
    assert len(found) == len(shares) and found[0]["designs"] == 2


def test_a_violation_anywhere_is_the_exit_code(capsys, monkeypatch):
    claim = theorems.Claim("heads", at_most=0.5)
    bent = theorems.Design({"coin": "bent"}, claim, probability=lambda: 0.6)
    theorem = replace(
        theorems.get("pac-coverage"), name="bent", designs=lambda generator: bent
    )
    theorems.register(theorem)
    try:
        asked = ["search", "bent", "pac-coverage", "--designs", "2", "--quiet"]
        assert main(asked) == 1
    finally:
        theorems.unregister("bent")
    assert "bent: violated among 2 designs" in capsys.readouterr().out


def test_a_file_that_cannot_be_written_is_told_before_the_search(capsys, tmp_path):
    asked = ["search", "pac-coverage", "--json", str(tmp_path / "no" / "file")]
    assert main(asked) == 2
    assert "of search must be a file name" in capsys.readouterr().err
