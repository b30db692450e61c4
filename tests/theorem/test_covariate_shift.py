"""Weighted conformal sets under covariate shift: single fits agree with their parts.

Coverage itself is checked by the theorems "covariate-shift-coverage" and
"covariate-shift-pac" (test_registry.py).
"""

import numpy as np

from distfreeuq import covariate_shift_conformal, nested_scores
from distfreeuq._numerics.quantiles import quantiles_with_atoms
from distfreeuq.theorems.conformal.weighted_exchangeability import (
    classifier,
    labels_of,
    normal_ratio,
)

N = 30


def test_public_function_agrees_draw_by_draw():
    generator = np.random.default_rng(1)
    for _ in range(50):
        x, new = generator.standard_normal(N), generator.standard_normal(20) - 1.0
        labels, ratio = labels_of(x, generator), normal_ratio(x)
        probs, new_probs = classifier(x), classifier(new)
        fit = covariate_shift_conformal(probs, labels, ratio, score="lac", alpha=0.2)
        scores = nested_scores(probs, labels, score="lac")
        thresholds = quantiles_with_atoms(
            scores, ratio, np.full(20, 0.8), normal_ratio(new)
        )
        np.testing.assert_array_equal(fit.threshold_for(normal_ratio(new)), thresholds)
        expected = nested_scores(new_probs, score="lac") <= thresholds[:, None]
        mask = fit.predict(new_probs, normal_ratio(new)).mask
        np.testing.assert_array_equal(mask, expected)
        p_values = fit.p_values(new_probs, normal_ratio(new))
        np.testing.assert_array_equal(p_values > 0.2, expected)
