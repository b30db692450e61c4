"""Isotonic calibration: probabilities as a non-decreasing function of themselves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, Classes, FloatArray, FloatMatrix
from distfreeuq._base.arrays import read_only
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, count, floats, require, several
from distfreeuq._kernels import _softmax
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import count_blocks
from distfreeuq._numerics.passes.monotone_curves import (
    LabelledValues,
    cells_of,
    fit_steps,
)
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq.calibration.data import KEPT, read_probability_rows, warn_absent
from distfreeuq.calibration.results import (
    CalibrationResult,
    Outcome,
    change_fields,
    outcome_of,
)
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows
from distfreeuq.calibration.rows.rows_in_blocks import FitRows, RowsInBlocks
from distfreeuq.guarantees import NoGuarantee

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

_SEARCH = 4
"""Cost of finding a place on a curve, relative to reading an entry."""


@register("isotonic-calibration")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IsotonicResult(CalibrationResult):
    """A fitted non-decreasing curve per class; for two classes, one of class 1.

    Attributes
    ----------
    knots, values : tuple of ndarray
        Each curve's points: linear between them, constant beyond the first and last.
    n_blocks : tuple of int
        Different values of each curve; 0 for a class that no row is labelled as.

    The other attributes are those of every `CalibrationResult`. There are no standard
    errors: isotonic estimates converge at the cube-root rate, to no normal law.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> scores = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    >>> fit = dfu.isotonic_calibration(scores, [0, 0, 1, 0, 1, 0, 1, 1])
    >>> fit
    <IsotonicResult n=8 K=2>
    >>> fit.predict([0.35, 0.95]).round(3).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """

    knots: tuple[FloatArray, ...]
    values: tuple[FloatArray, ...]
    n_blocks: tuple[int, ...]

    _state: ClassVar[State] = {
        "knots": several(floats("*", finite=True, ascending=True), "curves"),
        "values": several(floats("*", finite=True, ascending=True), "curves"),
        "n_blocks": several(count(), "curves"),
    }

    def _validate_state(self) -> None:
        n_curves = len(curve_classes(self.classes))
        require(len(self.knots) == n_curves, "a curve for each class")
        for knots, values in zip(self.knots, self.values, strict=True):
            require(0 < knots.size == values.size, "a value at each knot")

    def __repr__(self) -> str:
        """Return one line."""
        return f"<IsotonicResult n={self.n} K={len(self.classes)}>"

    @lazy
    def predict(self, logits: ArrayLike) -> FloatMatrix:
        """Calibrated probabilities, shape (n, K).

        Parameters
        ----------
        logits : array_like (n, K), or (n,) for the probability of class 1
            Probabilities, columns as in the fit (the parameter has the name that it has
            for all calibrators).

        Notes
        -----
        With more than two classes each class's curve is applied and rows are divided by
        their sum; a row on which all curves are 0 becomes uniform. The most likely
        class of a row may change, and ties are common.
        """
        args = Arguments("IsotonicResult.predict")
        return self._predict(args.new_probs(logits, self.classes, "logits"))

    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        return apply_curves(matrix, self.knots, self.values)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per knot: class, knot, value."""
        import pandas as pd

        names = name_array(self.classes)[-len(self.knots) :]
        return pd.DataFrame(
            {
                "class": np.repeat(names, [knots.size for knots in self.knots]),
                "knot": np.concatenate(self.knots),
                "value": np.concatenate(self.values),
            }
        )

    def summary(self) -> Summary:
        """Return losses and the curves' extent as a ``Summary``."""
        from distfreeuq.calibration.summary import summarize_isotonic

        return summarize_isotonic(self)

    def _parameter_plot(self, ax: Axes | None) -> Axes:
        return self._default_plot(ax)

    def _default_plot(self, ax: Axes | None) -> Axes:
        from distfreeuq import plots

        return plots.isotonic_curves(self, ax=ax)


