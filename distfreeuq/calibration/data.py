"""The arguments of calibrators, read once: logits, labels, weights and groups."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from distfreeuq._base import class_labels
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._base.arrays import listed
from distfreeuq._base.row_groups import distinct_groups, few_integers, in_order
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._numerics.passes.block_parts import BlockParts
from distfreeuq._numerics.row_blocks import Block, RowBlocks, read_blocks
from distfreeuq.calibration.rows.calibration_rows import (
    CalibrationRows,
    describe_rows,
    described,
    make_rows,
)
from distfreeuq.calibration.rows.masked_logits import (
    check_labels_of_masked,
    without_infinities,
)
from distfreeuq.calibration.rows.rows_in_blocks import FitRows, RowsInBlocks
from distfreeuq.exceptions import IdentificationWarning

LARGEST_LOGIT = 1e30
"""Larger logits are refused: their squares and cubes must be numbers."""
LARGEST_BESIDE_BIAS = 1e5
"""The same where biases are fitted, whose curvature would drown in that of scales."""
SMALLEST_BESIDE_BIAS = 1e-30
"""Logits all of which are smaller, and not all zero, are refused: slopes are huge."""
_A_ROW = "of shape (n, K) with n >= 1"


def read_rows(
    args: Arguments,
    logits: ArrayLike,
    labels: ArrayLike | None,
    sample_weight: ArrayLike | None,
    classes: ArrayLike | None,
    *,
    may_be_probs: bool = False,
    may_mask: bool = False,
) -> FitRows:
    """Check the arguments that all calibrators of logits share."""
    given = {"logits": logits, "labels": labels, "sample_weight": sample_weight}
    blocks = read_blocks(args, given, again=True)
    if blocks is not None:
        names = blocks.classes(classes)
        read = ReadBlock("logits", names, False, may_mask)
        return rows_of_blocks(args, blocks, names, read)
    arrays = (logits, labels, sample_weight, classes)
    return read_rows_in_memory(
        args, *arrays, may_be_probs=may_be_probs, may_mask=may_mask
    )


def read_rows_in_memory(
    args: Arguments,
    logits: ArrayLike,
    labels: ArrayLike | None,
    sample_weight: ArrayLike | None,
    classes: ArrayLike | None,
    *,
    may_be_probs: bool = False,
    may_mask: bool = False,
) -> CalibrationRows:
    """Check the same where rows are arrays."""
    matrix, names = read_logits(
        args, logits, classes, may_be_probs=may_be_probs, may_mask=may_mask
    )
    return _in_memory(args, "logits", matrix, names, labels, sample_weight)


def read_probability_rows(
    args: Arguments,
    probs: ArrayLike,
    labels: ArrayLike | None,
    sample_weight: ArrayLike | None,
    classes: ArrayLike | None,
) -> FitRows:
    """Check the arguments that all calibrators of probabilities share."""
    given = {"probs": probs, "labels": labels, "sample_weight": sample_weight}
    blocks = read_blocks(args, given, again=True)
    if blocks is not None:
        names = blocks.classes(classes)
        return rows_of_blocks(args, blocks, names, ReadBlock("probs", names, True))
    matrix, names = args.probs(probs, classes=classes)
    return _in_memory(args, "probs", matrix, names, labels, sample_weight)


def _in_memory(
    args: Arguments,
    parameter: str,
    matrix: FloatMatrix,
    names: Classes,
    labels: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> CalibrationRows:
    """Return rows of a checked matrix."""
    n = matrix.shape[0]
    if n == 0:
        args.invalid(parameter, _A_ROW, f"shape {matrix.shape}")
    if labels is None:
        args.invalid("labels", "given, one per row", "None")
    codes = args.labels(labels, names, n)
    rows = make_rows(matrix, codes, read_weights(args, sample_weight, n), names)
    if rows.has_masked:
        check_labels_of_masked(args, matrix, codes, names)
    return rows


def rows_of_blocks(
    args: Arguments,
    blocks: RowBlocks,
    names: Classes,
    read: Callable[[Block], CalibrationRows],
) -> RowsInBlocks:
    """Return rows in blocks, checked and described by one pass."""
    rows = RowsInBlocks.of(BlockParts(blocks, read), names)
    if rows.n == 0:
        args.invalid(blocks.parameter, _A_ROW, f"shape {(0, len(names))}")
    if rows.n_counted == 0:
        must = "weights of which some are positive"
        args.invalid("sample_weight", must, "all zero")
    return rows


@dataclass(frozen=True, slots=True)
class ReadBlock:
    """Reads a block, in every pass anew; weights stay as they are."""

    parameter: str
    classes: Classes
    are_probs: bool
    may_mask: bool = False

    def __call__(self, block: Block) -> CalibrationRows:
        """Return the rows of a block, with weights as they are."""
        matrix = self.matrix(block)
        weights = block.weights()
        rows = described(
            matrix,
            block.labels(self.classes),
            np.ones(block.n) if weights is None else weights,
            self.classes,
        )
        if rows.has_masked:
            check_labels_of_masked(block.args, matrix, rows.labels, self.classes)
        return rows

    def matrix(self, block: Block) -> FloatMatrix:
        """Return the logits of a block, or the probabilities."""
        if self.are_probs:
            return block.probs(self.classes, self.parameter).checked()
        value = block[self.parameter]
        return read_new_logits(
            block.args,
            value,
            self.classes,
            self.parameter,
            may_be_probs=True,
            may_mask=self.may_mask,
        )


Split = Callable[[Any], ArrayLike]
"""From logits, as the user gave them, to each row's group."""


