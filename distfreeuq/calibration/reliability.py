"""Confidence against accuracy in bins, before and after a calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._kernels import _binning
from distfreeuq._typing import BoolArray, FloatArray, FloatMatrix
from distfreeuq.threads import threads_for

if TYPE_CHECKING:
    import pandas as pd

N_BINS = 15


def bin_sums(
    confidence: FloatArray, correct: BoolArray, weights: FloatArray
) -> FloatMatrix:
    """Return (15, 3): weight, confidence and accuracy of bins ((m-1)/15, m/15]."""
    edges = np.arange(1, N_BINS) / N_BINS
    values = np.ascontiguousarray(confidence, dtype=np.float64)
    bins = np.empty(values.size, dtype=np.int64)
    _binning._assign_bins(values, edges, True, bins, threads_for(values.size))
    return np.column_stack(
        [
            np.bincount(bins, weights=column, minlength=N_BINS)
            for column in (weights, weights * values, weights * correct)
        ]
    )


def reliability_frame(before: FloatMatrix, after: FloatMatrix) -> pd.DataFrame:
    """Return a tidy row per stage and occupied bin: share, confidence, accuracy."""
    import pandas as pd

    parts = []
    for stage, sums in (("before", before), ("after", after)):
        occupied = np.flatnonzero(sums[:, 0] > 0.0)
        weight, confidence, correct = sums[occupied].T
        parts.append(
            pd.DataFrame(
                {
                    "stage": stage,
                    "bin": occupied,
                    "share": weight / sums[:, 0].sum(),
                    "confidence": confidence / weight,
                    "accuracy": correct / weight,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)