def isotonic_calibration(
    probs: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> IsotonicResult:
    """Replace probabilities by the non-decreasing function of them that fits best.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        A classifier's probabilities on rows that it was not fitted on. Rows of Dask or
        in blocks are taken too, as by `temperature_scaling`.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`. Left out where blocks have them.
    sample_weight : array_like (n,), optional
        Non-negative weights; their scale has no effect.
    classes : sequence, optional
        Class names by column.

    Returns
    -------
    IsotonicResult

    Notes
    -----
    Weighted least squares by the pool-adjacent-violators algorithm (scipy's); rows of
    equal probability are pooled first. With two classes, one curve for the probability
    of class 1. With more, one against all: a curve per class, and rows divided by their
    sum. The fit is piecewise constant at the fitted probabilities and linear between
    them, as scikit-learn's.

    A class that no row is labelled as keeps the classifier's own probability, before
    rows are divided by their sums: its best curve would be 0 everywhere. An
    `IdentificationWarning` names it.

    Curves reach 0 and 1 where the extreme rows are all of one class, so the likelihood
    of new rows can be 0.

    References
    ----------
    .. [1] Zadrozny and Elkan (2002), "Transforming classifier scores into accurate
       multiclass probability estimates", KDD.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> fit = dfu.isotonic_calibration([0.1, 0.4, 0.6, 0.7, 0.9], [0, 1, 0, 1, 1])
    >>> fit.predict([0.1, 0.5, 0.95])[:, 1]
    array([0. , 0.5, 1. ])
    """
    args = Arguments("isotonic_calibration")
    rows = read_probability_rows(args, probs, labels, sample_weight, classes)
    read_isotonic_options(args, rows)
    return fit_isotonic(rows)


def read_isotonic_options(args: Arguments, rows: FitRows) -> None:
    """Return nothing, as there are no options; warn of classes without rows."""
    warn_absent(rows, KEPT)


def fit_isotonic(rows: FitRows, options: None = None) -> IsotonicResult:
    """Fit curves to rows that hold probabilities."""
    curves = fit_curves(rows)
    knots = tuple(read_only(curve[0]) for curve in curves)
    values = tuple(read_only(curve[1]) for curve in curves)
    become = partial(_isotonic_outcome, knots=knots, values=values)
    return IsotonicResult(
        **change_fields(rows, become, of_probs=True),
        guarantee=NoGuarantee("no finite-sample theorem for isotonic calibration"),
        knots=knots,
        values=values,
        n_blocks=tuple(curve[2] for curve in curves),
    )


def _isotonic_outcome(
    rows: CalibrationRows,
    knots: tuple[FloatArray, ...],
    values: tuple[FloatArray, ...],
) -> Outcome:
    return outcome_of(rows, apply_curves(rows.logits, knots, values))


def curve_classes(classes: Classes) -> Classes:
    """Return the classes that have a curve: all, or class 1 alone if there are two."""
    return classes if len(classes) > 2 else classes[1:]


def fit_curves(rows: FitRows) -> list[tuple[FloatArray, FloatArray, int]]:
    """Return the best curve of each class, or of class 1 alone if there are two."""
    columns = list(range(rows.n_classes)) if rows.n_classes > 2 else [1]
    # two classes have one curve, which is 1 everywhere if class 0 has no row
    counts, most = rows.label_counts, rows.n_counted if rows.n_classes == 2 else np.inf
    fitted = [k for k in columns if 0 < counts[k] < most]
    found = iter(
        _curves_in_memory(rows, fitted)
        if isinstance(rows, CalibrationRows)
        else _curves_in_blocks(rows, fitted)
    )
    identity = np.array([0.0, 1.0]), np.array([0.0, 1.0]), 0
    return [next(found) if k in fitted else identity for k in columns]


def _curves_in_memory(
    rows: CalibrationRows, columns: list[int]
) -> list[tuple[FloatArray, FloatArray, int]]:
    """Return the best curves of some classes.

    Classes are fitted in parallel threads: sorting, which takes most of the time, does
    not hold the interpreter's lock.
    """
    counted = rows.weights > 0.0

    def fit(k: int) -> tuple[FloatArray, FloatArray, int]:
        targets = (rows.labels[counted] == k).astype(np.float64)
        return fit_curve(rows.logits[counted, k], targets, rows.weights[counted])

    threads = min(len(columns), threads_for(rows.logits.size))
    if threads < 2:
        return [fit(k) for k in columns]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(fit, columns))


def _curves_in_blocks(
    rows: RowsInBlocks, columns: list[int]
) -> list[tuple[FloatArray, FloatArray, int]]:
    """Return the same, of rows in blocks."""
    if not columns:
        return []
    stride = max(1, rows.n // cells_of(len(columns)))
    sample = rows.every(stride).logits[:, columns]
    curves = []
    for steps in fit_steps(rows.parts.then(_Values(columns)), sample):
        values = np.clip(steps.mean, 0.0, 1.0)
        new = np.append(True, values[1:] != values[:-1])
        ends = np.column_stack([steps.first, steps.last])
        apart = np.column_stack([np.ones_like(new), steps.first < steps.last])
        both = np.column_stack([values, values])
        curves.append((ends[apart], both[apart], int(new.sum())))
    return curves


@dataclass(frozen=True, slots=True)
class _Values:
    """From rows to the values and labels of the curves of some classes."""

    columns: list[int]

    def __call__(self, rows: CalibrationRows) -> LabelledValues:
        counted = rows.weights > 0.0
        curve_of = np.full(rows.n_classes, -1)
        curve_of[self.columns] = np.arange(len(self.columns))
        return LabelledValues(
            rows.logits[counted][:, self.columns],
            curve_of[rows.labels[counted]],
            rows.weights[counted],
        )


def fit_curve(
    x: FloatArray, targets: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, int]:
    """Return knots, values and the number of blocks of the best non-decreasing curve.

    Weights are positive. A block is kept by its first and last x alone, which
    interpolate to the rest.
    """
    from scipy.optimize import isotonic_regression

    distinct, which = np.unique(x.astype(np.float64), return_inverse=True)
    mass = np.bincount(which, weights=weights)
    means = np.bincount(which, weights=weights * targets) / mass
    fitted = isotonic_regression(means, weights=mass)
    values = np.clip(fitted.x, 0.0, 1.0)  # block means may stray by rounding
    same_as_last = np.append(False, values[1:] == values[:-1])
    same_as_next = np.append(values[:-1] == values[1:], False)
    ends = ~(same_as_last & same_as_next)
    return distinct[ends], values[ends], int((~same_as_last).sum())


def apply_curves(
    probs: FloatMatrix, knots: tuple[FloatArray, ...], values: tuple[FloatArray, ...]
) -> FloatMatrix:
    """Return calibrated rows of probabilities, in the precision of `probs`."""
    out = np.empty_like(probs)
    _softmax._apply_curves(
        probs,
        np.concatenate(knots),
        np.concatenate(values),
        np.cumsum([0, *(curve.size for curve in knots)]),
        np.empty((count_blocks(probs), probs.shape[1])),
        out,
        threads_for(_SEARCH * probs.size),
    )
    return out
