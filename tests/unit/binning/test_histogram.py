"""Calibration by binning: bins, counts, predictions and what is claimed of them."""

import warnings

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import bounds
from distfreeuq.binning.balanced_splits import balanced_cells
from distfreeuq.binning.uniform_mass import edge_ranks, order_statistics, own_mass


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 2, 0.5], size=900)
    labels = np.array([rng.choice(3, p=row) for row in probs])
    return probs, labels


# ------------------------------------------------------------------------ intervals


def test_by_hand():
    """n = 7, M = 2: the edge is the 4th score, whose row no bin counts."""
    scores = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.9]
    labels = [0, 0, 1, 1, 1, 0, 1]
    fit = dfu.histogram_binning(scores, labels, n_bins=2)
    assert fit.edges.tolist() == [0.0, 0.4, 1.0]
    assert fit.cells == ["[0, 0.4]", "(0.4, 1]"]
    assert fit.counts.tolist() == [[2, 1], [1, 2]]
    assert fit.frequencies == pytest.approx(np.array([[2, 1], [1, 2]]) / 3)
    assert fit.mean_probs[:, 1] == pytest.approx([0.2, 2.2 / 3])
    assert (fit.n, fit.n_boundary, fit.n_chose) == (7, 1, 0)
    assert fit.fallback.tolist() == [0.5, 0.5]
    low, high = bounds.clopper_pearson([1, 2], 3, 0.1 / 2)
    np.testing.assert_allclose(fit.low[:, 1], low)
    np.testing.assert_allclose(fit.high[:, 1], high)
    np.testing.assert_allclose(fit.predict([0.4, 0.41])[:, 1], [1 / 3, 2 / 3])


def test_edges_are_in_the_same_bin_at_fit_and_at_predict():
    scores = np.array([0.0, 0.25, 0.25, 0.5, 0.75, 1.0, 1.0])
    labels = [0, 0, 1, 0, 1, 1, 1]
    fit = dfu.histogram_binning(scores, labels, scheme=[0.0, 0.25, 0.75, 1.0])
    assert fit.cells == ["[0, 0.25]", "(0.25, 0.75]", "(0.75, 1]"]
    assert fit.assign(scores).tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert fit.counts.tolist() == [[2, 1], [1, 1], [0, 2]]
    again = dfu.histogram_binning(scores, labels, scheme=[0.25, 0.75])
    assert again.edges.tolist() == fit.edges.tolist()
    single = dfu.histogram_binning(
        scores.astype(np.float32), labels, scheme=[0.25, 0.75]
    )
    assert single.assign(scores).tolist() == fit.assign(scores).tolist()


def test_decimal_edges_are_exact_in_single_and_double_precision():
    scores = np.array([0.07, 0.14, 0.28, 0.29, 0.55, 0.57, 0.58])
    for dtype in (np.float64, np.float32):
        points = scores.astype(dtype)
        fit = dfu.histogram_binning(
            points, np.ones(7, dtype=int), n_bins=100, scheme="equal-width"
        )
        expected = [6, 13, 27, 28, 54, 56, 57]
        assert fit.assign(points).tolist() == expected
        assert fit.assign(scores.astype(np.float32)).tolist() == expected


def test_own_edges_are_in_the_same_bin_in_the_other_precision():
    scores = np.random.default_rng(0).random(500)
    labels = np.zeros(500, dtype=int)
    fit = dfu.histogram_binning(scores, labels, n_bins=7)
    edges = np.array(fit.edges[1:-1])
    assert fit.assign(edges).tolist() == list(range(6))
    assert fit.assign(edges.astype(np.float32)).tolist() == list(range(6))


