"""Sets by thresholds of each class's own, where most labels are decided by buckets.

More than 32 labels between the lowest and the highest threshold are dealt into buckets
of which only the masses are known. Rows with ties and zeros, and thresholds at, just
below and just above the labels' own scores, must give the sets of the definition.
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import reference_kernels as twin
from tests.property import kernel_calls as kernel
from tests.property.strategies import SCORES

SIZES = st.sampled_from([0.0, 1e-9, 1e-3, 0.5, 1.0, 1.0 + 1e-9, 2.0, 7.0, 1e4])


@st.composite
def rows_with_thresholds(draw):
    n_classes = draw(st.integers(40, 120))
    atoms = draw(st.lists(SIZES, min_size=1, max_size=5))
    noise = draw(st.sampled_from([0.0, 0.0, 1e-12, 0.3]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    row = rng.choice(atoms, n_classes)
    row = row * (1.0 + noise * rng.random(n_classes))
    row[rng.integers(n_classes)] += 0.1
    probs = (row / row.sum())[None, :]
    uniforms = np.array([draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))])
    score = SCORES[draw(st.sampled_from(sorted(SCORES)))]
    scores = twin.all_label_scores(score, probs, uniforms)[0]
    # a label's own score or another's, or a neighbour of it
    base = np.where(rng.random(n_classes) < 0.7, scores, rng.permutation(scores))
    side = rng.integers(-1, 2, n_classes)
    thresholds = np.where(
        side == 0, base, np.nextafter(base, np.where(side < 0, -np.inf, np.inf))
    )
    thresholds[rng.random(n_classes) < 0.05] = np.inf
    return score, probs, uniforms, thresholds


@settings(max_examples=200, deadline=None)
@given(rows_with_thresholds())
def test_labels_decided_by_buckets_are_those_of_the_definition(case):
    score, probs, uniforms, thresholds = case
    got, sizes = kernel.prediction_sets(
        score, probs, uniforms, thresholds, False, False
    )
    want, want_sizes = twin.prediction_sets(
        score, probs, uniforms, thresholds, False, False
    )
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(sizes, want_sizes)
