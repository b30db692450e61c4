"""Metrics and assessments of rows in blocks: those in memory."""

from itertools import pairwise

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq import metrics

GENERATOR = np.random.default_rng(0)
PROBS = GENERATOR.dirichlet([2.0, 1.0, 1.0], 600)
LABELS = (PROBS.cumsum(axis=1) < GENERATOR.random((600, 1))).sum(axis=1)
WEIGHTS = GENERATOR.uniform(0.0, 3.0, 600)
GROUPS = GENERATOR.integers(0, 3, 600)
BY_BIN = ("ece", "overconfident_ece", "max_ece", "average_ece", "classwise_ece")
MEANS = ("accuracy", "mean_confidence", "brier_score", "nll")


@given(
    st.sampled_from(BY_BIN),
    st.sampled_from(["equal-width", "uniform-mass", [0.3, 0.5]]),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
    st.lists(st.integers(0, 600), max_size=4),
)
@settings(deadline=None, max_examples=30)
def test_metrics_in_any_chunks(name, scheme, weighted, dtype, cuts):
    metric, probs = getattr(metrics, name), PROBS.astype(dtype)
    weight = WEIGHTS if weighted else None
    want = metric(probs, LABELS, scheme=scheme, sample_weight=weight)
    ends = [0, *sorted(cuts), 600]
    rows = da.from_array(probs, (tuple(np.diff(ends).tolist()), 2))
    lazy = None if weight is None else da.from_array(weight, 77)
    found = metric(rows, da.from_array(LABELS, 100), scheme=scheme, sample_weight=lazy)
    assert found == pytest.approx(want, rel=1e-12)

    def blocks():
        for first, last in pairwise(ends):
            more = () if weight is None else (weight[first:last],)
            yield probs[first:last], LABELS[first:last], *more

    assert metric(blocks, scheme=scheme) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("name", MEANS)
def test_weighted_means(name):
    rows = da.from_array(PROBS, (70, 3)), da.from_array(LABELS, 90)
    metric = getattr(metrics, name)
    want = metric(PROBS, LABELS, sample_weight=WEIGHTS)
    assert metric(*rows, sample_weight=WEIGHTS) == want


@pytest.mark.parametrize(
    "options",
    [
        {"n_boot": 32, "groups": GROUPS},
        {"scheme": "uniform-mass", "sample_weight": WEIGHTS},
        {"n_boot": 16, "sample_weight": WEIGHTS, "scheme": [0.4, 0.6]},
    ],
)
def test_an_assessment_is_the_one_in_memory_bit_for_bit(options):
    options = {**options, "n_sim": 40, "rng": 0}
    want = dfu.assess(PROBS, LABELS, **options)
    rows = da.from_array(PROBS, (70, 2)), da.from_array(LABELS, 90)
    found = dfu.assess(*rows, **options)
    assert found.metrics == want.metrics and str(found.test) == str(want.test)
    same = [name != "classwise_ece" for name in want.metrics]
    for field in ("estimates", "low", "high", "bias"):
        ours, theirs = (getattr(one, field)[same] for one in (found, want))
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_allclose(found.estimates, want.estimates, rtol=1e-12)
    np.testing.assert_array_equal(found.by_group, want.by_group)
    np.testing.assert_allclose(found.by_class, want.by_class, rtol=1e-12)
    ours, theirs = (one.reliability.to_frame() for one in (found, want))
    assert ours.equals(theirs)
    assert found.guarantee == want.guarantee


def test_classifiers_are_compared():
    other = PROBS[::-1].copy()
    want = dfu.compare(PROBS, other, LABELS, n_boot=16, rng=0)
    lazy = [da.from_array(x, (70, 3)) for x in (PROBS, other)]
    found = dfu.compare(*lazy, da.from_array(LABELS, 90), n_boot=16, rng=0)
    np.testing.assert_allclose(found.differences, want.differences, rtol=1e-12)
    np.testing.assert_array_equal(found.low[1], want.low[1])


def test_what_is_wrong_is_said_of_all_rows():
    rows, labels = da.from_array(PROBS, (70, 3)), da.from_array(LABELS, 90)
    bad = PROBS.copy()
    bad[444] = 0.5
    for metric in (dfu.assess, metrics.classwise_ece):
        with pytest.raises(dfu.InputError, match=r"'probs' .* at row 444"):
            metric(da.from_array(bad, (70, 3)), labels)
        with pytest.raises(dfu.InputError, match=r"'probs' .* at least one row"):
            metric(rows[:0], labels[:0])
        with pytest.raises(dfu.InputError, match=r"'sample_weight' .* all zero"):
            metric(rows, labels, sample_weight=np.zeros(600))
    with pytest.raises(dfu.InputError, match="rows are read several times"):
        dfu.assess(iter([(PROBS, LABELS)]))
    with pytest.raises(dfu.InputError, match="brier_score, ece and assess take"):
        metrics.brier_decomposition(rows, labels)
