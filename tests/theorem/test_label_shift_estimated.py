"""Union sets with estimated weights: coverage of at least 1 - alpha - delta.

Weights come from the calibration rows themselves and from as many target rows. All
claims of this file together raise a false alarm with probability at most 1e-6.
"""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import scenarios
from tests.theorem.binomial import Judge, RefutedError

ALPHA, DELTA = 0.1, 0.05
TOY = scenarios.three_gaussians()


@pytest.fixture(scope="module")
def judge():
    return Judge(claims=12)


def blunt(probs):
    """A classifier that hardly tells class 0 from class 2: C is nearly singular."""
    mixed = probs @ np.array([[0.52, 0.0, 0.48], [0.0, 1.0, 0.0], [0.48, 0.0, 0.52]])
    return mixed / mixed.sum(axis=1, keepdims=True)


def study(n, n_rep, classifier, seed):
    """Return hits and mean sizes on one target row per draw, by robust and plug-in."""
    generator = np.random.default_rng(seed)
    hits = {"robust": 0, "plug-in": 0}
    sizes = {"robust": 0.0, "plug-in": 0.0}
    for _ in range(n_rep):
        x, labels = TOY.sample(n, "source", rng=generator)
        unlabelled, _ = TOY.sample(n, "target", rng=generator)
        new, label = TOY.sample(40, "target", rng=generator)
        probs = classifier(TOY.posterior(x))
        estimate = dfu.bbse(probs, labels, classifier(TOY.posterior(unlabelled)))
        for name, robust in (("robust", True), ("plug-in", False)):
            fit = dfu.label_shift_conformal(
                probs,
                labels,
                estimate,
                alpha=ALPHA,
                robust=robust,
                delta=DELTA,
                rng=generator,
            )
            sets = fit.predict(classifier(TOY.posterior(new)), rng=generator)
            hits[name] += bool(sets.mask[0, label[0]])
            sizes[name] += sets.sizes.mean() / n_rep
    return hits, sizes


@pytest.mark.parametrize("n, n_rep", [(300, 2000), (600, 1500)])
def test_union_sets_cover(judge, n, n_rep):
    hits, sizes = study(n, n_rep, lambda probs: probs, seed=n)
    judge.at_least(hits["robust"], n_rep, 1 - ALPHA - DELTA)
    assert sizes["robust"] >= sizes["plug-in"]


def test_union_sets_are_hardly_larger_with_much_data(judge):
    hits, sizes = study(3000, 300, lambda probs: probs, seed=1)
    judge.at_least(hits["robust"], 300, 1 - ALPHA - DELTA)
    assert sizes["robust"] <= 1.12 * sizes["plug-in"]


@pytest.mark.filterwarnings("ignore::distfreeuq.DistFreeWarning")
def test_union_sets_cover_with_a_nearly_singular_confusion_matrix(judge):
    hits, _ = study(600, 1000, blunt, seed=2)
    judge.at_least(hits["robust"], 1000, 1 - ALPHA - DELTA)


def test_a_region_that_misses_the_weights_is_caught(judge):
    """The broken variant: a region around no shift at all."""
    hits, n_rep = 0, 3000
    generator = np.random.default_rng(3)
    wrong = dfu.Box(np.full(3, 0.9), np.full(3, 1.1), True)
    for _ in range(n_rep):
        x, labels = TOY.sample(300, "source", rng=generator)
        new, label = TOY.sample(1, "target", rng=generator)
        fit = dfu.label_shift_conformal(
            TOY.posterior(x), labels, wrong, alpha=ALPHA, robust=True, rng=generator
        )
        mask = fit.predict(TOY.posterior(new), rng=generator).mask
        hits += bool(mask[0, label[0]])
    with pytest.raises(RefutedError):
        judge.at_least(hits, n_rep, 1 - ALPHA - 0.01)


def test_weights_from_an_independent_sample_cost_their_total_variation(judge):
    """Fixed wrong weights: coverage is at least 1 - alpha - TV, and not 1 - alpha."""
    from distfreeuq.conformal.thresholds import label_shift_thresholds
    from distfreeuq.label_shift.total_variation import coverage_with_weights
    from tests.theorem.toy import draw

    used = np.array([0.2, 1.0, 1.2])
    draws = draw(20_000, 100, seed=4)
    hits = draws.hits(lambda s, y: label_shift_thresholds(s, y, used, ALPHA))
    promised = coverage_with_weights(ALPHA, used, TOY.label_weight, TOY.source_prior)
    judge.at_least(hits, 20_000, promised)
    with pytest.raises(RefutedError):
        judge.at_least(hits, 20_000, 1 - ALPHA)
