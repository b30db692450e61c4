"""The confusion matrix and the target's predictions: all the data of BBSE and RLLS.

C_ij = P(predicted i, class j) in the source and mu_i = P(predicted i) in the target, so
that under label shift C w = mu. "Soft": with probabilities in place of predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray, IntMatrix
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    count,
    either,
    flag,
    part,
    require,
    table_of_counts,
)
from distfreeuq._numerics.matrices.matrix_blocks import FEW
from distfreeuq._numerics.passes.class_rows import ClassRows
from distfreeuq._numerics.row_sums import (
    class_sums,
    column_sums,
    count_pairs,
)
from distfreeuq.label_shift.class_matrix import ClassMatrix, TakingPart
from distfreeuq.label_shift.data import SampleRows
from distfreeuq.label_shift.tallied_counts import CountTally


@register("confusion")
@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """Sums over both samples.

    Attributes
    ----------
    joint : ndarray (K, K) or ClassMatrix
        Source rows by predicted class (row) and true class (column): counts, or sums of
        probabilities if `soft`. A `ClassMatrix` where few of many classes occur.
    target : ndarray (K,)
        Target rows by predicted class: counts, or sums of probabilities if `soft`.
    n, m : int
        Rows of source and target.
    soft : bool
    """

    joint: FloatMatrix | ClassMatrix
    target: FloatArray
    n: int
    m: int
    soft: bool

    _state: ClassVar[State] = {
        "target": table_of_counts("K"),
        "joint": either(table_of_counts("K", "K"), part(ClassMatrix, same="K")),
        "n": count(low=1),
        "m": count(low=1),
        "soft": flag(),
    }

    def _validate_state(self) -> None:
        joint = self.joint
        entries = joint.block if isinstance(joint, ClassMatrix) else joint
        require(np.isfinite(entries).all() and (entries >= 0).all(), "counts of rows")
        totals = (entries.sum(), self.target.sum())
        agree = np.allclose(totals, (self.n, self.m), rtol=1e-4)
        require(agree, "sums over all rows")

    @property
    def counts(self) -> FloatMatrix:
        """`joint` as an array, zeros included, shape (K, K)."""
        return np.asarray(self.joint)

    @property
    def matrix(self) -> FloatMatrix:
        """C, shape (K, K)."""
        return self.counts / self.n

    def of_those_that_occur(self) -> tuple[Confusion, TakingPart]:
        """Return the same of the classes that some row has or is predicted to have."""
        if not isinstance(self.joint, ClassMatrix):
            return self, TakingPart(self.target.size, None)
        occurs = self.target > 0
        occurs[self.joint.rows] = occurs[self.joint.columns] = True
        few = TakingPart(self.target.size, np.flatnonzero(occurs))
        return self.of_classes(few), few

    def of_classes(self, few: TakingPart) -> Confusion:
        """Return the same of some classes; rows of others are not in its sums."""
        if few.classes is None:
            return self
        if isinstance(self.joint, ClassMatrix):
            joint = self.joint.at(few.classes, few.classes)
        else:
            joint = self.joint[np.ix_(few.classes, few.classes)]
        return Confusion(joint, self.target[few.classes], self.n, self.m, self.soft)

    @property
    def frequencies(self) -> FloatArray:
        """The target's mean prediction mu, shape (K,)."""
        return self.target / self.m


def hard_confusion(
    predicted: IntArray, labels: IntArray, predicted_target: IntArray, n_classes: int
) -> Confusion:
    """Count predicted classes, those of the source with their labels."""
    target = np.bincount(predicted_target, minlength=n_classes)
    rows, columns = (np.bincount(x, minlength=n_classes) for x in (predicted, labels))
    joint: FloatMatrix | ClassMatrix
    if TakingPart.if_few(rows + columns + target > 0).classes is None:
        joint = read_only(count_pairs(predicted, labels, n_classes, n_classes))
    else:
        of_rows, of_columns = (
            TakingPart(n_classes, np.flatnonzero(x)) for x in (rows, columns)
        )
        codes = of_rows.codes(predicted), of_columns.codes(labels)
        pairs = count_pairs(*codes, of_rows.size, of_columns.size)
        joint = _compact(pairs, of_rows, of_columns)
    return Confusion(
        joint=joint,
        target=read_only(target),
        n=predicted.size,
        m=predicted_target.size,
        soft=False,
    )


