"""Vector scaling: a scale and a bias for every class's logit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, BoolArray, FloatArray, FloatMatrix
from distfreeuq._base.arrays import describe, listed, read_only
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, real
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.newton import FactoredHessian
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq._numerics.sampled_newton import NEAR, minimize_from_sample
from distfreeuq.calibration.data import (
    check_size_beside_bias,
    read_new_logits,
    read_rows,
)
from distfreeuq.calibration.guarantees import no_theorem
from distfreeuq.calibration.inverse_temperature import rough_alpha
from distfreeuq.calibration.losses.vector_loss import (
    FLAT,
    VectorLoss,
    affine_outcome,
    affine_softmax,
)
from distfreeuq.calibration.results import (
    CalibrationResult,
    change_fields,
    coefficients,
)
from distfreeuq.calibration.rows.rows_in_blocks import FitRows
from distfreeuq.exceptions import FitAtBoundWarning

if TYPE_CHECKING:
    import pandas as pd
    from statsmodels.iolib.summary import Summary

MAX_HESSIAN_PARAMETERS = 1000
"""Up to these many a Hessian is made; beyond, L-BFGS fits without standard errors."""


@register("vector-scaling")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VectorResult(CalibrationResult):
    """A fitted scale and bias per class.

    Attributes
    ----------
    scale, bias : ndarray (K,)
        Logits become scale * logits + bias. The biases sum to zero over the classes
        that occur in the labels.
    std_err : ndarray (2, K)
        Sandwich estimates of the standard errors of scales and biases, weights
        included; nan where the data do not determine the parameter, and beyond 500
        classes, where the covariance is not computed.
    ridge : float

    The other attributes are those of every `CalibrationResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> logits = [[2.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 1.0]] * 5
    >>> labels = [0, 1, 1, 1] * 4 + [0, 1, 0, 0]
    >>> fit = dfu.vector_scaling(logits, labels)
    >>> fit
    <VectorResult n=20 K=2>
    >>> fit.predict([[1.0, 0.0]]).round(3).tolist()
    [[0.356, 0.644]]
    """

    scale: FloatArray
    bias: FloatArray
    std_err: FloatMatrix
    ridge: float

    _state: ClassVar[State] = {
        "scale": floats("K", finite=True),
        "bias": floats("K", finite=True),
        "std_err": floats(2, "K", low=0.0),
        "ridge": real(0.0),
    }

    def __repr__(self) -> str:
        """Return one line."""
        return f"<VectorResult n={self.n} K={len(self.classes)}>"

    @lazy
    def predict(self, logits: ArrayLike) -> FloatMatrix:
        """Probabilities softmax(scale * logits + bias), shape (n, K).

        Parameters
        ----------
        logits : array_like (n, K)
            Columns as in the fit.

        Notes
        -----
        The most likely class of a row may change.
        """
        args = Arguments("VectorResult.predict")
        return self._predict(read_new_logits(args, logits, self.classes))

    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        return affine_softmax(matrix, self.scale, self.bias)

    def to_frame(self) -> pd.DataFrame:
        """Return the coefficient table: K scales, then K biases.

        Columns: parameter, class, estimate, std_err, z (of scale = 1 or bias = 0),
        p_value, low, high.
        """
        import pandas as pd

        parts = [
            pd.DataFrame(
                {
                    "parameter": name,
                    "class": name_array(self.classes),
                    **coefficients(estimates, std_err, null),
                }
            )
            for name, estimates, std_err, null in (
                ("scale", self.scale, self.std_err[0], 1.0),
                ("bias", self.bias, self.std_err[1], 0.0),
            )
        ]
        return pd.concat(parts, ignore_index=True)

    def summary(self) -> Summary:
        """Return losses and coefficient tables as a ``Summary``."""
        from distfreeuq.calibration.summary import summarize_vector

        return summarize_vector(self)


def vector_scaling(
    logits: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    ridge: float = 0.0,
    classes: ArrayLike | None = None,
) -> VectorResult:
    """Scale and shift every class's logit, by maximum likelihood.

    Parameters
    ----------
    logits : array_like (n, K), or (n,) for the log-odds of class 1
        A classifier's logits on rows that it was not fitted on. Rows of Dask or in
        blocks are taken too, as by `temperature_scaling`.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`. Left out where blocks have them.
    sample_weight : array_like (n,), optional
        Non-negative weights; their scale has no effect.
    ridge : float, default 0
        Adds ridge / 2 times the squared distance of the parameters from those that
        change nothing (scale 1, bias 0) to the mean loss.
    classes : sequence, optional
        Class names by column.

    Returns
    -------
    VectorResult

    Notes
    -----
    The probabilities are softmax(scale * logits + bias), eq. (4.5) of [2]_. The loss is
    convex, and its minimum is found to rounding. Adding a constant to all biases
    changes nothing; the ones that sum to zero are returned. Adding a constant to the
    logits of a row does change its probabilities, unless all scales are equal: use the
    logits as the classifier made them.

    Without a ridge, a class that no row is labelled as has no finite bias, nor have
    classes that the logits separate perfectly; the fit then stops at finite parameters,
    with a `FitAtBoundWarning`.

    References
    ----------
    .. [1] Guo, Pleiss, Sun and Weinberger (2017), "On calibration of modern neural
       networks", ICML.
    .. [2] Zhao, Chen and Oymak (2020), eq. (4.5).

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(0.0, 2.0, (4000, 3))
    >>> truth = logits * [0.5, 1.0, 1.0] + [0.3, 0.0, -0.3]
    >>> labels = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    >>> fit = dfu.vector_scaling(logits, labels)
    >>> fit
    <VectorResult n=4000 K=3>
    >>> fit.scale.round(2), fit.bias.round(2)
    (array([0.49, 0.99, 0.94]), array([ 0.27, -0.01, -0.27]))
    """
    args = Arguments("vector_scaling")
    rows = read_rows(args, logits, labels, sample_weight, classes)
    return fit_vector(rows, read_vector_options(args, rows, ridge=ridge))


class VectorOptions(NamedTuple):
    """Checked options of `vector_scaling`."""

    ridge: float


def read_vector_options(
    args: Arguments, rows: FitRows, *, ridge: float
) -> VectorOptions:
    """Check the options of a fit to these rows, and the rows' size."""
    check_size_beside_bias(args, rows)
    return VectorOptions(read_ridge(args, ridge))


