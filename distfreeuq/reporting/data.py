"""What a report is made of: both samples, and the target's labels where there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, BoolArray, Classes, IntArray
from distfreeuq._base.class_labels import name_array
from distfreeuq.label_shift.data import Samples, read_samples, read_some_labels


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

    def some_labels(self) -> Any:
        """Return the known labels, None elsewhere, (m,).

        None if no row has a label, or all have: the shares of their classes are then
        those of the target, and nothing is to be estimated.
        """
        if not self.known.any() or self.known.all():
            return None
        out = np.full(self.known.size, None, dtype=object)
        out[self.known] = self.names[self.labels_target]
        return out


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
    known, codes = read_some_labels(args, labels_target, names, m)
    return ReportData(samples, names, known, codes, rows)
