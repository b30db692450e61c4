"""One more row in isotonic regressions: the pass is its twin's, bit for bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from distfreeuq._kernels import _minorants as kernel
from tests import reference_kernels as twin

weights = st.one_of(st.integers(1, 3).map(float), st.floats(1e-12, 1.0))


@given(st.data(), st.integers(0, 40))
def test_the_pass_is_its_twin(data, m):
    mass = data.draw(arrays(np.float64, m, elements=weights))
    shares = st.sampled_from([0.0, 1.0, 1.0, 0.0, 0.5, 0.3])
    hits = mass * data.draw(arrays(np.float64, m, elements=shares))
    weight = data.draw(weights)
    points, hull = np.full((2, m + 2, 2), np.nan)  # what is there is not looked at
    out = np.full(m, np.nan)
    kernel._fit_one_more_hit(mass, hits, weight, points, hull, out)
    expected = twin.fit_one_more_hit(mass, hits, weight)
    np.testing.assert_array_equal(out, expected)


def test_many_rows_are_fitted_in_one_pass():
    """A hundred thousand places, which a fit for each would take hours for."""
    rng = np.random.default_rng(0)
    hits = (rng.random(100_000) < np.linspace(0.0, 1.0, 100_000)).astype(float)
    mass = np.ones(hits.size)
    points, hull = np.empty((2, hits.size + 2, 2))
    out = np.empty(hits.size)
    kernel._fit_one_more_hit(mass, hits, 1.0, points, hull, out)
    assert (np.diff(out) >= 0.0).all()
    np.testing.assert_array_equal(out, twin.fit_one_more_hit(mass, hits, 1.0))
