"""Dirichlet scaling: a linear map of log-probabilities, kept near a diagonal one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from scipy import special

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, real
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq.calibration.data import (
    check_size_beside_bias,
    read_new_logits,
    read_rows,
)
from distfreeuq.calibration.guarantees import no_theorem
from distfreeuq.calibration.logistic_fits import LinearMap, minimize_linear
from distfreeuq.calibration.losses.linear_loss import linear_outcome, linear_softmax
from distfreeuq.calibration.losses.off_diagonal_loss import OffDiagonalLoss
from distfreeuq.calibration.results import (
    CalibrationResult,
    change_fields,
    coefficients,
)
from distfreeuq.calibration.rows.rows_in_blocks import FitRows
from distfreeuq.calibration.vector import warn_diverged

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@register("dirichlet-scaling")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DirichletResult(CalibrationResult):
    """A fitted linear map of log-probabilities.

    Attributes
    ----------
    coef : ndarray (K, K)
    bias : ndarray (K,)
        Log-probabilities z become logits z @ coef.T + bias.
    std_err : ndarray (K, K + 1)
        Sandwich estimates of the penalised fit, biases last; all nan beyond 1000
        parameters, whose covariance is not computed. They leave out the bias that the
        ridges make.
    ridge, ridge_bias : float

    The other attributes are those of every `CalibrationResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> logits = [[2.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 1.0]] * 5
    >>> labels = [0, 1, 1, 1] * 4 + [0, 1, 0, 0]
    >>> fit = dfu.dirichlet_scaling(logits, labels)
    >>> fit
    <DirichletResult n=20 K=2>
    >>> fit.predict([[1.0, 0.0]]).shape
    (1, 2)
    """

    coef: FloatMatrix
    bias: FloatArray
    std_err: FloatMatrix
    ridge: float
    ridge_bias: float

    _state: ClassVar[State] = {
        "coef": floats("K", "K", finite=True),
        "bias": floats("K", finite=True),
        "std_err": floats("K", "K+1", low=0.0),
        "ridge": real(0.0),
        "ridge_bias": real(0.0),
    }

    def __repr__(self) -> str:
        """Return one line."""
        return f"<DirichletResult n={self.n} K={len(self.classes)}>"

    @lazy
    def predict(self, logits: ArrayLike) -> FloatMatrix:
        """Probabilities softmax(coef @ log_softmax(logits) + bias), shape (n, K).

        Parameters
        ----------
        logits : array_like (n, K)
            Columns as in the fit.

        Notes
        -----
        The most likely class of a row may change.
        """
        args = Arguments("DirichletResult.predict")
        return self._predict(read_new_logits(args, logits, self.classes))

    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        return linear_softmax(log_probabilities(matrix), self.coef, self.bias)

    def to_frame(self) -> pd.DataFrame:
        """Return the coefficient table.

        Columns: parameter, class (whose logit is made), of (whose log-probability it
        multiplies, "bias" for none), estimate, std_err, z (of no change), p_value, low,
        high.
        """
        import pandas as pd

        names = list(self.classes)
        k = len(names)
        return pd.DataFrame(
            {
                "parameter": [*["coef"] * k, "bias"] * k,
                "class": [name for name in names for _ in range(k + 1)],
                "of": [*names, "bias"] * k,
                **coefficients(
                    np.column_stack([self.coef, self.bias]).ravel(),
                    self.std_err.ravel(),
                    np.eye(k, k + 1).ravel(),
                ),
            }
        )

    def summary(self) -> Summary:
        """Return losses and coefficient table as a ``Summary``."""
        from distfreeuq.calibration.summary import summarize_dirichlet

        return summarize_dirichlet(self)

    def _default_plot(self, ax: Axes | None) -> Axes:
        from distfreeuq import plots

        return plots.reliability_change(self, ax=ax)


def dirichlet_scaling(
    logits: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    ridge: float = 1e-3,
    ridge_bias: float | None = None,
    classes: ArrayLike | None = None,
) -> DirichletResult:
    """Regress the labels on log-probabilities, with ridges off the diagonal.

    Parameters
    ----------
    logits : array_like (n, K), or (n,) for the log-odds of class 1
        A classifier's logits on rows that it was not fitted on; for probabilities see
        `to_logits`. Rows of Dask or in blocks are taken too, as by
        `temperature_scaling`.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`. Left out where blocks have them.
    sample_weight : array_like (n,), optional
        Non-negative weights; their scale has no effect.
    ridge : float, default 0.001
        Factor of the mean square of the K (K - 1) coefficients off the diagonal, which
        is added to the mean NLL.
    ridge_bias : float, optional
        Factor of the mean square of the biases; by default `ridge`.
    classes : sequence, optional
        Class names by column.

    Returns
    -------
    DirichletResult

    Notes
    -----
    If the probability vectors of each class have a Dirichlet law, the calibrated
    logits are linear in the log-probabilities [1]_. The matrix has K (K - 1) entries
    off its diagonal, which few rows do not determine: its authors penalise these and
    the biases, and leave the diagonal free (off-diagonal and intercept regularisation,
    ODIR). The loss is convex, and its minimum is found to rounding; a large `ridge`
    gives a scale per class, and `platt_scaling` is the map without ridges. Its authors
    choose both by cross-validation among powers of ten.

    References
    ----------
    .. [1] Kull, Perello Nieto, Kangsepp, Silva Filho, Song and Flach (2019), "Beyond
       temperature scaling: obtaining well-calibrated multiclass probabilities with
       Dirichlet calibration", NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(0.0, 2.0, (4000, 3))
    >>> truth = logits * [0.5, 1.0, 1.0] + [0.3, 0.0, -0.3]
    >>> labels = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    >>> fit = dfu.dirichlet_scaling(logits, labels)
    >>> fit.loss_after < fit.loss_before
    True
    """
    args = Arguments("dirichlet_scaling")
    rows = read_rows(args, logits, labels, sample_weight, classes)
    options = read_dirichlet_options(args, rows, ridge=ridge, ridge_bias=ridge_bias)
    return fit_dirichlet(rows, options)


class DirichletOptions(NamedTuple):
    """Checked options of `dirichlet_scaling`."""

    ridge: float
    ridge_bias: float


def read_dirichlet_options(
    args: Arguments, rows: FitRows, *, ridge: float, ridge_bias: float | None
) -> DirichletOptions:
    """Check the options of a fit to these rows, and the rows' size."""
    check_size_beside_bias(args, rows)
    must = "a number from 1e-12 to 1e12"
    ridge = args.number(ridge, "ridge", must, low=1e-12, high=1e12)
    if ridge_bias is None:
        return DirichletOptions(ridge, ridge)
    other = args.number(ridge_bias, "ridge_bias", must, low=1e-12, high=1e12)
    return DirichletOptions(ridge, other)


def fit_dirichlet(rows: FitRows, options: DirichletOptions) -> DirichletResult:
    """Fit a linear map of log-probabilities to rows that hold logits."""
    rows = rows.with_logits(log_probabilities)
    fitted = _minimize(rows, options)
    if fitted.diverged.any():
        warn_diverged(rows, fitted.diverged)
    become = partial(linear_outcome, coef=fitted.coef, bias=fitted.bias)
    return DirichletResult(
        **change_fields(rows, become),
        guarantee=no_theorem("Dirichlet scaling"),
        coef=read_only(fitted.coef),
        bias=read_only(fitted.bias),
        std_err=read_only(fitted.std_err),
        ridge=options.ridge,
        ridge_bias=options.ridge_bias,
    )


@on_one_blas_thread
def _minimize(rows: FitRows, options: DirichletOptions) -> LinearMap:
    return minimize_linear(OffDiagonalLoss(rows, options.ridge, options.ridge_bias))


def log_probabilities(logits: FloatMatrix) -> FloatMatrix:
    """Return log-probabilities (n, K), in the logits' precision."""
    return np.ascontiguousarray(special.log_softmax(logits, axis=1), dtype=logits.dtype)
