"""What a report is made of: both samples, and the target's labels where there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, BoolArray, Classes, IntArray
from distfreeuq._base.arrays import as_array, as_items
from distfreeuq._base.class_labels import name_array
from distfreeuq.label_shift.data import Samples, read_samples


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReportData:
    """Checked rows.

    Attributes
    ----------
    samples : Samples
    classes : sequence
        Class names by column.
    known : ndarray of bool (m,)
        Whether a target row's label is known.
    labels_target : ndarray
        Those labels, as column numbers.
    rows : sequence (m,)
        Names of the target rows: the index of a DataFrame, else their numbers.
    """

    samples: Samples
    classes: Classes
    known: BoolArray
    labels_target: IntArray
    rows: Any

    @property
    def names(self) -> Any:
        """Class names as an array, to be indexed by column numbers."""
        return name_array(self.classes)


def read_report_data(
    args: Arguments,
    probs: ArrayLike,
    labels: ArrayLike,
    probs_target: ArrayLike,
    labels_target: ArrayLike | None,
    classes: ArrayLike | None,
) -> ReportData:
    """Return checked samples, and which target rows have labels."""
    samples, names = read_samples(args, probs, labels, probs_target, classes)
    m = samples.probs_target.shape[0]
    index = getattr(probs_target, "index", None)
    has_index = index is not None and not callable(index)
    rows: Any = index if has_index else range(m)
    known, codes = _known_labels(args, labels_target, names, m)
    return ReportData(samples, names, known, codes, rows)


def _known_labels(
    args: Arguments, labels: ArrayLike | None, names: Classes, m: int
) -> tuple[BoolArray, IntArray]:
    """Return which labels are there, and their column numbers."""
    if labels is None:
        return np.zeros(m, dtype=bool), np.zeros(0, dtype=np.int64)
    items = as_items(as_array(labels))
    if len(items) != m:
        must = f"a label, or None, for each of the {m} target rows"
        args.invalid("labels_target", must, f"{len(items)} values")
    known = np.array([not _is_missing(item) for item in items], dtype=bool)
    given: Any = [item for item, there in zip(items, known, strict=True) if there]
    if names == tuple(range(len(names))) or names == range(len(names)):
        given = [_whole(item) for item in given]
    if not given:
        return known, np.zeros(0, dtype=np.int64)
    return known, args.labels(given, names, len(given), "labels_target")


def _whole(item: Any) -> Any:
    """Return 2 for 2.0: a missing label makes floats of all the others."""
    is_float = isinstance(item, float | np.floating)
    return int(item) if is_float and float(item).is_integer() else item


def _is_missing(item: Any) -> bool:
    """Return whether a label is None or not a number, in whatever type."""
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(item, float | np.floating) and bool(np.isnan(item))
