"""Weights of known priors."""

import numpy as np
import pytest

import distfreeuq as dfu


def test_known_priors_with_absent_classes():
    known = dfu.label_weights([0.5, 0.5, 0.0, 0.0], [0.2, 0.0, 0.8, 0.0])
    np.testing.assert_array_equal(known.label_weight, [0.4, 0.0, np.inf, 0.0])
    np.testing.assert_array_equal(known.target_prior, [0.2, 0.0, 0.8, 0.0])
    assert known.known
    assert known.kappa == np.inf
    assert known.ess is None
    np.testing.assert_array_equal(known.std_err, 0.0)
    np.testing.assert_array_equal(known.confint()[:, 0], known.label_weight)
    assert known.region(0.1).contains([0.4, 0.0, np.inf, 0.0])
    assert not known.guarantee
    with pytest.raises(dfu.InputError, match="nothing to test"):
        known.test()
    assert "known priors" in str(known)
    assert known.plot() is not None
    adapted = known.adapt(
        [[0.5, 0.5, 0.0, 0.0], [0.3, 0.3, 0.4, 0.0], [0.0, 1.0, 0.0, 0.0]]
    )
    np.testing.assert_allclose(adapted, [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]])


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ([0.5, 0.6], [0.5, 0.5], "source_prior.*sum of 1.1"),
        ([0.5, 0.5], [1.5, -0.5], "target_prior.*-0.5 at position 1"),
        ([0.5, 0.5], [1.0], "target_prior.*length 2"),
        ([1.0], [1.0], "two classes"),
        ([0.5, np.nan], [0.5, 0.5], "nan"),
    ],
)
def test_bad_priors_are_refused(source, target, words):
    with pytest.raises(dfu.InputError, match=words):
        dfu.label_weights(source, target)
