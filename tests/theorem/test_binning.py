"""Bounds for all bins at once, on the source and the target.

Theorems 3 and 4 of Podkopaev & Ramdas (2021). A draw fails if any bin's error exceeds
its radius. All claims of this file together raise a false alarm with probability at
most 1e-6.
"""

import numpy as np
import pytest
from scipy import stats

import distfreeuq as dfu
from distfreeuq import bounds, scenarios
from distfreeuq.binning.balanced_splits import balanced_cells
from distfreeuq.binning.label_shift_bins import TargetWeights, reweighted, target_radii
from distfreeuq.binning.radii import BOUNDS, WEIGHTED_BOUNDS, multinomial_radii
from tests.theorem.binomial import Judge, RefutedError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def judge():
    return Judge(claims=150)


# ------------------------------------------------------------ Theorem 3, fixed bins

N_DRAWS = 1000


def count_tables(n_bins, n_classes, n, seed):
    """Draw label counts (draws, M, K) in bins of unlike masses; truth (M, K)."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(n_classes, 0.7), size=n_bins)
    masses = rng.dirichlet(np.full(n_bins, 5.0))
    sizes = rng.multinomial(n, masses, size=N_DRAWS)
    by_bin = [rng.multinomial(sizes[:, m], truth[m]) for m in range(n_bins)]
    return np.stack(by_bin, axis=1), truth


def errors(counts, truth):
    sizes = counts.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        distances = np.abs(counts / sizes - truth).sum(axis=-1)
    return np.nan_to_num(distances, nan=0.0)  # an empty bin makes no statement


def radii_of(counts, alpha, bound):
    """Return every draw's radii (draws, M)."""
    n_draws, n_bins, n_classes = counts.shape
    flat = counts.reshape(-1, n_classes)
    return multinomial_radii(flat, n_bins, alpha, bound).radius.reshape(n_draws, n_bins)


@pytest.mark.parametrize("n", [100, 2000])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("n_bins", [5, 20])
def test_every_bound_holds_in_all_bins_at_once(judge, n_bins, n_classes, n):
    counts, truth = count_tables(n_bins, n_classes, n, seed=n_bins + n_classes)
    error = errors(counts, truth)
    for bound in BOUNDS:
        radius = radii_of(counts, 0.1, bound)
        failed = (error > radius).any(axis=1)
        judge.at_most(int(failed.sum()), N_DRAWS, 0.1)
    # the total in place of the bin's own count
    broken = bounds.binning_hoeffding(n, n_bins, n_classes, 0.1)
    failed = (error > broken).any(axis=1)
    with pytest.raises(RefutedError):
        judge.at_most(int(failed.sum()), N_DRAWS, 0.1)


def test_one_bin_at_a_time_is_not_all_at_once(judge):
    """Without the union over bins the exact bound fails: it is nearly sharp."""
    counts, truth = count_tables(20, 2, 4000, seed=1)
    radius = multinomial_radii(counts.reshape(-1, 2), 1, 0.1, "clopper-pearson").radius
    failed = (errors(counts, truth) > radius.reshape(N_DRAWS, 20)).any(axis=1)
    with pytest.raises(RefutedError):
        judge.at_most(int(failed.sum()), N_DRAWS, 0.1)


# ----------------------------------------- bins at the rows' own order statistics


def square(s):
    """P(Y = 1 | score): the classifier that says s is wrong."""
    return s**2


def mean_square(a, b):
    return (b**3 - a**3) / (3 * (b - a))


@pytest.mark.parametrize("mode", ["canonical", "classwise"])
def test_no_split_is_needed_for_uniform_mass(judge, mode):
    rng = np.random.default_rng(2)
    n_draws, alpha, failed = 600, 0.3, 0
    for _ in range(n_draws):
        scores = rng.random(150)
        labels = (rng.random(150) < square(scores)).astype(int)
        fit = dfu.histogram_binning(scores, labels, n_bins=5, mode=mode, alpha=alpha)
        if mode == "canonical":
            truth = mean_square(fit.edges[:-1], fit.edges[1:])
            failed += (2 * np.abs(fit.frequencies[:, 1] - truth) > fit.radius).any()
            continue
        zero, one = fit.edges
        truth = [
            1 - mean_square(1 - zero[1:], 1 - zero[:-1]),
            mean_square(one[:-1], one[1:]),
        ]
        failed += (np.abs(fit.frequencies - np.stack(truth, 1)) > fit.radius).any()
    judge.at_most(int(failed), n_draws, alpha)


