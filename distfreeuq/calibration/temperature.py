"""Temperature scaling: one number for all logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, maybe, pair, real, text
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq.calibration.data import (
    SCALED_ALIKE,
    read_new_logits,
    read_rows,
    warn_absent,
)
from distfreeuq.calibration.guarantees import read_logit_range, temperature_guarantee
from distfreeuq.calibration.inverse_temperature import LossInAlpha, Minimum, together
from distfreeuq.calibration.losses.temperature_loss import (
    CURVATURE,
    LOSS,
    LOSS_NAMES,
    SQUARED_SCORE,
    scaled_softmax,
)
from distfreeuq.calibration.results import CalibrationResult, coefficients
from distfreeuq.calibration.rows.rows_in_blocks import FitRows
from distfreeuq.exceptions import FitAtBoundWarning

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

ALPHA_BOUNDS = (1e-3, 1e3)
"""Default bounds of the inverse temperature, for logits of ordinary ranges."""
_ORDINARY_RANGES = (0.1, 100.0)
_LARGEST_ALPHA = 1e100


@register("temperature-scaling")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TemperatureResult(CalibrationResult):
    """A fitted temperature.

    Attributes
    ----------
    temperature : float
        Logits are divided by it.
    inverse_temperature : float
        Logits are multiplied by it; what the fit works with.
    std_err : float
        Sandwich estimate of the temperature's standard error, weights included; nan at
        a bound.
    at_bound : {"low", "high"} or None
        Which bound the inverse temperature stands at.
    bounds : (float, float)
        Bounds of the inverse temperature.

    The other attributes are those of every `CalibrationResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> logits = [[2.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 1.0]] * 5
    >>> labels = [0, 1, 1, 1] * 4 + [0, 1, 0, 0]
    >>> fit = dfu.temperature_scaling(logits, labels)
    >>> fit
    <TemperatureResult T=0.9881 nll n=20 K=2>
    >>> fit.predict([[1.0, 0.0]]).round(3).tolist()
    [[0.733, 0.267]]
    """

    temperature: float
    inverse_temperature: float
    std_err: float
    at_bound: str | None
    bounds: tuple[float, float]

    _state: ClassVar[State] = {
        "temperature": real(0.0, nan=True, finite=False),
        "inverse_temperature": real(0.0),
        "std_err": real(0.0, nan=True, finite=False),
        "at_bound": maybe(text("low", "high")),
        "bounds": pair(real(0.0), real(0.0)),
    }

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<TemperatureResult T={self.temperature:.4g} {self.loss} n={self.n} "
            f"K={len(self.classes)}>"
        )

    @lazy
    def predict(self, logits: ArrayLike) -> FloatMatrix:
        """Probabilities softmax(logits / temperature), shape (n, K).

        Parameters
        ----------
        logits : array_like (n, K)
            Columns as in the fit; -inf for classes that are masked.

        Notes
        -----
        The most likely class of every row stays the same, ties included.
        """
        args = Arguments("TemperatureResult.predict")
        return self._predict(read_new_logits(args, logits, self.classes, may_mask=True))

    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        one_group = np.zeros(matrix.shape[0], dtype=np.int64)
        alpha = np.array([self.inverse_temperature], dtype=np.float64)
        return scaled_softmax(matrix, one_group, alpha)

    @property
    def _has_temperatures(self) -> bool:
        return True

    def to_frame(self) -> pd.DataFrame:
        """Return the coefficient table: one row, the temperature.

        Columns: parameter, estimate, std_err, z (of T = 1), p_value, low, high.
        """
        import pandas as pd

        columns = coefficients(
            np.array([self.temperature]), np.array([self.std_err]), 1.0, positive=True
        )
        return pd.DataFrame({"parameter": ["temperature"], **columns})

    def summary(self) -> Summary:
        """Return losses, coefficient table and guarantee as a ``Summary``."""
        from distfreeuq.calibration.summary import summarize_temperature

        return summarize_temperature(self)

    def _default_plot(self, ax: Axes | None) -> Axes:
        from distfreeuq import plots

        return plots.reliability_change(self, ax=ax)


def temperature_scaling(
    logits: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    loss: str = "nll",
    bounds: tuple[float, float] | None = None,
    delta: float = 0.05,
    logit_range: float | None = None,
    classes: ArrayLike | None = None,
) -> TemperatureResult:
    """Divide all logits by one temperature, the one of smallest loss.

    Parameters
    ----------
    logits : array_like (n, K), or (n,) for the log-odds of class 1
        A classifier's logits on rows that it was not fitted on. For probabilities, see
        `to_logits`. Rows of Dask or in blocks are taken too: see Notes. -inf masks a
        class in a row: its probability is zero at every temperature, the row's loss and
        range are those of the others, and no row may be labelled so.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`. Left out where blocks have them.
    sample_weight : array_like (n,), optional
        Non-negative weights; their scale has no effect.
    loss : {"nll", "brier"}, default "nll"
        Negative log-likelihood, or the Brier score sum_k (p_k - e_k)^2.
    bounds : (float, float), optional
        Bounds of the inverse temperature alpha = 1/T. By default (0.001, 1000), where
        the rows' largest range r = max_k z_k - min_k z_k is in [0.1, 100]; for larger
        logits the lower one is 0.1/r, for smaller ones the upper one is 100/r, so that
        temperatures follow the logits' scale.
    delta : float, default 0.05
        Failure probability of the guarantee.
    logit_range : float, optional
        A bound on max_k z_k - min_k z_k that is known in advance, for the guarantee. By
        default it is measured on the rows, and the summary says so.
    classes : sequence, optional
        Class names by column.

    Returns
    -------
    TemperatureResult

    Notes
    -----
    The negative log-likelihood is convex in alpha, and its minimum within the bounds is
    found to rounding. The Brier score is not convex: all local minima that a grid of
    alphas (ratio 1.4) brackets are compared. If every row's largest logit is its
    label's, the loss falls for ever with T -> 0, and if the logits do not help, with T
    -> inf: the temperature then stands at its bound, with a `FitAtBoundWarning`.

    A class that no row is labelled as is named in an `IdentificationWarning`: its
    probabilities are scaled as the others', and nothing tests them.

    Rows need not fit into memory. Given are Dask's arrays, frames and series, in chunks
    of any sizes; or, in place of `logits`, a function without arguments that returns
    blocks anew each time: tuples (logits, labels) or (logits, labels, sample_weight).
    ``labels`` is then None. All fits of this package's calibration maps read such rows
    in few passes (about seven here), sum over the blocks what they need, and keep none:
    persist chunks that are to stay in memory. Numbers are those in memory to rounding.
    ``predict`` of Dask's rows is lazy.

    Adding a constant to a row's logits changes nothing. Standard errors are those of an
    M-estimator (sandwich); a weight is an importance, not a number of copies, so that
    doubling all weights leaves them as they are.

    References
    ----------
    .. [1] Guo, Pleiss, Sun and Weinberger (2017), "On calibration of modern neural
       networks", ICML.
    .. [2] Zhao, Chen and Oymak (2020), "On the role of dataset quality and
       heterogeneity in model confidence", Theorem 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(0.0, 2.0, (2000, 3))
    >>> labels = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    >>> fit = dfu.temperature_scaling(3.0 * truth, labels)
    >>> fit
    <TemperatureResult T=2.902 nll n=2000 K=3>
    >>> fit.predict([[3.0, 0.0, 0.0]]).round(3)
    array([[0.584, 0.208, 0.208]])
    >>> def blocks():
    ...     for start in range(0, 2000, 500):
    ...         rows = slice(start, start + 500)
    ...         yield 3.0 * truth[rows], labels[rows]
    >>> dfu.temperature_scaling(blocks)
    <TemperatureResult T=2.902 nll n=2000 K=3>
    """
    args = Arguments("temperature_scaling")
    arrays = (logits, labels, sample_weight, classes)
    rows = read_rows(args, *arrays, may_mask=True)
    options = read_temperature_options(
        args, rows, loss=loss, bounds=bounds, delta=delta, logit_range=logit_range
    )
    return fit_temperature(rows, options)


class TemperatureOptions(NamedTuple):
    """Checked options of `temperature_scaling`."""

    loss: str
    bounds: tuple[float, float]
    delta: float
    logit_range: float | None


def read_temperature_options(
    args: Arguments,
    rows: FitRows,
    *,
    loss: Any,
    bounds: Any,
    delta: Any,
    logit_range: Any,
) -> TemperatureOptions:
    """Check the options of a fit to these rows, and whether all classes are there."""
    warn_absent(rows, SCALED_ALIKE)
    return TemperatureOptions(
        loss=args.choice(loss, "loss", LOSS_NAMES),
        bounds=read_alpha_bounds(args, bounds, rows),
        delta=args.probability(delta, "delta"),
        logit_range=read_logit_range(args, logit_range, rows),
    )


def fit_temperature(rows: FitRows, options: TemperatureOptions) -> TemperatureResult:
    """Fit one temperature to all rows."""
    fitted = fit_all_together(rows, options.loss, options.bounds)
    minimum = fitted.minimum
    alpha, at_bound = float(minimum.alphas[0]), int(minimum.at_bound[0])
    if at_bound:
        warn_user(
            f"{bound_message(at_bound)}: the temperature stands at its bound, "
            f"{1.0 / alpha:g}.",
            FitAtBoundWarning,
        )
    return TemperatureResult(
        **fitted.common(rows, options.loss),
        guarantee=temperature_guarantee(
            rows,
            loss=options.loss,
            alpha_bounds=options.bounds,
            gamma=0.0,
            n_temperatures=1,
            delta=options.delta,
            logit_range=options.logit_range,
        ),
        temperature=1.0 / alpha,
        inverse_temperature=alpha,
        std_err=float(temperature_std_err(minimum)[0]),
        at_bound={-1: "low", 0: None, 1: "high"}[at_bound],
        bounds=options.bounds,
    )


@dataclass(frozen=True, slots=True)
class FittedGroups:
    """Inverse temperatures of groups of rows, and the rows' confidences around them."""

    minimum: Minimum
    sums_before: FloatMatrix
    bins_before: FloatMatrix
    bins_after: FloatMatrix

    def common(self, rows: FitRows, loss: str) -> dict[str, Any]:
        """Return the fields that every `CalibrationResult` has, but the guarantee."""
        total = rows.total_weight
        return {
            "classes": rows.classes,
            "n": rows.n_counted,
            "effective_n": rows.effective_size,
            "loss": loss,
            "loss_before": float(self.sums_before[:, LOSS].sum()) / total,
            "loss_after": float(self.minimum.sums[:, LOSS].sum()) / total,
            "n_changed": 0,
            "bins_before": read_only(self.bins_before),
            "bins_after": read_only(self.bins_after),
        }


