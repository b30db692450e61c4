"""Confidence against accuracy in bins, before and after a calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq.metrics.bins import choose_bins, sum_in_cells
from distfreeuq.metrics.data import Rows

if TYPE_CHECKING:
    import pandas as pd

N_BINS = 15


def bin_sums(
    confidence: FloatArray, correct: BoolArray, weights: FloatArray
) -> FloatMatrix:
    """Return (15, 3): weight, confidence and accuracy of bins ((m-1)/15, m/15]."""
    values = np.ascontiguousarray(confidence, dtype=np.float64)
    hits = np.ascontiguousarray(correct, dtype=np.uint8)
    rows = Rows(values, hits, np.ascontiguousarray(weights, dtype=np.float64), 1.0)
    partition = choose_bins(values, rows.weights, N_BINS, "equal-width")
    return sum_in_cells(rows, partition.assign(values), N_BINS)[:, :3]


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
