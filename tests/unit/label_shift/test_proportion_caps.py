"""Caps of the target's class proportions: every bound has its share of delta."""

import numpy as np
import pytest
from scipy import stats

from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.inference.proportion_caps import PriorCaps, prior_caps

# predicted classes by label: columns of 50, 120 and 80 rows
JOINT = np.array([[40, 15, 5], [6, 100, 10], [4, 5, 65]])
TARGET = np.array([30, 45, 225])


@pytest.mark.parametrize("delta", [0.06, 0.3])
def test_caps_by_hand(delta):
    """q_k P(predicted k | k) <= P(predicted k): six bounds at delta / 6 each."""
    each, m, counts = delta / 6.0, TARGET.sum(), JOINT.sum(axis=0)
    expected = []
    for k in range(3):
        most = stats.beta.ppf(1.0 - each, TARGET[k] + 1, m - TARGET[k])
        hits = JOINT[k, k]
        least = stats.beta.ppf(each, hits, counts[k] - hits + 1)
        expected.append(min(most / least, 1.0))
    found = prior_caps(Confusion(JOINT, TARGET, 250, 300, False), delta)
    np.testing.assert_allclose(found.high, expected, rtol=1e-9)
    assert found.high.min() < 0.5


def test_a_class_that_is_never_predicted_right_has_no_cap():
    joint = JOINT.copy()
    joint[0, 0] = 0
    found = prior_caps(Confusion(joint, TARGET, 210, 300, False), 0.1)
    assert found.high[0] == 1.0


def test_the_densest_class():
    caps = PriorCaps(np.array([0.5, 0.2, 1.0]))
    assert caps.densest(np.array([10.0, 2.0, 0.0])) == pytest.approx(0.1)
