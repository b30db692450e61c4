"""Columns on a common scale, whatever the units of the features."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._numerics.passes.pooled_features import (
    FeatureRows,
    center_and_scale_of,
)
from distfreeuq._numerics.passes.row_parts import OnePart


def center_and_scale(x: FloatMatrix) -> tuple[FloatArray, FloatArray]:
    """Return column means (d,) and standard deviations (d,), 1 for constant columns.

    A column whose spread is rounding error of its level counts as constant.
    """
    rows = FeatureRows(x, np.empty(0))
    return center_and_scale_of(OnePart(rows), x.shape[0])


def unchanged(n_columns: int) -> tuple[FloatArray, FloatArray]:
    """Return the centre and scale that leave rows as they are."""
    return np.zeros(n_columns), np.ones(n_columns)
