"""Conditioning, diagnostics and fits of density ratios, for any numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from distfreeuq._numerics.sample_weights import effective_sample_size, largest_share
from distfreeuq.bounds import renyi_divergence, renyi_from_weights
from distfreeuq.density_ratios.cross_fitting import fit_inverse_temperature
from distfreeuq.density_ratios.diagnostics import auc_interval
from distfreeuq.density_ratios.kliep import coefficients
from distfreeuq.density_ratios.nearest_neighbors import fit_neighbors
from distfreeuq.density_ratios.weight_pipeline import condition

RATIOS = npst.arrays(
    np.float64,
    st.integers(1, 30),
    elements=st.one_of(st.just(0.0), st.floats(1e-12, 1e12)),
)
FEW = npst.arrays(np.float64, st.integers(1, 12), elements=st.integers(0, 6))
WEIGHTS = RATIOS.filter(lambda w: w.max() > 0)


@given(
    RATIOS,
    RATIOS,
    st.integers(2, 1000),
    st.floats(0, 1),
    st.one_of(
        st.none(),
        st.tuples(st.floats(0, 1), st.floats(1.5, 100)),
        st.tuples(st.floats(1e3, 1e4), st.floats(1e5, 1e6)),  # beyond all ratios
    ),
    st.booleans(),
)
def test_weights_are_positive_bounded_and_in_order(
    source, new, n_target, flatten, clip, normalize
):
    tamed = condition(source, n_target, flatten=flatten, clip=clip, normalize=normalize)
    weights = tamed.weights(source)
    assert np.isfinite(weights).all() and (weights > 0).all()
    if normalize:
        np.testing.assert_allclose(weights.mean(), 1.0)
    both = tamed.weights(np.concatenate([source, new]))
    assert both.max() <= tamed.upper * (1 + 1e-12)
    order = np.argsort(np.concatenate([source, new]), kind="stable")
    assert (np.diff(both[order]) >= -1e-12 * tamed.upper).all()


@given(RATIOS, st.floats(0, 1), st.floats(0, 1))
def test_flatter_weights_are_worth_more_rows(source, one, other):
    less, more = sorted([one, other])
    flat = condition(source, 50, flatten=less).weights(source)
    steep = condition(source, 50, flatten=more).weights(source)
    flat_ess, steep_ess = effective_sample_size(flat), effective_sample_size(steep)
    assert flat_ess >= steep_ess * (1 - 1e-9)


@given(WEIGHTS, st.floats(1e-3, 1e3))
def test_diagnostics_do_not_depend_on_the_scale(weights, scale):
    ess = effective_sample_size(weights)
    assert 1 - 1e-9 <= ess <= weights.size * (1 + 1e-9)
    np.testing.assert_allclose(effective_sample_size(scale * weights), ess)
    np.testing.assert_allclose(largest_share(scale * weights), largest_share(weights))
    for order in (1.0, 2.0, 3.5, np.inf):
        np.testing.assert_allclose(
            renyi_from_weights(scale * weights, order),
            renyi_from_weights(weights, order),
        )


@given(WEIGHTS)
def test_divergences_grow_with_the_order_and_are_those_of_the_empirical_laws(weights):
    orders = [1.0, 1.2, 2.0, 5.0, 60.0, np.inf]
    values = [renyi_from_weights(weights, order) for order in orders]
    assert values[0] >= 1 - 1e-9
    assert (np.diff(values) >= -1e-9 * values[-1]).all()
    q, p = weights / weights.sum(), np.full(weights.size, 1 / weights.size)
    expected = [renyi_divergence(q, p, order) for order in orders]
    np.testing.assert_allclose(values, expected, rtol=1e-9)


@given(FEW, FEW)
def test_auc_counts_pairs(source, target):
    pairs = np.sign(target[:, None] - source) / 2 + 0.5
    found = auc_interval(source, target)
    np.testing.assert_allclose(found.estimate, pairs.mean())
    assert 0.0 <= found.low <= found.estimate + 1e-9
    assert found.estimate - 1e-9 <= found.high <= 1.0
    mirrored = auc_interval(target, source)
    np.testing.assert_allclose(mirrored.estimate, 1 - found.estimate, atol=1e-12)
    np.testing.assert_allclose(mirrored.low, 1 - found.high, atol=1e-9)


FINITE = npst.arrays(
    np.float64,
    st.integers(1, 20),
    elements=st.floats(-30, 30).map(lambda v: round(v, 3)),
)


@given(FINITE, FINITE)
def test_temperature_is_at_the_minimum(source, target):
    beta = fit_inverse_temperature(source, target)
    assert beta >= 0 and np.isfinite(beta)
    smaller = min(source.size, target.size)

    def loss(factor):
        total = 0.0
        for values, sign in ((source, 1.0), (target, -1.0)):
            wrong = sign * factor * values
            smoothed = np.logaddexp(0, wrong) - wrong / (smaller + 2)
            total += 0.5 * smoothed.mean()
        return total

    here = loss(beta)
    for other in (0.0, 0.9 * beta, 1.1 * beta, beta + 1e-3):
        assert here <= loss(other) + 1e-9


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 25),
    st.integers(2, 25),
    st.sampled_from([2, 9]),  # by trees, by all distances
)
def test_neighbours_by_counting(seed, n, m, d):
    rng = np.random.default_rng(seed)
    source, target = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    k = int(rng.integers(1, n))
    found = fit_neighbors(source, target, k)
    center, scale = found.model.center, found.model.scale
    s, t = (source - center) / scale, (target - center) / scale
    for i in range(n):
        others = np.delete(np.linalg.norm(s - s[i], axis=1), i)
        radius = np.sort(others)[k - 1]
        count = (np.linalg.norm(t - s[i], axis=1) <= radius * (1 + 1e-9)).sum()
        np.testing.assert_allclose(found.source_ratio[i], (n - 1) / m * count / k)


@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_kliep_meets_its_conditions(seed, n_kernels):
    rng = np.random.default_rng(seed)
    phi_s, phi_t = (
        rng.random((15, n_kernels)) + 0.01,
        rng.random((12, n_kernels)) + 0.01,
    )
    alpha = coefficients(phi_s, phi_t)
    assert (alpha >= 0).all()
    np.testing.assert_allclose((phi_s @ alpha).mean(), 1.0)
    slope = (phi_t / (phi_t @ alpha)[:, None]).mean(axis=0) / phi_s.mean(axis=0)
    assert slope.max() <= 1 + 1e-6
