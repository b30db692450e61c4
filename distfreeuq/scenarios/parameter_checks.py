"""Checks of what scenarios are made of: priors, means, covariances.

A scenario of the user's own is built from arrays of the user's own. The limits are far
beyond any data, and keep products of three of the numbers within the floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix
from distfreeuq._base.arrays import describe, read_only
from distfreeuq._base.intent.class_vectors import by_number

LARGEST_FEATURE = 1e50
_LARGEST_VARIANCE = 1e30
_LARGEST_CONDITION = 1e12
_SUM_TOLERANCE = 1e-9


def store(scenario: Any, **fields: Any) -> None:
    """Set fields of a frozen scenario, arrays read-only."""
    for name, value in fields.items():
        array = isinstance(value, np.ndarray)
        object.__setattr__(scenario, name, read_only(value) if array else value)


def words(args: Arguments, value: Any) -> str:
    """Return the description."""
    if not isinstance(value, str):
        args.invalid("description", "a text", describe(value))
    return value


def proportions(
    args: Arguments, value: ArrayLike, parameter: str, n_classes: int | None = None
) -> FloatArray:
    """Return class proportions (K,)."""
    must = "class proportions that sum to one"
    value = by_number(args, value, parameter)
    vector = args.vector(value, parameter, must, length=n_classes, low=0.0, high=1.0)
    if abs(vector.sum() - 1.0) > _SUM_TOLERANCE:
        args.invalid(parameter, must, f"a sum of {vector.sum():.8g}")
    return vector


def means(args: Arguments, value: ArrayLike, n_classes: int) -> FloatMatrix:
    """Return class means (K, d)."""
    matrix = bounded(args, value, "means")
    if matrix.shape[0] != n_classes:
        must = f"of shape ({n_classes}, d), a row per class"
        args.invalid("means", must, f"shape {matrix.shape}")
    return matrix


def bounded(args: Arguments, value: ArrayLike, parameter: str) -> FloatMatrix:
    """Return features (n, d), none of them astronomical."""
    matrix = args.features(value, parameter).astype(np.float64)
    if matrix.size and np.abs(matrix).max() > LARGEST_FEATURE:
        must = f"of numbers from {-LARGEST_FEATURE:g} to {LARGEST_FEATURE:g}"
        got = f"{matrix.flat[int(np.argmax(np.abs(matrix)))]}"
        args.invalid(parameter, must, got)
    return matrix


def covariance(args: Arguments, value: ArrayLike, parameter: str) -> FloatMatrix:
    """Return a positive definite matrix (d, d) that can be inverted."""
    matrix = bounded(args, value, parameter)
    must = "a positive definite matrix (d, d)"
    if matrix.shape[0] != matrix.shape[1]:
        args.invalid(parameter, must, f"shape {matrix.shape}")
    symmetric = bool(np.allclose(matrix, matrix.T))
    values = np.linalg.eigvalsh(matrix) if symmetric else np.array([-1.0])
    if values.min() <= 0.0:
        args.invalid(parameter, must, describe(matrix.tolist()))
    extent = f"{1 / _LARGEST_VARIANCE:g} to {_LARGEST_VARIANCE:g}"
    if values.min() < 1.0 / _LARGEST_VARIANCE or values.max() > _LARGEST_VARIANCE:
        got = f"{values.min():.3g} to {values.max():.3g}"
        args.invalid(parameter, f"of eigenvalues from {extent}", got)
    if values.max() > _LARGEST_CONDITION * values.min():
        got = f"one of {values.max() / values.min():.3g}"
        must = f"of a condition number up to {_LARGEST_CONDITION:g}"
        args.invalid(parameter, must, got)
    return matrix


def coefficient(args: Arguments, value: Any, parameter: str) -> float:
    """Return a slope or an intercept."""
    return args.number(value, parameter, "a finite number", low=-1e6, high=1e6)
