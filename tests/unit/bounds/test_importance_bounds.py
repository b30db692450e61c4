"""Renyi divergences and the variance of weighted losses, by hand and golden."""

import math

import numpy as np
import pytest

from distfreeuq import bounds


def test_golden_renyi_divergences(golden):
    case = golden("bounds", "renyi")
    q, p = case["inputs"]["q"], case["inputs"]["p"]
    for order, expected in zip(
        case["inputs"]["orders"], case["expected"]["d"], strict=True
    ):
        assert bounds.renyi_divergence(q, p, order) == pytest.approx(expected, rel=1e-9)
    assert bounds.renyi_divergence(p, q, 2) == case["expected"]["swapped_order_2"]


def test_equal_laws_have_divergence_one():
    for order in (1, 1.5, 2, 7, math.inf):
        assert bounds.renyi_divergence([0.2, 0.8], [0.2, 0.8], order) == pytest.approx(
            1
        )


def test_from_weights_by_hand():
    # weights 3, 1, 0, 0: ratios 3, 1 with mass 1/4 each in the source
    weights = [3.0, 1.0, 0.0, 0.0]
    assert bounds.renyi_from_weights(weights, 2) == pytest.approx((9 + 1) / 4)
    assert bounds.renyi_from_weights(weights, 3) == pytest.approx(math.sqrt(28 / 4))
    assert bounds.renyi_from_weights(weights, 1) == pytest.approx(3**0.75)
    assert bounds.renyi_from_weights(weights, math.inf) == pytest.approx(3)


def test_order_two_is_rows_per_effective_row():
    from distfreeuq._numerics.sample_weights import effective_sample_size

    weights = np.random.default_rng(0).exponential(size=50)
    expected = 50 / effective_sample_size(weights)
    assert bounds.renyi_from_weights(weights, 2) == pytest.approx(expected)


def test_divergences_do_not_overflow():
    huge = np.array([1e200, 1.0])
    # all of the target at a row with half of the source: ratio 2
    assert bounds.renyi_from_weights(huge, 1000) == pytest.approx(2)


def test_variance_bound_by_hand():
    # p = (1/2, 1/2), q = (3/4, 1/4): weights 3/2 and 1/2, loss 1 and 0
    # Var_p[w l] = (9/4)/2 - (3/4)^2 = 9/16; d_2 = 5/4, R = 3/4: 5/4 - 9/16 = 11/16
    divergence = bounds.renyi_divergence([0.75, 0.25], [0.5, 0.5], 2)
    assert divergence == pytest.approx(1.25)
    bound = bounds.importance_variance(divergence, 0.75)
    assert bound == pytest.approx(11 / 16)
    assert bound >= 9 / 16
    # the loss twice as large: four times the variance, four times the bound
    twice = bounds.importance_variance(divergence, 1.5, loss_bound=2.0)
    assert twice == pytest.approx(4 * bound)


def test_printed_lemma_is_negative_for_a_constant_loss():
    q, p = np.array([0.75, 0.25]), np.array([0.5, 0.5])
    weighted = float(q @ (q / p))  # E_q[gamma l] of l = 1
    divergence = bounds.renyi_divergence(q, p, 2)
    variance = float(p @ (q / p) ** 2) - 1.0
    printed = bounds.importance_variance_printed(divergence, weighted)
    assert printed < 0.0 < variance <= bounds.importance_variance(divergence, 1.0)
