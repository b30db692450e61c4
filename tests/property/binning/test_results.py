"""What every table of bins must satisfy, whatever the rows."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq import bounds
from distfreeuq.binning.balanced_splits import balanced_cells
from distfreeuq.binning.label_shift_bins import reweighted
from distfreeuq.binning.radii import multinomial_radii
from distfreeuq.binning.uniform_mass import own_mass

SETTINGS = settings(max_examples=60)


@st.composite
def labelled_rows(draw, max_classes=4):
    """Draw probabilities, tied or continuous, in single or double, and labels."""
    n_classes = draw(st.integers(2, max_classes))
    n = draw(st.integers(2, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["continuous", "tied", "one-hot", "equal"]))
    if kind == "continuous":
        probs = rng.dirichlet(np.full(n_classes, 0.7), size=n)
    elif kind == "tied":
        counts = rng.multinomial(4, np.full(n_classes, 1 / n_classes), size=n)
        probs = counts / 4
    elif kind == "one-hot":
        probs = np.eye(n_classes)[rng.integers(0, n_classes, n)]
    else:
        probs = np.tile(rng.dirichlet(np.ones(n_classes)), (n, 1))
    probs = probs.astype(draw(st.sampled_from([np.float32, np.float64])))
    return probs, rng.integers(0, n_classes, n)


modes = st.sampled_from(["canonical", "classwise", "top-label"])


@SETTINGS
@given(labelled_rows(), modes, st.integers(1, 8))
def test_rows_are_counted_where_they_are_assigned(rows, mode, n_bins):
    probs, labels = rows
    n_bins = min(n_bins, (len(labels) + 1) // 2)  # fewer are warned of
    fit = dfu.histogram_binning(probs, labels, mode=mode, n_bins=n_bins)
    bins = fit.assign(probs)
    if mode == "classwise":
        assert (fit.bin_counts.sum(axis=0) <= len(labels)).all()
        per_bin = np.stack(
            [
                np.bincount(own, minlength=len(fit.bin_counts))
                for own in bins.T  # boundary rows are assigned but not counted
            ],
            axis=1,
        )
    else:
        assert fit.bin_counts.sum() + fit.n_boundary == len(labels)
        per_bin = np.bincount(bins, minlength=len(fit.bin_counts))
    assert (fit.bin_counts <= per_bin).all()
    assert fit.bin_counts.sum() + fit.n_boundary == per_bin.sum()
    defined = ~np.isnan(fit.frequencies)
    assert ((fit.low <= fit.frequencies) | ~defined).all()
    assert ((fit.frequencies <= fit.high) | ~defined).all()
    trivial = 2 if mode == "canonical" else 1
    assert (fit.radius >= 0).all() and (fit.radius <= trivial).all()


@SETTINGS
@given(labelled_rows(), modes)
def test_predictions_of_calibration_rows_are_distributions(rows, mode):
    probs, labels = rows
    fit = dfu.histogram_binning(probs, labels, mode=mode, n_bins=1)
    new = fit.predict(probs)
    assert new.dtype == probs.dtype and (new >= 0).all()
    if mode != "classwise":
        np.testing.assert_allclose(new.sum(axis=1), 1, rtol=1e-5)


@SETTINGS
@given(labelled_rows(), modes, st.integers(2, 6), st.integers(0, 99))
def test_the_order_of_the_rows_does_not_matter(rows, mode, n_bins, seed):
    probs, labels = rows
    n_bins = min(n_bins, (len(labels) + 1) // 2)
    order = np.random.default_rng(seed).permutation(len(labels))
    fit = dfu.histogram_binning(probs, labels, mode=mode, n_bins=n_bins)
    other = dfu.histogram_binning(probs[order], labels[order], mode=mode, n_bins=n_bins)
    np.testing.assert_array_equal(fit.counts, other.counts)
    np.testing.assert_array_equal(fit.radius, other.radius)
    assert fit.cells == other.cells


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 9))
def test_bins_of_own_edges_are_open_or_single_scores(values, n_bins):
    scores = np.array(values) / 9
    own = own_mass(scores, n_bins)
    bins = own.assign(scores)
    edges = np.unique(own.intervals.edges)
    for m in range(own.n_bins):
        inside = np.unique(scores[bins == m])
        # no counted row is on an edge, unless it shares a bin with none but its equals
        assert inside.size == 1 or not np.isin(inside, edges).any()
    assert (bins == -1).sum() == own.n_boundary
    on_edge = np.isin(scores, edges)
    assert not (bins[~on_edge] == -1).any()


@SETTINGS
@given(labelled_rows(), st.integers(1, 8), st.booleans())
def test_cells_are_those_of_the_tree(rows, n_bins, with_others):
    probs, _ = rows
    others = np.ascontiguousarray(probs[::-1]) if with_others else None
    cells, own = balanced_cells(probs, n_bins, range(probs.shape[1]), others)
    assert cells.n_bins == cells.column.size + 1
    leaves = sorted(-1 - cells.child[cells.child < 0])
    assert leaves == list(range(cells.n_bins)) if cells.column.size else True
    bins = cells.assign(probs)
    assert bins.min() >= 0 and bins.max() < cells.n_bins
    inside = own >= 0  # the others are on boundaries
    np.testing.assert_array_equal(own[inside], bins[inside])
    on_threshold = [np.isin(row, cells.threshold).any() for row in probs[~inside]]
    assert all(on_threshold)
    assert len(cells.describe(range(probs.shape[1]))) == cells.n_bins
    # in double precision rows of single precision are in the same cells
    np.testing.assert_array_equal(cells.assign(probs.astype(np.float64)), bins)


@st.composite
def count_tables(draw):
    n_classes = draw(st.integers(2, 8))
    entry = st.one_of(st.just(0), st.integers(0, 5), st.integers(0, 300))
    row = st.lists(entry, min_size=n_classes, max_size=n_classes)
    return np.array(draw(st.lists(row, min_size=1, max_size=4)))


@SETTINGS
@given(count_tables(), st.integers(1, 50), st.sampled_from([0.01, 0.1, 0.5]))
def test_exact_radius_is_never_above_weissman_nor_the_papers(counts, n_bins, alpha):
    n, n_classes = counts.sum(axis=1), counts.shape[1]
    exact = bounds.subset_clopper_pearson(counts, n_bins, alpha)
    weissman = bounds.binning_weissman(n, n_bins, n_classes, alpha)
    paper = bounds.binning_hoeffding(n, n_bins, n_classes, alpha)
    assert (exact <= weissman).all() and (weissman <= paper).all()
    radii = multinomial_radii(counts, n_bins, alpha, "auto")
    assert (radii.radius <= np.minimum(paper, 2)).all()
    # the intervals of single classes are within half of the L1 radius
    frequencies = counts / np.maximum(n, 1)[:, None]
    inside = (frequencies - radii.low <= radii.radius[:, None] / 2 + 1e-9) & (
        radii.high - frequencies <= radii.radius[:, None] / 2 + 1e-9
    )
    assert inside[n > 0].all()


@given(
    st.lists(st.floats(0, 5), min_size=3, max_size=3).filter(lambda w: max(w) > 0.01),
    st.integers(0, 2**32 - 1),
)
def test_repaired_bound_holds_for_any_weights_and_zeros(weights, seed):
    w = np.array(weights)
    p, q = np.random.default_rng(seed).dirichlet(np.full(3, 0.5), size=2)
    if p @ w < 1e-9 or q @ w < 1e-9:
        return
    error = np.abs(reweighted(p, w) - reweighted(q, w)).sum()
    radius = bounds.label_shift_source_radius(np.abs(p - q).sum(), w.max(), p @ w)
    assert error <= radius * (1 + 1e-9) + 1e-12


@given(
    st.lists(st.floats(0.05, 5), min_size=3, max_size=3),
    st.lists(st.floats(0, 1), min_size=6, max_size=6),
    st.integers(0, 2**32 - 1),
)
def test_weight_radii_hold_for_any_weights_in_the_box(weights, factors, seed):
    used = np.array(weights)
    low = used * (1 - np.array(factors[:3]))
    high = used * (1 + np.array(factors[3:]))
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(3))
    for _ in range(5):
        true = rng.uniform(low, high)
        if p @ true < 1e-9:
            continue
        moved = np.abs(reweighted(p, used) - reweighted(p, true)).sum()
        box = bounds.label_shift_weight_radius(p, used, low, high)
        ratio = bounds.label_shift_tilt_radius(p, used, low, high)
        assert moved <= min(box, ratio) * (1 + 1e-9) + 1e-12