@pytest.mark.filterwarnings("ignore::distfreeuq.RowsOnEdgesWarning")
@pytest.mark.parametrize("n_values", [7, 200])
def test_ties_need_no_split_either(judge, n_values):
    """Scores from a grid: edges that many rows share, or a few."""
    rng = np.random.default_rng(3)
    grid = (np.arange(n_values) + 1) / (n_values + 1)
    chance = np.where(np.arange(n_values) % 2 == 0, 0.1, 0.9)  # neighbours differ
    n_draws, alpha, failed = 600, 0.3, 0
    for _ in range(n_draws):
        values = rng.integers(0, n_values, 150)
        labels = (rng.random(150) < chance[values]).astype(int)
        fit = dfu.histogram_binning(grid[values], labels, n_bins=5, alpha=alpha)
        bins = fit.assign(grid)
        # new rows on edges that are no bins are excepted from the claim
        own_bin = fit.edges[bins] == fit.edges[bins + 1]
        counted = own_bin | ~np.isin(grid, fit.edges)
        for m in range(fit.n_bins):
            inside = counted & (bins == m)
            if fit.bin_counts[m] and inside.any():
                error = abs(fit.frequencies[m, 1] - chance[inside].mean())
                if 2 * error > fit.radius[m]:
                    failed += 1
                    break
    judge.at_most(failed, n_draws, alpha)


# --------------------------------------------------------- cells of the simplex

MANY, SPARSE = 50, 0.05


def sparse_rows(n, generator):
    return generator.dirichlet(np.full(MANY, SPARSE), size=n)


def excess_draws(n_draws, others_of, seed):
    """Return in how many draws a cell holds too many rows of its own split's class.

    The last split of a random cell was along some class; rows above it are compared
    with fresh rows above it by Fisher's exact test at 5 %. If the cell's rows are draws
    from the cell, at most 5 % of the tests reject, whatever the tree.
    """
    generator = np.random.default_rng(seed)
    fresh = sparse_rows(40_000, generator)
    rejected = 0
    for _ in range(n_draws):
        rows = sparse_rows(80, generator)
        cells, bins = balanced_cells(
            rows, 4, generator.permutation(MANY), others_of(rows, generator)
        )
        last = generator.choice(np.flatnonzero((cells.child < 0).all(axis=1)))
        own, label = -1 - cells.child[last, 1], cells.column[last]
        inside, outside = rows[bins == own], fresh[cells.assign(fresh) == own]
        hits = (inside.argmax(axis=1) == label).sum()
        others = (outside.argmax(axis=1) == label).sum()
        n, total = len(inside), len(inside) + len(outside)
        rejected += stats.hypergeom.sf(hits - 1, total, hits + others, n) < 0.05
    return rejected


@pytest.mark.parametrize(
    "others_of",
    [lambda rows, g: None, lambda rows, g: sparse_rows(80, g)],
    ids=["schedule", "other rows"],
)
def test_rows_of_a_cell_are_draws_from_it(judge, others_of):
    judge.at_most(excess_draws(200, others_of, seed=4), 200, 0.05)


def test_coordinates_by_the_rows_own_spread_are_caught(judge):
    rejected = excess_draws(200, lambda rows, g: rows, seed=5)
    with pytest.raises(RefutedError):
        judge.at_most(rejected, 200, 0.05)


TOY = scenarios.three_gaussians()


@pytest.fixture(scope="module")
def large():
    """Large samples of both domains: the classifier's probabilities and the truth."""
    samples = {}
    for domain in ("source", "target"):
        x, _ = TOY.sample(60_000, domain, rng=6)
        samples[domain] = TOY.posterior(x), TOY.posterior(x, domain)
    return samples


def truth_in_bins(fit, sample):
    """Return the mean of the true posteriors in each bin, and of how many rows."""
    probs, posterior = sample
    bins = fit.assign(probs)
    n = np.bincount(bins, minlength=fit.n_bins)
    sums = [np.bincount(bins, weights=p, minlength=fit.n_bins) for p in posterior.T]
    return np.stack(sums, axis=1) / np.maximum(n, 1)[:, None], n