def read_grouped_rows(
    args: Arguments,
    logits: ArrayLike,
    labels: ArrayLike | None,
    sample_weight: ArrayLike | None,
    classes: ArrayLike | None,
    groups: Any,
    *,
    may_be_probs: bool,
    are_probs: bool,
    may_mask: bool,
) -> tuple[FitRows, list[Hashable], str | Split | None]:
    """Return rows with their groups, the groups' names, and the rule for new rows."""
    rule = groups if isinstance(groups, str) or callable(groups) else None
    given = {"logits": logits, "labels": labels, "sample_weight": sample_weight}
    given["groups"] = groups if rule is None else None
    blocks = read_blocks(args, given, again=True)
    if blocks is None:
        arrays = (logits, labels, sample_weight, classes)
        rows = read_rows_in_memory(
            args, *arrays, may_be_probs=may_be_probs, may_mask=may_mask
        )
        distinct, codes = split_rows(args, groups, logits, rows.logits, rows.classes)
        if are_probs:
            args.probs(rows.logits, "logits")
        names = in_order(distinct)
        position = {name: code for code, name in enumerate(names)}
        places = np.array([position[name] for name in distinct], dtype=np.int64)
        return replace(rows, groups=places[codes]), names, rule
    if blocks.has("groups"):
        rule = None
    elif rule is None:
        args.invalid("groups", "given, one per row", "None")
    read = ReadBlock("logits", blocks.classes(classes), are_probs, may_mask)
    found = blocks.map(_DistinctGroups(read, rule))
    names = in_order(list(dict.fromkeys(chain.from_iterable(found))))
    read_groups = _ReadGroups(read, rule, tuple(names))
    return rows_of_blocks(args, blocks, read.classes, read_groups), names, rule


@dataclass(frozen=True, slots=True)
class _DistinctGroups:
    """Returns the names of the groups of a block."""

    read: ReadBlock
    rule: str | Split | None

    def __call__(self, block: Block) -> list[Hashable]:
        return self.split(block, self.read.matrix(block))[0]

    def split(
        self, block: Block, matrix: FloatMatrix
    ) -> tuple[list[Hashable], IntArray]:
        """Return the names, and which of them each row has."""
        groups = block["groups"] if self.rule is None else self.rule
        value = block[self.read.parameter]
        return split_rows(block.args, groups, value, matrix, self.read.classes)


@dataclass(frozen=True, slots=True)
class _ReadGroups:
    """Reads a block, with each row's place among the names of groups."""

    read: ReadBlock
    rule: str | Split | None
    names: tuple[Hashable, ...]

    def __call__(self, block: Block) -> CalibrationRows:
        rows = self.read(block)
        split = _DistinctGroups(self.read, self.rule)
        distinct, codes = split.split(block, rows.logits)
        position = {name: code for code, name in enumerate(self.names)}
        places = np.array([position[name] for name in distinct], dtype=np.int64)
        return replace(rows, groups=places[codes])


SCALED_ALIKE = (
    "such probabilities are scaled as the others, and nothing here tests them"
)
KEPT = (
    "there the classifier's own probability is kept, before rows are divided by their "
    "sums"
)


def warn_absent(rows: FitRows, what: str) -> None:
    """Warn of classes that no row is labelled as, and say what becomes of them."""
    absent = [rows.classes[k] for k in np.flatnonzero(rows.label_counts == 0).tolist()]
    if absent:
        warn_user(
            f"No row is labelled {listed(absent)} ({len(absent)} of {rows.n_classes} "
            f"classes): {what}.",
            IdentificationWarning,
        )


