"""Weighted quantiles: the compiled rule against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq.conformal.thresholds import (
    exchangeable_threshold,
    label_conditional_thresholds,
    label_shift_thresholds,
)
from tests import reference_kernels as twin
from tests.property import kernel_calls as kernel

values_with_ties = st.one_of(
    st.integers(0, 4).map(float), st.sampled_from([-np.inf, -0.0, 0.5, np.inf])
)
# Whole weights and levels in thousandths: a mass is either exactly what is needed or
# misses it by far more than the rule's slack of 1e-12.
weighted_values = st.lists(
    st.tuples(values_with_ties, st.integers(0, 5)), min_size=0, max_size=20
)
thousandths = st.integers(1, 1000)
scales = st.sampled_from([1.0, 0.1, 1 / 3, 7.0, 1e-300, 1e300, 1e-12])


def exact_quantile(values, weights, level, atom):
    """Return inf{z : F(z) >= level}, with `atom` at +inf, in rational arithmetic."""
    total = sum(weights, Fraction(0)) + atom
    seen = Fraction(0)
    for value, weight in sorted(zip(values, weights, strict=True)):
        seen += weight
        if weight > 0 and seen >= level * total:
            return value
    return np.inf


@given(
    weighted_values,
    st.lists(st.tuples(thousandths, st.integers(0, 6)), min_size=1, max_size=5),
    scales,
)
def test_weighted_quantile_is_exact_at_every_scale(pairs, levels_atoms, scale):
    values, weights = [v for v, _ in pairs], [w for _, w in pairs]
    levels, atoms = [j / 1000 for j, _ in levels_atoms], [a for _, a in levels_atoms]
    got = dfu.weighted_quantile(
        values, np.multiply(weights, scale), levels, atom=np.multiply(atoms, scale)
    )
    want = [
        exact_quantile(values, weights, Fraction(j, 1000), a) for j, a in levels_atoms
    ]
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("scale", [1.0, 0.1, 1 / 3, 1e-300])
@pytest.mark.parametrize("atom", [0, 1, 3])
def test_masses_that_are_exactly_enough_are_enough(scale, atom):
    # 0.07 * 100 > 7 in floats, and so on: these levels are met with nothing to spare
    hundredths = np.arange(1, 101)
    for n in range(1, 151):
        got = dfu.weighted_quantile(
            np.arange(1, n + 1), np.full(n, scale), hundredths / 100, atom=atom * scale
        )
        rank = -(-hundredths * (n + atom) // 100)
        np.testing.assert_array_equal(got, np.where(rank <= n, rank, np.inf))


@given(st.data(), st.integers(1, 5), thousandths.filter(lambda j: j < 1000), scales)
def test_one_atom_per_class(data, n_classes, j, scale):
    rows = st.tuples(values_with_ties, st.integers(0, n_classes - 1))
    pairs = data.draw(st.lists(rows, max_size=20))
    whole = st.lists(st.integers(0, 5), min_size=n_classes, max_size=n_classes)
    label_weight = data.draw(whole.filter(any))
    scores = np.array([s for s, _ in pairs], dtype=np.float64)
    labels = np.array([y for _, y in pairs], dtype=np.int64)
    got = label_shift_thresholds(
        scores, labels, np.multiply(label_weight, scale), j / 1000
    )
    weights = [label_weight[y] for y in labels]
    level = 1 - Fraction(j, 1000)
    want = [exact_quantile(scores, weights, level, atom) for atom in label_weight]
    np.testing.assert_array_equal(got, want)


@given(
    st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=60),
    st.floats(1e-6, 1.0, exclude_max=True),
    st.one_of(scales, st.floats(5e-324, 1.7e308)),
)
def test_equal_weights_of_any_scale_give_the_unweighted_threshold(scores, alpha, scale):
    scores = np.array(scores)
    want = exchangeable_threshold(scores, alpha)
    equal = np.full(scores.size, scale)
    assert dfu.weighted_quantile(scores, equal, 1.0 - alpha, atom=scale) == want
    labels = np.arange(scores.size) % 3
    by_class = label_shift_thresholds(scores, labels, np.full(3, scale), alpha)
    np.testing.assert_array_equal(by_class, np.full(3, want))


@given(weighted_values, st.integers(0, 3), thousandths)
def test_values_of_weight_zero_might_as_well_not_be_there(pairs, atom, j):
    values, weights = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    kept = weights > 0
    assert dfu.weighted_quantile(
        values, weights, j / 1000, atom=atom
    ) == dfu.weighted_quantile(values[kept], weights[kept], j / 1000, atom=atom)


@given(st.data(), weighted_values, st.integers(0, 3), thousandths)
def test_the_order_of_the_rows_does_not_matter(data, pairs, atom, j):
    values, weights = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    order = np.array(data.draw(st.permutations(range(len(pairs)))), dtype=np.int64)
    assert dfu.weighted_quantile(
        values, weights, j / 1000, atom=atom
    ) == dfu.weighted_quantile(values[order], weights[order], j / 1000, atom=atom)


@given(
    weighted_values, st.integers(0, 3), st.lists(thousandths, min_size=2, max_size=9)
)
def test_quantiles_ascend_with_the_level(pairs, atom, levels):
    values, weights = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    ascending = np.sort(levels) / 1000
    quantiles = dfu.weighted_quantile(values, weights, ascending, atom=atom)
    assert (quantiles[1:] >= quantiles[:-1]).all()


@pytest.mark.parametrize("level", [1e-13, 0.5, 1.0])
@pytest.mark.parametrize("atom", [0.0, 1.0, [5e-324, 1.0]])
@pytest.mark.parametrize("values", [[], [3.0]])
def test_without_mass_the_quantile_is_infinite(values, level, atom):
    # a level below the slack, or one that underflows, needs no mass: not even then is
    # there a value to return
    got = dfu.weighted_quantile(values, [0.0] * len(values), level, atom=atom)
    assert np.isinf(got).all()


# --------------------------------------------------------------- the kernels themselves


VALUES = {
    "uniform": lambda rng, n: rng.random(n),
    "ties": lambda rng, n: rng.integers(0, 7, n) / 7,
    "nearly all tied": lambda rng, n: np.where(
        rng.random(n) < 0.95, 0.25, rng.random(n)
    ),
    "neighbours": lambda rng, n: 1.0 + rng.integers(0, 300, n) * 2.0**-52,
    "both signs": lambda rng, n: rng.standard_cauchy(n) ** 3,
    "every magnitude": lambda rng, n: np.ldexp(
        rng.normal(size=n), rng.integers(-1000, 1000, n)
    ),
    "infinite": lambda rng, n: rng.choice([-np.inf, -1.0, -0.0, 0.0, np.inf], n),
}


@pytest.mark.parametrize("kind", VALUES)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 5, 48, 49, 300, 1500]))
@settings(max_examples=15)
def test_selection_equals_its_twin(kind, seed, n):
    # whole weights, so that what is needed is often met exactly, on either side
    rng = np.random.default_rng(seed)
    values = VALUES[kind](rng, n)
    weights = np.ldexp(rng.integers(0, 6, n).astype(np.float64), -40)
    weights[rng.integers(n)] = np.ldexp(6.0, -40)
    scale = np.ldexp(1.0, -38)
    mass = kernel.scaled_mass(weights, scale)
    narrow = mass * rng.random() + rng.integers(-4, 5, 5) / 8
    needed = np.concatenate([[-1e-12, 0.25, mass], mass * rng.random(5), narrow])
    needed = np.sort(np.clip(needed, -1e-12, mass))
    np.testing.assert_array_equal(
        kernel.select_quantiles(values, weights, scale, needed),
        twin.select_quantiles(values, weights, scale, needed),
    )


@pytest.mark.parametrize("kind", VALUES)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 30, 3000]), st.integers(1, 6))
@settings(max_examples=15)
def test_order_statistics_by_label_equal_their_twin(kind, seed, n, n_labels):
    rng = np.random.default_rng(seed)
    values, labels = VALUES[kind](rng, n), rng.integers(0, n_labels, n)
    ranks = rng.integers(1, n // n_labels + 3, n_labels)
    np.testing.assert_array_equal(
        kernel.select_by_label(values, labels, ranks),
        twin.select_by_label(values, labels, ranks),
    )


@pytest.mark.parametrize("kind", VALUES)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 40, 9000]), st.integers(1, 6))
@settings(max_examples=15)
def test_quantiles_of_what_ascends_equal_their_twin(kind, seed, n, n_labels):
    rng = np.random.default_rng(seed)
    values, labels = np.sort(VALUES[kind](rng, n)), rng.integers(0, n_labels, n)
    masses = rng.integers(0, 6, n_labels) / 4  # whole quarters, as what is needed
    masses[labels[rng.integers(n)]] = 1.5
    mass = kernel.mass_of_counts(np.bincount(labels, minlength=n_labels), masses)
    needed = np.sort(np.concatenate([[-1e-12, 0.25, mass], mass * rng.random(5)]))
    one = twin if n <= 40 else kernel  # the twin takes n sums of n
    np.testing.assert_array_equal(
        kernel.ascending_quantiles(values, labels, masses, needed),
        one.select_quantiles(values, masses[labels], 1.0, needed),
    )
    ranks = rng.integers(1, n // n_labels + 3, n_labels)
    np.testing.assert_array_equal(
        kernel.ascending_ranks(values, labels, ranks),
        twin.select_by_label(values, labels, ranks),
    )


@given(st.data(), st.integers(1, 5), thousandths.filter(lambda j: j < 1000), scales)
def test_thresholds_do_not_depend_on_the_order_of_scores(data, n_classes, j, scale):
    rows = st.tuples(values_with_ties, st.integers(0, n_classes - 1))
    pairs = data.draw(st.lists(rows, max_size=60))
    label_weight = data.draw(
        st.lists(st.floats(0.0, 9.0), min_size=n_classes, max_size=n_classes)
    )
    scores = np.array([s for s, _ in pairs], dtype=np.float64)
    labels = np.array([y for _, y in pairs], dtype=np.int64)
    order = np.argsort(scores, kind="stable")
    in_order, reversed_rows = (
        (scores[order], labels[order]),
        (scores[::-1], labels[::-1]),
    )
    weights, alphas = np.multiply(label_weight, scale), np.full(n_classes, j / 1000)
    np.testing.assert_array_equal(
        label_shift_thresholds(*in_order, weights, j / 1000),
        label_shift_thresholds(*reversed_rows, weights, j / 1000),
    )
    np.testing.assert_array_equal(
        label_conditional_thresholds(*in_order, alphas),
        label_conditional_thresholds(*reversed_rows, alphas),
    )


@given(st.lists(st.integers(0, 2**50), max_size=60), st.floats(0.0, 3.0))
def test_the_mass_of_counts_is_rounded_once(counts, mass):
    counts = np.array([*counts, 1])
    want = float(sum(map(int, counts)) * Fraction(mass))
    masses = np.full(counts.size, mass)
    got = kernel.mass_of_counts(counts, masses)
    np.testing.assert_array_max_ulp(got, want, maxulp=1)


@given(st.lists(st.floats(0.0, 1.0), max_size=60), st.floats(1.0, 3.0))
def test_mass_is_rounded_once(weights, scale):
    weights = np.array(weights)
    np.testing.assert_array_max_ulp(
        kernel.scaled_mass(weights, scale), twin.scaled_mass(weights, scale), maxulp=1
    )


@given(st.lists(st.integers(0, 2**20), max_size=60), st.integers(-30, 30))
def test_mass_is_exact_where_doubles_can_hold_it(weights, exponent):
    weights = np.ldexp(np.array(weights, dtype=np.float64), exponent)
    assert kernel.scaled_mass(weights, 0.5) == twin.scaled_mass(weights, 0.5)


def test_small_masses_are_not_lost_next_to_a_large_one():
    weights = np.concatenate([[1.0], np.full(100_000, 1e-17)])
    assert np.cumsum(weights)[-1] == 1.0  # what plain addition makes of it
    assert kernel.scaled_mass(weights, 1.0) == pytest.approx(1 + 1e-12, abs=3e-16)
    # the same within a selection: the median of the small ones is theirs alone
    values = np.arange(weights.size, dtype=np.float64)
    needed = np.array([1.0 + 0.5e-12])
    got = kernel.select_quantiles(values, weights, 1.0, needed)[0]
    assert got == pytest.approx(50_000, abs=30)  # 1 + 0.5e-12 is rounded to 2^-52


def test_small_masses_are_not_lost_within_a_bucket_of_a_large_one():
    # the first 100,001 values share a bucket, the others have hundreds to themselves
    values = np.concatenate(
        [1.0 + np.arange(100_001) * 2.0**-52, np.linspace(500.0, 1000.0, 100_000)]
    )
    weights = np.concatenate([[1.0], np.full(200_000, 1e-17)])
    needed = 1.0 + np.array([1.2e-12, 1.4e-12, 1.6e-12, 1.8e-12])
    got = np.searchsorted(values, kernel.select_quantiles(values, weights, 1.0, needed))
    np.testing.assert_allclose(got, [120_000, 140_000, 160_000, 180_000], atol=30)