def fit_all_together(
    rows: FitRows, loss: str, bounds: tuple[float, float]
) -> FittedGroups:
    """Fit one inverse temperature to all rows."""
    losses = LossInAlpha(rows, together, 1, loss)
    before, bins_before = losses.with_bins(np.ones(1))
    minimum = losses.minimize(bounds, before)
    return FittedGroups(minimum, before, bins_before, losses.bins())


def temperature_std_err(minimum: Minimum) -> FloatArray:
    """Return standard errors (G,) of T = 1/alpha by the delta method, nan at bounds."""
    curvature = minimum.sums[:, CURVATURE]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        of_alpha = np.sqrt(minimum.sums[:, SQUARED_SCORE]) / curvature
        std_err = of_alpha / minimum.alphas**2
    inside = (minimum.at_bound == 0) & (curvature > 0.0)
    return np.where(inside, std_err, np.nan)


def read_alpha_bounds(
    args: Arguments, value: Any, rows: FitRows
) -> tuple[float, float]:
    """Return the bounds of the inverse temperature; None for those of the rows."""
    if value is None:
        return default_alpha_bounds(rows.logit_range)
    must = "two positive finite numbers, the smaller first"
    pair = args.vector(value, "bounds", must, length=2, low=1e-12, high=1e12)
    if not pair[0] < pair[1]:
        args.invalid("bounds", must, str(tuple(pair.tolist())))
    return float(pair[0]), float(pair[1])


def default_alpha_bounds(logit_range: float) -> tuple[float, float]:
    """Return bounds that follow the logits' scale, if that is out of the ordinary."""
    low, high = ALPHA_BOUNDS
    small, large = _ORDINARY_RANGES
    if logit_range > large:
        low *= large / logit_range
    if 0.0 < logit_range < small:
        high *= min(small / logit_range, _LARGEST_ALPHA / high)
    return low, high


def bound_message(at_bound: int) -> str:
    """Return why an inverse temperature is at its lower (-1) or upper (+1) bound."""
    if at_bound < 0:
        return "The loss falls as T grows, as when the logits do not tell the labels"
    return "The loss falls as T shrinks, as when every row is predicted correctly"
