"""What every calibration fit returns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import special

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.stored_state import (
    State,
    column_names,
    count,
    masses,
    part,
    real,
    text,
)
from distfreeuq.calibration.losses.temperature_loss import LOSS, temperature_sums
from distfreeuq.calibration.reliability_change import (
    N_BINS,
    bin_sums,
    reliability_frame,
)
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows, describe_rows
from distfreeuq.calibration.rows.rows_in_blocks import FitRows
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

LEVEL = 0.95
"""Level of the intervals in coefficient tables."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibrationResult(Result):
    """A fitted map from logits to calibrated probabilities.

    Attributes
    ----------
    classes : sequence
        Class names by column.
    n : int
        Rows of positive weight.
    effective_n : float
        Kish's effective sample size; n without weights.
    loss : {"nll", "brier"}
        What was minimised, or what is reported.
    loss_before, loss_after : float
        Its weighted mean over the fitted rows, with the logits as they were and now.
    n_changed : int
        Fitted rows whose most likely class is another one after calibration.
    bins_before, bins_after : ndarray (15, 3)
        Weight, weighted confidence and weighted correctness of the fitted rows, by
        confidence.
    guarantee : Guarantee or NoGuarantee

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> logits = [[2.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 1.0]] * 5
    >>> labels = [0, 1, 1, 1] * 4 + [0, 1, 0, 0]
    >>> fit = dfu.temperature_scaling(logits, labels)
    >>> isinstance(fit, dfu.CalibrationResult), fit.n_changed
    (True, 0)
    """

    classes: Classes
    n: int
    effective_n: float
    loss: str
    loss_before: float
    loss_after: float
    n_changed: int
    bins_before: FloatMatrix
    bins_after: FloatMatrix
    guarantee: Guarantee | NoGuarantee

    _state: ClassVar[State] = {
        "classes": column_names("K"),
        "n": count(),
        "effective_n": real(0.0, nan=True, finite=False),
        "loss": text("nll", "brier"),
        "loss_before": real(nan=True, finite=False),
        "loss_after": real(nan=True, finite=False),
        "n_changed": count(),
        "bins_before": masses(N_BINS, 3),
        "bins_after": masses(N_BINS, 3),
        "guarantee": part(Guarantee, NoGuarantee),
    }

    @abstractmethod
    def predict(self, logits: ArrayLike) -> FloatMatrix:
        """Calibrated probabilities of new rows."""

    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        """Return the calibrated probabilities of rows that are read already."""
        return self.predict(matrix)

    def reliability(self) -> pd.DataFrame:
        """Return confidence and accuracy of the fitted rows by bin, before and after.

        A row per stage ("before", "after") and occupied bin of confidence, with columns
        stage, bin, share, confidence, accuracy. The map was chosen on these rows: judge
        it on others.
        """
        return reliability_frame(self.bins_before, self.bins_after)

    def confint(self, alpha: float = 0.05) -> FloatMatrix:
        """Confidence intervals of the parameters, shape (p, 2): rows as in `to_frame`.

        Parameters
        ----------
        alpha : float, default 0.05
            One minus the level of each, by itself.

        Notes
        -----
        Normal intervals by the standard errors, those of temperatures on the log scale:
        asymptotic, with no claim at a given sample size. They leave out how weights
        were found, and the bias of a ridge. NaN where a parameter has no standard
        error, as at a bound.
        """
        args = Arguments(f"{type(self).__name__}.confint")
        alpha = args.alpha(alpha)
        frame = self.to_frame()
        if "std_err" not in frame:
            args.invalid("self", "a map with standard errors", repr(self))
        table = coefficients(
            frame["estimate"].to_numpy(),
            frame["std_err"].to_numpy(),
            0.0,
            positive=self._has_temperatures,
            level=1.0 - alpha,
        )
        return np.column_stack([table["low"], table["high"]])

    @property
    def _has_temperatures(self) -> bool:
        """Whether the parameters are positive, with intervals on the log scale."""
        return False

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["parameters", "reliability"] | None = None,
    ) -> Axes:
        """Draw the fitted parameters, or reliability before and after.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        kind : {"parameters", "reliability"}, optional
            The parameters by class with their intervals, or confidence against accuracy
            of the fitted rows. By default parameters, where there are several.
        """
        from distfreeuq import plots

        args = Arguments(f"{type(self).__name__}.plot")
        if kind is None:
            return self._default_plot(ax)
        if args.choice(kind, "kind", ["parameters", "reliability"]) == "reliability":
            return plots.reliability_change(self, ax=ax)
        return self._parameter_plot(ax)

    def _parameter_plot(self, ax: Axes | None) -> Axes:
        from distfreeuq import plots

        return plots.calibration_parameters(self, ax=ax)

    def _default_plot(self, ax: Axes | None) -> Axes:
        from distfreeuq import plots

        return plots.calibration_parameters(self, ax=ax)


