"""Mixture kernels equal their definitions; estimates obey what defines them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq._kernels import _mixture as kernels
from distfreeuq._numerics.matrices.spd import factor_if_regular
from distfreeuq._numerics.mixture_likelihood import maximize_likelihood
from distfreeuq._numerics.passes.class_rows import RowsInMemory
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.inference.finite_sample_regions import exact_region
from distfreeuq.label_shift.linear_solution import invertibility, normalize, solve
from distfreeuq.label_shift.regularized_solution import minimize_regularized
from distfreeuq.label_shift.scalings.bcts import FLOOR, fit_bcts, loss_sums
from tests import reference_kernels as twin
from tests.property.strategies import scored_rows

CLOSE = {"rtol": 1e-12, "atol": 1e-12}


@st.composite
def weighted_rows(draw):
    """Draw rows with labels and whole-number weights, some of them zero."""
    rows = draw(scored_rows(max_rows=8))
    size = {"min_size": len(rows.labels), "max_size": len(rows.labels)}
    weights = draw(st.lists(st.integers(0, 3), **size))
    return rows, np.array(weights, dtype=np.float64)


@given(scored_rows())
def test_predictions_are_the_first_largest_entry(rows):
    out = np.full(len(rows.labels), -7, dtype=np.int64)
    assert kernels._predict_rows(rows.probs, 1e-3, out, 1) == -1
    np.testing.assert_array_equal(out, twin.argmax_rows(rows.probs))


@given(scored_rows(), st.integers(0, 2**32 - 1))
def test_reweighted_rows_equal_the_definition(rows, seed):
    rng = np.random.default_rng(seed)
    factors = rng.exponential(size=rows.n_classes)
    factors[rng.random(rows.n_classes) < 0.4] = 0.0
    out = np.full_like(rows.probs, np.nan)
    assert kernels._reweight_rows(rows.probs, factors, 1e-3, out, 1) == -1
    want = twin.reweight_rows(rows.probs, factors)
    tolerance = 1e-14 if rows.probs.dtype == np.float64 else 1e-6
    np.testing.assert_allclose(out, want, rtol=tolerance, atol=1e-300)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.25, 0.75])
@pytest.mark.parametrize("shape", [(300, 3), (300, 24), (300, 25), (90, 1000)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_checked_on_the_way(shape, dtype, bad):
    n, k = shape
    probs = np.full(shape, 1.0 / k, dtype=dtype)
    predicted, out = np.empty(n, dtype=np.int64), np.empty_like(probs)
    for row in (0, 63, n - 1):
        spoilt = probs.copy()
        spoilt[row, k - 1] = bad
        spoilt[row:, 0] = bad  # the first one counts
        for threads in (1, 3):
            assert kernels._predict_rows(spoilt, 1e-4, predicted, threads) == row
            got = kernels._reweight_rows(spoilt, np.ones(k), 1e-4, out, threads)
            assert got == row == twin.first_bad_row(spoilt, True, 1e-4)


@given(weighted_rows(), st.integers(1, 4))
def test_class_sums_equal_the_definition(drawn, n_blocks):
    rows, weight = drawn
    partial = np.zeros((n_blocks, rows.n_classes, rows.n_classes))
    kernels._sum_by_class(rows.probs, rows.labels, weight, partial, 1)
    want = twin.sum_by_class(rows.probs, rows.labels, weight)
    np.testing.assert_allclose(partial.sum(axis=0), want, **CLOSE)
    for some in (weight, np.empty(0)):  # no weights: every row once; no labels: all 0
        once = np.zeros((n_blocks, 1, rows.n_classes))
        kernels._sum_by_class(rows.probs, np.empty(0, np.int64), some, once, 1)
        want = (some if some.size else np.ones_like(weight)) @ rows.probs.astype(float)
        np.testing.assert_allclose(once.sum(axis=0)[0], want, **CLOSE)


@given(weighted_rows(), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_mixture_likelihood_equals_the_definition(drawn, n_blocks, seed):
    rows, weight = drawn
    rng = np.random.default_rng(seed)
    class_weight = rng.exponential(size=rows.n_classes)
    class_weight[rng.random(rows.n_classes) < 0.3] = 0.0
    density = np.full(len(weight), np.nan)
    partial = np.zeros((n_blocks, rows.n_classes + 2))
    kernels._mixture_likelihood(rows.probs, weight, class_weight, density, partial, 1)
    want_density, want = twin.mixture_likelihood(rows.probs, weight, class_weight)
    np.testing.assert_allclose(density, want_density, **CLOSE)
    np.testing.assert_allclose(partial.sum(axis=0), want, rtol=1e-10, atol=1e-10)
    # without weights every row counts once
    once = [np.zeros_like(partial), np.zeros_like(partial)]
    for weights, sums in zip((np.empty(0), np.ones_like(weight)), once, strict=True):
        kernels._mixture_likelihood(rows.probs, weights, class_weight, density, sums, 1)
    np.testing.assert_array_equal(*once)


def draw_calibration(rng, n_classes):
    bias = rng.normal(size=n_classes)
    bias[1:][rng.random(n_classes - 1) < 0.2] = -np.inf
    return float(rng.uniform(-0.5, 3.0)), bias


@given(scored_rows(), st.integers(0, 2**32 - 1))
def test_scaled_rows_equal_the_definition(rows, seed):
    slope, bias = draw_calibration(np.random.default_rng(seed), rows.n_classes)
    out = np.full_like(rows.probs, np.nan)
    kernels._scale_rows(rows.probs, slope, bias, FLOOR, out, 1)
    want = twin.scale_rows(rows.probs, slope, bias, FLOOR)
    tolerance = 1e-11 if rows.probs.dtype == np.float64 else 2e-7
    np.testing.assert_allclose(out, want, rtol=tolerance, atol=1e-300)
    np.testing.assert_allclose(out.sum(axis=1), 1.0, atol=1e-6)


@given(weighted_rows(), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_the_loss_and_its_derivatives_equal_the_definition(drawn, n_blocks, seed):
    rows, weight = drawn
    slope, bias = draw_calibration(np.random.default_rng(seed), rows.n_classes)
    labels = np.where(np.isfinite(bias[rows.labels]), rows.labels, 0)
    by_slope = np.full(len(labels), np.nan)
    partial = np.zeros((n_blocks, 2 * rows.n_classes + 3))
    kernels._scaled_likelihood(
        rows.probs, labels, weight, slope, bias, FLOOR, by_slope, partial, 1
    )
    want_by_slope, want = twin.scaled_likelihood(
        rows.probs, labels, weight, slope, bias, FLOOR
    )
    np.testing.assert_allclose(by_slope, want_by_slope, rtol=1e-10, atol=1e-10)
    # the twin takes the logarithm of a probability that may have underflowed to 0
    finite = np.isfinite(want)
    np.testing.assert_allclose(
        partial.sum(axis=0)[finite], want[finite], rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(40_000, 3), (3_000, 101)])
def test_threads_change_no_bit(dtype, shape):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(shape[1], 0.3), size=shape[0]).astype(dtype)
    labels = rng.integers(0, shape[1], shape[0])
    weight = rng.integers(0, 3, shape[0]).astype(np.float64)
    k = shape[1]

    def run(threads):
        arrays = [
            np.empty(shape[0], dtype=np.int64),
            np.zeros((7, k, k)),
            np.empty(shape[0]),
            np.zeros((7, k + 2)),
            np.empty_like(probs),
            np.empty(shape[0]),
            np.zeros((7, 2 * k + 3)),
            np.empty_like(probs),
        ]
        ones = np.ones(k)
        kernels._predict_rows(probs, 1e-3, arrays[0], threads)
        kernels._reweight_rows(probs, ones + 1.0, 1e-3, arrays[7], threads)
        kernels._sum_by_class(probs, labels, weight, arrays[1], threads)
        kernels._mixture_likelihood(probs, weight, ones, *arrays[2:4], threads)
        kernels._scale_rows(probs, 0.7, ones, FLOOR, arrays[4], threads)
        kernels._scaled_likelihood(
            probs, labels, weight, 0.7, ones, FLOOR, *arrays[5:7], threads
        )
        return arrays

    of_one = run(1)
    for one, three in zip(of_one, run(3), strict=True):
        np.testing.assert_array_equal(one, three)
    np.testing.assert_array_equal(of_one[0], probs.argmax(axis=1))
    np.testing.assert_allclose(of_one[2], probs.sum(axis=1, dtype=np.float64))
    np.testing.assert_allclose(of_one[4].sum(axis=1), 1.0, atol=1e-5)


def test_empty_matrices_are_no_work():
    none = np.empty((0, 3))
    partial = np.zeros((1, 3, 3))
    kernels._predict_rows(none, 1e-6, np.empty(0, dtype=np.int64), 1)
    kernels._sum_by_class(none, np.empty(0, np.int64), np.empty(0), partial, 1)
    assert not partial.any()


# ------------------------------------------------------------------------ estimates

counts = st.integers(2, 4).flatmap(
    lambda k: st.tuples(
        st.lists(st.integers(0, 9), min_size=k * k, max_size=k * k).filter(any),
        st.lists(st.integers(0, 9), min_size=k, max_size=k).filter(any),
    )
)


@given(counts)
@settings(max_examples=200)
def test_hard_bbse_solves_its_equation_or_says_it_cannot(drawn):
    joint, target = np.array(drawn[0]), np.array(drawn[1])
    k = target.size
    confusion = Confusion(
        joint.reshape(k, k), target, int(joint.sum()), int(target.sum()), False
    )
    raw = solve(confusion)
    if raw is None:
        assert np.linalg.matrix_rank(confusion.matrix) < k
        assert invertibility(confusion).condition_number == np.inf
        return
    # counts below 10 have determinants of at least one, if any
    np.testing.assert_allclose(
        confusion.matrix @ raw, confusion.frequencies, rtol=1e-7, atol=1e-9
    )
    prior = confusion.matrix.sum(axis=0)
    assert prior @ normalize(raw, prior) == pytest.approx(1.0)
    if (raw >= 0).all():
        # the solution for the observed counts is compatible with their intervals
        assert exact_region(confusion, 0.1).contains(raw)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.booleans())
@settings(max_examples=150)
def test_the_regularised_solution_is_stationary(seed, k, singular):
    rng = np.random.default_rng(seed)
    c = rng.dirichlet(np.full(k * k, 0.5)).reshape(k, k)
    if singular:
        c[:, 0] = 0.0
    b = rng.normal(size=k) * 0.1
    delta = float(10.0 ** rng.uniform(-4, 0))
    theta = minimize_regularized(c, b, delta)

    def objective(t):
        return np.linalg.norm(c @ t - b) + delta * np.linalg.norm(t)

    best = objective(theta)
    for size in (1e-1, 1e-3, 1e-5):
        for direction in rng.normal(size=(20, k)):
            assert objective(theta + size * direction) >= best - 1e-13


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 40))
@settings(max_examples=150)
def test_the_likelihood_is_maximal_to_the_optimality_conditions(seed, k, m):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(k, 0.5), size=m)
    prior = rng.dirichlet(np.full(k, 2.0))
    weight = rng.integers(0, 3, m).astype(np.float64)
    weight[0] = 1.0
    fit = maximize_likelihood(probs, prior, weight)
    assert fit.prior.sum() == pytest.approx(1.0, abs=1e-12)
    assert (fit.prior >= 0).all()
    scaled = probs / prior
    g = weight @ (scaled / (scaled @ fit.prior)[:, None]) / weight.sum()
    assert g.max() <= 1 + 1e-8
    np.testing.assert_allclose(g[fit.prior > 0], 1.0, atol=1e-8)
    # counting a row twice is writing it twice
    repeated = np.repeat(probs, weight.astype(int), axis=0)
    again = maximize_likelihood(repeated, prior)
    assert again.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-9)


def large_mixtures():
    """Yield rows and priors of problems that start from fewer rows."""
    rng = np.random.default_rng(3)
    n, k = 12_000, 40
    prior, target = rng.dirichlet(np.full(k, 5.0)), rng.dirichlet(np.full(k, 0.3))
    labels = rng.choice(k, p=target, size=n)
    for name, apart in (("overlapping", 1.5), ("sharp", 4.0), ("separate", 9.0)):
        scores = rng.normal(size=(n, k)) + apart * np.eye(k)[labels]
        powers = prior * np.exp(apart * (scores - scores.max(axis=1, keepdims=True)))
        yield pytest.param(
            powers / powers.sum(axis=1, keepdims=True), prior, id=f"{name} classes"
        )
    near = np.exp(-5.0 * (rng.normal(size=(n, 1)) - np.linspace(-3, 3, k)) ** 2)
    yield pytest.param(
        near, near.mean(axis=0), id="components that are nearly the same"
    )
    yield pytest.param(np.eye(k)[labels], prior, id="one-hot rows")


@pytest.mark.parametrize(("probs", "prior"), list(large_mixtures()))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_problems_reach_the_same_optimality_conditions(probs, prior, dtype):
    probs = probs.astype(dtype)
    before = dfu.get_num_threads()
    fits = []
    for threads in (1, 3):
        dfu.set_num_threads(threads)
        fits.append(maximize_likelihood(probs, prior))
    dfu.set_num_threads(before)
    np.testing.assert_array_equal(fits[0].prior, fits[1].prior)
    scaled = probs.astype(np.float64) / prior
    g = (scaled / (scaled @ fits[0].prior)[:, None]).mean(axis=0)
    assert g.max() <= 1 + 2e-9
    np.testing.assert_allclose(g[fits[0].prior > 0], 1.0, atol=2e-9)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.sampled_from([0.0, 1e-12, 1.0]))
def test_cholesky_is_for_matrices_without_doubt(seed, k, least):
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.normal(size=(k, k)))[0]
    values = np.append(rng.uniform(1.0, 2.0, k - 1), least)
    matrix = vectors * values @ vectors.T
    regular = factor_if_regular(matrix, 1e-10)
    assert (regular is None) == (least < 1.0)
    if regular is not None:
        right = rng.normal(size=(k, 2))
        np.testing.assert_allclose(matrix @ regular.solve(right), right, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
@settings(max_examples=50)
def test_bcts_is_stationary_and_calibrates_the_mean(seed, k):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(k, 0.7), size=200)
    labels = (probs.cumsum(axis=1) < rng.random((200, 1))).sum(axis=1)
    weight = rng.integers(0, 3, 200).astype(np.float64)
    fit = fit_bcts(probs, labels, weight)
    sums = loss_sums(RowsInMemory.of(probs, labels, weight), fit.slope, fit.bias)
    assert np.abs(sums.by_bias).max() <= 1e-7
    assert abs(sums.by_slope) <= 1e-7
    seen = np.bincount(labels, weights=weight, minlength=k) > 0
    np.testing.assert_array_equal(np.isfinite(fit.bias), seen)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
@settings(max_examples=50)
def test_adapted_rows_are_probabilities_whatever_the_weights(seed, k):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(k, 0.5), size=2)
    p[rng.random(k) < 0.3] = 0.0
    q[rng.random(k) < 0.3] = 0.0
    if not (p.any() and q.any()):
        return
    known = dfu.label_weights(p / p.sum(), q / q.sum())
    rows = rng.dirichlet(np.full(k, 0.2), size=10)
    rows[:k] = np.eye(k)[: len(rows)]
    adapted = known.adapt(rows)
    np.testing.assert_allclose(adapted.sum(axis=1), 1.0, rtol=1e-12)
    assert (adapted >= 0).all()