def test_shared_edges_are_bins_of_their_own():
    """Scores 0.2, 0.5 and 0.8 a few times each; every edge is shared."""
    scores = np.repeat([0.2, 0.5, 0.8], [4, 6, 5])
    labels = (np.arange(15) % 2).astype(int)
    fit = dfu.histogram_binning(scores, labels, n_bins=4)
    assert fit.cells[1] == "{0.2}" and "{0.5}" in fit.cells and "{0.8}" in fit.cells
    assert fit.bin_counts.tolist() == [0, 4, 0, 6, 0, 5, 0]
    assert fit.n_boundary == 0
    assert fit.assign([0.2, 0.5, 0.8]).tolist() == [1, 3, 5]
    assert fit.assign([0.1, 0.3, 0.6, 0.9]).tolist() == [0, 2, 4, 6]
    with pytest.warns(dfu.EmptyBinWarning, match="1 of 2 rows"):
        probs = fit.predict([0.3, 0.5])
    np.testing.assert_allclose(probs[0], fit.fallback)
    single = dfu.histogram_binning(scores.astype(np.float32), labels, n_bins=4)
    assert single.bin_counts.tolist() == fit.bin_counts.tolist()
    assert single.assign(scores).tolist() != []  # double scores of single edges
    assert fit.assign(scores.astype(np.float32)).tolist() == fit.assign(scores).tolist()


def test_edges_that_few_rows_share_are_no_bins():
    """Every score twice: both rows on an edge are left out, and no bin is added."""
    scores = np.repeat((np.arange(50) + 1) / 51, 2)
    fit = dfu.histogram_binning(scores, [0, 1] * 50, n_bins=4)
    assert fit.n_bins == 4 and fit.n_boundary == 6
    assert fit.bin_counts.sum() == 94 and np.ptp(fit.bin_counts) <= 2
    assert np.isin(fit.edges[1:-1], scores).all()
    # a new row on an edge is in the bin below, and nothing is claimed of it
    with pytest.warns(dfu.RowsOnEdgesWarning, match=r"3 of 3 rows \(100.0%\)"):
        assert fit.assign(fit.edges[1:-1]).tolist() == [0, 1, 2]
    with pytest.warns(dfu.RowsOnEdgesWarning, match=r"1 of 2 rows \(50.0%\)"):
        fit.predict([fit.edges[1], 0.0])
    text = " ".join(str(fit).split())
    assert "6 calibration rows (6.0%) share 3 edges" in text
    assert "<= radius for rows not on an edge, in all 4 bins at once" in text


def test_shared_edges_that_hold_much_have_bins_of_their_own():
    """Forty scores, 25 rows each: an edge's rows are no half bin, but 2.5 % of all."""
    atoms = np.arange(1, 41) / 41
    scores, labels = np.repeat(atoms, 25), [0, 1] * 500
    fit = dfu.histogram_binning(scores, labels, n_bins=10)
    assert fit.n_boundary == 0 and fit.n_bins == 19
    assert fit.bin_counts.tolist() == [100, 25] + [75, 25] * 8 + [75]
    assert "Edges" not in str(fit)
    fit.predict(scores)  # no warning: every row is in a bin
    # where edges hold a twentieth of the rows or less, they stay out
    scores = np.concatenate([scores, np.linspace(0.0, 1.0, 19_000)])
    fit = dfu.histogram_binning(scores, [0, 1] * 10_000, n_bins=10)
    assert fit.n_bins == 10


def test_cells_of_discrete_rows_have_parts_of_their_own():
    rng = np.random.default_rng(0)
    probs = rng.multinomial(12, [1 / 3] * 3, size=2000) / 12
    labels = rng.integers(0, 3, 2000)
    fit = dfu.histogram_binning(probs, labels, n_bins=8)
    assert fit.n_boundary <= 2000 / 20
    assert len(set(fit.cells)) == fit.n_bins
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bins = fit.assign(probs)
    inside = ~fit._on_edges(probs)
    assert (~inside).sum() == fit.n_boundary and len(caught) == (fit.n_boundary > 0)
    counts = np.bincount(bins[inside], minlength=fit.n_bins)
    assert counts.tolist() == fit.bin_counts.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_rows_on_edges_are_those_that_no_cell_counts(seed):
    """One coordinate of few values, whose rows are parts; the others are continuous."""
    rng = np.random.default_rng(seed)
    first = rng.choice([0.1, 0.3, 0.5], 300)
    share = rng.random(300)
    probs = np.column_stack([first, (1 - first) * share, (1 - first) * (1 - share)])
    cells, bins = balanced_cells(probs, 12, [0, 1, 2])
    excepted = cells.excepted_splits()
    assert 0 < excepted.sum() < excepted.size
    np.testing.assert_array_equal(cells.on_splits(probs, excepted), bins < 0)


