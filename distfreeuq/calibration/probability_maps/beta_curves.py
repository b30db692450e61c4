"""Beta calibration: log-odds linear in log p and log(1 - p)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from scipy import special

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, BoolArray, FloatArray, FloatMatrix
from distfreeuq._base.arrays import read_only
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, require
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.newton import FactoredHessian, minimize_convex
from distfreeuq._numerics.passes.row_parts import Parts
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq.calibration.data import KEPT, read_probability_rows, warn_absent
from distfreeuq.calibration.guarantees import no_theorem
from distfreeuq.calibration.isotonic import curve_classes
from distfreeuq.calibration.losses.binary_loss import Design, LogLoss
from distfreeuq.calibration.losses.vector_loss import FLAT
from distfreeuq.calibration.results import (
    CalibrationResult,
    Outcome,
    change_fields,
    coefficients,
    outcome_of,
)
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows
from distfreeuq.calibration.rows.rows_in_blocks import FitRows
from distfreeuq.calibration.vector import warn_diverged

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

_NEUTRAL = np.array([1.0, 1.0, 0.0])
_SMALLEST = float(np.finfo(np.float64).eps)
"""Probabilities nearer to 0 or 1 than this count as so far from them."""


@register("beta-calibration")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BetaResult(CalibrationResult):
    """A fitted beta curve per class; for two classes, one of class 1.

    Attributes
    ----------
    coef : ndarray (curves, 3)
        a, b and the intercept c: log-odds a ln p - b ln(1 - p) + c. 1, 1 and 0 leave
        the probability as it is; a and b are not negative.
    std_err : ndarray (curves, 3)
        Sandwich estimates, weights included; nan for parameters at their bound 0, for
        curves without finite optimum and for classes that no row is labelled as.

    The other attributes are those of every `CalibrationResult`.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> truth = p**2 / (p**2 + (1 - p))  # a = 2, b = 1
    >>> fit = dfu.beta_calibration(p, (rng.random(4000) < truth).astype(int))
    >>> fit
    <BetaResult n=4000 K=2>
    >>> fit.coef.round(1).tolist()
    [[2.0, 0.9, 0.1]]
    """

    coef: FloatMatrix
    std_err: FloatMatrix

    _state: ClassVar[State] = {
        "coef": floats("curves", 3, finite=True),
        "std_err": floats("curves", 3, low=0.0),
    }

    def _validate_state(self) -> None:
        n_curves = len(curve_classes(self.classes))
        require(self.coef.shape[0] == n_curves, "a curve for each class")
        require(not (self.coef[:, :2] < 0.0).any(), "no curve that falls")

    def __repr__(self) -> str:
        """Return one line."""
        return f"<BetaResult n={self.n} K={len(self.classes)}>"

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
        their sum. The most likely class of a row may change.
        """
        args = Arguments("BetaResult.predict")
        return self._predict(args.new_probs(logits, self.classes, "logits"))

    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        return apply_beta(matrix, self.coef)

    def to_frame(self) -> pd.DataFrame:
        """Return the coefficient table: a, b and intercept of every curve.

        Columns: parameter, class, estimate, std_err, z (of a = 1, b = 1, intercept =
        0), p_value, low, high.
        """
        import pandas as pd

        names = name_array(self.classes)[-self.coef.shape[0] :]
        parts = [
            pd.DataFrame(
                {
                    "parameter": name,
                    "class": names,
                    **coefficients(self.coef[:, i], self.std_err[:, i], _NEUTRAL[i]),
                }
            )
            for i, name in enumerate(("a", "b", "intercept"))
        ]
        return pd.concat(parts, ignore_index=True)

    def summary(self) -> Summary:
        """Return losses and coefficient table as a ``Summary``."""
        from distfreeuq.calibration.summary import summarize_beta

        return summarize_beta(self)

    def _default_plot(self, ax: Axes | None) -> Axes:
        from distfreeuq import plots

        return plots.reliability_change(self, ax=ax)


