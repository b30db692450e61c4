"""Isotonic regressions with one more row: the pass equals fits of each place."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import isotonic_regression

from distfreeuq.calibration.probability_maps.convex_minorants import fits_with_one_more


def by_definition(mass, hits, weight, label):
    """Fit once for each group, with the row added to it."""
    found = []
    for i in range(mass.size):
        more = np.eye(mass.size)[i] * weight
        total = mass + more
        fitted = isotonic_regression((hits + label * more) / total, weights=total)
        found.append(fitted.x[i])
    return np.array(found)


weights = st.one_of(st.integers(1, 3).map(float), st.floats(1e-3, 1.0))


@given(st.data(), st.integers(1, 12))
def test_all_places(data, m):
    mass = data.draw(arrays(np.float64, m, elements=weights))
    shares = st.sampled_from([0.0, 1.0, 0.5, 0.3])
    hits = mass * data.draw(arrays(np.float64, m, elements=shares))
    weight = data.draw(weights)
    low, high = fits_with_one_more(mass, hits, weight)
    np.testing.assert_allclose(low, by_definition(mass, hits, weight, 0), atol=1e-9)
    np.testing.assert_allclose(high, by_definition(mass, hits, weight, 1), atol=1e-9)


@given(st.data(), st.integers(1, 10))
def test_values_rise_with_the_score_and_hold_each_other(data, m):
    mass = data.draw(arrays(np.float64, m, elements=weights))
    hits = mass * data.draw(arrays(np.float64, m, elements=st.floats(0.0, 1.0)))
    low, high = fits_with_one_more(mass, hits, 1.0)
    assert (np.diff(low) >= -1e-9).all()
    assert (np.diff(high) >= -1e-9).all()
    assert (low <= high + 1e-9).all()