def test_continuous_rows_may_be_predicted_themselves():
    """The rows that are edges are as many as there are edges: nothing to warn of."""
    scores = np.arange(1, 100) / 100
    fit = dfu.histogram_binning(scores, [0, 1, 0] * 33, n_bins=4)
    assert fit.n_boundary == fit.n_edges == 3
    fit.predict(scores)
    with pytest.warns(dfu.RowsOnEdgesWarning, match="6 of 198 rows"):
        fit.predict(np.tile(scores, 2))


def test_different_edges_look_different():
    scores = 1.0 - np.arange(1, 400) * 1e-7
    fit = dfu.histogram_binning(scores, [0, 1, 1] * 133, n_bins=5)
    assert len(set(fit.cells)) == 5
    assert "(1, 1]" not in fit.cells and fit.cells[-1].endswith(", 1]")


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_all_scores_equal(value):
    fit = dfu.histogram_binning(np.full(50, value), [0, 1] * 25, n_bins=10)
    bins = fit.assign([value])
    assert fit.bin_counts[bins[0]] == 50 and fit.bin_counts.sum() == 50
    assert fit.predict([value]).tolist() == [[0.5, 0.5]]
    assert fit.n_bins == (3 if 0 < value < 1 else 2)


def test_saturated_scores_have_bins_of_their_own():
    scores = np.concatenate([np.zeros(30), np.linspace(0.1, 0.9, 41), np.ones(40)])
    fit = dfu.histogram_binning(scores, np.zeros(111, dtype=int), n_bins=5)
    assert fit.cells[0] == "{0}" and fit.cells[-1] == "{1}"
    assert fit.bin_counts[0] == 30 and fit.bin_counts[-1] == 40


def test_order_statistics_of_many_values():
    rng = np.random.default_rng(0)
    for values in (
        rng.random(40_000),
        rng.random(40_000).astype(np.float32),
        rng.beta(0.01, 0.01, 40_000),
        np.round(rng.random(40_000), 3),
        1e-9 * rng.random(40_000),
    ):
        ranks = edge_ranks(values.size, 30)
        got, shared = order_statistics(values, ranks)
        np.testing.assert_array_equal(got, np.sort(values)[ranks - 1])
        assert shared.tolist() == [(values == x).sum() for x in got]


def test_edges_are_at_the_ranks_of_the_paper():
    assert edge_ranks(23, 5).tolist() == [5, 10, 15, 20]
    assert edge_ranks(9, 2).tolist() == [5]
    own = own_mass(np.arange(1, 10) / 10, 2)
    assert own.intervals.edges.tolist() == [0.5] and own.n_boundary == 1


@pytest.mark.parametrize("n, n_bins", [(1, 1), (2, 1), (3, 2), (5, 3), (18, 9)])
def test_fewer_rows_than_bins_make_fewer_bins(n, n_bins):
    scores = (np.arange(n) + 0.5) / n
    with pytest.warns(dfu.SmallCalibrationWarning, match=f"there will be {n_bins}"):
        fit = dfu.histogram_binning(scores, np.zeros(n, dtype=int), n_bins=10)
    assert fit.n_bins == n_bins and (fit.bin_counts > 0).all()
    fixed = dfu.histogram_binning(
        scores, np.zeros(n, dtype=int), n_bins=10, scheme="equal-width"
    )
    assert fixed.n_bins == 10


