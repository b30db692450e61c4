"""Prediction sets: which labels cannot be ruled out, row by row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, BoolMatrix, Classes, IntArray
from distfreeuq._base.arrays import describe, is_integer, read_only
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.persistence import register
from distfreeuq._base.row_groups import distinct_groups, read_groups
from distfreeuq._base.stored_state import (
    State,
    column_names,
    either,
    flags,
    integers,
    maybe,
    part,
    proportion,
    require,
    row_name,
    several,
)
from distfreeuq.conformal.coverage import (
    CoverageResult,
    RowsToEvaluate,
    measure_coverage,
)
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

    from distfreeuq.conformal.in_blocks.dask_sets import DaskPredictionSets


@register("prediction-sets")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PredictionSets(Result):
    """One set of labels per row.

    Attributes
    ----------
    mask : ndarray of bool (n, K)
        Whether label k is in row i's set.
    sizes : ndarray (n,)
        Labels per set.
    classes : sequence
        Class names by column.
    nominal : float or None
        The coverage the sets were made for.
    guarantee : Guarantee or NoGuarantee
        What the fit that made them guarantees.
    index : ndarray (n,) of int, tuple, or None
        The rows' names, where probabilities came in a DataFrame or Series that has an
        index of its own; `to_frame` has it too.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs = [[0.9, 0.06, 0.04], [0.5, 0.3, 0.2], [0.2, 0.5, 0.3]] * 10
    >>> fit = dfu.split_conformal(
    ...     probs, ["a", "b", "b"] * 10, score="lac", classes=["a", "b", "c"])
    >>> sets = fit.predict([[0.85, 0.1, 0.05], [0.45, 0.4, 0.15]])
    >>> [list(labels) for labels in sets.labels()]
    [['a'], ['a', 'b']]
    >>> sets.sizes.tolist(), len(sets), list(sets[1])
    ([1, 2], 2, ['a', 'b'])
    >>> sets.evaluate(["a", "b"]).coverage
    1.0
    """

    mask: BoolMatrix
    sizes: IntArray
    classes: Classes
    nominal: float | None
    guarantee: Guarantee | NoGuarantee
    index: IntArray | tuple[Any, ...] | None = None

    _state: ClassVar[State] = {
        "classes": column_names("K"),
        "mask": flags("n", "K"),
        "sizes": integers("n"),
        "nominal": maybe(proportion()),
        "guarantee": part(Guarantee, NoGuarantee),
        "index": maybe(either(integers("n", low=-(2**63)), several(row_name(), "n"))),
    }

    @staticmethod
    def _added(fields: dict[str, Any]) -> dict[str, Any]:
        """Return what the first files of format 2 lack."""
        return {"index": None}

    def _validate_state(self) -> None:
        counted = np.array_equal(self.sizes, np.count_nonzero(self.mask, axis=1))
        require(counted, "the number of labels in each set")

    def _why_rows(self) -> str:
        return "which are a set for each row"

    def __repr__(self) -> str:
        """Return one line."""
        n, n_classes = self.mask.shape
        mean = f" mean size {self.sizes.mean():.3f}" if n else ""
        return f"<PredictionSets n={n} K={n_classes}{mean}>"

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.mask.shape[0])

    def __getitem__(self, index: Any) -> Any:
        """Return row i's labels as an array, or the sets of several rows."""
        if is_integer(index):
            return name_array(self.classes)[self.mask[index]]
        sizes = self.sizes[index]
        if sizes.ndim != 1:
            must = "a row's number, a slice, or a vector of rows"
            Arguments("PredictionSets").invalid("index", must, describe(index))
        return PredictionSets(
            mask=read_only(self.mask[index]),
            sizes=read_only(sizes),
            classes=self.classes,
            nominal=self.nominal,
            guarantee=self.guarantee,
            index=self._index_of(index),
        )

    def _index_of(self, rows: Any) -> IntArray | tuple[Any, ...] | None:
        if isinstance(self.index, tuple):
            chosen = np.arange(len(self))[rows]
            return tuple(self.index[row] for row in chosen.tolist())
        return None if self.index is None else read_only(self.index[rows])

    def __iter__(self) -> Iterator[np.ndarray[Any, Any]]:
        """Iterate over the rows' labels."""
        return iter(self.labels())

    def labels(self) -> list[np.ndarray[Any, Any]]:
        """Return each row's labels as an array of the user's own class names."""
        names = name_array(self.classes)
        columns = np.nonzero(self.mask)[1]
        return np.split(names[columns], np.cumsum(self.sizes)[:-1]) if len(self) else []

    def to_list(self) -> list[list[Any]]:
        """Return each row's labels as a list of plain Python values."""
        return [labels.tolist() for labels in self.labels()]

    def to_json(self) -> str:
        """Return the sets as JSON: the nominal coverage, and labels by row.

        Rows are named by the index of the probabilities, or numbered from zero. Class
        names and rows' names that JSON has no form for are written as text.
        """
        rows = range(len(self)) if self.index is None else list(self.index)
        sets = [
            {"row": row, "labels": labels}
            for row, labels in zip(rows, self.to_list(), strict=True)
        ]
        content = {"nominal": self.nominal, "sets": sets}
        return json.dumps(content, default=_plain_text)

    def _of_dask(self, mask: Any) -> DaskPredictionSets:
        """Return such sets of other rows, whose mask is a Dask array."""
        from distfreeuq.conformal.in_blocks.dask_sets import DaskPredictionSets

        return DaskPredictionSets(mask, self.classes, self.nominal, self.guarantee)

    def evaluate(
        self,
        labels: ArrayLike,
        *,
        level: float = 0.95,
        groups: ArrayLike | None = None,
        blocks: ArrayLike | None = None,
    ) -> CoverageResult:
        """Compare with true labels: coverage with an exact interval, and set sizes.

        Parameters
        ----------
        labels : array_like (n,)
            True labels, as class names.
        level : float, default 0.95
            Level of the intervals, by Clopper and Pearson or, with `blocks`, by betting
            (`bounds.betting_interval`).
        groups : array_like (n,), optional
            Each row's group: coverage is then counted by group too.
        blocks : array_like (n,), optional
            Each row's block, such as a patient or a week, where rows of a block may
            depend on one another and blocks do not. The coverage is then that of a
            random row of a random block, every block counting the same, and intervals
            hold whatever the dependence within blocks. For a time series, blocks much
            longer than its memory, of equal lengths: ``np.arange(n) // 500``.
        """
        args = Arguments("PredictionSets.evaluate")
        rows = read_evaluation(args, self, labels, level, groups, blocks)
        return evaluated(self, rows)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per prediction: a bool column per class, then the set's size.

        The index is that of the probabilities, where they had one.
        """
        import pandas as pd

        names = name_array(self.classes)
        columns = pd.Index(names, dtype=names.dtype, tupleize_cols=False)
        frame = pd.DataFrame(self.mask, columns=columns)
        if self.index is not None:
            frame.index = pd.Index(self.index)
        # a class may be called "size" too
        frame.insert(len(names), "size", self.sizes, allow_duplicates=True)
        return frame

    def summary(self) -> Summary:
        """Return how large the sets are, and each class's share of them."""
        from distfreeuq.conformal.summary import summarize_sets

        return summarize_sets(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distribution of set sizes."""
        from distfreeuq import plots

        return plots.set_sizes(self, ax=ax)


def read_evaluation(
    args: Arguments,
    sets: PredictionSets,
    labels: Any,
    level: Any,
    groups: Any,
    blocks: Any,
) -> RowsToEvaluate:
    """Return what rows of sets are compared with, checked."""
    n = len(sets)
    codes = args.labels(labels, sets.classes, n)
    level = args.probability(level, "level")
    named = None if groups is None else read_groups(args, groups, n)
    own = None if blocks is None else distinct_groups(args, blocks, n, "blocks")[1]
    return RowsToEvaluate(codes, level, named, own)


def evaluated(sets: PredictionSets, rows: RowsToEvaluate) -> CoverageResult:
    """Return what sets achieved."""
    return measure_coverage(sets.mask, sets.sizes, sets.classes, sets.nominal, rows)


def _plain_text(value: Any) -> Any:
    """Return what JSON can write of an integer of NumPy's, a date, or anything else."""
    return value.item() if isinstance(value, np.generic) else str(value)
