"""The two samples that an estimate is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from distfreeuq._base.arguments import Arguments, UncheckedProbs
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolArray,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
    RowsLike,
)
from distfreeuq._base.arrays import as_items, listed, shape_of
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, integers, masses
from distfreeuq._base.tallied import Tallied, find_part
from distfreeuq._numerics.passes.class_rows import (
    AnyRows,
    Calibrated,
    ClassRows,
    RowsInBlocks,
    RowsInMemory,
)
from distfreeuq._numerics.row_blocks import Block, RowBlocks, read_blocks
from distfreeuq._numerics.row_sums import check_and_predict
from distfreeuq.label_shift.class_matrix import TakingPart
from distfreeuq.label_shift.tallied_counts import CountTally

_Found = TypeVar("_Found")


@register("samples")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Samples:
    """Both samples, by reference.

    Attributes
    ----------
    probs : ndarray (n, K)
        Source predictions, as the user gave them.
    labels : ndarray (n,)
        Their classes, as column numbers.
    probs_target : ndarray (m, K)
        Target predictions.
    """

    probs: FloatMatrix
    labels: IntArray
    probs_target: FloatMatrix

    _state: ClassVar[State] = {
        "probs": masses("n", "K", single=True),
        "labels": integers("n", below="K"),
        "probs_target": masses("m", "K", single=True),
    }

    def __repr__(self) -> str:
        """Return one line."""
        n, m = self.probs.shape[0], self.probs_target.shape[0]
        return f"<Samples n={n} m={m} K={self.probs.shape[1]}>"

    @property
    def class_counts(self) -> IntArray:
        """Source rows by class, shape (K,)."""
        return np.bincount(self.labels, minlength=self.probs.shape[1])

    @property
    def rows(self) -> SampleRows:
        """The rows, as fits sum over them."""
        return self.counted(None)

    def counted(self, times: tuple[FloatArray, FloatArray] | None) -> SampleRows:
        """Return the same, and how often each row of both samples counts."""
        source, target = (None, None) if times is None else times
        return SampleRows(
            RowsInMemory.of(self.probs, self.labels, source),
            RowsInMemory.of(self.probs_target, weight=target),
        )


@dataclass(frozen=True, slots=True)
class SampleRows:
    """Rows of both samples to sum over, in memory or in blocks.

    Attributes
    ----------
    source, target : rows in memory or in blocks
    """

    source: AnyRows
    target: AnyRows

    @property
    def class_counts(self) -> IntArray:
        """Source rows by class, shape (K,)."""
        return self.source.label_weight.astype(np.int64)

    def without(self, labels: TargetLabels | None) -> SampleRows:
        """Return the same without the target rows that have labels."""
        if labels is None:
            return self
        assert isinstance(self.target, RowsInMemory)
        return SampleRows(self.source, self.target.some(~labels.known))

    def calibrated(self, function: Callable[[FloatMatrix], FloatMatrix]) -> SampleRows:
        """Return the samples with what the function makes of probabilities."""
        both = Calibrated(function)
        return SampleRows(self.source.mapped(both), self.target.mapped(both))

    def of_labelled(self) -> tuple[SampleRows, TakingPart]:
        """Return the columns of classes with source rows, if these are few of many.

        Rows then sum to less than one.
        """
        labelled = TakingPart.if_few(self.class_counts > 0)
        return self.of_classes(labelled), labelled

    def of_classes(self, few: TakingPart) -> SampleRows:
        """Return the columns of the classes that take part: those with source rows."""
        if few.classes is None:
            return self
        own = _OfClasses(few)
        return SampleRows(
            self.source.mapped(own, few.size), self.target.mapped(own, few.size)
        )


@dataclass(frozen=True, slots=True)
class _OfClasses:
    """Takes the columns of the classes that take part."""

    few: TakingPart

    def __call__(self, rows: ClassRows) -> ClassRows:
        return rows._replace(
            probs=self.few.columns(rows.probs),
            labels=self.few.codes(rows.labels),
            before=None if rows.before is None else self.few.columns(rows.before),
        )


@dataclass(frozen=True, slots=True)
class Predictions:
    """The most likely class of each row of both samples."""

    of_source: IntArray
    of_target: IntArray


def read_samples(
    args: Arguments,
    probs: ArrayLike,
    labels: ArrayLike,
    probs_target: ArrayLike,
    classes: ArrayLike | None,
) -> tuple[Samples, Classes]:
    """Return checked samples of at least one row, and the classes of their columns."""
    arrays = (probs, labels, probs_target, classes)
    samples, names, _ = _read(args, *arrays, UncheckedProbs.checked)
    return samples, names


def read_sample_rows(
    args: Arguments,
    probs: RowsLike,
    labels: ArrayLike | None,
    probs_target: RowsLike | None,
    classes: ArrayLike | None,
) -> tuple[SampleRows, Samples | None, Classes]:
    """Return checked rows, where they are; as arrays too, if both samples are; classes.

    Rows in blocks are read by two passes.
    """
    given: Any = {"probs": probs, "labels": labels, "probs_target": probs_target}
    of_both = {"probs": probs, "labels": labels}, {"probs_target": probs_target}
    of_source, of_target = (read_blocks(args, own, again=True) for own in of_both)
    if of_source is None and of_target is None:
        arrays: Any = (probs, labels, probs_target, classes)
        samples, names = read_samples(args, *arrays)
        return samples.rows, samples, names
    source: AnyRows
    target: AnyRows
    if of_source is None:
        unchecked, names = args.unchecked_probs(given["probs"], classes=classes)
        matrix = unchecked.checked()
        codes = args.labels(given["labels"], names, matrix.shape[0])
        source = RowsInMemory.of(matrix, codes)
    else:
        names = of_source.classes(classes)
        source = RowsInBlocks.of(of_source, names, "probs", labelled=True)
    if of_target is None:
        new = args.unchecked_new_probs(given["probs_target"], names, "probs_target")
        target = RowsInMemory.of(new.checked())
    else:
        target = RowsInBlocks.of(of_target, names, "probs_target", labelled=False)
    for rows, parameter in ((source, "probs"), (target, "probs_target")):
        if rows.n == 0:
            args.invalid(parameter, "at least one row", "none")
    return SampleRows(source, target), None, names


def read_and_predict(
    args: Arguments,
    probs: ArrayLike,
    labels: ArrayLike,
    probs_target: ArrayLike,
    classes: ArrayLike | None,
) -> tuple[Samples, Classes, Predictions]:
    """Return the same and, from the read that checks the rows, their predictions."""
    arrays = (probs, labels, probs_target, classes)
    samples, names, predicted = _read(args, *arrays, check_and_predict)
    return samples, names, Predictions(*predicted)


def _read(
    args: Arguments,
    probs: ArrayLike,
    labels: ArrayLike,
    probs_target: ArrayLike,
    classes: ArrayLike | None,
    read: Callable[[UncheckedProbs], _Found],
) -> tuple[Samples, Classes, tuple[_Found, _Found]]:
    """Return the samples, their classes, and what one read finds in each."""
    source, names = args.unchecked_probs(probs, classes=classes)
    in_source = read(source)
    codes = args.labels(labels, names, source.matrix.shape[0])
    target = args.unchecked_new_probs(probs_target, names, "probs_target")
    in_target = read(target)
    for rows in (source, target):
        if rows.matrix.shape[0] == 0:
            args.invalid(rows.parameter, "at least one row", "none")
    return Samples(source.matrix, codes, target.matrix), names, (in_source, in_target)


def read_counts(
    args: Arguments,
    probs: RowsLike | Tallied,
    labels: ArrayLike | None,
    probs_target: RowsLike | Tallied | None,
    classes: ArrayLike | None,
) -> tuple[CountTally, CountTally, Classes] | None:
    """Return counts of both samples if one is a tally or in blocks; else None."""
    given = {"probs": probs, "labels": labels}
    in_blocks = None
    source = find_part(args, probs, CountTally, labels=labels, classes=classes)
    if source is None:
        in_blocks = read_blocks(args, given)
    target = find_part(args, probs_target, CountTally, parameter="probs_target")
    target_blocks = None
    if target is None:
        target_blocks = read_blocks(args, {"probs_target": probs_target})
    if all(x is None for x in (source, target, in_blocks, target_blocks)):
        return None
    if source is None:
        source = _count_source(args, probs, labels, in_blocks, classes)
    names = source[1]
    if target is None:
        target = _count_target(args, probs_target, target_blocks, names), names
    if tuple(target[1]) != tuple(names):
        must = f"of the source's classes, {listed(names)}"
        args.invalid("probs_target", must, listed(target[1]))
    if not source[0].labelled:
        args.invalid("probs", "a Tally of rows with labels", "one without")
    for part, parameter in ((source[0], "probs"), (target[0], "probs_target")):
        if part.n == 0:
            args.invalid(parameter, "at least one row", "none")
    return source[0], target[0], names


def _count_source(
    args: Arguments,
    probs: Any,
    labels: Any,
    blocks: RowBlocks | None,
    classes: Any,
) -> tuple[CountTally, Classes]:
    """Return the counts of rows with labels, in memory or in blocks."""
    if blocks is None:
        rows, names = args.unchecked_probs(probs, classes=classes)
        codes = args.labels(labels, names, rows.matrix.shape[0])
        return CountTally.of_rows(check_and_predict(rows), codes, len(names)), names
    names = blocks.classes(classes)
    if not blocks.has("labels"):
        args.invalid("labels", "given for every row", "None")
    return blocks.total(partial(count_block, names, "probs"), CountTally.total), names


def _count_target(
    args: Arguments, probs_target: Any, blocks: RowBlocks | None, names: Classes
) -> CountTally:
    """Return the counts of rows without labels."""
    if blocks is None:
        rows = args.unchecked_new_probs(probs_target, names, "probs_target")
        return CountTally.of_rows(check_and_predict(rows), None, len(names))
    count = partial(count_block, names, "probs_target")
    return blocks.total(count, CountTally.total)


def count_block(classes: Classes, parameter: str, block: Block) -> CountTally:
    """Return the counts of a block's predictions and, if it has them, labels."""
    predicted = check_and_predict(block.probs(classes, parameter))
    labels = None if block["labels"] is None else block.labels(classes)
    return CountTally.of_rows(predicted, labels, len(classes))


