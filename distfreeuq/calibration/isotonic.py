"""Isotonic calibration: probabilities as a non-decreasing function of themselves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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
from distfreeuq.calibration.data import (
    KEPT,
    CalibrationRows,
    make_rows,
    read_weights,
    warn_absent,
)
from distfreeuq.calibration.results import CalibrationResult, change_fields, outcome_of
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
    labels: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> IsotonicResult:
    """Replace probabilities by the non-decreasing function of them that fits best.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        A classifier's probabilities on rows that it was not fitted on.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`.
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
    matrix, names = args.probs(probs, classes=classes)
    n = matrix.shape[0]
    if n == 0:
        args.invalid("probs", "of shape (n, K) with n >= 1", f"shape {matrix.shape}")
    codes = args.labels(labels, names, n)
    rows = make_rows(matrix, codes, read_weights(args, sample_weight, n), names)
    read_isotonic_options(args, rows)
    return fit_isotonic(rows)


def read_isotonic_options(args: Arguments, rows: CalibrationRows) -> None:
    """Return nothing, as there are no options; warn of classes without rows."""
    warn_absent(rows, KEPT)


def fit_isotonic(rows: CalibrationRows, options: None = None) -> IsotonicResult:
    """Fit curves to rows that hold probabilities."""
    curves = fit_curves(rows)
    knots = tuple(read_only(curve[0]) for curve in curves)
    values = tuple(read_only(curve[1]) for curve in curves)
    after = outcome_of(rows, apply_curves(rows.logits, knots, values))
    return IsotonicResult(
        **change_fields(rows, after, before=rows.logits),
        guarantee=NoGuarantee("no finite-sample theorem for isotonic calibration"),
        knots=knots,
        values=values,
        n_blocks=tuple(curve[2] for curve in curves),
    )


def curve_classes(classes: Classes) -> Classes:
    """Return the classes that have a curve: all, or class 1 alone if there are two."""
    return classes if len(classes) > 2 else classes[1:]


def fit_curves(rows: CalibrationRows) -> list[tuple[FloatArray, FloatArray, int]]:
    """Return the best curve of each class, or of class 1 alone if there are two.

    Classes are fitted in parallel threads: sorting, which takes most of the time, does
    not hold the interpreter's lock.
    """
    counted = rows.weights > 0.0

    def fit(k: int) -> tuple[FloatArray, FloatArray, int]:
        targets = (rows.labels[counted] == k).astype(np.float64)
        # two classes have one curve, which is 1 everywhere if class 0 has no row
        if not targets.any() or (rows.n_classes == 2 and targets.all()):
            return np.array([0.0, 1.0]), np.array([0.0, 1.0]), 0
        return fit_curve(rows.logits[counted, k], targets, rows.weights[counted])

    columns = range(rows.n_classes) if rows.n_classes > 2 else [1]
    threads = min(len(columns), threads_for(rows.logits.size))
    if threads == 1:
        return [fit(k) for k in columns]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(fit, columns))


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