SLACK = 0.02
"""More than six standard errors of the truth, a mean over thousands of rows."""


def source_rows(generator, n=300):
    x, labels = TOY.sample(n, "source", rng=generator)
    return TOY.posterior(x), labels


@pytest.mark.parametrize("with_others", [False, True])
def test_theorem_3_for_cells_without_a_split(judge, large, with_others):
    generator = np.random.default_rng(7)
    n_draws, alpha, failed, too_small = 150, 0.3, 0, 0
    for i in range(n_draws):
        probs, labels = source_rows(generator)
        others = large["target"][0][50 * i : 50 * (i + 1)] if with_others else None
        fit = dfu.histogram_binning(
            probs, labels, n_bins=6, alpha=alpha, partition_on=others
        )
        truth, n = truth_in_bins(fit, large["source"])
        assert n.min() > 1000
        error = np.abs(fit.frequencies - truth).sum(axis=1)
        failed += (error > fit.radius + SLACK).any()
        too_small += (error > fit.radius / 3).any()
    judge.at_most(int(failed), n_draws, alpha)
    with pytest.raises(RefutedError):  # a third of the radius is not enough
        judge.at_most(int(too_small), n_draws, alpha)


# --------------------------------------------------------------- Theorem 4, repaired


@pytest.mark.parametrize("weights", [[3.0, 0.4, 1.2], [2.0, 2.0, 0.0], [0.2, 5.0, 1.0]])
def test_theorem_4_with_known_weights(judge, weights):
    w = np.array(weights)
    counts, truth = count_tables(8, 3, 1500, seed=8)
    flat = counts.reshape(-1, 3)
    sizes = flat.sum(axis=1, keepdims=True)
    frequencies = flat / np.maximum(sizes, 1)
    on_target = np.tile(reweighted(truth, w), (N_DRAWS, 1))

    def failures(used, radius_of):
        estimate = reweighted(frequencies, used)
        error = np.abs(estimate - on_target).sum(axis=1)
        failed = np.nan_to_num(error, nan=0.0) > radius_of(estimate)
        return int(failed.reshape(N_DRAWS, 8).any(axis=1).sum())

    known = TargetWeights(w, dfu.Box(w, w, True), None, "known", 0.0)

    def repaired(bound):
        source = multinomial_radii(flat, 8, 0.1, bound)
        return lambda p: target_radii(p, frequencies, source, known)[0].radius

    for bound in ("auto", "hoeffding"):
        judge.at_most(failures(w, repaired(bound)), N_DRAWS, 0.1)
    kappa = bounds.condition_number(w)
    if kappa > 1:
        source = multinomial_radii(flat, 8, 0.1, "auto").radius
        with pytest.raises(RefutedError):  # kappa upside down
            judge.at_most(failures(w, lambda p: source / kappa), N_DRAWS, 0.1)
        with pytest.raises(RefutedError):  # p/q in place of q/p
            judge.at_most(failures(1 / w, repaired("auto")), N_DRAWS, 0.1)


def test_theorem_4_with_estimated_weights(judge, large):
    """BBSE's weights and its exact region, from the same rows as the frequencies."""
    generator = np.random.default_rng(9)
    n_draws, alpha, delta = 60, 0.2, 0.2
    failed = uncorrected = 0
    for i in range(n_draws):
        probs, labels = source_rows(generator, 1500)
        fit = dfu.histogram_binning(probs, labels, n_bins=4, alpha=alpha)
        unlabelled = large["target"][0][500 * i : 500 * (i + 1)]
        estimate = dfu.bbse(probs, labels, unlabelled)
        shifted = fit.under_label_shift(estimate, delta=delta)
        truth, _ = truth_in_bins(fit, large["target"])
        error = np.abs(shifted.frequencies - truth).sum(axis=1)
        failed += (error > shifted.radius + SLACK).any()
        error = np.abs(fit.frequencies - truth).sum(axis=1)
        uncorrected += (error > fit.radius).any()
    assert shifted.guarantee.confidence == pytest.approx(1 - alpha - delta)
    judge.at_most(int(failed), n_draws, alpha + delta)
    with pytest.raises(RefutedError):
        judge.at_most(int(uncorrected), n_draws, alpha + delta)


