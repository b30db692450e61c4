"""Top-label binning: how often the most likely label is right, by its probability."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ByteMatrix,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, integers, part, require
from distfreeuq._kernels import _row_stats
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.bin_counts import mean_scores, spread_weights, sum_weights
from distfreeuq._numerics.passes.row_parts import OnePart
from distfreeuq._numerics.sample_weights import divide
from distfreeuq._numerics.unit_bins import Intervals
from distfreeuq.binning.data import BinningRows
from distfreeuq.binning.label_shift_bins import (
    TargetWeights,
    event_radii,
    reweighted_event,
)
from distfreeuq.binning.radii import (
    WeightedCounts,
    binomial_radii,
    weighted_binomial_radii,
)
from distfreeuq.binning.results import BinningResult, bin_tables
from distfreeuq.binning.rows.binning_blocks import AnyBinningRows
from distfreeuq.binning.rows.scored_rows import ScoredRows, count_in_bins
from distfreeuq.binning.settings import BinningSettings

if TYPE_CHECKING:
    import pandas as pd


@register("top-label-binning")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TopLabelBinning(BinningResult):
    """Bins of the largest probability; the event is that its label is right.

    The attributes are those of every `BinningResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs, labels = [[0.8, 0.2], [0.3, 0.7]] * 50, [0, 0, 0, 1] * 25
    >>> fit = dfu.histogram_binning(probs, labels, scheme=[0.75], mode="top-label")
    >>> fit, fit.frequencies.tolist()
    (<TopLabelBinning alpha=0.1 n=100 bins=2 K=2>, [0.5, 1.0])
    """

    mode: ClassVar[str] = "top-label"

    _state: ClassVar[State] = {
        **bin_tables(("M",), ("M",)),
        "fallback": floats(),
        "label_counts": integers("M", 2, "K"),
        "partition": part(Intervals),
    }

    def _validate_state(self) -> None:
        BinningResult._validate_state(self)
        require(self.bin_counts.size == self.n_bins, "counts of all bins")

    def _assign(self, matrix: FloatMatrix) -> IntArray:
        assert isinstance(self.partition, Intervals)
        return self.partition.assign(_top(matrix)[1])

    def _binned_scores(
        self, matrix: FloatMatrix
    ) -> Iterable[tuple[Intervals, FloatArray]]:
        assert isinstance(self.partition, Intervals)
        return [(self.partition, _top(matrix)[1])]

    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        assert isinstance(self.partition, Intervals)
        top, confidence, _ = _top(matrix)
        bins = self.partition.assign(confidence)
        undefined = np.isnan(self.frequencies)
        if undefined.any():
            self._warn_undefined(undefined[bins])
        calibrated = np.where(undefined, self.fallback, self.frequencies)[bins]
        return _share_rest(matrix, top, confidence, calibrated)

    def _under(self, args: Arguments, weights: TargetWeights) -> BinningResult:
        assert self.label_counts is not None
        hits, rows = self.label_counts[:, 1], self.label_counts.sum(axis=1)
        radii, source = event_radii(hits, rows, weights, self.n_bins, self.alpha)
        frequencies = reweighted_event(hits, rows, weights.used)
        pooled = reweighted_event(hits.sum(axis=0), rows.sum(axis=0), weights.used)
        fallback = np.asarray(np.nan_to_num(pooled, nan=1.0 / len(self.classes)))
        return self._on_target(weights, frequencies, fallback, radii, source)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per bin: interval, rows, frequency with interval, radius."""
        import pandas as pd

        assert isinstance(self.partition, Intervals)
        ends = self.partition.ends()
        columns: dict[str, object] = {
            "bin": np.arange(self.n_bins),
            "cell": self.cells,
            "left": ends[:-1],
            "right": ends[1:],
            "n": self.bin_counts,
        }
        if self.effective_counts is not None:
            columns["n_effective"] = self.effective_counts
        columns |= {
            "mean_prob": self.mean_probs,
            "frequency": self.frequencies,
            "low": self.low,
            "high": self.high,
            "radius": self.radius,
        }
        if self.shift is not None:
            columns["source_radius"] = self.shift.source_radius
            columns["weight_radius"] = self.shift.weight_radius
        return pd.DataFrame(columns)


def fit_top_label(rows: AnyBinningRows, settings: BinningSettings) -> TopLabelBinning:
    """Count how often the top label is right in bins of its probability."""
    weights, n_classes = rows.sample_weight, len(rows.classes)
    scored = rows.parts.then(_score_top)
    others = None if rows.others is None else _top(rows.others)[1]
    bins = settings.scheme.bins_of(scored, rows.n, others)
    n_bins = bins.n_bins
    label_counts, means = count_in_bins(scored, bins, 2 * n_classes)
    label_counts = label_counts.reshape(n_bins, 2, n_classes)
    by_event = label_counts.sum(axis=2)
    bin_counts = by_event.sum(axis=1)
    alpha, bound = settings.alpha, settings.bound
    counts: FloatArray | IntArray = by_event[:, 1]
    effective = None
    if weights is None:
        frequencies = divide(by_event[:, 1], bin_counts)
        radii = binomial_radii(by_event[:, 1], bin_counts, n_bins, alpha, bound)
    else:
        assert isinstance(scored, OnePart)
        confidence, codes = scored.part
        members, right = bins.assign(confidence), codes // n_classes
        sums = sum_weights(members, right, weights, n_bins, 2)
        spread = spread_weights(members, right, weights, n_bins)
        weighted = WeightedCounts(*sums, bin_counts, *spread)
        counts, effective = weighted.sums[:, 1], read_only(weighted.effective)
        frequencies = weighted.frequencies[:, 1]
        radii = weighted_binomial_radii(
            weighted, settings.weight_bound, n_bins, alpha, bound
        )
        means = mean_scores(confidence, members, weights, n_bins)
    mass = (bin_counts if weights is None else weighted.sums).sum()
    pooled = counts.sum() / mass if mass > 0.0 else 1.0 / n_classes
    return TopLabelBinning(
        counts=read_only(counts),
        bin_counts=read_only(bin_counts),
        frequencies=read_only(frequencies),
        mean_probs=read_only(means),
        fallback=read_only(np.asarray(pooled)),
        n_boundary=bins.n_boundary,
        partition=bins.intervals,
        effective_counts=effective,
        label_counts=read_only(label_counts),
        **settings.fields(rows, radii, bin_counts, n_bins),
    )


def _score_top(rows: BinningRows) -> ScoredRows:
    """Return the largest probabilities, and labels, by K more where they are right."""
    _, confidence, right = _top(rows.probs, rows.labels)
    return ScoredRows(confidence, right * np.int64(len(rows.classes)) + rows.labels)


def _top(
    matrix: FloatMatrix, labels: IntArray | None = None
) -> tuple[IntArray, FloatArray, ByteMatrix]:
    """Return each row's most likely label, its probability, and whether it is right."""
    n = matrix.shape[0]
    top, right = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.uint8)
    confidence, nothing = (np.empty(size, dtype=matrix.dtype) for size in (n, 0))
    _row_stats._read_rows(
        matrix,
        np.zeros(n, dtype=np.int64) if labels is None else labels,
        np.inf,  # the rows are checked already
        right,
        top,
        confidence,
        nothing,
        np.empty(0),
        threads_for(matrix.size),
    )
    return top, confidence, right


def _share_rest(
    matrix: FloatMatrix, top: IntArray, confidence: FloatArray, calibrated: FloatArray
) -> FloatMatrix:
    """Return rows with the calibrated top; the others share the rest."""
    rest = matrix.sum(axis=1, dtype=np.float64) - confidence
    n_classes = matrix.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(rest > 0.0, (1.0 - calibrated) / rest, 0.0)
    out = matrix * scale[:, None]
    nothing = rest <= 0.0  # all on one label: the others share evenly
    out[nothing] = (1.0 - calibrated[nothing, None]) / (n_classes - 1)
    out[np.arange(top.size), top] = calibrated
    return out.astype(matrix.dtype, copy=False)
