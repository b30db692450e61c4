"""What `scaling_binning` returns: a map, bins of its outputs, and their means."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, count, floats, part, require, text
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq.binning.results import BinningResult
from distfreeuq.calibration.data import read_new_logits
from distfreeuq.calibration.results import CalibrationResult
from distfreeuq.calibration.scaled_bins.output_bounds import (
    frequency_intervals,
    outputs_of,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@register("scaling-binning")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScalingBinningResult(CalibrationResult):
    """A scaling map, replaced by its mean in each of a few bins.

    Attributes
    ----------
    calibrator : str
        Name of the scaling map.
    scaling : CalibrationResult
        The map, fitted to the first part of the rows.
    binning : BinningResult
        Bins of the map's outputs, and the frequencies of the third part's labels in
        them, as `histogram_binning` returns them.
    n_scaling : int
        Rows that the map was fitted to.
    radius : ndarray (M,)
        Bounds of the distance between output and true frequency, all of them at once;
        class-wise one class's bins after another's.
    map_radius : ndarray (M,)
        Bounds of the distance between output and the map's true mean in the bin; NaN
        for weighted rows.

    The other attributes are those of every `CalibrationResult`, of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(0.0, 3.0, 3000)
    >>> labels = (rng.random(3000) < 1 / (1 + np.exp(-logits / 2))).astype(int)
    >>> fit = dfu.scaling_binning(logits, labels, n_bins=5, rng=0)
    >>> fit
    <ScalingBinningResult temperature bins=5 n=3000 K=2>
    >>> fit.outputs.round(2), fit.radius.round(2)
    (array([0.11, 0.29, 0.47, 0.67, 0.88]), array([0.06, 0.11, 0.09, 0.08, 0.06]))
    >>> fit.predict([-2.0, 2.0]).round(2).tolist()
    [[0.71, 0.29], [0.33, 0.67]]
    """

    calibrator: str
    scaling: CalibrationResult
    binning: BinningResult
    n_scaling: int
    radius: FloatArray
    map_radius: FloatArray

    _state: ClassVar[State] = {
        "calibrator": text(),
        "scaling": part(CalibrationResult),
        "binning": part(BinningResult),
        "n_scaling": count(),
        "radius": floats("M", low=0.0, high=1.0, nan=False),
        "map_radius": floats("M", low=0.0, high=1.0),
    }

    def _validate_state(self) -> None:
        same = self.scaling.classes == self.binning.classes == self.classes
        require(same, "a map and bins of the same classes")
        require(self.binning.shift is None, "bins of the source")
        require(isinstance(self.binning.edges, np.ndarray | tuple), "bins of a score")
        require(self.radius.size == self.binning.n_bins, "radii of all bins")

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<ScalingBinningResult {self.calibrator} bins={self.binning.n_bins} "
            f"n={self.n} K={len(self.classes)}>"
        )

    @property
    def outputs(self) -> FloatArray:
        """The map's mean in each bin, shape (M,): of class 1, each class, or the top.

        NaN in bins without rows.
        """
        return outputs_of(self.binning).output

    @property
    def alpha(self) -> float:
        """Probability that some bin's radius fails."""
        return self.binning.alpha

    @property
    def cost(self) -> float:
        """Largest of `map_radius`: what the bins add to the map's calibration error.

        NaN for weighted rows.
        """
        return float(self.map_radius.max())

    @lazy
    def predict(self, logits: ArrayLike) -> FloatMatrix:
        """Return the outputs of the bins of the map's probabilities, shape (n, K).

        Parameters
        ----------
        logits : array_like (n, K), or (n,) for class 1
            Columns as in the fit; probabilities, if the map is one of probabilities.

        Returns
        -------
        ndarray (n, K)
            Two classes: the bin's output, and one minus it. Class-wise: for each class
            the output of its own bin, which do not sum to one. Top-label: the output
            for the map's top label; the other labels share the rest in proportion to
            the map's probabilities, for which nothing is claimed.

        Warns
        -----
        EmptyBinWarning
            If rows fall into bins without rows of the third part: they get the class
            prior.
        """
        return self._predict(self._read(logits, "predict"))

    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        probs = np.ascontiguousarray(self.scaling._predict(matrix))
        return averaged(self.binning)._predict(probs)

    def assign(self, logits: ArrayLike) -> IntArray:
        """Bin of each row, shape (n,); class-wise (n, K).

        Parameters
        ----------
        logits : array_like (n, K), or (n,) for class 1
            As for `predict`.
        """
        matrix = self._read(logits, "assign")
        return self.binning._assign(np.ascontiguousarray(self.scaling._predict(matrix)))

    def _read(self, logits: ArrayLike, method: str) -> FloatMatrix:
        from distfreeuq.calibration.calibrators import takes_probs

        args = Arguments(f"ScalingBinningResult.{method}")
        if takes_probs(self.scaling):
            return args.new_probs(logits, self.classes, "logits")
        masks = self.scaling._has_temperatures
        return read_new_logits(
            args, logits, self.classes, may_be_probs=True, may_mask=masks
        )

    def confint(self, alpha: float | None = None) -> FloatMatrix:
        """Intervals of the labels' frequencies in all bins at once, shape (M, 2).

        Parameters
        ----------
        alpha : float, optional
            Probability that some bin's frequency is outside. By default the fit's, and
            that one only where rows have weights.

        Notes
        -----
        Clopper-Pearson intervals at alpha over the number of bins, at every sample size
        (theory page, 8.8); with weights those of `histogram_binning`. An output outside
        of its interval is refuted: the map is not calibrated there.
        """
        args = Arguments("ScalingBinningResult.confint")
        bins = outputs_of(self.binning)
        if alpha is None:
            return np.column_stack([bins.low, bins.high])
        level = args.alpha(alpha)
        if self.binning.effective_counts is not None:
            if level != self.alpha:
                must = f"{self.alpha:g}, the fit's, as its rows are weighted"
                args.invalid("alpha", must, f"{level:g}")
            return np.column_stack([bins.low, bins.high])
        return np.column_stack(frequency_intervals(bins, level))

    def to_frame(self) -> pd.DataFrame:
        """Return a row per bin: cell, rows, output, frequency, interval, radii.

        NaN as in `outputs`, and the frequency of bins without rows.
        """
        import pandas as pd

        bins = outputs_of(self.binning)
        edges = self.binning.edges
        by_class = edges if isinstance(edges, tuple) else (edges,)
        columns: dict[str, object] = {}
        if isinstance(edges, tuple):
            counts = [ends.size - 1 for ends in by_class]
            columns["class"] = np.repeat(name_array(self.classes), counts)
        columns |= {
            "bin": np.concatenate([np.arange(ends.size - 1) for ends in by_class]),
            "cell": self.binning.cells,
            "left": np.concatenate([ends[:-1] for ends in by_class]),
            "right": np.concatenate([ends[1:] for ends in by_class]),
            "n": bins.n,
            "output": bins.output,
            "frequency": bins.frequency,
            "low": bins.low,
            "high": bins.high,
            "radius": self.radius,
            "map_radius": self.map_radius,
        }
        return pd.DataFrame(columns)

    def summary(self) -> Summary:
        """Return outputs, frequencies and what holds in all bins, as a ``Summary``."""
        from distfreeuq.calibration.scaled_bins.summary import summarize_scaling_binning

        return summarize_scaling_binning(self)

    def _check_savable(self) -> None:
        self.scaling._check_savable()

    def _parameter_plot(self, ax: Axes | None) -> Axes:
        return self._default_plot(ax)

    def _default_plot(self, ax: Axes | None) -> Axes:
        return self.binning.plot(ax)


def averaged(binning: BinningResult) -> BinningResult:
    """Return bins that give out the mean of the scores in them, and not of labels."""
    return dataclasses.replace(binning, frequencies=binning.mean_probs)
