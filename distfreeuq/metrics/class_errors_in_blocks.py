"""Class-wise calibration errors of rows in blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import Classes, FloatArray, FloatMatrix
from distfreeuq._base.arrays import AnyArray
from distfreeuq._numerics.row_blocks import Block, read_blocks
from distfreeuq.metrics.bins import Bins
from distfreeuq.metrics.classwise_errors import (
    class_edges,
    class_gap_sums,
    error_of_equal_mass,
)


def read_class_errors(
    args: Arguments,
    given: Mapping[str, Any],
    classes: Any,
    n_bins: int,
    how: Bins,
    *,
    again: bool = False,
) -> FloatArray | None:
    """Return the error of every class's probability (K,); None for rows in memory.

    One pass; for bins of equal mass one for each class, whose probabilities are
    gathered. `given` has probabilities, labels and weights, in this order; `again`
    says that the caller reads them too.
    """
    own_bins = how == "uniform-mass"
    blocks = read_blocks(args, given, again=again or own_bins)
    if blocks is None:
        return None
    names, parameter = blocks.classes(classes), blocks.parameter
    if own_bins:
        columns = (
            blocks.joined(_TakeColumn(names, parameter, k)) for k in range(len(names))
        )
        errors = []
        for column, hits, weights in columns:
            _check_weights(args, parameter, weights.size, float(weights.max(initial=0)))
            errors.append(
                error_of_equal_mass(column, hits, weights / weights.max(), n_bins)
            )
        return np.array(errors)
    sums = blocks.total(_SumGaps(names, parameter, n_bins, how), _add_up)
    _check_weights(args, parameter, sums.n, sums.largest)
    return np.asarray(np.abs(sums.gaps).sum(axis=0) / sums.weight)


def _check_weights(args: Arguments, parameter: str, n: int, largest: float) -> None:
    if n == 0:
        args.invalid(parameter, "of at least one row", "none")
    if largest == 0.0:
        must = "weights of which some are positive"
        args.invalid("sample_weight", must, "all zero")


@dataclass(frozen=True, slots=True)
class _TakeColumn:
    """Takes a class's probability, whether it is the label, and the weight."""

    classes: Classes
    parameter: str
    k: int

    def __call__(self, block: Block) -> tuple[AnyArray, ...]:
        probs = block.probs(self.classes, self.parameter).checked()
        hits, weights = block.labels(self.classes) == self.k, block.weights()
        column = np.ascontiguousarray(probs[:, self.k])
        return column, hits, np.ones(block.n) if weights is None else weights


class _Gaps(NamedTuple):
    """Sums in units of the largest weight, by bin and class, and of all weights."""

    gaps: FloatMatrix
    weight: float
    largest: float
    n: int


@dataclass(frozen=True, slots=True)
class _SumGaps:
    """Sums a block's gaps, probability less label, by bin and class."""

    classes: Classes
    parameter: str
    n_bins: int
    how: Bins

    def __call__(self, block: Block) -> _Gaps:
        rows = block.probs(self.classes, self.parameter)
        labels, weights = block.labels(self.classes), block.weights()
        if weights is None:
            weights = np.ones(block.n)
        largest = float(weights.max(initial=0.0))
        scaled = weights / (largest if largest > 0.0 else 1.0)
        edges = class_edges(rows.matrix, self.n_bins, self.how)
        gaps, bad = class_gap_sums(rows.matrix, labels, scaled, edges, rows.tolerance)
        rows.raise_if_invalid(bad)
        return _Gaps(gaps, float(scaled.sum()), largest, block.n)


def _add_up(found: Sequence[_Gaps]) -> _Gaps:
    """Return the sums of all, in units of the largest weight of all."""
    largest = max(one.largest for one in found)
    shares = [one.largest / (largest if largest > 0.0 else 1.0) for one in found]
    pairs = list(zip(shares, found, strict=True))
    return _Gaps(
        np.sum([share * one.gaps for share, one in pairs], axis=0),
        sum(share * one.weight for share, one in pairs),
        largest,
        sum(one.n for one in found),
    )
