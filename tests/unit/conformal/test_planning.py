"""How many rows are needed, against ranks and Beta laws computed one by one."""

import numpy as np
import pytest
from scipy import stats

import distfreeuq as dfu
from distfreeuq import bounds


def test_a_finite_threshold():
    assert dfu.plan(0.1).total == 9
    assert dfu.plan(0.05).total == 19
    assert dfu.plan(0.1, 0.95).total == 29  # 0.9^28 > 0.05 >= 0.9^29


@pytest.mark.parametrize(
    ("alpha", "tolerance"), [(0.1, 0.03), (0.2, 0.05), (0.05, 0.02)]
)
def test_coverage_given_the_rows_is_not_far_below(alpha, tolerance):
    n = dfu.plan(alpha, tolerance=tolerance).total

    def fifth_percentile(m):
        rank = int(np.ceil((1 - alpha) * (m + 1) - 1e-9))
        return stats.beta.ppf(0.05, rank, m + 1 - rank)

    assert all(fifth_percentile(m) >= 1 - alpha - tolerance for m in range(n, 3 * n))
    assert any(fifth_percentile(m) < 1 - alpha - tolerance for m in range(n - 25, n))


@pytest.mark.parametrize(("alpha", "tolerance"), [(0.1, 0.03), (0.2, 0.05)])
def test_coverage_in_excess_is_small(alpha, tolerance):
    n = dfu.plan(alpha, 0.9, tolerance=tolerance).total

    def excess(m):
        return bounds.pac_rank(m, alpha, 0.1) / (m + 1) - (1 - alpha)

    assert all(excess(m) <= tolerance for m in range(n, 3 * n))
    assert excess(n - 1) > tolerance


def test_by_class():
    prior = [0.7, 0.2, 0.1]
    result = dfu.plan(0.1, 0.9, source_prior=prior, classes=["a", "b", "c"])
    needed = bounds.pac_smallest_sample(0.1, 0.1 / 3)
    assert result.needed.tolist() == [needed] * 3

    def short(n):
        return stats.binom.cdf(needed - 1, n, prior).sum()

    assert short(result.total) <= 0.05 < short(result.total - 1)
    frame = result.to_frame()
    assert frame["class"].tolist() == ["a", "b", "c"]
    assert frame["expected"].sum() == pytest.approx(result.total)


def test_it_is_printed_drawn_and_saved(tmp_path):
    for options in ({}, {"tolerance": 0.05}, {"source_prior": [0.5, 0.5]}):
        for confidence in (None, 0.9):
            result = dfu.plan(0.1, confidence, **options)
            assert str(result.total) in str(result)
            assert len(result.plot().get_lines()) == 2
            result.save(tmp_path / "plan.npz")
            assert str(dfu.load(tmp_path / "plan.npz")) == str(result)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"tolerance": 0.2}, r"'tolerance' .* in \(0, 0.1\)"),
        ({"source_prior": [0.5, 0.4]}, "sum to one"),
        ({"source_prior": [1.0]}, "two or more"),
        ({"classes": ["a"]}, "None without source_prior"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(dfu.InputError, match=message):
        dfu.plan(**options)