def fit_vector(rows: FitRows, options: VectorOptions) -> VectorResult:
    """Fit scales and biases to the rows."""
    fitted = minimize_vector(rows, options.ridge)
    if fitted.diverged.any():
        warn_diverged(rows, fitted.diverged)
    return VectorResult(
        **change_fields(
            rows, partial(affine_outcome, scale=fitted.scale, bias=fitted.bias)
        ),
        guarantee=no_theorem("vector scaling"),
        scale=read_only(fitted.scale),
        bias=read_only(fitted.bias),
        std_err=read_only(fitted.std_err),
        ridge=options.ridge,
    )


def read_ridge(args: Arguments, value: float) -> float:
    """Return a penalty, zero for none."""
    must = "0, or a number from 1e-100 to 1e12"
    ridge = args.number(value, "ridge", must, low=0.0, high=1e12)
    if 0.0 < ridge < 1e-100:
        args.invalid("ridge", must, describe(ridge))
    return ridge


def warn_diverged(rows: FitRows, diverged: BoolArray) -> None:
    """Warn of classes whose parameters have no finite optimum."""
    names = [name for name, own in zip(rows.classes, diverged, strict=True) if own]
    warn_user(
        f"The loss has no minimum in the parameters of {len(names)} of "
        f"{rows.n_classes} classes ({listed(names)}), which no row is labelled as or "
        "which the logits separate perfectly: they stand where the fit stopped. A "
        "ridge > 0 gives a minimum.",
        FitAtBoundWarning,
    )


