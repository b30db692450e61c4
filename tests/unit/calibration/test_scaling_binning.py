"""Scaling-binning: parts by hand, modes, weights, and what is refused."""

from functools import partial

import numpy as np
import pytest
from scipy import special, stats

import distfreeuq as dfu

RNG = np.random.default_rng(3)
S = RNG.random(900)
ONE = np.log(S) - np.log1p(-S)
HITS = (RNG.random(900) < S**2).astype(int)
LOGITS = RNG.normal(0.0, 2.0, (900, 3))
LABELS = (LOGITS / 2 + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)


def given(logits, labels, sample_weight=None):
    """Return the softmax: nothing is fitted."""
    return partial(special.softmax, axis=1)


def test_by_hand():
    """A given map, bins at the third part's order statistics: all can be counted."""
    p = np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8, 0.9])
    logits = np.log(p) - np.log1p(-p)
    fit = dfu.scaling_binning(
        np.append(logits, 0.0),
        [0, 0, 1, 0, 1, 1, 1, 0],
        given,
        n_bins=2,
        split=(1 / 8, 0.0),
        alpha=0.2,
        rng=_seed_that_leaves(8, 7),
    )
    # the edge is 0.6, the rank 4 of 7, which no bin counts
    assert fit.binning.n_boundary == 1
    np.testing.assert_allclose(fit.outputs, [0.2, 0.8])
    frame = fit.to_frame()
    np.testing.assert_allclose(frame["frequency"], [1 / 3, 1.0])
    low = stats.beta.ppf(0.05, [1, 3], [3, 1])  # alpha/2 for each bin, two sides
    high = [stats.beta.ppf(0.95, 2, 2), 1.0]
    np.testing.assert_allclose(fit.confint(), np.column_stack([low, high]))
    np.testing.assert_allclose(fit.confint(0.2), fit.confint())
    np.testing.assert_allclose(fit.radius, [high[0] - 0.2, 0.8 - low[1]])
    width = np.sqrt(np.log(2 * 2 / 0.2) / (2 * 3))
    np.testing.assert_allclose(
        fit.map_radius, np.minimum(1.0, width) * np.array([0.6, 0.4])
    )
    assert fit.cost == fit.map_radius.max()
    np.testing.assert_allclose(
        fit.predict(np.log([0.1 / 0.9, 0.65 / 0.35])), [[0.8, 0.2], [0.2, 0.8]]
    )


def _seed_that_leaves(n, row):
    """Return a seed whose first row drawn, the map's part, is this one."""
    for seed in range(200):
        labels = np.zeros(n, dtype=int)
        labels[row] = 1
        x = np.linspace(-1.0, 1.0, n)
        seen = []

        def look(logits, labels, sample_weight=None, seen=seen):
            seen.append(labels)
            return partial(special.softmax, axis=1)

        dfu.scaling_binning(
            x, labels, look, n_bins=1, split=(1 / 8, 0.0), classes=[0, 1], rng=seed
        )
        if seen[0].tolist() == [1]:
            return seed
    raise AssertionError("no such seed")


def test_parts_are_disjoint_and_have_their_sizes():
    fit = dfu.scaling_binning(ONE, HITS, split=(0.5, 0.2), rng=0)
    assert (fit.n_scaling, fit.binning.n_chose, fit.binning.n) == (450, 180, 270)
    assert fit.n == 900


def test_outputs_are_means_of_the_map_and_not_of_labels():
    fit = dfu.scaling_binning(ONE, HITS, "platt", n_bins=4, rng=0)
    mapped = fit.scaling.predict(np.column_stack([np.zeros(900), ONE]))
    edges = fit.binning.edges
    assert ((fit.outputs > edges[:-1]) & (fit.outputs < edges[1:])).all()
    predicted = fit.predict(ONE)[:, 1]
    bins = np.searchsorted(edges[1:-1], mapped[:, 1])
    np.testing.assert_allclose(predicted, fit.outputs[bins])
    np.testing.assert_array_equal(bins, fit.assign(ONE))
    # other labels, the same map: the same outputs
    turned = dfu.scaling_binning(ONE, 1 - HITS, given, n_bins=4, rng=0)
    as_they_were = dfu.scaling_binning(ONE, HITS, given, n_bins=4, rng=0)
    np.testing.assert_array_equal(turned.outputs, as_they_were.outputs)
    assert turned.radius.max() > as_they_were.radius.max()


@pytest.mark.parametrize("mode", ["top-label", "classwise"])
@pytest.mark.parametrize("split", [(1 / 3, 1 / 3), (0.5, 0.0)])
def test_modes_of_several_classes(mode, split):
    fit = dfu.scaling_binning(
        LOGITS, LABELS, "vector", n_bins=3, mode=mode, split=split, rng=1
    )
    probs = fit.predict(LOGITS)
    mapped = fit.scaling.predict(LOGITS)
    if mode == "top-label":
        np.testing.assert_allclose(probs.sum(axis=1), 1.0)
        top = mapped.argmax(axis=1)
        given_out = probs[np.arange(900), top]
        np.testing.assert_allclose(given_out, fit.outputs[fit.assign(LOGITS)])
    else:
        bins = fit.assign(LOGITS) + 3 * np.arange(3)
        np.testing.assert_allclose(probs, fit.outputs[bins])
        assert fit.to_frame()["class"].tolist() == [0] * 3 + [1] * 3 + [2] * 3
    frame = fit.to_frame()
    far = np.maximum(frame["high"] - frame["output"], frame["output"] - frame["low"])
    np.testing.assert_allclose(frame["radius"], far)
    assert fit.guarantee.confidence == 0.9
    np.testing.assert_allclose(fit.guarantee.upper, fit.radius.max())
    assert (fit.confint(0.01)[:, 0] <= fit.confint()[:, 0]).all()