# -------------------------------------------------------------------------- simplex


def test_cells_are_balanced_and_described(rows):
    probs, labels = rows
    fit = dfu.histogram_binning(probs, labels, n_bins=6)
    assert fit.n_bins == 6 and fit.n_boundary == 5
    assert fit.bin_counts.sum() == 895 and np.ptp(fit.bin_counts) <= 2
    assert fit.edges is None
    # the description says where the rows are
    for cell, m in zip(fit.cells, range(6), strict=True):
        inside = np.ones(900, dtype=bool)
        for part in cell.split(", "):
            if " in " in part:  # "0 in (0.1, 0.2]" was cut at the comma
                continue
            words = part.split()
            if len(words) == 3 and words[1] in ("<=", ">"):
                x, t = probs[:, int(words[0])], float(words[2])
                inside &= x <= t + 1e-4 if words[1] == "<=" else x > t - 1e-4
        assert inside[fit.assign(probs) == m].all()


def test_first_split_by_hand():
    """Nine rows, two cells: the fifth of the first column is the boundary."""
    first = np.array([0.5, 0.1, 0.9, 0.3, 0.7, 0.2, 0.4, 0.6, 0.8])
    probs = np.column_stack([first, (1 - first) / 2, (1 - first) / 2])
    cells, bins = balanced_cells(probs, 2, range(3))
    assert cells.column.tolist() == [0] and cells.threshold.tolist() == [0.5]
    assert bins.tolist() == [-1, 0, 1, 0, 1, 0, 0, 1, 1]
    assert cells.describe(["a", "b", "c"]) == ["a <= 0.5", "a > 0.5"]


def test_coordinates_follow_the_schedule(rows):
    probs, labels = rows
    fit = dfu.histogram_binning(probs, labels, n_bins=4, coordinates=[2, 1, 0])
    assert fit.partition.column.tolist() == [2, 1, 0]
    turns = dfu.histogram_binning(probs, labels, n_bins=8)
    assert turns.partition.column.tolist() == [0, 1, 2, 0, 1, 2, 0]


def test_coordinates_come_from_where_other_rows_vary(rows):
    probs, labels = rows
    flat = np.full((200, 3), 1 / 3)
    flat[:, 1] += np.linspace(-0.3, 0.3, 200)
    flat[:, 2] -= np.linspace(-0.3, 0.3, 200)
    fit = dfu.histogram_binning(probs, labels, n_bins=2, partition_on=flat)
    assert fit.partition.column.tolist() == [1] and fit.n_chose == 200
    # the boundary is an order statistic of the calibration rows, not of the others
    assert fit.partition.threshold[0] in probs[:, 1] and fit.n_boundary == 1
    constant = dfu.histogram_binning(probs, labels, n_bins=4, partition_on=flat[:1])
    assert constant.partition.column.tolist() == [0, 1, 2]  # by the schedule


def test_ranks_come_from_where_other_rows_differ():
    """A tenth of the rows is sure of class 0: the first of ten splits parts these."""
    rng = np.random.default_rng(7)

    def sample(n):
        first = np.where(
            rng.random(n) < 0.1, rng.uniform(0.9, 1, n), 0.1 * rng.random(n)
        )
        rest = rng.dirichlet([1, 1], size=n) * (1 - first[:, None])
        return np.column_stack([first, rest])

    probs, others = sample(1000), sample(1000)
    cells, bins = balanced_cells(probs, 10, range(3), others)
    assert cells.column[0] == 0
    assert cells.threshold[0] == np.sort(probs[:, 0])[901 - 1]  # ceil(9 * 1001 / 10)
    counts = np.bincount(bins[bins >= 0], minlength=10)
    assert counts.min() >= 98


