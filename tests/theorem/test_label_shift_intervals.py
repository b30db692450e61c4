"""Intervals and regions of the class weights cover as often as they say.

The three Gaussians of Podkopaev & Ramdas (2021) with the Bayes posterior. Hits over
independent repetitions are binomial. Asymptotic claims are judged as if exact: at these
sample sizes their coverage is within a few tenths of a percent of nominal, well inside
the Monte Carlo error. Every kind of claim is also made for a deliberately broken
variant, which must be refuted.
"""

import dataclasses
from functools import partial

import numpy as np
import pytest
from scipy import special

import distfreeuq as dfu
from distfreeuq._numerics.passes.class_rows import RowsInMemory
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.inference.anderson_rubin import AndersonRubin
from distfreeuq.label_shift.inference.delta_method import (
    hard_covariance,
    normal_intervals,
    standard_errors,
)
from distfreeuq.label_shift.inference.finite_sample_regions import (
    exact_region,
    norm_region,
)
from distfreeuq.label_shift.inference.likelihood_delta_method import (
    covariance_of_weights,
    curvature_at,
)
from distfreeuq.label_shift.inference.regions import Polytope
from distfreeuq.label_shift.inference.shift_test import compare_counts
from distfreeuq.label_shift.linear_solution import solve
from tests.theorem.binomial import Judge, RefutedError

pytestmark = pytest.mark.slow

SOURCE = np.array([0.1, 0.6, 0.3])
TARGET = np.array([0.3, 0.2, 0.5])
WEIGHT = TARGET / SOURCE
MEANS = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 2.0 * np.sqrt(3.0)]])
N = 2000
ALPHA = 0.1

judge = Judge(claims=60)


def posteriors(rng, n, prior):
    """Draw n rows with these class proportions; return source posteriors and labels."""
    labels = rng.choice(3, p=prior, size=n)
    x = MEANS[labels] + 2.0 * rng.standard_normal((n, 2))
    logits = np.log(SOURCE) - ((x[:, None] - MEANS) ** 2).sum(axis=2) / 8.0
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    return probs / probs.sum(axis=1, keepdims=True), labels


def covered(ends, w=WEIGHT):
    return (ends[:, 0] <= w) & (w <= ends[:, 1])


def hit_counts(intervals, n_rep, seed, n=N):
    """Return how often each class's interval held its weight, {name: (K,)}.

    `intervals` are functions of source posteriors, labels and target posteriors; all
    see the same draws.
    """
    rng = np.random.default_rng(seed)
    hits = {name: np.zeros(3, dtype=int) for name in intervals}
    for _ in range(n_rep):
        probs, labels = posteriors(rng, n, SOURCE)
        target, _ = posteriors(rng, n, TARGET)
        for name, interval in intervals.items():
            hits[name] += covered(interval(probs, labels, target))
    return hits


def overconfident(probs):
    """Return probabilities that need BCTS: too sharp, and biased towards class 0."""
    biased = probs**1.7 * [2.0, 1.0, 0.6]
    return biased / biased.sum(axis=1, keepdims=True)


def without_target_noise(*data):
    """Break: act as if the target's frequencies were known."""
    fit = dfu.bbse(*data)
    many = dataclasses.replace(
        fit.confusion, target=fit.confusion.target * 10**9, m=fit.m * 10**9
    )
    spread = standard_errors(hard_covariance(many, fit.raw), 3)
    return normal_intervals(fit.raw, spread, ALPHA)


def transposed(*data):
    """Break: swap rows and columns of the confusion matrix."""
    confusion = dfu.bbse(*data).confusion
    confusion = dataclasses.replace(confusion, joint=confusion.joint.T)
    w = solve(confusion)
    return normal_intervals(w, standard_errors(hard_covariance(confusion, w), 3), ALPHA)


def test_asymptotic_intervals_of_confusion_matrices_cover_their_level():
    valid = {
        "bbse": lambda *data: dfu.bbse(*data).confint(ALPHA),
        "soft bbse": lambda *data: dfu.bbse(*data, soft=True).confint(ALPHA),
        "rlls": lambda *data: dfu.rlls(*data).confint(ALPHA),
    }
    broken = {"no target noise": without_target_noise, "transposed": transposed}
    hits = hit_counts(valid | broken, 1000, seed=1)
    for name in valid:
        for h in hits[name]:
            judge.exactly(int(h), 1000, 1 - ALPHA)
    for name in broken:
        with pytest.raises(RefutedError):
            for h in hits[name]:
                judge.exactly(int(h), 1000, 1 - ALPHA)


