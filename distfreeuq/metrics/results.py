"""What metrics return that is more than a number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    count,
    floats,
    masses,
    part,
    rate,
    real,
    text,
)
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@register("reliability-table")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReliabilityTable(Result):
    """Confidence and accuracy in bins.

    Attributes
    ----------
    edges : ndarray (M + 1,)
        The bins' ends, from 0 to 1.
    weight : ndarray (M,)
        Sum of the weights in the bin; the number of rows without weights.
    mean_confidence, accuracy : ndarray (M,)
        Weighted means of the event's probability, and how often it came true; NaN in
        empty bins.
    low, high : ndarray (M,)
        Intervals of the accuracy that hold in all bins at once; [0, 1] in empty bins.
    level : float
        Their simultaneous level.
    n : int
        Rows.
    event : str
        What the confidence is of.
    guarantee : Guarantee or NoGuarantee
        What the intervals guarantee.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> table = dfu.metrics.reliability([0.9] * 10, [True] * 7 + [False] * 3, n_bins=2)
    >>> table
    <ReliabilityTable ece=0.2000 n=10 bins=2>
    >>> table.accuracy.tolist()
    [nan, 0.7]
    """

    edges: FloatArray
    weight: FloatArray
    mean_confidence: FloatArray
    accuracy: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    n: int
    event: str
    guarantee: Guarantee | NoGuarantee

    _state: ClassVar[State] = {
        "edges": floats("M+1", finite=True, ascending=True),
        "weight": masses("M"),
        "mean_confidence": floats("M"),
        "accuracy": floats("M"),
        "low": floats("M"),
        "high": floats("M"),
        "level": rate(),
        "n": count(),
        "event": text(),
        "guarantee": part(Guarantee, NoGuarantee),
    }

    def __repr__(self) -> str:
        """Return one line."""
        return f"<ReliabilityTable ece={self.ece:.4f} n={self.n} bins={self.n_bins}>"

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        """Return today's fields from those in files of format 1."""
        fields = dict(fields)
        fields["level"] = fields.pop("confidence")
        return fields

    @property
    def n_bins(self) -> int:
        """Number of bins, empty ones included."""
        return self.weight.size

    @property
    def column_titles(self) -> tuple[str, str]:
        """What tables and figures call the probability, and how often it came true."""
        if "right" in self.event:
            return "confidence", "accuracy"
        return "probability", "frequency"

    @property
    def gap(self) -> FloatArray:
        """Mean confidence less accuracy (M,); positive is over-confident."""
        return self.mean_confidence - self.accuracy

    @property
    def ece(self) -> float:
        """Expected calibration error: the mean absolute gap."""
        return self._mean(np.abs(self.gap))

    @property
    def overconfident_ece(self) -> float:
        """Mean of the positive gaps (Park et al., 2020, section 6)."""
        return self._mean(np.maximum(self.gap, 0.0))

    @property
    def underconfident_ece(self) -> float:
        """Mean of the negative gaps, without their sign."""
        return self._mean(np.maximum(-self.gap, 0.0))

    @property
    def max_gap(self) -> float:
        """Largest absolute gap of a bin that is not empty."""
        return float(np.nanmax(np.abs(self.gap)))

    def _mean(self, gaps: FloatArray) -> float:
        used = self.weight > 0.0
        return float(self.weight[used] @ gaps[used] / self.weight.sum())

    def to_frame(self) -> pd.DataFrame:
        """Return a row per bin.

        Columns: left, right, weight, share, confidence, accuracy, gap, low, high.
        Confidence is the mean probability of the event, accuracy how often it came
        true, also where the event is class 1.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "left": self.edges[:-1],
                "right": self.edges[1:],
                "weight": self.weight,
                "share": self.weight / self.weight.sum(),
                "confidence": self.mean_confidence,
                "accuracy": self.accuracy,
                "gap": self.gap,
                "low": self.low,
                "high": self.high,
            }
        )

    def summary(self) -> Summary:
        """Return the bins that are not empty as a statsmodels ``Summary``."""
        from distfreeuq.metrics.summary import summarize_reliability

        return summarize_reliability(self)

    def plot(self, ax: Axes | None = None, *, kind: str = "bars") -> Axes:
        """Draw the reliability diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        kind : {"bars", "curve"}
        """
        from distfreeuq import plots

        return plots.reliability_diagram(self, kind=kind, ax=ax)


@register("brier-decomposition")
@dataclass(frozen=True, slots=True)
class BrierDecomposition:
    """Terms of ``brier = calibration + 1 - sharpness + within_var - 2 within_cov``.

    Attributes
    ----------
    brier : float
        The Brier score.
    calibration : float
        Mean squared distance of the groups' mean forecasts to their label frequencies.
    sharpness : float
        Mean squared length of the groups' label frequencies.
    resolution : float
        Mean squared distance of these to the frequencies of all rows.
    uncertainty : float
        One less the squared length of the frequencies of all rows, so that
        ``1 - sharpness = uncertainty - resolution`` (Murphy).
    within_var, within_cov : float
        Variance of the forecasts, and their covariance with the labels, inside the
        groups: zero if the forecasts of a group are the same.
    n_groups : int
    """

    brier: float
    calibration: float
    sharpness: float
    resolution: float
    uncertainty: float
    within_var: float
    within_cov: float
    n_groups: int

    _state: ClassVar[State] = {
        "brier": real(nan=True, finite=False),
        "calibration": real(nan=True, finite=False),
        "sharpness": real(nan=True, finite=False),
        "resolution": real(nan=True, finite=False),
        "uncertainty": real(nan=True, finite=False),
        "within_var": real(nan=True, finite=False),
        "within_cov": real(nan=True, finite=False),
        "n_groups": count(),
    }


@dataclass(frozen=True, slots=True, repr=False)
class L2ErrorInterval:
    """An interval for the l2 calibration error of binned confidences.

    Attributes
    ----------
    estimate : float
        The root mean squared gap of the bins, biased upwards: ``ece(norm="l2")``.
    debiased : float
        Without that bias: `debiased_ece`.
    low, high : float
    level : float
    n : int
        Rows.
    n_bins : int
        Bins that have rows.
    guarantee : Guarantee
    """

    estimate: float
    debiased: float
    low: float
    high: float
    level: float
    n: int
    n_bins: int
    guarantee: Guarantee

    def __repr__(self) -> str:
        """Return one line; ends are rounded outwards."""
        low = math.floor(1000.0 * self.low) / 1000.0
        high = math.ceil(1000.0 * self.high) / 1000.0
        size = f"level={self.level:g} n={self.n} bins={self.n_bins}"
        return f"<L2ErrorInterval {low:.3f} to {high:.3f} {size}>"

    def __str__(self) -> str:
        """Return the summary's text."""
        return str(self.summary().as_text())

    def summary(self) -> Summary:
        """Return the interval and what it guarantees, as a ``Summary``."""
        from distfreeuq.metrics.summary import summarize_interval

        return summarize_interval(self)
