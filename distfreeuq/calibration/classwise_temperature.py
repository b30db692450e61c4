"""Class-wise temperature scaling: a temperature for every predicted class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import listed, read_only
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, integers, masses, pair, real
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq.calibration.data import (
    SCALED_ALIKE,
    read_new_logits,
    read_rows,
    warn_absent,
)
from distfreeuq.calibration.guarantees import (
    class_guarantee,
    read_logit_range,
    temperature_guarantee,
)
from distfreeuq.calibration.inverse_temperature import by_top
from distfreeuq.calibration.losses.temperature_loss import LOSS_NAMES, scaled_softmax
from distfreeuq.calibration.results import CalibrationResult, coefficients
from distfreeuq.calibration.rows.rows_in_blocks import FitRows
from distfreeuq.calibration.shared_temperature import (
    AT_BOUND,
    LIMITED,
    NO_ERROR,
    OWN,
    SHARED,
    fit_limited,
    fit_separately,
)
from distfreeuq.calibration.temperature import read_alpha_bounds
from distfreeuq.exceptions import FitAtBoundWarning
from distfreeuq.guarantees import Guarantee, NoGuarantee

if TYPE_CHECKING:
    import pandas as pd
    from statsmodels.iolib.summary import Summary

NOTES = {
    OWN: "",
    SHARED: "shared",
    AT_BOUND: "at bound",
    LIMITED: "limited",
    NO_ERROR: "no error",
}


@register("classwise-temperature-scaling")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClasswiseTemperatureResult(CalibrationResult):
    """A fitted temperature per predicted class.

    Attributes
    ----------
    temperatures : ndarray (K,)
        A row's logits are divided by the temperature of its most likely class.
    inverse_temperatures : ndarray (K,)
        alpha_k = 1 / T_k, what the fit works with.
    std_err : ndarray (K,)
        Sandwich estimates of the temperatures' standard errors, weights included; nan
        at a bound. Temperatures that gamma ties together have that of the shared one.
    counts : ndarray (K,)
        Rows predicted as each class.
    status : ndarray (K,)
        0 own temperature, 1 shared (too few rows), 2 at a bound, 3 limited by gamma,
        4 shared (no error among its rows).
    shared_temperature : float
        1 / alpha_0; with gamma = inf, the temperature of all rows, and nan where no
        class needs it.
    gamma : float
        Largest distance of an alpha_k from alpha_0.
    bounds : (float, float)
        Bounds of every alpha_k.

    The other attributes are those of every `CalibrationResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> logits = [[2.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 1.0]] * 5
    >>> labels = [0, 1, 1, 1] * 4 + [0, 1, 0, 0]
    >>> fit = dfu.classwise_temperature_scaling(logits, labels)
    >>> fit
    <ClasswiseTemperatureResult T=0.5623..1.617 gamma=inf n=20 K=2>
    >>> fit.predict([[1.0, 0.0]]).round(3).tolist()
    [[0.65, 0.35]]
    """

    temperatures: FloatArray
    inverse_temperatures: FloatArray
    std_err: FloatArray
    counts: IntArray
    status: IntArray
    shared_temperature: float
    gamma: float
    bounds: tuple[float, float]

    _state: ClassVar[State] = {
        "temperatures": floats("K", low=0.0),
        "inverse_temperatures": masses("K"),
        "std_err": floats("K", low=0.0),
        "counts": integers("K"),
        "status": integers("K", below=len(NOTES)),
        "shared_temperature": real(0.0, nan=True, finite=False),
        "gamma": real(0.0, finite=False),
        "bounds": pair(real(0.0), real(0.0)),
    }

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<ClasswiseTemperatureResult T={self.temperatures.min():.4g}.."
            f"{self.temperatures.max():.4g} gamma={self.gamma:g} n={self.n} "
            f"K={len(self.classes)}>"
        )

    @lazy
    def predict(self, logits: ArrayLike) -> FloatMatrix:
        """Probabilities softmax(logits / T_k), k the row's most likely class, (n, K).

        Parameters
        ----------
        logits : array_like (n, K)
            Columns as in the fit; -inf for classes that are masked.

        Notes
        -----
        The most likely class of every row stays the same; the first counts as such if
        several tie.
        """
        args = Arguments("ClasswiseTemperatureResult.predict")
        return self._predict(read_new_logits(args, logits, self.classes, may_mask=True))

    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        return scaled_softmax(matrix, None, self.inverse_temperatures)

    @property
    def _has_temperatures(self) -> bool:
        return True

    def to_frame(self) -> pd.DataFrame:
        """Return the coefficient table, a row per class.

        Columns: parameter, class, n (rows predicted), estimate, std_err, z (of T = 1),
        p_value, low, high, note.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "parameter": "temperature",
                "class": name_array(self.classes),
                "n": self.counts,
                **coefficients(self.temperatures, self.std_err, 1.0, positive=True),
                "note": [NOTES[int(status)] for status in self.status],
            }
        )

    def summary(self) -> Summary:
        """Return losses, temperatures and guarantee as a ``Summary``."""
        from distfreeuq.calibration.summary import summarize_classwise

        return summarize_classwise(self)


def classwise_temperature_scaling(
    logits: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    gamma: float = np.inf,
    bounds: tuple[float, float] | None = None,
    sample_weight: ArrayLike | None = None,
    loss: str = "nll",
    min_rows: int = 2,
    delta: float = 0.05,
    logit_range: float | None = None,
    classes: ArrayLike | None = None,
) -> ClasswiseTemperatureResult:
    """Divide logits by a temperature that depends on the predicted class.

    Parameters
    ----------
    logits : array_like (n, K), or (n,) for the log-odds of class 1
        A classifier's logits on rows that it was not fitted on. Rows of Dask or in
        blocks are taken too, and -inf for classes that are masked, as by
        `temperature_scaling`.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`. Left out where blocks have them.
    gamma : float, default inf
        Largest distance of each inverse temperature alpha_k from a shared alpha_0. 0 is
        plain temperature scaling; inf fits each class by itself.
    bounds : (float, float), optional
        Bounds of every alpha_k, and of alpha_0. By default those of
        `temperature_scaling`: (0.001, 1000) for logits of ordinary ranges.
    sample_weight : array_like (n,), optional
        Non-negative weights; their scale has no effect.
    loss : {"nll", "brier"}, default "nll"
        Negative log-likelihood, or the Brier score; the latter with gamma = inf only.
    min_rows : int, default 2
        With gamma = inf, classes that are predicted for fewer rows get the temperature
        of all rows together. One row alone always drives its temperature to a bound.
    delta : float, default 0.05
        Failure probability of the guarantee.
    logit_range : float, optional
        A bound on max_k z_k - min_k z_k that is known in advance, for the guarantee. By
        default it is measured on the rows, and the summary says so.
    classes : sequence, optional
        Class names by column.

    Returns
    -------
    ClasswiseTemperatureResult

    Notes
    -----
    Rows are grouped by their predicted class, which is known when new rows come, and
    the mean loss over all rows is minimised: eq. (4.3) of [1]_ for gamma = inf, (4.2)
    otherwise. The likelihood of the latter is solved exactly as the nested convex
    problem that it is: for a given alpha_0 the best alpha_k is the class's own optimum
    clipped to alpha_0 +- gamma, and what remains is convex in alpha_0. The Brier score
    is not convex: the best of a fine grid is taken, and solved for from there. Classes
    that are never predicted get alpha_0. With gamma = inf, a class without an error
    among its rows has no best temperature, and T -> 0 would make its predictions
    certain: it gets the temperature of all rows together, and the table says "no
    error". The paper allows negative alpha_k, which would turn decisions around; here
    they are positive, so that no decision changes.

    References
    ----------
    .. [1] Zhao, Chen and Oymak (2020), "On the role of dataset quality and
       heterogeneity in model confidence", Section 4.1, Theorem 4.1, Corollary 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(0.0, 4.0, (3000, 3))
    >>> truth = logits / np.array([1.0, 2.0, 4.0])[logits.argmax(axis=1), None]
    >>> labels = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    >>> fit = dfu.classwise_temperature_scaling(logits, labels)
    >>> fit.temperatures.round(2)
    array([0.87, 1.96, 4.  ])
    >>> near = dfu.classwise_temperature_scaling(logits, labels, gamma=0.2)
    >>> near.temperatures.round(2)
    array([1.45, 1.96, 3.44])
    """
    args = Arguments("classwise_temperature_scaling")
    arrays = (logits, labels, sample_weight, classes)
    rows = read_rows(args, *arrays, may_mask=True)
    options = read_classwise_options(
        args,
        rows,
        gamma=gamma,
        bounds=bounds,
        loss=loss,
        min_rows=min_rows,
        delta=delta,
        logit_range=logit_range,
    )
    return fit_classwise_temperatures(rows, options)


class ClasswiseOptions(NamedTuple):
    """Checked options of `classwise_temperature_scaling`."""

    gamma: float
    bounds: tuple[float, float]
    loss: str
    min_rows: int
    delta: float
    logit_range: float | None


def read_classwise_options(
    args: Arguments,
    rows: FitRows,
    *,
    gamma: Any,
    bounds: Any,
    loss: Any,
    min_rows: Any,
    delta: Any,
    logit_range: Any,
) -> ClasswiseOptions:
    """Check the options of a fit to these rows, and whether all classes are there."""
    must = "a non-negative number, inf for classes by themselves"
    gamma = args.number(gamma, "gamma", must, low=0.0)
    alpha_bounds = read_alpha_bounds(args, bounds, rows)
    loss = args.choice(loss, "loss", LOSS_NAMES)
    options = ClasswiseOptions(
        gamma=gamma,
        bounds=alpha_bounds,
        loss=loss,
        min_rows=args.count(min_rows, "min_rows", low=1),
        delta=args.probability(delta, "delta"),
        logit_range=read_logit_range(args, logit_range, rows),
    )
    warn_absent(rows, SCALED_ALIKE)
    return options


def fit_classwise_temperatures(
    rows: FitRows, options: ClasswiseOptions
) -> ClasswiseTemperatureResult:
    """Fit a temperature to the rows of each predicted class."""
    gamma, alpha_bounds, loss, min_rows, delta, widest = options
    counts = rows.top_counts
    if np.isinf(gamma):
        fitted = fit_separately(rows, counts >= min_rows, loss, alpha_bounds)
    else:
        fitted = fit_limited(rows, by_top, counts > 0, gamma, alpha_bounds, loss)
    if (fitted.status == AT_BOUND).any():
        _warn_at_bound(rows, fitted.status)
    guarantee: Guarantee | NoGuarantee
    if np.isinf(gamma):
        guarantee = class_guarantee(
            rows,
            counts[(counts >= min_rows) & (fitted.status != NO_ERROR)],
            int((counts >= min_rows).sum()),
            loss=loss,
            alpha_bounds=alpha_bounds,
            delta=delta,
            logit_range=widest,
        )
    else:
        guarantee = temperature_guarantee(
            rows,
            loss=loss,
            alpha_bounds=alpha_bounds,
            gamma=gamma,
            n_temperatures=rows.n_classes,
            delta=delta,
            logit_range=widest,
        )
    return ClasswiseTemperatureResult(
        **fitted.groups.common(rows, loss),
        guarantee=guarantee,
        temperatures=read_only(1.0 / fitted.groups.minimum.alphas),
        inverse_temperatures=read_only(fitted.groups.minimum.alphas),
        std_err=read_only(fitted.std_err),
        counts=read_only(counts),
        status=read_only(fitted.status),
        shared_temperature=1.0 / fitted.shared_alpha,
        gamma=gamma,
        bounds=alpha_bounds,
    )


def _warn_at_bound(rows: FitRows, status: IntArray) -> None:
    at_bound = [
        name for name, s in zip(rows.classes, status, strict=True) if s == AT_BOUND
    ]
    warn_user(
        f"The temperatures of {len(at_bound)} of {rows.n_classes} classes "
        f"({listed(at_bound)}) stand at their bound: all rows predicted as them are "
        "correct, or their logits do not tell the labels. A finite gamma, a larger "
        "min_rows or narrower bounds keep them nearer to the others.",
        FitAtBoundWarning,
    )
