"""The reliability table: confidence against accuracy, bin by bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import check_ascending, check_floats
from distfreeuq._numerics.bin_counts import divide
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.metrics.bins import (
    CONFIDENCE,
    HIT,
    SQUARE,
    WEIGHT,
    check_bins,
    choose_bins,
    sum_in_cells,
)
from distfreeuq.metrics.data import Rows, read_hits
from distfreeuq.results import Result, read_only

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
        Weighted means; NaN in empty bins.
    low, high : ndarray (M,)
        Intervals of the accuracy that hold in all bins at once; [0, 1] in empty bins.
    confidence : float
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
    confidence: float
    n: int
    event: str
    guarantee: Guarantee | NoGuarantee

    def __repr__(self) -> str:
        """Return one line."""
        return f"<ReliabilityTable ece={self.ece:.4f} n={self.n} bins={self.n_bins}>"

    def _validate_state(self) -> None:
        n_bins = (self.weight.size,)
        check_floats(self, edges=(self.weight.size + 1,), weight=n_bins)
        check_floats(self, mean_confidence=n_bins, accuracy=n_bins)
        check_floats(self, low=n_bins, high=n_bins)
        check_ascending(self.edges, "edges")

    @property
    def n_bins(self) -> int:
        """Number of bins, empty ones included."""
        return self.weight.size

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
        """Mean of the positive gaps (paper C, section 6)."""
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
        from distfreeuq._base import printing
        from distfreeuq._base.printing import Table, number

        level = f"{100 * self.confidence:g}%"
        frame = self.to_frame()
        table = frame[frame["weight"] > 0.0].drop(columns="weight").to_numpy()
        rows = [
            [
                f"{left:.4g} to {right:.4g}",
                *(number(value) for value in values),
                f"[{low:.4f}, {high:.4f}]",
            ]
            for left, right, *values, low, high in table.tolist()
        ]
        return printing.summarise(
            "Reliability",
            [
                ("Rows", str(self.n)),
                ("ECE", number(self.ece)),
                ("Bins", f"{self.n_bins}, {int((self.weight == 0.0).sum())} empty"),
                ("Over-confident ECE", number(self.overconfident_ece)),
                ("Event", self.event),
                ("Largest gap", number(self.max_gap)),
            ],
            [Table(["bin", "share", "confidence", "accuracy", "gap", level], rows)],
            printing.guarantee_notes(self.guarantee),
        )

    def plot(self, ax: Axes | None = None, *, style: str = "bars") -> Axes:
        """Draw the reliability diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        style : {"bars", "curve"}
        """
        from distfreeuq import plots

        return plots.reliability_diagram(self, style=style, ax=ax)


def reliability(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    n_bins: int = 15,
    scheme: str = "equal-width",
    closed: str = "right",
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
) -> ReliabilityTable:
    """Tabulate confidence and accuracy in bins, with simultaneous intervals.

    Parameters
    ----------
    confidence : array_like (n,)
        Probability of an event in each row: that the predicted class is right, or any
        other.
    correct : array_like (n,)
        Whether the event came true: booleans, or 0 and 1.
    n_bins : int
    scheme : {"equal-width", "uniform-mass"}
    closed : {"right", "left"}
        Bins of equal width are ((m-1)/M, m/M], with 0 in the first, or [(m-1)/M, m/M),
        with 1 in the last.
    sample_weight : array_like (n,), optional
    level : float
        Of the intervals, for all bins at once.

    Returns
    -------
    ReliabilityTable

    Notes
    -----
    Without weights the intervals are Clopper and Pearson's at (1 - level) / M; with
    weights they are Hoeffding's, for weights that do not depend on the outcome. Bins of
    equal mass are chosen by the rows themselves, and then nothing is claimed.

    Examples
    --------
    >>> from distfreeuq import metrics
    >>> table = metrics.reliability([0.9, 0.8, 0.8, 0.6], [1, 1, 0, 0], n_bins=2)
    >>> round(table.ece, 4), table.weight.tolist()
    (0.275, [0.0, 4.0])
    """
    args = Arguments("reliability")
    n_bins, how = check_bins(args, n_bins, scheme, closed)
    level = args.probability(level, "level")
    rows = read_hits(args, confidence, correct, sample_weight=sample_weight)
    return tabulate(rows, n_bins, how, level, "prediction is right")


def tabulate(
    rows: Rows, n_bins: int, how: str, level: float, event: str
) -> ReliabilityTable:
    """Return the table of checked rows."""
    partition = choose_bins(rows.confidence, rows.weights, n_bins, how)
    sums = sum_in_cells(rows, partition.assign(rows.confidence), partition.n_bins)
    return table_of_sums(
        sums,
        partition.ends(),
        level,
        rows.n,
        event,
        fixed_bins=how != "uniform-mass",
        weight_scale=rows.weight_scale,
    )


def table_of_sums(
    sums: FloatMatrix,
    edges: FloatArray,
    level: float,
    n: int,
    event: str,
    *,
    fixed_bins: bool,
    weight_scale: float = 1.0,
) -> ReliabilityTable:
    """Return the table of the bins' sums (M, 5)."""
    weight = sums[:, WEIGHT]
    means = divide(sums[:, [CONFIDENCE, HIT]].T, weight)
    weighted = not np.array_equal(weight, sums[:, SQUARE])
    low, high = _intervals(sums, means[1], 1.0 - level, weighted)
    return ReliabilityTable(
        edges=read_only(edges),
        weight=read_only(weight * weight_scale),
        mean_confidence=read_only(means[0]),
        accuracy=read_only(means[1]),
        low=read_only(low),
        high=read_only(high),
        confidence=level,
        n=n,
        event=event,
        guarantee=_claim(level, weighted, fixed_bins),
    )


def _intervals(
    sums: FloatMatrix, accuracy: FloatArray, alpha: float, weighted: bool
) -> tuple[FloatArray, FloatArray]:
    """Return intervals of every bin's accuracy, each at alpha / M."""
    n_bins = accuracy.size
    if not weighted:
        n = np.rint(sums[:, WEIGHT]).astype(np.int64)
        low, high = bounds.clopper_pearson(
            np.rint(sums[:, HIT]).astype(np.int64), n, alpha / n_bins
        )
        return np.where(n > 0, low, 0.0), np.where(n > 0, high, 1.0)
    used = sums[:, WEIGHT] > 0.0
    effective = divide(sums[:, WEIGHT] ** 2, sums[:, SQUARE])
    radius = np.sqrt(0.5 * np.log(2.0 * n_bins / alpha) / effective)
    low = np.where(used, np.maximum(accuracy - radius, 0.0), 0.0)
    return low, np.where(used, np.minimum(accuracy + radius, 1.0), 1.0)


def _claim(level: float, weighted: bool, fixed_bins: bool) -> Guarantee | NoGuarantee:
    if not fixed_bins:
        return NoGuarantee("the bins were chosen by the rows that they count")
    what, by = "accuracy", "Clopper and Pearson (1934)"
    more: tuple[str, ...] = ("rows i.i.d.",)
    if weighted:
        what, by = "weighted mean accuracy given the rows' inputs", "Hoeffding (1963)"
        more = ("rows independent", "weights depend on the inputs alone")
    return Guarantee(
        statement=(
            f"with probability >= {level:g}, the intervals of all bins hold the bins' "
            f"true {what} at once."
        ),
        kind="confidence interval",
        reference=f"{by}, with a union over the bins",
        assumptions=(*more, "rows not used to fit or calibrate the classifier"),
        confidence=level,
    )
