"""Platt scaling: a logistic regression of the labels on the logits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, flag, floats, real, require
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq.calibration.data import (
    check_size_beside_bias,
    read_new_logits,
    read_rows,
)
from distfreeuq.calibration.guarantees import no_theorem
from distfreeuq.calibration.logistic_fits import fit_binary, fit_multinomial
from distfreeuq.calibration.losses.linear_loss import linear_outcome, linear_softmax
from distfreeuq.calibration.results import (
    CalibrationResult,
    change_fields,
    coefficients,
)
from distfreeuq.calibration.rows.rows_in_blocks import FitRows
from distfreeuq.calibration.vector import read_ridge, warn_diverged

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@register("platt-scaling")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PlattResult(CalibrationResult):
    """A fitted linear map of the logits.

    Attributes
    ----------
    coef : ndarray (K, K)
    bias : ndarray (K,)
        Logits become logits @ coef.T + bias. Several maps give these probabilities;
        this one is nearest to leaving the logits as they are.
    std_err : ndarray
        Sandwich estimates, weights included; nan where the data do not determine the
        parameter. Two classes: (2,), of `slope` and `intercept`. More: (K, K + 1), the
        biases last; all nan beyond 1000 parameters, whose covariance is not computed.
    ridge : float
    smoothing : bool
        Whether the targets were Platt's smoothed ones.

    The other attributes are those of every `CalibrationResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> logits = [[2.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 1.0]] * 5
    >>> labels = [0, 1, 1, 1] * 4 + [0, 1, 0, 0]
    >>> fit = dfu.platt_scaling(logits, labels)
    >>> fit
    <PlattResult n=20 K=2>
    >>> fit.predict([[1.0, 0.0]]).round(3).tolist()
    [[0.513, 0.487]]
    """

    coef: FloatMatrix
    bias: FloatArray
    std_err: FloatArray
    ridge: float
    smoothing: bool

    _state: ClassVar[State] = {
        "coef": floats("K", "K", finite=True),
        "bias": floats("K", finite=True),
        "std_err": floats(..., low=0.0),
        "ridge": real(0.0),
        "smoothing": flag(),
    }

    def _validate_state(self) -> None:
        k = len(self.classes)
        shape = (2,) if k == 2 else (k, k + 1)
        require(self.std_err.shape == shape, "a standard error of each parameter")

    def __repr__(self) -> str:
        """Return one line."""
        return f"<PlattResult n={self.n} K={len(self.classes)}>"

    @property
    def slope(self) -> float:
        """Factor of the log-odds of class 1, for two classes."""
        self._two_classes("slope")
        return float(self.coef[1, 1] - self.coef[0, 1])

    @property
    def intercept(self) -> float:
        """Summand of the log-odds of class 1, for two classes."""
        self._two_classes("intercept")
        return float(self.bias[1] - self.bias[0])

    def _two_classes(self, name: str) -> None:
        if len(self.classes) != 2:
            raise AttributeError(f"{name} is for two classes; see coef and bias")

    @lazy
    def predict(self, logits: ArrayLike) -> FloatMatrix:
        """Probabilities softmax(logits @ coef.T + bias), shape (n, K).

        Parameters
        ----------
        logits : array_like (n, K)
            Columns as in the fit.

        Notes
        -----
        The most likely class of a row may change.
        """
        args = Arguments("PlattResult.predict")
        return self._predict(read_new_logits(args, logits, self.classes))

    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        return linear_softmax(matrix, self.coef, self.bias)

    def to_frame(self) -> pd.DataFrame:
        """Return the coefficient table.

        Columns: parameter, estimate, std_err, z, p_value, low, high. For two classes,
        rows slope and intercept; for more, a row per coefficient, with the columns
        class (whose logit is made) and of (whose logit it multiplies, "bias" for none).
        z is for the value that changes nothing.
        """
        import pandas as pd

        if len(self.classes) == 2:
            estimates = np.array([self.slope, self.intercept])
            table = coefficients(estimates, self.std_err, np.array([1.0, 0.0]))
            return pd.DataFrame({"parameter": ["slope", "intercept"], **table})
        n_classes = len(self.classes)
        estimates = np.column_stack([self.coef, self.bias]).ravel()
        null = np.eye(n_classes, n_classes + 1).ravel()
        names = list(self.classes)
        return pd.DataFrame(
            {
                "parameter": np.tile([*["coef"] * n_classes, "bias"], n_classes),
                "class": np.repeat(np.arange(n_classes), n_classes + 1),
                "of": np.tile(np.arange(n_classes + 1), n_classes),
                **coefficients(estimates, self.std_err.ravel(), null),
            }
        ).assign(
            **{
                "class": lambda frame: [names[k] for k in frame["class"]],
                "of": lambda frame: [[*names, "bias"][k] for k in frame["of"]],
            }
        )

    def summary(self) -> Summary:
        """Return losses and coefficient table as a ``Summary``."""
        from distfreeuq.calibration.summary import summarize_platt

        return summarize_platt(self)

    def _default_plot(self, ax: Axes | None) -> Axes:
        from distfreeuq import plots

        return plots.reliability_change(self, ax=ax)


def platt_scaling(
    logits: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    ridge: float = 0.0,
    smoothing: bool = False,
    classes: ArrayLike | None = None,
) -> PlattResult:
    """Regress the labels on the logits, by (multinomial) logistic regression.

    Parameters
    ----------
    logits : array_like (n, K), or (n,) for the log-odds of class 1
        A classifier's logits on rows that it was not fitted on. (n,) may be any score.
        Rows of Dask or in blocks are taken too, as by `temperature_scaling`.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`. Left out where blocks have them.
    sample_weight : array_like (n,), optional
        Non-negative weights; their scale has no effect.
    ridge : float, default 0
        Adds ridge / 2 times the squared distance of the parameters from those that
        change nothing (coefficients the identity, biases 0) to the mean loss.
    smoothing : bool, default False
        Two classes only: Platt's targets (N_1 + 1) / (N_1 + 2) and 1 / (N_0 + 2) in
        place of 1 and 0, which keep the slope finite. N_1 and N_0 are the classes'
        shares of the total weight, times n.
    classes : sequence, optional
        Class names by column.

    Returns
    -------
    PlattResult

    Notes
    -----
    With two classes, the model is P(Y = 1) = sigmoid(slope * (z_1 - z_0) + intercept).
    With more, it is softmax(coef @ z + bias) with a full matrix, K (K - 1) + K - 1
    parameters that count: give it many rows, or a ridge.

    Without ridge or smoothing, perfectly separated classes and classes that no row is
    labelled as have no finite parameters; the fit then stops at finite ones, with a
    `FitAtBoundWarning`.

    References
    ----------
    .. [1] Platt (1999), "Probabilistic outputs for support vector machines and
       comparisons to regularized likelihood methods".
    .. [2] Guo, Pleiss, Sun and Weinberger (2017), "On calibration of modern neural
       networks", ICML (there "matrix scaling").

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(0.0, 2.0, 2000)
    >>> labels = (0.5 * scores - 1.0 + rng.logistic(size=2000) > 0).astype(int)
    >>> fit = dfu.platt_scaling(scores, labels)
    >>> round(fit.slope, 2), round(fit.intercept, 2)
    (0.54, -1.05)
    """
    args = Arguments("platt_scaling")
    rows = read_rows(args, logits, labels, sample_weight, classes)
    options = read_platt_options(args, rows, ridge=ridge, smoothing=smoothing)
    return fit_platt(rows, options)


class PlattOptions(NamedTuple):
    """Checked options of `platt_scaling`."""

    ridge: float
    smoothing: bool


def read_platt_options(
    args: Arguments, rows: FitRows, *, ridge: float, smoothing: bool
) -> PlattOptions:
    """Check the options of a fit to these rows, and the rows' size."""
    check_size_beside_bias(args, rows)
    ridge = read_ridge(args, ridge)
    smoothing = args.flag(smoothing, "smoothing")
    if smoothing and rows.n_classes > 2:
        must = "False for more than two classes"
        args.invalid("smoothing", must, f"True for {rows.n_classes} classes")
    return PlattOptions(ridge, smoothing)


def fit_platt(rows: FitRows, options: PlattOptions) -> PlattResult:
    """Fit a linear map of the logits to the rows."""
    if rows.n_classes == 2:
        fitted = fit_binary(rows, options.ridge, options.smoothing)
    else:
        fitted = fit_multinomial(rows, options.ridge)
    if fitted.diverged.any():
        warn_diverged(rows, fitted.diverged)
    become = partial(linear_outcome, coef=fitted.coef, bias=fitted.bias)
    return PlattResult(
        **change_fields(rows, become),
        guarantee=no_theorem("Platt scaling"),
        coef=read_only(fitted.coef),
        bias=read_only(fitted.bias),
        std_err=read_only(fitted.std_err),
        ridge=options.ridge,
        smoothing=options.smoothing,
    )
