"""Exact tests of equal class proportions: p-values by enumeration."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import special, stats

import distfreeuq as dfu
from distfreeuq._numerics.passes.class_rows import RowsInMemory
from distfreeuq.label_shift.inference import shift_test
from distfreeuq.label_shift.inference.shift_test import compare_counts, compare_means


def hotelling(a, b):
    pooled = np.vstack([a, b])
    covariance = np.cov(pooled.T, bias=True)
    gap = a.mean(axis=0) - b.mean(axis=0)
    squares = gap @ np.linalg.pinv(covariance, rcond=1e-10) @ gap
    return squares / (1 / len(a) + 1 / len(b))


@pytest.mark.parametrize(("n", "m"), [(3, 5), (5, 3), (4, 4)])
def test_the_p_value_of_means_is_that_of_all_permutations(n, m):
    rng = np.random.default_rng(n)
    pooled = rng.dirichlet([1, 2, 3], size=n + m)
    test = compare_means(
        *map(RowsInMemory.of, (pooled[:n], pooled[n:])),
        np.random.default_rng(0),
        20_000,
    )
    observed = hotelling(pooled[:n], pooled[n:])
    assert test.statistic == pytest.approx(observed)
    assert test.df == 2
    larger = [
        hotelling(pooled[list(c)], np.delete(pooled, c, axis=0)) >= observed - 1e-9
        for c in combinations(range(n + m), n)
    ]
    assert test.p_value == pytest.approx(np.mean(larger), abs=0.015)


def test_the_p_value_of_counts_is_that_of_all_tables():
    source, target = np.array([3, 0, 1]), np.array([1, 4, 2])
    test = compare_counts(source, target, np.random.default_rng(0), 50_000)
    classes = np.repeat([0, 1, 2], source + target)

    def statistic(counts):
        expected = Fraction(4, 11)
        return sum(
            (c - expected * int(t)) ** 2 / (expected * int(t))
            for c, t in zip(counts, source + target, strict=True)
        )

    every = [
        statistic(np.bincount(classes[list(c)], minlength=3).tolist())
        for c in combinations(range(11), 4)
    ]
    want = np.mean([value >= statistic(source.tolist()) for value in every])
    assert test.p_value == pytest.approx(want, abs=0.01)
    assert test.df == 2


def test_blocks_of_rows_and_fewer_partners_keep_the_statistic():
    rng = np.random.default_rng(3)
    for n, m in ((1301, 1777), (1777, 1301), (60, 5000)):
        a, b = rng.dirichlet([1, 2, 3], n), rng.dirichlet([1.1, 2, 3], m)
        both = RowsInMemory.of(a), RowsInMemory.of(b)
        test = compare_means(*both)
        assert test.statistic == pytest.approx(hotelling(a, b), rel=1e-9)
        many = compare_means(
            *map(RowsInMemory.of, (a, b)), np.random.default_rng(1), 4000
        )
        assert many.p_value == pytest.approx(
            special.chdtrc(2, test.statistic), abs=0.04
        )


def test_a_calibration_does_not_enter_the_test():
    rng = np.random.default_rng(4)
    probs, target = rng.dirichlet([1, 1, 1], 80), rng.dirichlet([1, 1, 1], 60)
    fits = [
        dfu.mlls(probs, rng.integers(0, 3, 80), target),
        dfu.bbse(probs, rng.integers(0, 3, 80), target, soft=True),
    ]
    assert fits[0].test() == fits[1].test()


def test_more_draws_and_other_seeds():
    rng = np.random.default_rng(5)
    data = rng.dirichlet([1, 1], 50), rng.integers(0, 2, 50), rng.dirichlet([1, 2], 50)
    for soft in (False, True):
        fit = dfu.bbse(*data, soft=soft)
        assert fit.test().n_draws == (199 if soft else 0)
        assert fit.test(n_draws=999).n_draws == (999 if soft else 0)
        assert fit.test(rng=1).p_value == pytest.approx(fit.test().p_value, abs=0.15)
        with pytest.raises(dfu.InputError, match="n_draws"):
            fit.test(n_draws=0)
    with pytest.raises(dfu.InputError, match="nothing to test"):
        dfu.label_weights([0.5, 0.5], [0.2, 0.8]).test()


def test_two_predicted_classes_have_the_exact_hypergeometric_p_value():
    source, target = np.array([12, 28]), np.array([60, 40])
    test = compare_counts(source, target)
    law = stats.hypergeom(140, 72, 40)
    x = np.arange(41)
    as_far = np.abs(x - law.mean()) >= abs(12 - law.mean()) - 1e-9
    assert test.n_draws == 0
    assert test.p_value == pytest.approx(law.pmf(x[as_far]).sum(), rel=1e-9)


def test_many_tables_are_drawn_and_agree_with_the_listed_ones(monkeypatch):
    rng = np.random.default_rng(3)
    source, target = (
        rng.multinomial(12, [0.3] * 3 + [0.1]),
        rng.multinomial(40, [0.25] * 4),
    )
    listed = compare_counts(source, target)
    monkeypatch.setattr(shift_test, "_TABLES", 10)
    drawn = compare_counts(source, target, n_draws=20_000)
    assert (listed.n_draws, drawn.n_draws) == (0, 20_000)
    assert drawn.p_value == pytest.approx(listed.p_value, abs=0.02)


# Found by a search: with one seed for all fits P(p <= 0.2) was 0.248 here.
SHARES = np.array([0.0921, 0.1996, 0.0093, 0.0641, 0.5495, 0.0854])


def rejections(generator, n_samples, level):
    k = SHARES.size
    shares = 0.9 * SHARES / SHARES.sum() + 0.1 / k
    rng = np.random.default_rng(7)
    return sum(
        compare_counts(
            rng.multinomial(103, shares), rng.multinomial(3301, shares), generator()
        ).p_value
        <= level
        for _ in range(n_samples)
    )


def test_draws_differ_between_samples_so_that_the_level_holds():
    rejected = rejections(lambda: None, 4000, 0.2)
    assert stats.binom.sf(rejected - 1, 4000, 0.2) > 1e-4


def test_one_seed_for_all_samples_would_not_keep_the_level():
    rejected = rejections(lambda: np.random.default_rng(20_180_710), 4000, 0.2)
    assert stats.binom.sf(rejected - 1, 4000, 0.2) < 1e-6


def test_one_predicted_class_is_no_evidence():
    test = compare_counts(np.array([5, 0]), np.array([9, 0]))
    assert (test.statistic, test.df, test.p_value) == (0.0, 0, 1.0)