def test_rows_that_share_a_boundary_are_split_further():
    """Half of the rows have probability 0 of class 0: the rest is split by class 1."""
    rng = np.random.default_rng(1)
    probs = rng.dirichlet([1, 1, 1], size=400)
    probs[:240] = np.column_stack([np.zeros(240), rng.dirichlet([1, 1], size=240)])
    labels = rng.integers(0, 3, 400)
    fit = dfu.histogram_binning(probs, labels, n_bins=4)
    assert sum(cell.startswith("0 = 0, ") for cell in fit.cells) == 2
    assert (fit.bin_counts > 0).all()
    assert fit.bin_counts.sum() + fit.n_boundary == 400
    shared = fit.assign(probs[:240])
    assert set(shared).isdisjoint(fit.assign(probs[240:]))


def test_equal_rows_of_the_simplex():
    fit = dfu.histogram_binning([[0.2, 0.3, 0.5]] * 40, [0, 1, 2, 2] * 10, n_bins=8)
    (own,) = set(fit.assign([[0.2, 0.3, 0.5]]))
    assert fit.bin_counts[own] == 40
    assert fit.predict([[0.2, 0.3, 0.5]]).tolist() == [[0.25, 0.25, 0.5]]
    assert fit.cells[own] == "0 = 0.2, 1 = 0.3"


def test_many_classes_and_few_rows():
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.full(100, 0.1), size=5000).astype(np.float32)
    labels = probs.argmax(axis=1)
    fit = dfu.histogram_binning(probs, labels, n_bins=16)
    assert fit.bin_counts.min() >= 311 and fit.radius.max() <= 2
    new = fit.predict(probs[:50])
    assert new.dtype == np.float32
    np.testing.assert_allclose(new.sum(axis=1), 1, rtol=1e-6)


# -------------------------------------------------------------------- who may choose


def test_split_rows_choose_and_the_others_count(rows):
    probs, labels = rows
    for mode in ("canonical", "classwise", "top-label"):
        fit = dfu.histogram_binning(probs, labels, mode=mode, split=0.4, rng=0)
        assert (fit.n_chose, fit.n) == (360, 540)
        same = dfu.histogram_binning(probs, labels, mode=mode, split=0.4, rng=0)
        np.testing.assert_array_equal(fit.counts, same.counts)
    binary = dfu.histogram_binning(probs[:, 0], labels == 0, split=0.5, rng=1)
    assert binary.bin_counts.sum() == 450 and binary.n_boundary == 0
    assert "Rows that chose the bins:" in str(binary)


def test_other_rows_choose_the_edges_of_one_score():
    target = (np.arange(99) + 1) / 100
    fit = dfu.histogram_binning([0.3, 0.3, 0.8], [0, 1, 1], partition_on=target)
    np.testing.assert_allclose(fit.edges[1:-1], np.arange(1, 10) / 10)
    assert fit.bin_counts.sum() == 3 and fit.n_chose == 99


def test_guarantee_says_what_the_choice_needs(rows):
    probs, labels = rows
    own = dfu.histogram_binning(probs, labels)
    assert any("exactly on an edge" in need for need in own.guarantee.assumptions)
    others = dfu.histogram_binning(probs, labels, partition_on=probs)
    assert any("coordinates are independent" in n for n in others.guarantee.assumptions)
    fixed = dfu.histogram_binning(probs[:, 0], labels == 0, scheme="equal-width")
    assert any("without looking" in need for need in fixed.guarantee.assumptions)
    split = dfu.histogram_binning(probs[:, 0], labels == 0, split=0.5, rng=0)
    assert any("chose the bins are" in need for need in split.guarantee.assumptions)
    assert split.guarantee.confidence == 0.9
    assert split.guarantee.upper == split.largest_radius


# ------------------------------------------------------------------------------ modes


