"""Vector scaling: a scale and a bias for every class's logit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from distfreeuq._base.arguments import LARGEST, Arguments
from distfreeuq._base.array_types import ArrayLike, BoolArray, FloatArray, FloatMatrix
from distfreeuq._base.arrays import listed
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import check_floats
from distfreeuq.calibration.data import CalibrationRows, read_rows
from distfreeuq.calibration.logits import read_new_logits
from distfreeuq.calibration.results import (
    CalibrationResult,
    change_fields,
    coefficient_headers,
    coefficients,
    named_coefficient_rows,
)
from distfreeuq.calibration.vector_fit import MAX_HESSIAN_PARAMETERS, fit_vector
from distfreeuq.calibration.vector_loss import affine_outcome, affine_softmax
from distfreeuq.exceptions import FitAtBoundWarning
from distfreeuq.guarantees import NoGuarantee
from distfreeuq.results import read_only

if TYPE_CHECKING:
    import pandas as pd
    from statsmodels.iolib.summary import Summary


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
        Of the scales and of the biases: sandwich estimates, weights included; nan where
        the data do not determine the parameter, and beyond 500 classes, where the
        covariance is not computed.
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

    def __repr__(self) -> str:
        """Return one line."""
        return f"<VectorResult n={self.n} K={len(self.classes)}>"

    def _validate_state(self) -> None:
        CalibrationResult._validate_state(self)
        n_classes = len(self.classes)
        check_floats(
            self, scale=(n_classes,), bias=(n_classes,), std_err=(2, n_classes)
        )

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
        matrix = read_new_logits(args, logits, self.classes)
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
                    "class": list(self.classes),
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
        from distfreeuq._base.printing import Table

        frame = self.to_frame()
        tables = [
            Table(
                [name, *coefficient_headers(null)],
                named_coefficient_rows(frame[frame["parameter"] == name]),
            )
            for name, null in (("scale", "a=1"), ("bias", "b=0"))
        ]
        facts = [("Ridge", f"{self.ridge:g}")] if self.ridge else []
        notes = []
        if 2 * len(self.classes) > MAX_HESSIAN_PARAMETERS:
            notes.append(("Note", "no standard errors beyond 500 classes."))
        return self._summarise("Vector scaling", facts, tables, notes)


def vector_scaling(
    logits: ArrayLike,
    labels: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    ridge: float = 0.0,
    classes: ArrayLike | None = None,
) -> VectorResult:
    """Scale and shift every class's logit, by maximum likelihood.

    Parameters
    ----------
    logits : array_like (n, K), or (n,) for the log-odds of class 1
        A classifier's logits on rows that it was not fitted on.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`.
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
    The probabilities are softmax(scale * logits + bias), paper D eq. (4.5). The loss is
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
    .. [D] Zhao, Chen and Oymak (2020), eq. (4.5).

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
    ridge = read_ridge(args, ridge)
    fitted = fit_vector(rows, ridge)
    if fitted.lost.any():
        warn_lost(rows, fitted.lost)
    return VectorResult(
        **change_fields(rows, affine_outcome(rows, fitted.scale, fitted.bias)),
        guarantee=NoGuarantee(
            "no finite-sample theorem for vector scaling; paper D's Thm 4.1 is about "
            "temperatures"
        ),
        scale=read_only(fitted.scale),
        bias=read_only(fitted.bias),
        std_err=read_only(fitted.std_err),
        ridge=ridge,
    )


def read_ridge(args: Arguments, value: float) -> float:
    """Return a penalty, zero for none."""
    must = "a non-negative finite number"
    return args.number(value, "ridge", must, low=0.0, high=LARGEST)


def warn_lost(rows: CalibrationRows, lost: BoolArray) -> None:
    """Warn of classes whose parameters have no finite optimum."""
    names = [name for name, is_lost in zip(rows.classes, lost, strict=True) if is_lost]
    warnings.warn(
        f"The loss has no minimum in the parameters of {len(names)} of "
        f"{rows.n_classes} classes ({listed(names)}), which no row is labelled as or "
        "which the logits separate perfectly: they stand where the fit stopped. A "
        "ridge > 0 gives a minimum.",
        FitAtBoundWarning,
        stacklevel=3,
    )