def read_weights(
    args: Arguments, sample_weight: ArrayLike | None, n: int
) -> FloatArray | None:
    """Return non-negative weights (n,), None if none are given."""
    if sample_weight is None:
        return None
    return args.weights(sample_weight, "sample_weight", n)


def read_logits(
    args: Arguments,
    value: ArrayLike,
    classes: ArrayLike | None,
    *,
    may_be_probs: bool = False,
    may_mask: bool = False,
) -> tuple[FloatMatrix, Classes]:
    """Return checked logits (n, K) and classes; (n,) are log-odds of class 1.

    If they may mask classes, numbers stand for -inf: see `masked_logits`.
    """
    matrix, names = args.logits(
        _two_columns(args, value, "logits"),
        classes=classes,
        may_be_probs=may_be_probs,
        may_mask=may_mask,
    )
    check_size(args, matrix, "logits")
    return without_infinities(matrix) if may_mask else matrix, names


def read_new_logits(
    args: Arguments,
    value: ArrayLike,
    classes: Classes,
    parameter: str = "logits",
    *,
    may_be_probs: bool = False,
    may_mask: bool = False,
) -> FloatMatrix:
    """Return checked logits for a fit with these classes."""
    two = _two_columns(args, value, parameter)
    matrix, names = args.logits(
        two, parameter, may_be_probs=may_be_probs, may_mask=may_mask
    )
    check_size(args, matrix, parameter)
    if matrix.shape[1] != len(classes):
        must = f"of shape (n, {len(classes)}), as in the fit"
        args.invalid(parameter, must, f"shape {matrix.shape}")
    if not isinstance(names, range):
        class_labels.check_order(args, names, classes, parameter)
    return without_infinities(matrix) if may_mask else matrix


def check_size(
    args: Arguments,
    matrix: FloatMatrix,
    parameter: str = "logits",
    limit: float = LARGEST_LOGIT,
    least: float = 0.0,
) -> None:
    """Refuse logits that are too large for the arithmetic of a fit, or too small."""
    largest = float(max(matrix.max(initial=0.0), -matrix.min(initial=0.0)))
    if np.isinf(largest):  # of masked classes: the others count
        there = matrix[np.isfinite(matrix)]
        largest = float(max(there.max(initial=0.0), -there.min(initial=0.0)))
    if 0.0 < largest < least:
        args.invalid(parameter, _of_at_least(least), _LARGEST.format(largest))
    if largest <= limit:
        return
    row, column = np.argwhere(np.isfinite(matrix) & (np.abs(matrix) > limit))[0]
    got = f"{float(matrix[row, column]):g} at row {row}, column {column}"
    args.invalid(parameter, _of_at_most(limit), got)


def check_size_beside_bias(args: Arguments, rows: FitRows) -> None:
    """Refuse logits that are too large or too small where biases are fitted."""
    limit, least = LARGEST_BESIDE_BIAS, SMALLEST_BESIDE_BIAS
    if isinstance(rows, CalibrationRows):
        check_size(args, rows.logits, limit=limit, least=least)
        return
    largest = rows.largest_logit
    if 0.0 < largest < least:
        args.invalid("logits", _of_at_least(least), _LARGEST.format(largest))
    if largest > limit:
        args.invalid("logits", _of_at_most(limit), _LARGEST.format(largest))


_LARGEST = "a largest absolute value of {:g}"


def _of_at_least(least: float) -> str:
    return f"zero, or of at least {least:g} somewhere (multiply all by one number)"


def _of_at_most(limit: float) -> str:
    return f"of at most {limit:g} in absolute value (divide all by one number)"


def _two_columns(args: Arguments, value: ArrayLike, parameter: str) -> ArrayLike:
    """Return logits (0, s) of two classes where scores (n,) were given."""
    scores = args.array(value, parameter, "logits")
    if scores.ndim != 1:
        return value
    return np.column_stack([np.zeros_like(scores), scores])


def split_rows(
    args: Arguments,
    groups: Any,
    logits: ArrayLike,
    matrix: FloatMatrix,
    classes: Classes,
) -> tuple[list[Hashable], IntArray]:
    """Return the different groups as plain Python values, and which each row is in."""
    if isinstance(groups, str):
        tops, _, _ = describe_rows(matrix)
        seen, codes = few_integers(tops)
        return [classes[top] for top in seen], codes
    if callable(groups):
        groups = groups(logits)
    return distinct_groups(args, groups, len(matrix))