class VectorFit(NamedTuple):
    """The minimum of the loss.

    Attributes
    ----------
    scale, bias : ndarray (K,)
    std_err : ndarray (2, K)
    diverged : ndarray (K,)
        Classes without a finite optimum.
    """

    scale: FloatArray
    bias: FloatArray
    std_err: FloatMatrix
    diverged: BoolArray


@on_one_blas_thread
def minimize_vector(rows: FitRows, ridge: float) -> VectorFit:
    """Fit softmax(scale * logits + bias) by maximum likelihood, with a ridge."""
    n_classes = rows.n_classes
    present = rows.label_weights > 0.0
    free = np.tile(present | (ridge > 0.0), 2)
    problem = VectorLoss(rows, free, ridge)
    theta = problem.center(minimize_loss(problem))
    std_err = np.full((2, n_classes), np.nan)
    if theta.size > MAX_HESSIAN_PARAMETERS:
        mass = problem.diagonals(theta)[2]
    else:
        gradient, hessian, scores = problem.derivatives_and_scores(theta)
        mass = np.zeros(n_classes)
        mass[problem.own] = np.diag(hessian)[theta.size // 2 :]
        curvature = problem.factor(hessian)
        std_err = _sandwich(curvature, scores / rows.total_weight**2, free)
        step = curvature.solve(gradient)
        if gradient @ step <= NEAR:
            theta = theta - step
        if curvature.is_singular:
            theta = _least_departure(problem, theta, curvature)
    diverged = ~free[n_classes:] | (mass < FLAT)
    std_err[:, diverged] = np.nan
    return VectorFit(*problem.expand(theta), std_err, diverged)


def _least_departure(
    problem: VectorLoss, theta: FloatArray, curvature: FactoredHessian
) -> FloatArray:
    """Return the nearest to neutral of the parameters that fit as well.

    Where parameters diverged along a direction without curvature, the nearest ones do
    not fit as well, and are not taken.
    """
    neutral = problem.neutral
    nearest = neutral + curvature.without_flat(theta - neutral)
    loss, _ = problem.evaluate(theta)
    return nearest if problem.evaluate(nearest)[0] <= loss + 1e-12 else theta


def _sandwich(
    curvature: FactoredHessian, meat: FloatMatrix, free: BoolArray
) -> FloatMatrix:
    """Return standard errors (2, K), nan for parameters that are not free."""
    variances = np.full(free.size, np.nan)
    variances[free] = curvature.sandwich(meat)
    return np.asarray(np.sqrt(variances).reshape(2, -1))


def minimize_loss(problem: VectorLoss) -> FloatArray:
    """Return the free parameters of smallest loss, up to one last Newton step."""
    size = int(problem.free.sum())
    if size > MAX_HESSIAN_PARAMETERS:
        return minimize_without_hessian(problem)
    price = 2.0 + size / 30.0  # a Hessian costs so many gradients, as measured
    start = rough_alpha(problem.rows) * problem.neutral
    return minimize_from_sample(problem, start, price)


def minimize_without_hessian(problem: VectorLoss) -> FloatArray:
    """Minimise by L-BFGS, in units that the Hessian's diagonal makes comparable."""
    from scipy.optimize import minimize

    start = problem.neutral
    second, _, mass = problem.diagonals(start)
    size = np.sqrt(np.concatenate([second, mass])[problem.free] + problem.ridge)
    units = 1.0 / np.maximum(size, 1e-3 * size.max())

    def evaluate(steps: FloatArray) -> tuple[float, FloatArray]:
        loss, gradient = problem.evaluate(start + units * steps)
        return loss, units * gradient

    found = minimize(
        evaluate,
        np.zeros(start.size),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxcor": 30,
            "maxiter": 2000,
            "maxfun": 4000,
            "ftol": 1e-16,
            "gtol": 1e-10,
        },
    )
    return np.asarray(start + units * found.x)
