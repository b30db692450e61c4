"""Rows that only choose the bins: drawn from those given, or given themselves."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, BoolArray, RandomState
from distfreeuq._base.arrays import describe
from distfreeuq._base.random_streams import stream
from distfreeuq.binning.data import BinningRows
from distfreeuq.binning.rows.binning_blocks import AnyBinningRows


def set_apart(
    args: Arguments,
    rows: AnyBinningRows,
    split: float | None,
    partition_on: ArrayLike | None,
    rng: RandomState,
) -> AnyBinningRows:
    """Return the rows with those that only choose the bins: drawn, given, or none."""
    if partition_on is not None:
        if split is not None:
            must = "None with partition_on, whose rows choose the bins"
            args.invalid("split", must, describe(split))
        others = args.new_probs(partition_on, rows.classes, "partition_on")
        if others.shape[0] == 0:
            args.invalid("partition_on", "of at least one row", "no rows")
        return dataclasses.replace(rows, others=others)
    if split is None:
        return rows
    if not isinstance(rows, BinningRows):
        must = "None where rows come in blocks (partition_on takes other rows)"
        args.invalid("split", must, describe(split))
    chose = _drawn(args, split, rows.n, rng)
    weights = rows.sample_weight
    if weights is not None:
        weights = weights[~chose]
        if weights.max() == 0.0:
            args.invalid("sample_weight", "positive for a row that counts", "all zero")
    return BinningRows(
        rows.probs[~chose],
        rows.labels[~chose],
        rows.classes,
        weights,
        rows.probs[chose],
    )


def _drawn(args: Arguments, split: Any, n_rows: int, rng: RandomState) -> BoolArray:
    """Return which rows choose the bins, shape (n,)."""
    share = args.probability(split, "split")
    n_chosen = round(share * n_rows)
    if not 0 < n_chosen < n_rows:
        must = "a share that leaves rows on both sides"
        args.invalid("split", must, f"{share:g} of {n_rows} rows")
    chose = np.zeros(n_rows, dtype=np.bool_)
    order = stream(rng, "split", args.caller).permutation(n_rows)
    chose[order[:n_chosen]] = True
    return chose
