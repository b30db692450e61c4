"""Class-wise binning: K one-vs-all problems, each in bins of its own probability."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    BoolMatrix,
    FloatArray,
    FloatMatrix,
    IntArray,
    IntMatrix,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    flag,
    floats,
    integers,
    maybe,
    part,
    require,
    several,
)
from distfreeuq._numerics.bin_counts import (
    WEIGHT_STEPS,
    mean_scores,
    spread_weights,
    sum_weights,
)
from distfreeuq._numerics.passes.radix_selection import GroupedValues
from distfreeuq._numerics.passes.row_parts import OnePart, Parts
from distfreeuq._numerics.sample_weights import divide
from distfreeuq._numerics.unit_bins import Intervals, ScoreBins
from distfreeuq.binning.data import BinningRows
from distfreeuq.binning.label_shift_bins import (
    TargetWeights,
    event_radii,
    reweighted_event,
    reweighted_prior,
)
from distfreeuq.binning.radii import (
    WeightedCounts,
    binomial_radii,
    weighted_binomial_radii,
)
from distfreeuq.binning.results import BinningResult, bin_tables
from distfreeuq.binning.rows.binning_blocks import AnyBinningRows
from distfreeuq.binning.rows.scored_rows import ScoredRows
from distfreeuq.binning.scheme import Scheme
from distfreeuq.binning.settings import BinningSettings
from distfreeuq.binning.uniform_mass import own_mass_in_blocks

if TYPE_CHECKING:
    import pandas as pd

# Most entries of the table by bin, class and label; beyond, label shift is not offered.
_MOST_LABEL_COUNTS = 1 << 22


@register("classwise-binning")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClasswiseBinning(BinningResult):
    """Each class in bins of its own probability.

    Arrays are (M, K) with M the most bins of any class; a class with fewer has rows of
    zeros at the end.

    Attributes
    ----------
    renormalize : bool
        Whether `predict` divides each row by its sum.

    The other attributes are those of every `BinningResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs, labels = [[0.8, 0.2], [0.3, 0.7]] * 50, [0, 0, 0, 1] * 25
    >>> fit = dfu.histogram_binning(probs, labels, scheme=[0.5], mode="classwise")
    >>> fit, [edges.tolist() for edges in fit.edges]
    (<ClasswiseBinning alpha=0.1 n=100 bins=4 K=2>, [[0.0, 0.5, 1.0], [0.0, 0.5, 1.0]])
    """

    mode: ClassVar[str] = "classwise"

    renormalize: bool

    _state: ClassVar[State] = {
        **bin_tables(("M", "K"), ("M", "K")),
        "fallback": floats("K"),
        "label_counts": maybe(integers("M", "K", "K")),
        "partition": several(part(Intervals), "K"),
        "renormalize": flag(),
    }

    def _validate_state(self) -> None:
        BinningResult._validate_state(self)
        require(self.present.shape == self.bin_counts.shape, "counts of all bins")

    @property
    def n_bins(self) -> int:
        """Number of bins of all classes together."""
        assert isinstance(self.partition, tuple)
        return sum(intervals.n_bins for intervals in self.partition)

    @property
    def edges(self) -> tuple[FloatMatrix, ...]:
        """Edges of each class's bins from 0 to 1."""
        assert isinstance(self.partition, tuple)
        return tuple(intervals.ends() for intervals in self.partition)

    @property
    def cells(self) -> list[str]:
        """Each bin in words, class by class."""
        assert isinstance(self.partition, tuple)
        return [text for intervals in self.partition for text in intervals.describe()]

    @property
    def present(self) -> BoolMatrix:
        """Which places of the arrays are bins, shape (M, K)."""
        assert isinstance(self.partition, tuple)
        n_bins = [intervals.n_bins for intervals in self.partition]
        return np.arange(max(n_bins))[:, None] < np.array(n_bins)

    def _assign(self, matrix: FloatMatrix) -> IntMatrix:
        assert isinstance(self.partition, tuple)
        columns = np.ascontiguousarray(matrix.T)
        pairs = zip(self.partition, columns, strict=True)
        return np.column_stack([own.assign(column) for own, column in pairs])

    def _binned_scores(
        self, matrix: FloatMatrix
    ) -> Iterable[tuple[Intervals, FloatArray]]:
        assert isinstance(self.partition, tuple)
        return zip(self.partition, matrix.T, strict=True)

    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        bins = self._assign(matrix)
        undefined = np.isnan(self.frequencies)
        columns = np.arange(len(self.classes))
        if undefined.any():
            self._warn_undefined(np.asarray(undefined[bins, columns].any(axis=1)))
        table = np.where(undefined, self.fallback, self.frequencies)
        out = table.astype(matrix.dtype)[bins, columns]
        if self.renormalize:
            total = out.sum(axis=1, keepdims=True)
            # a row whose frequencies are all zero gets the prior
            out = np.where(
                total > 0.0, out / np.where(total > 0, total, 1), self.fallback
            )
        return out.astype(matrix.dtype, copy=False)

    def _under(self, args: Arguments, weights: TargetWeights) -> BinningResult:
        if self.label_counts is None:
            must = (
                "for fewer classes or bins: counts by bin, class and label are too many"
            )
            args.invalid("label_weight", must, f"{self.n_bins} bins")
        rows = self.label_counts
        hits = rows * np.eye(len(self.classes), dtype=np.int64)
        radii, source = event_radii(hits, rows, weights, self.n_bins, self.alpha)
        frequencies = reweighted_event(hits, rows, weights.used)
        fallback = reweighted_prior(self.fallback, weights.used)
        return self._on_target(weights, frequencies, fallback, radii, source)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per class and bin: interval, rows, frequency, radius."""
        import pandas as pd

        assert isinstance(self.partition, tuple)
        # class by class, and only the places that are bins
        bins, owner = np.nonzero(self.present)
        order = np.lexsort((bins, owner))
        place = bins[order], owner[order]
        columns: dict[str, object] = {
            "class": name_array(self.classes)[place[1]],
            "bin": place[0],
            "cell": self.cells,
            "left": np.concatenate([ends[:-1] for ends in self.edges]),
            "right": np.concatenate([ends[1:] for ends in self.edges]),
            "n": self.bin_counts[place],
        }
        if self.effective_counts is not None:
            columns["n_effective"] = self.effective_counts[place]
        columns |= {
            "mean_prob": self.mean_probs[place],
            "frequency": self.frequencies[place],
            "low": self.low[place],
            "high": self.high[place],
            "radius": self.radius[place],
        }
        if self.shift is not None:
            columns["source_radius"] = self.shift.source_radius[place]
            columns["weight_radius"] = self.shift.weight_radius[place]
        return pd.DataFrame(columns)


def fit_classwise(rows: AnyBinningRows, settings: BinningSettings) -> ClasswiseBinning:
    """Count each class in bins of its own probability."""
    scheme, weights = settings.scheme, rows.sample_weight
    n_classes = len(rows.classes)
    by_column = rows.parts
    if scheme.fixed is None or weights is not None:  # else the matrix is read by rows
        by_column = by_column.then(_by_column)
    bins = _bins_of_classes(rows, by_column, scheme)
    deepest = max(own.n_bins for own in bins)
    n_bins = sum(own.n_bins for own in bins)
    label_counts = None
    if deepest * n_classes**2 > _MOST_LABEL_COUNTS:
        by_event, totals = by_column.then(_by_column).total(_CountOwn(bins, deepest))
    else:
        label_counts, totals = by_column.total(_CountLabels(bins, deepest, scheme))
        own_label = np.diagonal(label_counts, axis1=1, axis2=2)
        other_labels = label_counts.sum(axis=2) - own_label
        by_event = np.stack([other_labels, own_label], axis=2)
    mean_probs = divide(totals, by_event.sum(axis=2))
    bin_counts = by_event.sum(axis=2)
    alpha, bound = settings.alpha, settings.bound
    counts: FloatMatrix | IntMatrix = by_event[..., 1]
    effective = None
    if weights is None:
        frequencies = divide(by_event[..., 1], bin_counts)
        radii = binomial_radii(by_event[..., 1], bin_counts, n_bins, alpha, bound)
    else:
        assert isinstance(by_column, OnePart)
        own_rows = by_column.part
        weighted, mean_probs = _weighted(
            bins, own_rows.probs.T, own_rows.labels, weights, bin_counts
        )
        counts, effective = weighted.sums[..., 1], read_only(weighted.effective)
        frequencies = weighted.frequencies[..., 1]
        radii = weighted_binomial_radii(
            weighted, settings.weight_bound, n_bins, alpha, bound
        )
    return ClasswiseBinning(
        counts=read_only(counts),
        bin_counts=read_only(bin_counts),
        frequencies=read_only(frequencies),
        mean_probs=read_only(mean_probs),
        fallback=read_only(rows.prior()),
        n_boundary=sum(own.n_boundary for own in bins),
        partition=tuple(own.intervals for own in bins),
        effective_counts=effective,
        label_counts=None if label_counts is None else read_only(label_counts),
        renormalize=settings.renormalize,
        **settings.fields(rows, radii, bin_counts, n_bins),
    )


def _by_column(rows: BinningRows) -> BinningRows:
    """Return the rows with every class's probabilities side by side in memory."""
    return replace(rows, probs=np.asfortranarray(rows.probs))


def _bins_of_classes(
    rows: AnyBinningRows, by_column: Parts[BinningRows], scheme: Scheme
) -> list[ScoreBins]:
    """Return the bins of every class's probability."""
    n_classes = len(rows.classes)
    if scheme.fixed is None and rows.others is None and not by_column.are_kept:
        values = by_column.then(_all_values)
        return own_mass_in_blocks(values, rows.n, scheme.n_bins, n_classes)
    others = [None] * n_classes if rows.others is None else rows.others.T
    return [
        scheme.bins_of(by_column.then(_Column(k)), rows.n, other)
        for k, other in enumerate(others)
    ]


@dataclass(frozen=True, slots=True)
class _Column:
    """Takes a class's probability, and the labels."""

    k: int

    def __call__(self, rows: BinningRows) -> ScoredRows:
        return ScoredRows(rows.probs[:, self.k], rows.labels)


def _all_values(rows: BinningRows) -> GroupedValues:
    """Return all probabilities, each in the group of its class."""
    n, n_classes = rows.probs.shape
    return GroupedValues(rows.probs.T.ravel(), np.repeat(np.arange(n_classes), n))


@dataclass(frozen=True, slots=True)
class _CountLabels:
    """Counts some rows by bin, class and label (M, K, K), and sums scores (M, K)."""

    bins: Sequence[ScoreBins]
    deepest: int
    scheme: Scheme

    def __call__(self, rows: BinningRows) -> tuple[IntArray, FloatMatrix]:
        if isinstance(self.scheme.fixed, Intervals):
            return self.scheme.fixed.tabulate_columns(
                np.ascontiguousarray(rows.probs), rows.labels
            )
        n_classes = len(self.bins)
        counts = np.zeros((self.deepest, n_classes, n_classes), dtype=np.int64)
        totals = np.zeros((self.deepest, n_classes))
        for k, own in enumerate(self.bins):
            filled, column = slice(own.n_bins), rows.probs[:, k]
            counts[filled, k], totals[filled, k] = own.sums(
                column, rows.labels, n_classes
            )
        return counts, totals


@dataclass(frozen=True, slots=True)
class _CountOwn:
    """Counts some rows by bin, class and whether it is the label (M, K, 2)."""

    bins: Sequence[ScoreBins]
    deepest: int

    def __call__(self, rows: BinningRows) -> tuple[IntArray, FloatMatrix]:
        n_classes = len(self.bins)
        counts = np.zeros((self.deepest, n_classes, 2), dtype=np.int64)
        totals = np.zeros((self.deepest, n_classes))
        for k, own in enumerate(self.bins):
            filled, is_own = slice(own.n_bins), (rows.labels == k).astype(np.int64)
            table = own.sums(rows.probs[:, k], is_own, 2)
            counts[filled, k], totals[filled, k] = table
        return counts, totals


def _weighted(
    bins: Sequence[ScoreBins],
    columns: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    bin_counts: IntMatrix,
) -> tuple[WeightedCounts, FloatMatrix]:
    """Return weights by bin, class and event, and weighted mean probabilities."""
    deepest, n_classes = bin_counts.shape
    sums = np.zeros((deepest, n_classes, 2))
    squares = np.zeros_like(sums)
    means = np.empty((deepest, n_classes))
    rows_at = np.zeros((deepest, n_classes, 2, WEIGHT_STEPS + 1))
    for k, own in enumerate(bins):
        members = own.assign(columns[k])
        is_own = (labels == k).astype(np.int64)
        sums[:, k], squares[:, k] = sum_weights(members, is_own, weights, deepest, 2)
        points, rows_at[:, k] = spread_weights(members, is_own, weights, deepest)
        means[:, k] = mean_scores(columns[k], members, weights, deepest)
    return WeightedCounts(sums, squares, bin_counts, points, rows_at), means
