"""No chunks, no order of addition and no file change a number of a fit."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq.conformal import tallied_scores

SCORES = ["aps", "lac", "raps", "saps", "rank", "margin", dfu.APS(ties="random")]


@st.composite
def chunked_rows(draw):
    """Rows of which some repeat and labels tie, and where they are cut."""
    n, n_classes = draw(st.integers(1, 60)), draw(st.integers(2, 4))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    probs = generator.dirichlet(np.ones(n_classes), n)
    if draw(st.booleans()):  # few different rows, with equal labels in them
        probs = np.eye(n_classes)[generator.integers(0, n_classes, n)] * 0.5
        probs += 0.5 / n_classes
    probs = probs.astype(draw(st.sampled_from([np.float32, np.float64])))
    labels = generator.integers(0, draw(st.integers(1, n_classes)), n)
    cuts = draw(st.lists(st.integers(0, n), max_size=5))
    ends = [0, *sorted(cuts), n]
    return probs, labels, list(pairwise(ends))


def added(tallies, order):
    """Add up in a random order, by a random tree."""
    tallies = list(tallies)
    while len(tallies) > 1:
        one, other = (tallies.pop(order.randrange(len(tallies))) for _ in range(2))
        tallies.append(one + other)
    return tallies[0]


def numbers_of(tally):
    found = [tally.counts.cells, tally.counts.counts]
    if tally.scores is not None:
        found += [tally.scores.counts, tally.scores.scores.view(np.int64)]
    return found


def same(one, other):
    pairs = zip(numbers_of(one), numbers_of(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


@given(chunked_rows(), st.sampled_from(SCORES), st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_sums_are_the_tally_of_all_rows_to_the_last_bit(rows, score, seed):
    probs, labels, chunks = rows
    whole = dfu.tally(probs, labels, score=score, rng=seed)
    parts = [
        dfu.tally(probs[a:b], labels[a:b], score=score, rng=seed) for a, b in chunks
    ]
    assert same(added(parts, Random(seed)), whole)
    assert same(sum(parts), whole)
    blocks = ((probs[a:b], labels[a:b]) for a, b in chunks)
    assert same(dfu.tally(blocks, score=score, rng=seed), whole)


@pytest.mark.filterwarnings("ignore::distfreeuq.SmallCalibrationWarning")
@given(chunked_rows(), st.sampled_from(SCORES), st.sampled_from([0.05, 0.2, 0.5]))
@settings(deadline=None, max_examples=25)
def test_fits_are_those_of_all_rows(rows, score, alpha):
    probs, labels, chunks = rows
    order = Random(int(1e6 * alpha) + len(labels))
    total = added(
        (dfu.tally(probs[a:b], labels[a:b], score=score, rng=3) for a, b in chunks),
        order,
    )
    weights = np.linspace(0.3, 2.0, probs.shape[1])
    for fit_of in (
        dfu.split_conformal,
        dfu.label_conditional_conformal,
        lambda *rows, **options: dfu.label_shift_conformal(
            *rows, label_weight=weights, **options
        ),
    ):
        fit = fit_of(total, alpha=alpha)
        plain = fit_of(probs, labels, alpha=alpha, score=score, rng=3)
        assert np.array_equal(fit.thresholds, plain.thresholds)
        assert np.array_equal(fit.scores, plain.scores)
        assert np.array_equal(fit.predict(probs).mask, plain.predict(probs).mask)
        p_values = fit.p_values(probs), plain.p_values(probs)
        np.testing.assert_allclose(*p_values, rtol=1e-13)
        assert str(fit) == str(plain)


@pytest.mark.filterwarnings("ignore::distfreeuq.IdentificationWarning")
@given(chunked_rows(), chunked_rows())
@settings(deadline=None, max_examples=15)
def test_estimates_are_those_of_all_rows(rows, others):
    probs, labels, chunks = rows
    n_classes = probs.shape[1]
    target = others[0][:, :n_classes] + 0.1
    target = np.pad(target, ((0, 0), (0, n_classes - target.shape[1])))
    target = target / target.sum(axis=1, keepdims=True)
    source = sum(dfu.tally(probs[a:b], labels[a:b], score=None) for a, b in chunks)
    for estimate in (dfu.bbse, dfu.rlls):
        plain = estimate(probs, labels, target)
        for found in (
            estimate(source, probs_target=dfu.tally(target)),
            estimate(source, probs_target=target),
            estimate(probs, labels, dfu.tally(target)),
        ):
            assert np.array_equal(found.confusion.joint, plain.confusion.joint)
            assert np.array_equal(found.confusion.target, plain.confusion.target)
            assert (found.raw is None) == (plain.raw is None)
            if plain.raw is not None:
                assert np.array_equal(found.raw, plain.raw)


@pytest.mark.filterwarnings("ignore::distfreeuq.SmallCalibrationWarning")
@given(chunked_rows(), st.sampled_from(SCORES), st.integers(1, 40))
@settings(deadline=None, max_examples=40)
def test_thresholds_of_rounded_scores_are_thresholds_rounded_up(rows, score, per_unit):
    probs, labels, chunks = rows
    options = {"score": score, "rng": 2, "per_unit": per_unit}
    whole = dfu.tally(probs, labels, **options)
    total = added(
        (dfu.tally(probs[a:b], labels[a:b], **options) for a, b in chunks),
        Random(per_unit),
    )
    assert same(total, whole)
    assert np.array_equal(total.scores.times, whole.scores.times)
    assert whole.scores.times.sum() == len(labels)
    weights = np.linspace(0.3, 2.0, probs.shape[1])
    for fit_of, more in (
        (dfu.split_conformal, {}),
        (dfu.label_conditional_conformal, {}),
        (dfu.label_shift_conformal, {"label_weight": weights}),
    ):
        fit = fit_of(total, alpha=0.2, **more)
        plain = fit_of(probs, labels, alpha=0.2, score=score, rng=2, **more)
        least = [
            np.inf if np.isinf(t) else least_on_grid(t, per_unit)
            for t in plain.thresholds
        ]
        assert fit.thresholds.tolist() == least
        assert fit.guarantee.lower == plain.guarantee.lower
        if fit.score.uses_uniforms or fit.row_key is None:
            sets, smaller = fit.predict(probs), plain.predict(probs)
            assert (sets.mask >= smaller.mask).all()


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 50))
@settings(deadline=None, max_examples=40)
def test_counts_on_a_grid_are_those_of_a_sort(seed, n_classes, per_unit):
    generator = np.random.default_rng(seed)
    scores = generator.normal(size=600).round(generator.integers(1, 4))
    labels = generator.integers(0, n_classes, 600)
    found = tallied_scores._count_on_grid(scores, labels, n_classes, per_unit)
    once = np.ones(600, dtype=np.int64)
    rounded = tallied_scores.round_up(scores, per_unit)
    expected = tallied_scores._count_equal(rounded, labels, once, n_classes)
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one, other)


def least_on_grid(threshold, per_unit):
    """Return the least multiple of 1 / per_unit that is no less, by trying all."""
    steps = np.arange(int(threshold * per_unit) - 2, int(threshold * per_unit) + 3)
    return float(min(x for x in steps / per_unit if x >= threshold))


def test_a_grid_reveals_counts_alone_and_says_by_how_much_ranks_are_off(tmp_path):
    probs = np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7]])
    tally = dfu.tally(probs, [0, 0, 1, 1], score="lac", per_unit=2)
    assert tally.scores.scores.tolist() == [0.5, 0.5, 1.0]
    assert tally.scores.times.tolist() == [2, 1, 1]
    assert tally.scores.lengths.tolist() == [1, 2]
    assert tally.scores.largest_share == 0.75
    assert "0.7500 n" in str(tally.summary())
    tally.save(tmp_path / "tally.npz")
    assert same(dfu.load(tmp_path / "tally.npz"), tally)
    with pytest.raises(dfu.InputError, match="on a grid of 2 per unit"):
        tally + dfu.tally(probs, [0, 0, 1, 1], score="lac", per_unit=3)
    with pytest.raises(dfu.InputError, match="scores as they are"):
        tally + dfu.tally(probs, [0, 0, 1, 1], score="lac")
    with pytest.raises(dfu.InputError, match=r"'per_unit' .* an integer of at least 1"):
        dfu.tally(probs, per_unit=0)
