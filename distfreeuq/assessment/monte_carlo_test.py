"""Is the ECE larger than a calibrated classifier's would be? A Monte Carlo test.

Given the confidences, a calibrated classifier is right in row i with probability
confidence_i, independently. So its ECE can be simulated, whatever the sample size, and
the rank of the observed one among B simulated ones is a valid p-value.

With weights the question is calibration on the target, E[w (hit - confidence) | bin]
= 0 for the density ratio w. Hits may then depend on the weight, so that their law given
the confidence is not known; but with many rows the bins' sums are nearly normal with
mean zero, and so are they under random signs of the rows' terms, with the same
variances. Where wrong rows are few, signs alone reject too often; hence the larger of
both p-values, which is valid wherever one of them is.
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._kernels import _row_stats
from distfreeuq.assessment.measures import Measures
from distfreeuq.assessment.results import CalibrationTest
from distfreeuq.metrics.bins import gap_norm
from distfreeuq.metrics.data import Rows


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


def flip_signs(
    measures: Measures, n_sim: int, generator: np.random.Generator
) -> FloatArray:
    """Return the ECE of these rows' weighted gaps under n_sim draws of random signs."""
    rows, n = measures.rows, measures.rows.n
    gaps = rows.weights * (rows.hits - rows.confidence.astype(np.float64))
    total = rows.weights.sum()
    out = np.empty(n_sim)
    for s in range(n_sim):
        bits = np.frombuffer(generator.bytes(-(-n // 8)), dtype=np.uint8)
        flipped = np.where(np.unpackbits(bits, count=n), gaps, -gaps)
        sums = np.bincount(measures.bins, weights=flipped, minlength=measures.n_bins)
        out[s] = np.abs(sums).sum() / total
    return out


def calibration_test(
    measures: Measures, n_sim: int, generator: np.random.Generator
) -> CalibrationTest:
    """Compare the observed ECE with those of calibrated classifiers.

    With unequal weights it is compared with random signs as well, and the larger of
    the two p-values counts.
    """
    rows = measures.rows
    sums = np.zeros((measures.n_bins, 5))
    _row_stats._sum_bins(measures.bins, rows.confidence, rows.hits, rows.weights, sums)
    observed = float(gap_norm(sums))
    simulated = [simulate_null(measures, n_sim, generator)]
    if rows.weights.min() < 1.0:
        simulated.append(flip_signs(measures, n_sim, generator))
    # sums in another order differ in the last digits, and a tie must count
    least = observed * (1.0 - 1e-12)
    as_large = [int((null >= least).sum()) for null in simulated]
    null = simulated[int(np.argmax(as_large))]
    return CalibrationTest(
        p_value=(1 + max(as_large)) / (n_sim + 1),
        statistic=observed,
        null_mean=float(null.mean()),
        null_upper=float(np.quantile(null, 0.95)),
        n_sim=n_sim,
    )


def noise(measures: Measures) -> float:
    """Approximate the ECE that a calibrated classifier has on these confidences.

    A bin's sum of gaps is then nearly normal with mean zero, so its absolute value is
    sqrt(2 / pi) standard deviations on average.
    """
    rows = measures.rows
    of_bins = noise_by_cell(rows, measures.bins, measures.n_bins)
    return float(of_bins.sum() / rows.weights.sum())


def noise_by_cell(rows: Rows, cells: IntArray, n_cells: int) -> FloatArray:
    """Return the mean absolute sum of gaps that noise alone gives each cell."""
    c = rows.confidence.astype(np.float64)
    variance = np.bincount(
        cells,
        weights=rows.weights**2 * np.maximum(c * (1.0 - c), 0.0),
        minlength=n_cells,
    )
    return np.asarray(np.sqrt(2.0 / np.pi * variance))