def counted_confusion(source: CountTally, target: CountTally) -> Confusion:
    """Return the same from counts of both samples."""
    n_classes, in_target = source.n_classes, target.by_prediction()
    rows, columns = source.by_prediction(), source.by_label()
    few = TakingPart.if_few(rows + columns + in_target > 0).classes is not None
    of_rows, of_columns = (
        TakingPart(n_classes, np.flatnonzero(x) if few else None)
        for x in (rows, columns)
    )
    pairs = np.zeros((of_rows.size, of_columns.size), dtype=np.int64)
    place = of_rows.codes(source.predicted), of_columns.codes(source.labels)
    pairs[place] = source.counts
    return Confusion(
        joint=_compact(pairs, of_rows, of_columns) if few else read_only(pairs),
        target=read_only(in_target),
        n=source.n,
        m=target.n,
        soft=False,
    )


def table_of(confusion: Confusion) -> Any:
    """Return the counts as floats; of many classes without their zeros."""
    if confusion.target.size <= FEW:
        return np.asarray(confusion.counts, dtype=np.float64)
    from scipy import sparse

    return sparse.csr_array(confusion.counts).astype(np.float64)


def count_predictions(samples: SampleRows) -> Confusion:
    """Return the same from rows that may be in blocks."""
    count = _CountPredictions(samples.source.n_classes)
    return counted_confusion(
        samples.source.parts.total(count, CountTally.total),
        samples.target.parts.total(count, CountTally.total),
    )


@dataclass(frozen=True, slots=True)
class _CountPredictions:
    """Counts some rows by predicted class and, if they have any, label."""

    n_classes: int

    def __call__(self, rows: ClassRows) -> CountTally:
        labels = rows.labels if rows.labels.size else None
        return CountTally.of_rows(rows.probs.argmax(axis=1), labels, self.n_classes)


def soft_confusion(samples: SampleRows) -> Confusion:
    """Sum probabilities of both samples."""
    source, target = samples.source, samples.target
    labelled = TakingPart.if_few(samples.class_counts > 0)
    sums = source.parts.total(_SumByClass(labelled))
    joint: FloatMatrix | ClassMatrix = read_only(sums)
    if labelled.classes is not None:
        rows = TakingPart(labelled.n_classes, np.flatnonzero(sums.any(axis=1)))
        joint = _compact(sums[rows.classes], rows, labelled)
    return Confusion(
        joint=joint,
        target=read_only(target.parts.total(sum_columns)),
        n=source.n,
        m=target.n,
        soft=True,
    )


@dataclass(frozen=True, slots=True)
class _SumByClass:
    """Sums probabilities of some rows by label, shape (K, J)."""

    labelled: TakingPart

    def __call__(self, rows: ClassRows) -> FloatMatrix:
        codes, n_labels = self.labelled.codes(rows.labels), self.labelled.size
        return class_sums(rows.probs, codes, rows.weight, n_labels)


def sum_columns(rows: ClassRows) -> FloatArray:
    """Return the sums of some rows' probabilities, shape (K,)."""
    return column_sums(rows.probs, rows.weight)


def _compact(
    block: FloatMatrix | IntMatrix, rows: TakingPart, columns: TakingPart
) -> ClassMatrix:
    """Return the matrix that has these rows and columns alone."""
    assert rows.classes is not None and columns.classes is not None
    entries = read_only(np.ascontiguousarray(block, dtype=np.float64))
    return ClassMatrix(rows.n_classes, rows.classes, columns.classes, entries)
