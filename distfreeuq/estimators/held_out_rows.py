"""Which rows train a classifier, and which it is calibrated on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import IntArray
from distfreeuq._base.arrays import describe, is_integer
from distfreeuq._base.random_streams import stream
from distfreeuq._base.row_groups import read_groups

Split = tuple[IntArray, IntArray]
"""The rows that train, and those that are held out, both in ascending order."""


@dataclass(frozen=True, slots=True)
class HeldOutRows:
    """One split, or one for each fold.

    Attributes
    ----------
    splits : tuple of (ndarray, ndarray)
        Rows to train on, and rows that calibrate what was trained.
    crossed : bool
        Whether these are folds, so that every row is held out once.
    one_per_group : bool
        Whether the rows that calibrate are one of each group.
    """

    splits: tuple[Split, ...]
    crossed: bool
    one_per_group: bool


def read_cv(args: Arguments, cv: Any) -> float | int | str:
    """Return "prefit", a share of rows, or a number of folds."""
    must = (
        "'prefit', a share of rows to hold out in (0, 1), or a number of folds of at "
        "least 2"
    )
    if isinstance(cv, str) and cv == "prefit":
        return cv
    if is_integer(cv) and cv >= 2:
        return int(cv)
    if isinstance(cv, float | np.floating) and 0.0 < cv < 1.0:
        return float(cv)
    args.invalid("cv", must, describe(cv))


def hold_out(
    args: Arguments, cv: float | int | str, codes: IntArray, groups: Any, seed: int
) -> HeldOutRows:
    """Draw the rows that calibrate.

    Nothing is stratified. The rows that calibrate must be exchangeable with a new row
    given those that train, and a share of each class that is fixed in advance tells
    something of the one part by the other. So rows are taken for training in a random
    order, until there are enough of them with two classes: when to stop depends on
    these rows alone, and what is left is still like a new row.

    Parameters
    ----------
    args : Arguments
    cv : float, int or "prefit"
    codes : ndarray (n,)
        The rows' classes, as numbers.
    groups : array_like (n,) or None
        Rows of a group stay together, and one of them, drawn at random, calibrates.
    seed : int
    """
    n = codes.size
    generator = stream(seed, "split", args.caller)
    names, units = None, np.arange(n)
    if groups is not None:
        names, units = read_groups(args, groups, n)
    n_units = n if names is None else len(names)
    order = generator.permutation(n_units)
    place = np.empty(n_units, dtype=np.int64)
    place[order] = np.arange(n_units)
    place = place[units]  # of each row's unit in the random order
    splits: list[Split]
    if cv == "prefit":
        splits = [(np.empty(0, dtype=np.int64), np.arange(n))]
    elif isinstance(cv, int):
        if n_units < cv:
            what = "rows" if names is None else "groups"
            args.invalid("cv", f"at most the {n_units} {what} there are", f"{cv}")
        fold = place % cv
        splits = [
            (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(cv)
        ]
    else:
        last = _last_of_training(codes, place, max(1, round((1.0 - float(cv)) * n)))
        splits = [(np.flatnonzero(place <= last), np.flatnonzero(place > last))]
    if names is not None:
        drawn = _one_of_each(units, n_units, generator)
        splits = [(train, held[drawn[held]]) for train, held in splits]
    return HeldOutRows(tuple(splits), isinstance(cv, int), names is not None)


def _last_of_training(codes: IntArray, place: IntArray, n_train: int) -> int:
    """Return the place up to which units train: enough rows, of two classes."""
    in_order = np.argsort(place, kind="stable")
    other = np.flatnonzero(codes[in_order] != codes[in_order[0]])
    first_of_two = int(other[0]) if other.size else 0
    return int(place[in_order[max(n_train - 1, first_of_two)]])


def _one_of_each(
    units: IntArray, n_units: int, generator: np.random.Generator
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return a mask (n,) with one row of each unit, drawn at random."""
    shuffled = generator.permutation(units.size)
    chosen = np.empty(n_units, dtype=np.int64)
    chosen[units[shuffled]] = shuffled  # the last one that is written stays
    mask = np.zeros(units.size, dtype=np.bool_)
    mask[chosen] = True
    return mask
