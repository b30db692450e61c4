"""Prediction sets of Dask's rows, which are made when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, Classes
from distfreeuq._base.arrays import read_only
from distfreeuq._base.row_groups import Names, in_order, read_groups
from distfreeuq._numerics.row_blocks import Block, read_blocks
from distfreeuq.conformal.coverage import (
    CoverageCounts,
    CoverageResult,
    add_counts,
    count_covered,
    coverage_of_counts,
)
from distfreeuq.conformal.sets import PredictionSets
from distfreeuq.guarantees import Guarantee, NoGuarantee


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DaskPredictionSets:
    """One set of labels per row of a Dask collection, made when it is asked for.

    What a fit with a seed predicts for rows of Dask; nothing is computed before
    `compute`, `evaluate`, or what Dask does with the arrays.

    Attributes
    ----------
    mask : dask.array.Array of bool (n, K)
        Whether label k is in row i's set; chunked as the rows are.
    classes : sequence
        Class names by column.
    nominal : float or None
        The coverage the sets were made for.
    guarantee : Guarantee or NoGuarantee
        What the fit that made them guarantees.

    Examples
    --------
    >>> import dask.array as da
    >>> import distfreeuq as dfu
    >>> probs = da.from_array([[0.8, 0.2], [0.3, 0.7]] * 30, chunks=(25, 2))
    >>> labels = da.from_array([0, 1] * 30, chunks=25)
    >>> fit = dfu.split_conformal(probs, labels, score="lac")
    >>> sets = fit.predict(probs)
    >>> sets
    <DaskPredictionSets K=2 blocks=3>
    >>> sets.evaluate(labels)
    <CoverageResult 1.0000 of n=60 mean size 1.000>
    >>> sets.compute()
    <PredictionSets n=60 K=2 mean size 1.000>
    """

    mask: Any
    classes: Classes
    nominal: float | None
    guarantee: Guarantee | NoGuarantee

    def __repr__(self) -> str:
        """Return one line."""
        n_blocks = len(self.mask.chunks[0])
        return f"<DaskPredictionSets K={len(self.classes)} blocks={n_blocks}>"

    @property
    def sizes(self) -> Any:
        """Labels per set, a Dask array (n,)."""
        return self.mask.sum(axis=1)

    def compute(self) -> PredictionSets:
        """Return the sets in memory."""
        mask = np.asarray(self.mask.compute())
        return PredictionSets(
            mask=read_only(mask),
            sizes=read_only(mask.sum(axis=1)),
            classes=self.classes,
            nominal=self.nominal,
            guarantee=self.guarantee,
        )

    def evaluate(
        self,
        labels: ArrayLike,
        *,
        level: float = 0.95,
        groups: ArrayLike | None = None,
    ) -> CoverageResult:
        """Compare with true labels in one pass, as `PredictionSets.evaluate`.

        Parameters
        ----------
        labels : Dask array or Series, or array_like (n,)
        level : float, default 0.95
        groups : Dask array or Series, or array_like (n,), optional
        """
        args = Arguments("DaskPredictionSets.evaluate")
        level = args.probability(level, "level")
        rows = {"sets": self.mask, "labels": labels, "groups": groups}
        blocks = read_blocks(args, rows)
        assert blocks is not None  # the mask is Dask's
        found = blocks.map(partial(_count_block, self.classes))
        names, counts = _same_groups(found)
        total = add_counts(counts)
        return coverage_of_counts(total, self.classes, self.nominal, level, names)


def _count_block(classes: Classes, block: Block) -> tuple[Names, CoverageCounts]:
    """Return the names of a block's groups, and its counts."""
    mask, labels = np.asarray(block["sets"], dtype=np.bool_), block.labels(classes)
    sizes = mask.sum(axis=1)
    if block["groups"] is None:
        return (), count_covered(mask, sizes, labels)
    named = read_groups(block.args, block["groups"], block.n)
    return named[0], count_covered(mask, sizes, labels, named)


def _same_groups(
    found: Sequence[tuple[Names, CoverageCounts]],
) -> tuple[Names, list[CoverageCounts]]:
    """Return the names of all groups, and counts of which each has all of them."""
    names = tuple(in_order(list(dict.fromkeys(chain(*(own for own, _ in found))))))
    if not names:
        return (), [counts for _, counts in found]
    place = {name: i for i, name in enumerate(names)}
    filled = []
    for own, counts in found:
        at = [place[name] for name in own]
        by_group = np.zeros((2, len(names)), dtype=np.int64)
        by_group[:, at] = counts.group_counts, counts.group_covered
        filled.append(
            counts._replace(group_counts=by_group[0], group_covered=by_group[1])
        )
    return names, filled