def test_asymptotic_intervals_of_the_likelihood_cover_their_level():
    def sharp(s, y, t, **options):
        fit = dfu.mlls(overconfident(s), y, overconfident(t), **options)
        return fit.confint(ALPHA, "likelihood")

    def without_source_noise(*data):
        """Break: act as if the source prior were known."""
        fit = dfu.mlls(*data, calibrate=None, prior="labels")
        curvature = curvature_at(RowsInMemory.of(data[2]), fit.raw, fit.source_prior)
        nothing = np.zeros((3, 3))
        spread = standard_errors(covariance_of_weights(curvature, nothing, fit.n), 3)
        return normal_intervals(fit.raw, spread, ALPHA)

    valid = {
        "mean predictions": lambda *d: dfu.mlls(*d, calibrate=None).confint(
            ALPHA, "likelihood"
        ),
        "label frequencies": lambda *d: dfu.mlls(
            *d, calibrate=None, prior="labels"
        ).confint(ALPHA, "likelihood"),
        "bcts": sharp,
    }
    broken = {
        "uncalibrated": lambda *data: sharp(*data, calibrate=None),
        "no source noise": without_source_noise,
    }
    hits = hit_counts(valid | broken, 400, seed=2)
    for name in valid:
        for h in hits[name]:
            judge.exactly(int(h), 400, 1 - ALPHA)
    for name in broken:
        with pytest.raises(RefutedError):
            for h in hits[name]:
                judge.exactly(int(h), 400, 1 - ALPHA)


def test_intervals_of_the_likelihood_cover_after_other_scalings():
    # the derivation is held exactly in tests/unit/label_shift/test_unequal_sizes.py
    def ends(source, labels, target, **options):
        """Make rows too sharp, which one scale repairs."""
        rows = (special.softmax(1.7 * np.log(x), axis=1) for x in (source, target))
        first, second = rows
        fit = dfu.mlls(first, labels, second, **options)
        return fit.confint(ALPHA, "likelihood")

    valid = {
        "ts": partial(ends, calibrate="ts"),
        "vs": partial(ends, calibrate="vs"),
        "nbvs": partial(ends, calibrate="nbvs", prior="labels"),
    }
    for hits in hit_counts(valid, 60, seed=2, n=1000).values():
        for h in hits:
            judge.exactly(int(h), 60, 1 - ALPHA)


def test_bootstrap_intervals_cover_their_level():
    def interval(*data):
        fit = dfu.bbse(*data)
        return fit.confint(ALPHA, "bootstrap", n_boot=199, rng=0)

    for hits in hit_counts({"bootstrap": interval}, 500, seed=3)["bootstrap"]:
        judge.exactly(int(hits), 500, 1 - ALPHA)


def test_likelihood_intervals_hold_weights_next_to_zero():
    # of class 0, which stands apart, the target has one row on average
    prior, target = np.array([0.3, 0.3, 0.4]), np.array([0.001, 0.4, 0.599])
    rng, n_rep, hits = np.random.default_rng(9), 150, np.zeros(2, dtype=int)

    def rows(n, proportions):
        labels = rng.choice(3, p=proportions, size=n)
        x = rng.normal(5.0 * np.eye(3)[labels])
        scores = np.exp(5.0 * (x - x.max(axis=1, keepdims=True))) * prior
        return scores / scores.sum(axis=1, keepdims=True), labels

    for _ in range(n_rep):
        fit = dfu.mlls(*rows(1500, prior), rows(1000, target)[0], calibrate=None)
        upper = fit.confint(ALPHA, "likelihood")[0, 1]
        broken = upper / 10 if fit.raw[0] == 0 else upper
        hits += np.array([upper, broken]) >= target[0] / prior[0]
    judge.at_least(int(hits[0]), n_rep, 1 - ALPHA)
    with pytest.raises(RefutedError):
        judge.at_least(int(hits[1]), n_rep, 1 - ALPHA)


# ------------------------------------------------------- regions for finite samples


def draw_confusions(rng, conditional, source, target, n, m, n_rep):
    """Draw counts of hard predictions; conditional[i, j] = P(predicted i | class j)."""
    k = source.size
    joint = rng.multinomial(n, (conditional * source).ravel(), size=n_rep)
    predicted = rng.multinomial(m, conditional @ target, size=n_rep)
    return [
        Confusion(j.reshape(k, k), t, n, m, False)
        for j, t in zip(joint, predicted, strict=True)
    ]