def test_two_classes_with_estimated_weights(judge):
    toy = scenarios.binary_gaussians()
    x, _ = toy.sample(60_000, "target", rng=10)
    target = toy.posterior(x)[:, 1], toy.posterior(x, "target")[:, 1]
    generator = np.random.default_rng(11)
    n_draws, alpha, delta, failed, inverted = 60, 0.2, 0.2, 0, 0
    for i in range(n_draws):
        x, labels = toy.sample(1500, "source", rng=generator)
        probs = toy.posterior(x)[:, 1]
        fit = dfu.histogram_binning(probs, labels, n_bins=5, alpha=alpha)
        estimate = dfu.bbse(probs, labels, target[0][500 * i : 500 * (i + 1)])
        shifted = fit.under_label_shift(estimate, delta=delta)
        bins = fit.assign(target[0])
        truth = np.bincount(bins, weights=target[1]) / np.bincount(bins)
        error = 2 * np.abs(shifted.frequencies[:, 1] - truth)
        failed += (error > shifted.radius + SLACK).any()
        inverse = fit.under_label_shift(1 / estimate.label_weight)
        error = 2 * np.abs(inverse.frequencies[:, 1] - truth)
        inverted += (error > inverse.radius).any()
    judge.at_most(int(failed), n_draws, alpha + delta)
    with pytest.raises(RefutedError):
        judge.at_most(int(inverted), n_draws, alpha + delta)


@pytest.mark.parametrize("mode", ["classwise", "top-label"])
def test_one_probability_per_bin_under_label_shift(judge, large, mode):
    generator = np.random.default_rng(12)
    probs_target, posterior = large["target"]
    top = probs_target.argmax(axis=1)
    n_draws, alpha, failed, uncorrected = 80, 0.3, 0, 0
    for _ in range(n_draws):
        fit = dfu.histogram_binning(
            *source_rows(generator, 600), n_bins=4, mode=mode, alpha=alpha
        )
        shifted = fit.under_label_shift(TOY.label_weight)
        bins = fit.assign(probs_target)
        if mode == "top-label":
            bins, events = bins[:, None], posterior[np.arange(top.size), top][:, None]
        else:
            events = posterior
        truth = np.stack(
            [
                np.bincount(b, weights=e) / np.bincount(b)
                for b, e in zip(bins.T, events.T, strict=True)
            ],
            axis=1,
        ).reshape(shifted.frequencies.shape)
        failed += (np.abs(shifted.frequencies - truth) > shifted.radius + SLACK).any()
        uncorrected += (np.abs(fit.frequencies - truth) > fit.radius).any()
    judge.at_most(int(failed), n_draws, alpha)
    with pytest.raises(RefutedError):
        judge.at_most(int(uncorrected), n_draws, alpha)


# ------------------------------------------------------------ known, bounded w(x)


@pytest.mark.parametrize("bound", WEIGHTED_BOUNDS)
def test_weighted_rows_with_the_true_ratio(judge, bound):
    """Source scores U(0, 1), target density 2s: the ratio is 2s, at most 2."""
    generator = np.random.default_rng(13)
    n_draws, alpha, failed, unweighted = 300, 0.3, 0, 0
    edges = np.array([0.0, 0.6, 1.0])
    truth = (edges[1:] ** 4 - edges[:-1] ** 4) / (
        2 * (edges[1:] ** 2 - edges[:-1] ** 2)
    )
    for _ in range(n_draws):
        scores = generator.random(800)
        labels = (generator.random(800) < square(scores)).astype(int)
        fit = dfu.histogram_binning(
            scores,
            labels,
            scheme=edges,
            sample_weight=2 * scores,
            weight_bound=2.0,
            bound=bound,
            alpha=alpha,
        )
        failed += (2 * np.abs(fit.frequencies[:, 1] - truth) > fit.radius).any()
        plain = dfu.histogram_binning(scores, labels, scheme=edges, alpha=alpha)
        unweighted += (2 * np.abs(plain.frequencies[:, 1] - truth) > plain.radius).any()
    judge.at_most(int(failed), n_draws, alpha)
    with pytest.raises(RefutedError):
        judge.at_most(int(unweighted), n_draws, alpha)