def test_two_classes_canonical_equals_the_binary_problem(rows):
    probs, labels = rows
    score, hit = probs[:, 0], (labels == 0).astype(int)
    vector = dfu.histogram_binning(score, hit, n_bins=5)
    matrix = dfu.histogram_binning(np.column_stack([1 - score, score]), hit, n_bins=5)
    np.testing.assert_array_equal(vector.counts, matrix.counts)
    np.testing.assert_array_equal(vector.radius, matrix.radius)
    classwise = dfu.histogram_binning(
        np.column_stack([1 - score, score]), hit, n_bins=5, mode="classwise", alpha=0.2
    )
    # two binnings of five bins each at twice the alpha: the same level in every bin
    np.testing.assert_array_equal(classwise.counts[:, 1], vector.counts[:, 1])
    np.testing.assert_allclose(classwise.radius[:, 1], vector.radius / 2)


def test_frequencies_times_counts_are_the_counts(rows):
    probs, labels = rows
    fit = dfu.histogram_binning(probs, labels)
    np.testing.assert_allclose(fit.frequencies * fit.bin_counts[:, None], fit.counts)
    assert fit.counts.dtype == np.int64
    for mode in ("classwise", "top-label"):
        fit = dfu.histogram_binning(probs, labels, mode=mode)
        np.testing.assert_allclose(fit.frequencies * fit.bin_counts, fit.counts)


def test_classwise_bins_each_class_by_itself(rows):
    probs, labels = rows
    fit = dfu.histogram_binning(probs, labels, mode="classwise", n_bins=4)
    assert fit.counts.shape == (4, 3) and fit.n_bins == 12
    for k in range(3):
        one = dfu.histogram_binning(probs[:, k], labels == k, n_bins=4)
        np.testing.assert_array_equal(fit.counts[:, k], one.counts[:, 1])
        np.testing.assert_array_equal(fit.edges[k], one.edges)
    new = fit.predict(probs[:5])
    bins = fit.assign(probs[:5])
    assert new[3, 2] == fit.frequencies[bins[3, 2], 2]
    assert not np.allclose(new.sum(axis=1), 1)


def test_renormalized_rows_sum_to_one_without_a_claim(rows):
    probs, labels = rows
    fit = dfu.histogram_binning(probs, labels, mode="classwise", renormalize=True)
    np.testing.assert_allclose(fit.predict(probs).sum(axis=1), 1)
    assert not fit.guarantee and "renormalised" in fit.guarantee.reason
    assert "none: the class-wise frequencies are renormalised" in str(fit)
    shifted = fit.under_label_shift([1, 2, 1])
    assert not shifted.guarantee


def test_renormalising_a_row_of_zeros_gives_the_prior():
    """No row of class 1 scores below 0.5 in either column: both frequencies are 0."""
    probs = [[0.1, 0.1, 0.8]] * 9 + [[0.8, 0.1, 0.1]] * 3 + [[0.1, 0.8, 0.1]] * 3
    labels = [2] * 9 + [0] * 3 + [1] * 3
    fit = dfu.histogram_binning(
        probs, labels, mode="classwise", scheme=[0.5], renormalize=True
    )
    new = fit.predict([[0.34, 0.33, 0.33]])
    np.testing.assert_allclose(new, [[0.2, 0.2, 0.6]])


def test_classes_with_fewer_bins_are_padded():
    rng = np.random.default_rng(3)
    probs = rng.dirichlet([1, 1, 1], size=200)
    probs[:, 0] = np.round(probs[:, 0])  # two values
    probs[:, 1:] *= (1 - probs[:, :1]) / probs[:, 1:].sum(axis=1, keepdims=True)
    fit = dfu.histogram_binning(probs, rng.integers(0, 3, 200), mode="classwise")
    sizes = [ends.size - 1 for ends in fit.edges]
    assert sizes[0] < sizes[1] and fit.n_bins == sum(sizes)
    assert len(fit.to_frame()) == fit.n_bins == len(fit.cells)
    assert np.isnan(fit.frequencies[-1, 0]) and fit.radius[-1, 0] == 1
    assert np.isfinite(fit.predict(probs)).all()