class Outcome(NamedTuple):
    """What becomes of the rows: decisions, their probabilities, and labels' NLL."""

    tops: IntArray
    confidence: FloatArray
    losses: FloatArray


def outcome_of(rows: CalibrationRows, probs: FloatMatrix) -> Outcome:
    """Return what becomes of the rows with these probabilities (n, K)."""
    tops, _, _ = describe_rows(probs)
    confidence = probs[np.arange(rows.n), tops].astype(np.float64)
    return Outcome(tops, confidence, nll_of(probs, rows.labels))


def change_fields(
    rows: FitRows,
    become: Callable[[CalibrationRows], Outcome],
    *,
    of_probs: bool = False,
) -> dict[str, Any]:
    """Return the fields that every result has, except the guarantee.

    Parameters
    ----------
    rows : CalibrationRows or RowsInBlocks
    become : callable
        What becomes of some of the rows.
    of_probs : bool
        Whether rows hold the probabilities that went in, and not their logits.
    """
    changes = rows.parts.total(_Change(become, of_probs))
    return {
        "classes": rows.classes,
        "n": rows.n_counted,
        "effective_n": rows.effective_size,
        "loss": "nll",
        "loss_before": changes.loss_before / rows.total_weight,
        "loss_after": changes.loss_after / rows.total_weight,
        "n_changed": changes.n_changed,
        "bins_before": read_only(changes.bins_before),
        "bins_after": read_only(changes.bins_after),
    }


class _Changes(NamedTuple):
    """Sums over rows of what a calibration changes."""

    loss_before: float
    loss_after: float
    n_changed: int
    bins_before: FloatMatrix
    bins_after: FloatMatrix


@dataclass(frozen=True, slots=True)
class _Change:
    """Sums what a calibration changes over some rows."""

    become: Callable[[CalibrationRows], Outcome]
    of_probs: bool

    def __call__(self, rows: CalibrationRows) -> _Changes:
        after = self.become(rows)
        if self.of_probs:
            loss_before = weighted_sum(nll_of(rows.logits, rows.labels), rows.weights)
            confidence = rows.logits[np.arange(rows.n), rows.tops].astype(np.float64)
        else:
            confidence = np.empty(rows.n)
            one_group = np.zeros(rows.n, dtype=np.int64)
            sums = temperature_sums(
                rows, one_group, np.ones(1), brier=False, confidence=confidence
            )
            loss_before = float(sums[0, LOSS])
        counted = rows.weights > 0.0
        return _Changes(
            loss_before=loss_before,
            loss_after=weighted_sum(after.losses, rows.weights),
            n_changed=int((counted & (after.tops != rows.tops)).sum()),
            bins_before=bin_sums(confidence, rows.tops == rows.labels, rows.weights),
            bins_after=bin_sums(
                after.confidence, after.tops == rows.labels, rows.weights
            ),
        )


def weighted_sum(losses: FloatArray, weights: FloatArray) -> float:
    """Return the sum; rows of zero weight are ignored, even if theirs is inf."""
    counted = weights > 0.0
    # not by BLAS, whose threads would go on waiting actively
    return float((weights[counted] * losses[counted]).sum())


def nll_of(probs: FloatMatrix, labels: IntArray) -> FloatArray:
    """Return each row's negative log-likelihood (n,); inf for a probability of 0."""
    with np.errstate(divide="ignore"):
        return -np.log(probs[np.arange(labels.size), labels].astype(np.float64))


def coefficients(
    estimates: FloatArray,
    std_err: FloatArray,
    null: float | FloatArray,
    *,
    positive: bool = False,
    level: float = LEVEL,
) -> dict[str, FloatArray]:
    """Return the columns of a coefficient table: z test of a null value, interval.

    Tests and intervals of a positive parameter are made on the log scale, so that
    temperatures and inverse temperatures get the same ones. Unknown standard errors
    (NaN) give NaN.
    """
    quantile = float(-special.ndtri(0.5 * (1.0 - level)))
    # errors of 0 and beyond all doubles have tests and intervals in the limit
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if positive:
            error = std_err / estimates
            z = np.log(estimates / null) / error
            low = estimates * np.exp(-quantile * error)
            high = estimates * np.exp(quantile * error)
        else:
            z = (estimates - null) / std_err
            low, high = estimates - quantile * std_err, estimates + quantile * std_err
    return {
        "estimate": estimates,
        "std_err": std_err,
        "z": z,
        "p_value": 2.0 * special.ndtr(-np.abs(z)),
        "low": low,
        "high": high,
    }