GOOD = np.array([[0.8, 0.05, 0.1], [0.1, 0.9, 0.1], [0.1, 0.05, 0.8]])
NEARLY_SINGULAR = np.array([[0.34, 0.33, 0.33], [0.33, 0.34, 0.33], [0.33, 0.33, 0.34]])
SINGULAR = np.array([[0.5, 0.5, 0.2], [0.5, 0.5, 0.8], [0.0, 0.0, 0.0]])


@pytest.mark.parametrize("rows", [(20, 30), (300, 500)])
@pytest.mark.parametrize(
    "conditional", [GOOD, NEARLY_SINGULAR, SINGULAR], ids=["good", "weak", "singular"]
)
def test_the_polytope_holds_all_weights_at_once(conditional, rows):
    rng = np.random.default_rng(4)
    for delta in (0.1, 0.5):
        drawn = draw_confusions(rng, conditional, SOURCE, TARGET, *rows, 400)
        hits = sum(exact_region(c, delta).contains(WEIGHT) for c in drawn)
        judge.at_least(hits, 400, 1 - delta)


def test_coordinate_ranges_hold_each_weight_and_a_transposed_polytope_does_not():
    rng = np.random.default_rng(5)
    drawn = draw_confusions(rng, GOOD, SOURCE, TARGET, 20_000, 20_000, 60)
    regions = [exact_region(c, ALPHA) for c in drawn]
    boxes = [region.ranges() for region in regions]
    judge.at_least(sum(box.contains(WEIGHT) for box in boxes), 60, 1 - ALPHA)
    swapped = [
        Polytope(r.lower.T, r.upper.T, r.mu_low, r.mu_high, True) for r in regions
    ]
    with pytest.raises(RefutedError):
        judge.at_least(sum(r.contains(WEIGHT) for r in swapped), 60, 1 - ALPHA)


def test_the_ball_holds_all_weights_at_once():
    conditional, prior = np.array([[0.97, 0.04], [0.03, 0.96]]), np.array([0.5, 0.5])
    target = np.array([0.25, 0.75])
    drawn = draw_confusions(
        np.random.default_rng(6), conditional, prior, target, 800, 800, 1000
    )
    boxes = [norm_region(c, 0.5) for c in drawn]
    assert all(np.isfinite(box.high).all() for box in boxes)
    judge.at_least(sum(box.contains(target / prior) for box in boxes), 1000, 0.5)
    small = [
        dfu.Box(m - (m - b.low) / 30, m + (b.high - m) / 30, True)
        for b in boxes
        for m in [(b.low + b.high) / 2]
    ]
    with pytest.raises(RefutedError):
        judge.at_least(sum(b.contains(target / prior) for b in small), 1000, 0.5)


# ------------------------------------------------------- Anderson-Rubin, and the test


@pytest.mark.parametrize("accuracy", [0.41, 0.9])
def test_anderson_rubin_covers_its_level_for_weak_classifiers_too(accuracy):
    from scipy import special

    wrong = (1 - accuracy) / 2
    conditional = np.full((3, 3), wrong) + (accuracy - wrong) * np.eye(3)
    drawn = draw_confusions(
        np.random.default_rng(7), conditional, SOURCE, TARGET, N, N, 4000
    )
    statistic = np.array([AndersonRubin(c).statistic(WEIGHT) for c in drawn])
    limit = special.chdtri(3, ALPHA)
    judge.exactly(int((statistic <= limit).sum()), 4000, 1 - ALPHA)
    with pytest.raises(RefutedError):  # as if the weights were known to sum up
        few = special.chdtri(2, ALPHA)
        judge.exactly(int((statistic <= few).sum()), 4000, 1 - ALPHA)


def test_the_no_shift_test_has_its_size():
    rng = np.random.default_rng(8)
    n_rep, rejections = 600, np.zeros(3, dtype=int)
    for _ in range(n_rep):
        probs, labels = posteriors(rng, 500, SOURCE)
        target, _ = posteriors(rng, 700, SOURCE)
        fits = (
            dfu.bbse(probs, labels, target),
            dfu.bbse(probs, labels, target, soft=True),
        )
        p_values = [fit.test().p_value for fit in fits]
        # break: as if the source's frequencies were known
        counts = fits[0].confusion.joint.sum(axis=1)
        p_values.append(
            compare_counts(counts * 10**5, fits[0].confusion.target).p_value
        )
        rejections += np.array(p_values) <= ALPHA
    judge.exactly(int(rejections[0]), n_rep, ALPHA)
    judge.exactly(int(rejections[1]), n_rep, ALPHA)
    with pytest.raises(RefutedError):
        judge.at_most(int(rejections[2]), n_rep, ALPHA)