def beta_calibration(
    probs: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> BetaResult:
    """Calibrate by the curve between two beta laws, by maximum likelihood.

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
    BetaResult

    Notes
    -----
    If the scores of either class have beta laws, the log-odds of class 1 are
    a ln p - b ln(1 - p) + c [1]_: a logistic regression on ln p and -ln(1 - p), with a
    and b not negative, so that the curve does not fall. The optimum under this
    constraint is exact: where a parameter would be negative it is 0 and the others are
    fitted again, and of what is feasible the best is taken. a = b is Platt scaling of
    the log-odds; a = b = 1 and c = 0 change nothing.

    With more than two classes a curve per class, one against all, and rows divided by
    their sum. A class that no row is labelled as keeps the classifier's own
    probability, before rows are divided by their sums. Perfectly separated classes have
    no finite parameters; the fit then stops at finite ones, with a `FitAtBoundWarning`.

    References
    ----------
    .. [1] Kull, Silva Filho and Flach (2017), "Beta calibration: a well-founded and
       easily implemented improvement on logistic calibration for binary classifiers",
       AISTATS.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    >>> fit = dfu.beta_calibration(probs, [0, 0, 1, 0, 1, 0, 1, 1])
    >>> fit.predict([0.5]).round(3).tolist()
    [[0.5, 0.5]]
    """
    args = Arguments("beta_calibration")
    rows = read_probability_rows(args, probs, labels, sample_weight, classes)
    read_beta_options(args, rows)
    return fit_beta(rows)


def read_beta_options(args: Arguments, rows: FitRows) -> None:
    """Return nothing, as there are no options; warn of classes without rows."""
    warn_absent(rows, KEPT)


def fit_beta(rows: FitRows, options: None = None) -> BetaResult:
    """Fit a curve per class to rows that hold probabilities."""
    columns = list(range(rows.n_classes)) if rows.n_classes > 2 else [1]
    fitted = rows.in_step([partial(_fit_curve, k=k) for k in columns])
    diverged = np.array([one.diverged for one in fitted])
    if diverged.any():
        both = np.full(rows.n_classes, True) if len(columns) == 1 else diverged
        warn_diverged(rows, both)
    coef = np.array([one.coef for one in fitted])
    return BetaResult(
        **change_fields(rows, partial(_beta_outcome, coef=coef), of_probs=True),
        guarantee=no_theorem("beta calibration"),
        coef=read_only(coef),
        std_err=read_only(np.array([one.std_err for one in fitted])),
    )


class BetaCurve(NamedTuple):
    """A fitted curve: a, b and c, their standard errors, and whether they diverged."""

    coef: FloatArray
    std_err: FloatArray
    diverged: bool
    loss: float = np.inf


def _beta_outcome(rows: CalibrationRows, coef: FloatMatrix) -> Outcome:
    return outcome_of(rows, apply_beta(rows.logits, coef))


def _fit_curve(rows: FitRows, k: int) -> BetaCurve:
    """Return the best curve of class k that does not fall."""
    n_own = int(rows.label_counts[k])
    if n_own == 0 or (rows.n_classes == 2 and n_own == rows.n_counted):
        return BetaCurve(_NEUTRAL, np.full(3, np.nan), False)
    designs = rows.parts.then(_MakeDesign(k, rows.total_weight))
    free = np.ones(3, dtype=np.bool_)
    best = _fit_free(designs, free)
    if (best.coef < 0.0)[:2].any():
        faces = [(False, True, True), (True, False, True), (False, False, True)]
        found = [_fit_free(designs, np.array(face)) for face in faces]
        feasible = [one for one in found if not (one.coef < 0.0)[:2].any()]
        best = min(feasible, key=lambda one: one.loss)
    return best


@dataclass(frozen=True, slots=True)
class _MakeDesign:
    """From rows to those of the regression of class k's curve."""

    k: int
    total_weight: float

    def __call__(self, rows: CalibrationRows) -> Design:
        return Design(
            np.column_stack([*_logs(rows.logits[:, self.k]), np.ones(rows.n)]),
            (rows.labels == self.k).astype(np.float64),
            rows.weights / self.total_weight,
        )


@dataclass(frozen=True, slots=True)
class _KeepColumns:
    """Keeps some columns of a design."""

    columns: BoolArray

    def __call__(self, design: Design) -> Design:
        own = np.ascontiguousarray(design.matrix[:, self.columns])
        return design._replace(matrix=own)


@on_one_blas_thread
def _fit_free(designs: Parts[Design], free: BoolArray) -> BetaCurve:
    """Return the best curve with some parameters free and the others 0."""
    losses = LogLoss(designs.then(_KeepColumns(free)))

    def evaluate(theta: FloatArray) -> tuple[float, FloatArray]:
        sums = losses.evaluate(theta)
        return float(sums[0]), sums[1:]

    def curvature(theta: FloatArray) -> FactoredHessian:
        return FactoredHessian(losses.hessian(theta), np.zeros((theta.size, 0)))

    theta = minimize_convex(evaluate, curvature, _NEUTRAL[free])
    diverged = losses.spread(theta) < FLAT
    coef, std_err = np.zeros(3), np.full(3, np.nan)
    coef[free] = theta
    if not diverged:
        std_err[free] = np.sqrt(curvature(theta).sandwich(losses.scores(theta)))
    return BetaCurve(coef, std_err, diverged, evaluate(theta)[0])


def _logs(probs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ln p and -ln(1 - p), finite."""
    p = probs.astype(np.float64)
    return (
        np.log(np.maximum(p, _SMALLEST)),
        -np.log(np.maximum(1.0 - p, _SMALLEST)),
    )


def apply_beta(probs: FloatMatrix, coef: FloatMatrix) -> FloatMatrix:
    """Return calibrated rows of probabilities, in the precision of `probs`."""
    columns = [1] if coef.shape[0] == 1 else range(probs.shape[1])
    curves = []
    for k, (a, b, c) in zip(columns, coef, strict=True):
        log_p, minus_log_q = _logs(probs[:, k])
        curves.append(special.expit(a * log_p + b * minus_log_q + c))
    out = np.empty_like(probs)
    if len(curves) == 1:
        out[:, 1] = curves[0]
        out[:, 0] = 1.0 - curves[0]
        return out
    stacked = np.column_stack(curves)
    sums = stacked.sum(axis=1, keepdims=True)
    uniform = 1.0 / probs.shape[1]
    with np.errstate(invalid="ignore"):
        out[...] = np.where(sums > 0.0, stacked / sums, uniform)
    return out
