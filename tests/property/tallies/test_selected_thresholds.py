"""Thresholds of scores in blocks are those of all scores in memory, bit for bit."""

from unittest.mock import patch

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq._numerics.passes import radix_selection as radix

SCORES = {
    "uniform": lambda generator, n: generator.random(n),
    "ties": lambda generator, n: generator.integers(0, 5, n) / 5,
    "neighbours": lambda generator, n: 1.0 + generator.integers(0, 9, n) * 2.0**-52,
    "both signs": lambda generator, n: generator.standard_cauchy(n) ** 3,
    "infinite": lambda generator, n: generator.choice([-np.inf, -0.0, 0.0, np.inf], n),
}


class Blocks:
    """Blocks that count how often they are read."""

    def __init__(self, scores, labels, ends):
        self.rows, self.ends, self.passes = (scores, labels), ends, 0

    def __call__(self):
        self.passes += 1
        for start, end in zip([0, *self.ends], [*self.ends, None], strict=True):
            yield tuple(rows[start:end] for rows in self.rows)


@given(
    st.sampled_from(list(SCORES)),
    st.integers(0, 300),
    st.integers(1, 5),
    st.sampled_from(["exchangeable", "label-conditional", "label-shift"]),
    st.sampled_from([0, 3, 1 << 16]),
    st.sampled_from([0.001, 0.1, 1 / 3, 0.9]),
    st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=150)
def test_no_chunk_changes_a_threshold(spread, n, n_classes, method, few, alpha, seed):
    generator = np.random.default_rng(seed)
    scores, labels = SCORES[spread](generator, n), generator.integers(0, n_classes, n)
    options = {"alpha": alpha, "n_classes": n_classes, "method": method}
    if method == "label-shift":
        weights = generator.choice([0.0, 1e-9, 0.25, 0.5, 1.0, 3.0], n_classes)
        absent = np.bincount(labels, minlength=n_classes) == 0
        weights[absent] = generator.choice([0.0, 1.0, np.inf], absent.sum())
        weights[weights.argmax()] += 1.0  # of some class at least
        options["label_weight"] = weights
    want = dfu.conformal_thresholds(scores, labels, **options)
    blocks = Blocks(scores, labels, np.sort(generator.integers(0, n + 1, 4)).tolist())
    with patch.object(radix, "_FEW", few):
        got = dfu.conformal_thresholds(blocks, **options)
    np.testing.assert_array_equal(got, want)  # 0 and -0 are one number
    assert blocks.passes <= 1 + 4 + bool(np.isinf(options.get("label_weight", 0)).any())


@pytest.mark.parametrize("method", ["exchangeable", "label-conditional", "label-shift"])
def test_thresholds_of_dask_and_their_passes(method):
    generator = np.random.default_rng(3)
    scores, labels = generator.random(200_000), generator.integers(0, 10, 200_000)
    options = {"alpha": 0.1, "n_classes": 10, "method": method}
    if method == "label-shift":
        options["label_weight"] = np.linspace(0.5, 1.5, 10)
    want = dfu.conformal_thresholds(scores, labels, **options)
    of_dask = da.from_array(scores, 70_000), da.from_array(labels, 30_000)
    got = dfu.conformal_thresholds(*of_dask, **options)
    assert got.tobytes() == want.tobytes()
    blocks = Blocks(scores, labels, [90_000])
    assert dfu.conformal_thresholds(blocks, **options).tobytes() == want.tobytes()
    assert blocks.passes <= 1 + 3  # the first looks at one block


@pytest.mark.parametrize("few", [0, 1 << 16])
def test_a_score_that_reaches_the_mass_exactly_is_the_threshold(few):
    # with the atom of weight 1 half of the mass is 2, that of two scores
    scores, labels = np.array([0.5, 0.25, 0.75]), np.zeros(3, dtype=int)
    options = {"alpha": 0.5, "n_classes": 1, "method": "label-shift"}
    options["label_weight"] = [1.0]
    blocks = Blocks(scores, labels, [2])
    with patch.object(radix, "_FEW", few):
        assert dfu.conformal_thresholds(blocks, **options) == [0.5]
    assert dfu.conformal_thresholds(scores, labels, **options) == [0.5]


def test_what_is_wrong_is_told_with_its_row():
    blocks = Blocks(np.array([0.1, 0.2, np.nan]), np.array([0, 1, 0]), [2])
    with pytest.raises(dfu.InputError, match="nan at position 2"):
        dfu.conformal_thresholds(blocks, alpha=0.1, n_classes=2)
    blocks = Blocks(np.array([0.1, 0.2, 0.3]), np.array([0, 1, 2]), [2])
    with pytest.raises(dfu.InputError, match="row 2"):
        dfu.conformal_thresholds(blocks, alpha=0.1, n_classes=2)
    with pytest.raises(dfu.InputError, match="inf for class 1, which has 1 of the"):
        dfu.conformal_thresholds(
            blocks,
            alpha=0.1,
            n_classes=3,
            method="label-shift",
            label_weight=[1.0, np.inf, 1.0],
        )
    with pytest.raises(dfu.InputError, match="do not call it"):
        dfu.conformal_thresholds(blocks(), alpha=0.1, n_classes=3)
