"""What BBSE and RLLS need of rows: how often each class is predicted, and right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distfreeuq._base.array_types import IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, count, flag, integers, require
from distfreeuq._base.tallied import TallyPart


@register("count-tally")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CountTally(TallyPart):
    """Rows by predicted class and, with labels, by label; only the pairs that occur.

    Attributes
    ----------
    n_classes : int
    labelled : bool
        Whether the rows have labels.
    cells : ndarray (c,)
        Predicted class times K plus label, or predicted class; ascending.
    counts : ndarray (c,)
        Rows of each.
    """

    contents: ClassVar[str] = "counts of predictions"
    how_made: ClassVar[str] = "by this version"

    n_classes: int
    labelled: bool
    cells: IntArray
    counts: IntArray

    _state: ClassVar[State] = {
        "n_classes": count("K"),
        "labelled": flag(),
        "cells": integers("c"),
        "counts": integers("c", low=1),
    }

    def _validate_state(self) -> None:
        n_cells = self.n_classes ** (2 if self.labelled else 1)
        require((np.diff(self.cells) > 0).all(), "ascending cells")
        require(self.cells.max(initial=-1) < n_cells, "cells of these classes")

    @classmethod
    def of_rows(
        cls, predicted: IntArray, labels: IntArray | None, n_classes: int
    ) -> CountTally:
        """Count rows."""
        codes = predicted if labels is None else predicted * n_classes + labels
        cells, counts = np.unique(codes, return_counts=True)
        return cls(n_classes, labels is not None, *map(read_only, (cells, counts)))

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def predicted(self) -> IntArray:
        """The predicted class of each cell, shape (c,)."""
        return self.cells // self.n_classes if self.labelled else self.cells

    @property
    def labels(self) -> IntArray:
        """The label of each cell, shape (c,)."""
        return self.cells % self.n_classes

    def by_prediction(self) -> IntArray:
        """Return the rows by predicted class, shape (K,)."""
        return _sums(self.predicted, self.counts, self.n_classes)

    def by_label(self) -> IntArray:
        """Return the rows by label, shape (K,)."""
        return _sums(self.labels, self.counts, self.n_classes)

    def unlike(self, other: Any) -> tuple[str, str] | None:
        """Return how two tallies differ, so that they do not add."""
        if self.labelled == other.labelled:
            return None
        with_or_without = {True: "rows with labels", False: "rows without labels"}
        return with_or_without[self.labelled], with_or_without[other.labelled]

    @classmethod
    def total(cls, parts: Sequence[CountTally]) -> CountTally:
        """Return the counts of all parts."""
        cells = np.unique(np.concatenate([one.cells for one in parts]))
        counts = np.zeros(cells.size, dtype=np.int64)
        for one in parts:
            counts[np.searchsorted(cells, one.cells)] += one.counts
        first = parts[0]
        return cls(first.n_classes, first.labelled, read_only(cells), read_only(counts))


def _sums(codes: IntArray, counts: IntArray, n_classes: int) -> IntArray:
    out = np.zeros(n_classes, dtype=np.int64)
    np.add.at(out, codes, counts)
    return out