def test_two_classes_and_more_have_their_modes():
    assert dfu.scaling_binning(ONE, HITS, rng=0).binning.mode == "canonical"
    assert dfu.scaling_binning(LOGITS, LABELS, rng=0).binning.mode == "top-label"


def test_weights():
    weights = 0.5 + S
    bounded = dfu.scaling_binning(
        ONE, HITS, n_bins=3, sample_weight=weights, weight_bound=1.5, rng=0
    )
    assert bounded.guarantee and "target rows" in bounded.guarantee.statement
    assert np.isnan(bounded.cost) and "Cost" not in str(bounded)
    np.testing.assert_allclose(bounded.confint(0.1), bounded.confint())
    with pytest.raises(dfu.InputError, match="'alpha'"):
        bounded.confint(0.05)
    loose = dfu.scaling_binning(ONE, HITS, n_bins=3, sample_weight=weights, rng=0)
    assert not loose.guarantee
    # the scale of weights has no effect
    twice = dfu.scaling_binning(
        ONE, HITS, n_bins=3, sample_weight=2 * weights, weight_bound=3.0, rng=0
    )
    np.testing.assert_allclose(twice.radius, bounded.radius, rtol=1e-9)
    np.testing.assert_allclose(twice.outputs, bounded.outputs, rtol=1e-9)


def test_calibrators_are_read_as_elsewhere():
    probs = special.softmax(LOGITS, axis=1)
    for name in ("isotonic", "beta", "venn-abers", "binning"):
        fit = dfu.scaling_binning(probs, LABELS, name, n_bins=2, rng=0)
        assert fit.predict(probs).shape == (900, 3)
    with pytest.raises(dfu.InputError, match="'logits'"):
        dfu.scaling_binning(LOGITS, LABELS, "isotonic")
    brier = partial(dfu.temperature_scaling, loss="brier")
    by_brier = dfu.scaling_binning(LOGITS, LABELS, brier, rng=0)
    assert by_brier.scaling.loss == "brier" and by_brier.calibrator == "temperature"
    assert "T=" in str(by_brier)


def test_seeds_and_inputs():
    first = dfu.scaling_binning(ONE, HITS, rng=5)
    assert str(first) == str(dfu.scaling_binning(ONE, HITS, rng=5))
    assert str(first) != str(dfu.scaling_binning(ONE, HITS, rng=6))


def test_it_draws(tmp_path):
    fit = dfu.scaling_binning(ONE, HITS, n_bins=4, rng=0)
    for kind in (None, "parameters", "reliability"):
        assert fit.plot(kind=kind).figure is not None
    fit.save(tmp_path / "fit.npz")
    found = dfu.load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(found.predict(ONE), fit.predict(ONE))
    own = dfu.scaling_binning(ONE, HITS, given, rng=0)
    with pytest.raises(dfu.InputError, match="cannot be saved"):
        own.save(tmp_path / "own.npz")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"mode": "canonical"}, "mode"),
        ({"mode": "all"}, "mode"),
        ({"split": 0.5}, "split"),
        ({"split": (0.7, 0.3)}, "split"),
        ({"split": (0.0, 0.5)}, "split"),
        ({"split": (1e-9, 0.5)}, "split"),
        ({"split": (0.5, 1e-9)}, "split"),
        ({"split": (np.nan, 0.2)}, "split"),
        ({"n_bins": 0}, "n_bins"),
        ({"alpha": 1.0}, "alpha"),
        ({"calibrator": "scaling"}, "calibrator"),
        ({"calibrator": lambda logits, labels: None}, "calibrator"),
        ({"weight_bound": 2.0}, "weight_bound"),
        ({"sample_weight": -np.ones(900)}, "sample_weight"),
    ],
)
def test_bad_input_is_refused(options, name):
    with pytest.raises(dfu.InputError, match=f"'{name}'"):
        dfu.scaling_binning(LOGITS, LABELS, **options)


def test_weight_in_one_part_alone_is_refused():
    weights = np.zeros(900)
    weights[0] = 1.0
    with pytest.raises(dfu.InputError, match=r"'sample_weight'.*part"):
        dfu.scaling_binning(ONE, HITS, sample_weight=weights, rng=0)


def test_few_rows_leave_bins_without_any():
    with pytest.warns(dfu.EmptyBinWarning):
        fit = dfu.scaling_binning(
            [0.1, 0.2, 0.9, -0.3, 1.2, 0.4],
            [0, 1, 1, 0, 1, 0],
            given,
            n_bins=3,
            split=(0.2, 0.6),
            rng=0,
        )
    assert (fit.radius[fit.binning.bin_counts == 0] == 1.0).all()
    assert fit.cost == 1.0
    assert "Empty" in str(fit)
