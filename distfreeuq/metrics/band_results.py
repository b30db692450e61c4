"""What `isotonic_band` returns: a band for a whole calibration curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, integers, part, rate, require
from distfreeuq.guarantees import Guarantee
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@register("reliability-band")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReliabilityBand(Result):
    """A band that holds the calibration curve everywhere at once, if it does not fall.

    Attributes
    ----------
    starts, ends : ndarray (B,)
        Smallest and largest confidence of each block of rows.
    low : ndarray (B,)
        Lower ends of the curve from the end of each block on.
    high : ndarray (B,)
        Upper ends of the curve up to the beginning of each block.
    counts, hits : ndarray (B,)
        Rows of each block, and in how many of them the event came true.
    level : float
    guarantee : Guarantee

    Examples
    --------
    >>> from distfreeuq import metrics
    >>> hits = [0] * 40 + [1] * 10 + [0] * 10 + [1] * 40
    >>> band = metrics.isotonic_band([0.2] * 50 + [0.8] * 50, hits)
    >>> band
    <ReliabilityBand level=0.95 n=100 blocks=2 holds the diagonal>
    >>> low, high = band.at([0.2, 0.5, 0.8])
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.08, 0.08, 0.63], [0.37, 0.92, 0.92])
    """

    starts: FloatArray
    ends: FloatArray
    low: FloatArray
    high: FloatArray
    counts: IntArray
    hits: IntArray
    level: float
    guarantee: Guarantee

    _state: ClassVar[State] = {
        "starts": floats("B", finite=True, ascending=True),
        "ends": floats("B", finite=True, ascending=True),
        "low": floats("B", low=0.0, high=1.0, ascending=True),
        "high": floats("B", low=0.0, high=1.0, ascending=True),
        "counts": integers("B", low=1),
        "hits": integers("B"),
        "level": rate(),
        "guarantee": part(Guarantee),
    }

    def _validate_state(self) -> None:
        require((self.hits <= self.counts).all(), "no more hits than rows")
        require((self.starts <= self.ends).all(), "blocks that end after they begin")

    def __repr__(self) -> str:
        """Return one line."""
        says = "holds the diagonal"
        if self.refutes_calibration:
            says = "refutes calibration"
        if self.refutes_order:
            says = "refutes that the curve does not fall"
        blocks = self.counts.size
        size = f"level={self.level:g} n={self.n} blocks={blocks}"
        return f"<ReliabilityBand {size} {says}>"

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.counts.sum())

    @property
    def _seen(self) -> FloatMatrix:
        """Blocks' ends where lower and upper bounds meet: starts, then ends."""
        points = np.concatenate([self.starts, self.ends])
        low, high = self.at(points)
        return np.column_stack([points, low, high])

    @property
    def refutes_calibration(self) -> bool:
        """Whether the diagonal leaves the band.

        If confidences are calibrated it does with probability 1 - level at most.
        """
        points, low, high = self._seen.T
        return bool((points < low).any() or (points > high).any())

    @property
    def refutes_order(self) -> bool:
        """Whether the band is empty somewhere: the curve must then fall."""
        _, low, high = self._seen.T
        return bool((low > high).any())

    def at(self, confidence: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the band's lower and upper ends at these confidences, each (m,).

        Parameters
        ----------
        confidence : array_like (m,)
            From 0 to 1.
        """
        args = Arguments("ReliabilityBand.at")
        must = "probabilities in [0, 1], shape (m,)"
        x = args.vector(confidence, "confidence", must, low=0.0, high=1.0)
        before = np.searchsorted(self.ends, x, side="right")
        after = np.searchsorted(self.starts, x, side="left")
        return np.append(0.0, self.low)[before], np.append(self.high, 1.0)[after]

    def to_frame(self) -> pd.DataFrame:
        """Return a row per block.

        Columns: left and right, the block's confidences; n; frequency; low, which holds
        from right on, and high, which holds up to left.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "left": self.starts,
                "right": self.ends,
                "n": self.counts,
                "frequency": self.hits / self.counts,
                "low": self.low,
                "high": self.high,
            }
        )

    def summary(self) -> Summary:
        """Return what the band says, and what it guarantees, as a ``Summary``."""
        from distfreeuq.metrics.summary import summarize_band

        return summarize_band(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the band, also over a reliability diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            For example that of ``metrics.reliability(...).plot()``.
        """
        from distfreeuq import plots

        return plots.reliability_band(self, ax=ax)
