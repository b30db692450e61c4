"""Rows of a stream whose labels have not come, or that stand behind such a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import as_items, describe, is_integer, read_only, shape_of
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    Entry,
    Sizes,
    State,
    floats,
    require,
)

Ids = tuple[int | str, ...]


def _ids_of_rows(size: str) -> Entry:
    def check(value: Any, sizes: Sizes) -> None:
        require(type(value) is tuple and len(value) == sizes[size], "an id per row")
        plain = all(type(item) in (int, str) for item in value)
        require(plain, "integers and texts")
        require(len(set(value)) == len(value), "different ids")

    return check


@register("waiting-rows")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WaitingRows:
    """Rows in the order in which they came.

    Attributes
    ----------
    losses : ndarray (m, K)
        What the loss is for each label.
    found : ndarray (m,)
        What it is where the label has come, NaN elsewhere.
    ids : tuple of int or str, length m
    """

    losses: FloatMatrix
    found: FloatArray
    ids: Ids

    _state: ClassVar[State] = {
        "losses": floats("m", "K", low=0.0, high=1.0, finite=True),
        "found": floats("m", low=0.0, high=1.0),
        "ids": _ids_of_rows("m"),
    }

    def with_rows(self, losses: FloatMatrix, ids: Ids) -> WaitingRows:
        """Return these rows, and others behind them."""
        unknown = np.full(losses.shape[0], np.nan)
        return WaitingRows(
            read_only(np.concatenate([self.losses, losses])),
            read_only(np.concatenate([self.found, unknown])),
            self.ids + ids,
        )

    def kept(self, keep: BoolArray) -> WaitingRows:
        """Return some of the rows."""
        ids = tuple(one for one, stays in zip(self.ids, keep, strict=True) if stays)
        return WaitingRows(
            read_only(self.losses[keep]), read_only(self.found[keep]), ids
        )

    def with_labels(self, at: IntArray, labels: IntArray) -> WaitingRows:
        """Return the rows with the labels of those at these places."""
        found = self.found.copy()
        found[at] = self.losses[at, labels]
        return WaitingRows(self.losses, read_only(found), self.ids)

    def places(self, args: Arguments, ids: Any) -> IntArray:
        """Return where the rows with these ids stand; each waits for its label."""
        where = {one: place for place, one in enumerate(self.ids)}
        given = read_ids(args, ids)
        at = np.empty(len(given), dtype=np.int64)
        must = "ids of rows that wait for a label, each once"
        seen: set[int] = set()
        for row, one in enumerate(given):
            place = where.get(one, -1)
            if place < 0 or place in seen or not np.isnan(self.found[place]):
                args.invalid("ids", must, f"{describe(one)} at row {row}")
            seen.add(place)
            at[row] = place
        return at

    def unlabelled(self) -> IntArray:
        """Return where rows without a label stand, the oldest first."""
        return np.flatnonzero(np.isnan(self.found))


def no_rows(n_classes: int) -> WaitingRows:
    """Return none."""
    nothing = read_only(np.empty((0, n_classes)))
    return WaitingRows(nothing, read_only(np.empty(0)), ())


def read_ids(args: Arguments, ids: Any, n: int | None = None) -> Ids:
    """Return an integer or a text per row."""
    array = args.array(ids, "ids", "integers or texts")
    if array.ndim != 1 or (n is not None and array.shape[0] != n):
        must = "one per row" if n is None else f"of length {n}"
        args.invalid("ids", must, shape_of(array))
    found: list[int | str] = []
    for row, item in enumerate(as_items(array)):
        if isinstance(item, str):
            found.append(str(item))
        elif is_integer(item):
            found.append(int(item))
        else:
            must = "integers or texts, one per row"
            args.invalid("ids", must, f"{describe(item)} at row {row}")
    return tuple(found)


def new_ids(args: Arguments, ids: Any, n: int, first: int, waiting: Ids) -> Ids:
    """Return ids of new rows: those given, or numbers in the order of the stream."""
    found = tuple(range(first, first + n)) if ids is None else read_ids(args, ids, n)
    taken = set(waiting)
    for row, one in enumerate(found):
        if one in taken:
            must = "ids of which no other row waits for a label"
            args.invalid("ids", must, f"{describe(one)} at row {row}")
        taken.add(one)
    return found