def test_top_label_by_hand():
    probs = [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.0, 0.9], [0.0, 1.0, 0.0]]
    fit = dfu.histogram_binning(
        probs, [0, 0, 2, 1], mode="top-label", scheme=[0.65, 0.8]
    )
    assert fit.bin_counts.tolist() == [1, 1, 2] and fit.counts.tolist() == [1, 0, 2]
    assert fit.frequencies.tolist() == [1.0, 0.0, 1.0]
    assert float(fit.fallback) == 0.75
    new = fit.predict([[0.2, 0.7, 0.1], [0.1, 0.9, 0.0], [0.6, 0.3, 0.1]])
    np.testing.assert_allclose(new[0], [2 / 3, 0, 1 / 3])
    np.testing.assert_allclose(new[1:], [[0, 1, 0], [1, 0, 0]])


def test_top_label_that_is_certain_leaves_the_rest_evenly():
    fit = dfu.histogram_binning(
        [[1.0, 0.0, 0.0]] * 4, [0, 0, 1, 2], mode="top-label", scheme=[0.5]
    )
    np.testing.assert_allclose(fit.predict([[0, 0, 1.0]]), [[0.25, 0.25, 0.5]])


# ----------------------------------------------------------------- given partitions


def test_given_function():
    probs = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.3, 0.6, 0.1]]
    fit = dfu.histogram_binning(
        probs, [0, 1, 2, 0], n_bins=4, scheme=lambda p: p.argmax(axis=1)
    )
    assert fit.counts.tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert fit.assign(probs).tolist() == [0, 1, 2, 1]
    assert fit.cells[3] == "bin 3" and "given function" in str(fit)
    with pytest.raises(dfu.InputError, match="a file holds no code"):
        fit.save("anywhere.npz")


@pytest.mark.parametrize(
    "function, got",
    [
        (lambda p: p, "shape"),
        (lambda p: p[:, 0], "dtype"),
        (lambda p: np.full(len(p), 4), "4 for row 0"),
        (lambda p: np.full(len(p), -1), "-1 for row 0"),
        (lambda p: "no bins", "no bins"),
    ],
)
def test_bad_functions_are_told(function, got):
    with pytest.raises(dfu.InputError, match=got):
        dfu.histogram_binning([[0.2, 0.3, 0.5]] * 3, [0] * 3, n_bins=4, scheme=function)


# ------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    "arguments, parameter",
    [
        ({"mode": "joint"}, "mode"),
        ({"scheme": "kmeans"}, "scheme"),
        ({"scheme": "equal-width"}, "scheme"),
        ({"scheme": [0.5]}, "scheme"),
        ({"scheme": [0.5, 0.4], "mode": "classwise"}, "scheme"),
        ({"scheme": [0.5, 1.5], "mode": "classwise"}, "scheme"),
        ({"scheme": lambda p: p, "mode": "classwise"}, "scheme"),
        ({"bound": "magic"}, "bound"),
        ({"bound": "bernstein"}, "bound"),
        ({"n_bins": 0}, "n_bins"),
        ({"alpha": 0.0}, "alpha"),
        ({"split": 1.5}, "split"),
        ({"split": 0.0001}, "split"),
        ({"split": 0.5, "partition_on": [[0.2, 0.3, 0.5]]}, "split"),
        ({"split": 0.5, "scheme": [0.5], "mode": "classwise"}, "scheme"),
        ({"partition_on": np.empty((0, 3))}, "partition_on"),
        ({"partition_on": [[0.5, 0.5]]}, "partition_on"),
        ({"coordinates": [0, 3]}, "coordinates"),
        ({"coordinates": []}, "coordinates"),
        ({"coordinates": [0.5]}, "coordinates"),
        ({"coordinates": [0], "mode": "top-label"}, "coordinates"),
        ({"renormalize": True}, "renormalize"),
        ({"weight_bound": 2.0}, "weight_bound"),
        ({"sample_weight": np.ones(900), "weight_bound": 0.5}, "weight_bound"),
        ({"sample_weight": np.ones(900), "bound": "clopper-pearson"}, "bound"),
        ({"sample_weight": np.zeros(900)}, "sample_weight"),
        ({"rng": "seed", "split": 0.5}, "rng"),
    ],
)
def test_bad_arguments_are_told(rows, arguments, parameter):
    with pytest.raises(dfu.InputError, match=f"'{parameter}' parameter"):
        dfu.histogram_binning(*rows, **arguments)


