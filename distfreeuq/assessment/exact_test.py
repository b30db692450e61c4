"""Is the ECE larger than a calibrated classifier's would be? An exact test.

Given the confidences, a calibrated classifier is right in row i with probability
confidence_i, independently. So its ECE can be simulated, whatever the sample size, and
the rank of the observed one among B simulated ones is a valid p-value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import FloatArray
from distfreeuq._base.persistence import register
from distfreeuq._kernels import _row_stats
from distfreeuq.assessment.measures import Measures
from distfreeuq.metrics.bins import gap_norm


@register("calibration-test")
@dataclass(frozen=True, slots=True, eq=False)
class CalibrationTest:
    """Result of the test that the classifier is calibrated.

    Attributes
    ----------
    p_value : float
        Share of simulated ECEs, the observed one among them, that are at least as
        large as the observed one.
    statistic : float
        The observed ECE.
    null_mean, null_upper : float
        Mean and 95% quantile of a calibrated classifier's ECE on these confidences.
    n_sim : int

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> test = dfu.assess([[0.9, 0.1]] * 50, [0] * 30 + [1] * 20, rng=0).test
    >>> round(test.statistic, 3), test.p_value < 0.01
    (0.3, True)
    """

    p_value: float
    statistic: float
    null_mean: float
    null_upper: float
    n_sim: int


def simulate_null(
    measures: Measures, n_sim: int, generator: np.random.Generator
) -> FloatArray:
    """Return the ECE of n_sim calibrated classifiers with these confidences."""
    rows, n = measures.rows, measures.rows.n
    wide = rows.confidence.astype(np.float64)
    uniforms, hits = np.empty(n), np.empty(n, dtype=np.bool_)
    sums = np.empty((measures.n_bins, 5))
    out = np.empty(n_sim)
    for s in range(n_sim):
        generator.random(out=uniforms)
        np.less(uniforms, wide, out=hits)
        sums[:] = 0.0
        _row_stats._sum_bins(
            measures.bins, rows.confidence, hits.view(np.uint8), rows.weights, sums
        )
        out[s] = gap_norm(sums)
    return out


def calibration_test(
    measures: Measures, n_sim: int, generator: np.random.Generator
) -> CalibrationTest:
    """Compare the observed ECE with those of calibrated classifiers."""
    rows = measures.rows
    sums = np.zeros((measures.n_bins, 5))
    _row_stats._sum_bins(measures.bins, rows.confidence, rows.hits, rows.weights, sums)
    observed = float(gap_norm(sums))
    simulated = simulate_null(measures, n_sim, generator)
    as_large = int((simulated >= observed).sum())
    return CalibrationTest(
        p_value=(1 + as_large) / (n_sim + 1),
        statistic=observed,
        null_mean=float(simulated.mean()),
        null_upper=float(np.quantile(simulated, 0.95)),
        n_sim=n_sim,
    )


def noise(measures: Measures) -> float:
    """Return about the ECE that a calibrated classifier has on these confidences.

    A bin's sum of gaps is then nearly normal with mean zero, so its absolute value is
    sqrt(2 / pi) standard deviations on average.
    """
    rows = measures.rows
    c = rows.confidence.astype(np.float64)
    variance = np.bincount(
        measures.bins,
        weights=rows.weights**2 * np.maximum(c * (1.0 - c), 0.0),
        minlength=measures.n_bins,
    )
    return float(np.sqrt(2.0 / np.pi * variance).sum() / rows.weights.sum())