@dataclass(frozen=True, slots=True)
class TargetLabels:
    """Labels of some target rows.

    Attributes
    ----------
    known : ndarray (m,) of bool
        Which rows have one; not all.
    codes : ndarray (r,)
        Their classes, as column numbers.
    """

    known: BoolArray
    codes: IntArray

    def counts(self, n_classes: int) -> IntArray:
        """Return labelled rows by class, shape (K,)."""
        return np.bincount(self.codes, minlength=n_classes)


def refuse_labels_of_blocks(
    args: Arguments, labels: ArrayLike | None, samples: SampleRows
) -> None:
    """Refuse labels of target rows that are not in memory."""
    if labels is not None and not isinstance(samples.target, RowsInMemory):
        must = "None where target rows come in blocks"
        args.invalid("labels_target", must, "labels")


def read_target_labels(
    args: Arguments, labels: ArrayLike | None, names: Classes, m: int
) -> TargetLabels | None:
    """Return labels of some of m target rows; None if no row has one."""
    known, codes = read_some_labels(args, labels, names, m)
    if not known.any():
        return None
    if known.all():
        must = "missing (None or NaN) for one target row at least"
        got = "labels of all of them, whose shares are the target's proportions"
        args.invalid("labels_target", must, got)
    return TargetLabels(known, codes)


def read_some_labels(
    args: Arguments, labels: ArrayLike | None, names: Classes, m: int
) -> tuple[BoolArray, IntArray]:
    """Return which labels are there, and their column numbers."""
    if labels is None:
        return np.zeros(m, dtype=bool), np.zeros(0, dtype=np.int64)
    array = args.array(labels, "labels_target", "labels")
    if array.ndim != 1:
        must = f"a label, or None, for each of the {m} target rows"
        args.invalid("labels_target", must, shape_of(array))
    items = as_items(array)
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