def test_no_rows_are_told():
    with pytest.raises(dfu.InputError, match="at least one row"):
        dfu.histogram_binning(np.empty((0, 3)), [])


# ---------------------------------------------------------------------------- results


@pytest.mark.parametrize("mode", ["canonical", "classwise", "top-label"])
@pytest.mark.parametrize("shifted", [False, True])
def test_results_print_save_and_plot(rows, mode, shifted, tmp_path):
    probs, labels = rows
    fit = dfu.histogram_binning(probs, labels, mode=mode, n_bins=5)
    if shifted:
        fit = fit.under_label_shift(dfu.Box([0.9, 0.4, 1.0], [1.1, 0.6, 1.5], True))
    fit.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(again.predict(probs), fit.predict(probs))
    assert str(again) == str(fit) and repr(again) == repr(fit)
    assert fit.to_frame().equals(again.to_frame())
    text = str(fit)
    assert "at once" in text and fit.bound in text
    assert "Guarantee" in fit.summary().as_html() and fit.summary().as_latex()
    ax = fit.plot()
    ax.figure.canvas.draw()
    assert f"{fit.n_bins} bins" in ax.get_title()
    with pytest.raises(ValueError, match="read-only"):
        fit.frequencies[0] = 0


def test_a_vacuous_table_says_so_and_how_many_rows_would_do():
    """One row in each bin: about as many as halve Weissman's radius of the two."""
    fit = dfu.histogram_binning([0.2, 0.7], [0, 1], scheme=[0.5], alpha=0.1)
    text = " ".join(str(fit).split())
    assert fit.radius.max() < 2.0 and "acuous" not in text
    hoeffding = dfu.histogram_binning(
        [0.2, 0.7], [0, 1], scheme=[0.5], alpha=0.1, bound="hoeffding"
    )
    text = " ".join(str(hoeffding).split())
    assert "(vacuous: the radius is the trivial 2 in every bin)" in text
    # sqrt(2 ln(M (2^K - 2) / alpha) / N) = 1 for N = 2 ln(40) = 7.4 rows in each bin
    assert "about 15 rows in place of 2 would bring every bin's to 1" in text
    fifteen = dfu.bounds.binning_weissman(7.5, 2, 2, 0.1)
    assert 0.95 < fifteen <= 1.0


def test_empty_bins_are_shown_as_empty():
    fit = dfu.histogram_binning([0.1, 0.9], [0, 1], n_bins=3, scheme="equal-width")
    assert np.isnan(fit.frequencies[1]).all() and fit.radius[1] == 2
    assert fit.to_frame()["n"].tolist() == [1, 0, 1]
    assert "bins without rows: 1" in str(fit)
    ax = fit.plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "no rows" in labels
    (points,) = [c for c in ax.containers if c.has_yerr]
    assert points.lines[0].get_xdata().tolist() == [0.1, 0.9]


def test_named_classes(rows):
    probs, labels = rows
    names = np.array(["ash", "birch", "elm"])
    fit = dfu.histogram_binning(probs, names[labels], classes=list(names), n_bins=4)
    assert fit.cells[0].startswith("ash <= ")
    assert "frequency[elm]" in fit.to_frame()
    same = dfu.histogram_binning(probs, labels, n_bins=4)
    np.testing.assert_array_equal(fit.counts, same.counts)
