"""Class proportions of a stream: what each of K^2 + K intervals has of alpha."""

import numpy as np
import pytest
from scipy.optimize import linprog

from distfreeuq.bounds import unchecked
from distfreeuq.monitoring.running_means import lower_ends, upper_ends
from distfreeuq.monitoring.streams.class_proportions import (
    confidence_sequence,
    proportions,
)

# predicted classes by label: columns of 50, 120 and 80 rows
CONFUSION = np.array([[40, 15, 5], [6, 100, 10], [4, 5, 65]])
COUNTS = np.array([30, 45, 225])
K = 3


def ends_by_programs(alpha):
    """The least and the largest q_k with A_low q <= mu_high and A_high q >= mu_low."""
    each = alpha / 12.0  # nine rates and three frequencies
    rates = [
        unchecked.clopper_pearson(
            CONFUSION[:, j], np.full(K, CONFUSION[:, j].sum()), each
        )
        for j in range(K)
    ]
    low = np.column_stack([ends[0] for ends in rates])
    high = np.column_stack([ends[1] for ends in rates])
    # two sides, and the rows before an alarm as well as those after it
    side = each / 4.0
    mu_low = lower_ends(COUNTS, 0.0, 300, side, binary=True)
    mu_high = upper_ends(COUNTS, 0.0, 300, side, binary=True)
    out = np.empty((K, 2))
    for k in range(K):
        for end, sign in enumerate((1.0, -1.0)):
            found = linprog(
                sign * np.eye(K)[k],
                A_ub=np.vstack([low, -high]),
                b_ub=np.append(mu_high, -mu_low),
                A_eq=np.ones((1, K)),
                b_eq=[1.0],
            )
            out[k, end] = found.x[k]
    return out


@pytest.mark.parametrize("alpha", [0.05, 0.4])
def test_intervals_are_those_of_programs_with_shares_of_alpha(alpha):
    found = confidence_sequence(CONFUSION, COUNTS, alpha)
    np.testing.assert_allclose(found, ends_by_programs(alpha), atol=1e-7)
    estimate = proportions(CONFUSION, COUNTS)
    assert (found[:, 0] < estimate).all() and (estimate < found[:, 1]).all()
    assert 0.2 < np.ptp(found, axis=1).max() < 0.6
