"""How often prediction sets held the truth, and how large they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from distfreeuq._base.array_types import (
    BoolMatrix,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.row_groups import Names
from distfreeuq._base.stored_state import (
    State,
    column_names,
    count,
    floats,
    integers,
    maybe,
    part,
    proportion,
    rate,
    real,
    require,
)
from distfreeuq.bounds import unchecked
from distfreeuq.conformal.evaluation.dependent_rows import coverage_by_block
from distfreeuq.conformal.guarantees import coverage_intervals
from distfreeuq.guarantees import Guarantee
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

_NO_BLOCKS = read_only(np.zeros((0, 4)))


@register("coverage")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CoverageResult(Result):
    """Coverage of prediction sets on labelled rows, with exact binomial intervals.

    Attributes
    ----------
    n, n_covered : int
        Rows, and rows whose set holds the true label.
    coverage : float
        Their ratio; nan if there are no rows. With blocks, the mean of their ratios.
    interval : ndarray (2,)
        Clopper-Pearson interval of the coverage; with blocks, one by betting.
    level : float
        The intervals' level.
    nominal : float or None
        The coverage the sets were made for.
    mean_size : float
    size_counts, size_covered : ndarray (K + 1,)
        Rows by the size of their set, and how many of those are covered.
    class_counts, class_covered : ndarray (K,)
        Rows by true class, and how many of those are covered.
    groups : tuple
        Names of the groups that `evaluate` was given; empty without.
    group_counts, group_covered : ndarray (G,)
        Rows by group, and how many of those are covered.
    blocks : int or None
        Number of blocks of dependent rows that `evaluate` was given.
    by_block : ndarray (S, 4)
        With blocks: how many have rows of a stratum, the mean of their coverages, and
        its interval; for all rows, each class, each set size from 0 to K, each group.
        The mean is nan for a stratum without rows.
    classes : sequence
        Class names.
    guarantee : Guarantee
        What the interval guarantees.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> fit = dfu.split_conformal([[0.8, 0.2]] * 30, [0] * 30, score="lac")
    >>> result = fit.predict([[0.8, 0.2]] * 10).evaluate([0] * 9 + [1])
    >>> result
    <CoverageResult 0.9000 of n=10 mean size 1.000>
    >>> result.interval.round(3).tolist()
    [0.555, 0.997]
    >>> result.class_covered.tolist()
    [9, 0]
    """

    n: int
    n_covered: int
    coverage: float
    interval: FloatArray
    level: float
    nominal: float | None
    mean_size: float
    size_counts: IntArray
    size_covered: IntArray
    class_counts: IntArray
    class_covered: IntArray
    groups: Names
    group_counts: IntArray
    group_covered: IntArray
    blocks: int | None
    by_block: FloatMatrix
    classes: Classes
    guarantee: Guarantee

    _state: ClassVar[State] = {
        "classes": column_names("K"),
        "n": count(),
        "n_covered": count(),
        "coverage": proportion(nan=True),
        "interval": floats(2, low=0.0, high=1.0, nan=False),
        "level": rate(),
        "nominal": maybe(proportion()),
        "mean_size": real(0.0, nan=True),
        "size_counts": integers("K+1"),
        "size_covered": integers("K+1"),
        "class_counts": integers("K"),
        "class_covered": integers("K"),
        "groups": column_names("G"),
        "group_counts": integers("G"),
        "group_covered": integers("G"),
        "blocks": maybe(count()),
        "by_block": floats("S", 4, low=0.0),
        "guarantee": part(Guarantee),
    }

    def _validate_state(self) -> None:
        totals = (self.size_counts.sum(), self.class_counts.sum(), self.n)
        covered = (self.size_covered.sum(), self.class_covered.sum(), self.n_covered)
        require(len(set(totals)) == len(set(covered)) == 1, "counts that agree")
        fewer = (self.size_covered <= self.size_counts).all()
        fewer = fewer and (self.class_covered <= self.class_counts).all()
        fewer = fewer and (self.group_covered <= self.group_counts).all()
        require(fewer, "no more covered rows than rows")
        total = self.n if self.groups else 0
        require(self.group_counts.sum() == total, "counts of groups that agree")
        strata = 2 + 2 * len(self.classes) + len(self.groups)
        lines = 0 if self.blocks is None else strata
        require(len(self.by_block) == lines, "a line of blocks for each stratum")

    @staticmethod
    def _added(fields: dict[str, Any]) -> dict[str, Any]:
        """Return what the first files of format 2 lack."""
        return {"blocks": None, "by_block": _NO_BLOCKS}

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<CoverageResult {self.coverage:.4f} of n={self.n} "
            f"mean size {self.mean_size:.3f}>"
        )

    @property
    def n_empty(self) -> int:
        """Number of empty sets."""
        return int(self.size_counts[0])

    @property
    def macro_coverage(self) -> float:
        """Mean of the classes' coverages, over classes with rows; nan without any."""
        some = self.class_counts > 0
        if not some.any():
            return float("nan")
        return float((self.class_covered[some] / self.class_counts[some]).mean())

    @property
    def share_below(self) -> float:
        """Share of the classes with rows that are covered less often than nominal.

        Of what was counted; nan if no class has rows, or nothing was nominal.
        """
        some = self.class_counts > 0
        if self.nominal is None or not some.any():
            return float("nan")
        shares = self.class_covered[some] / self.class_counts[some]
        return float((shares < self.nominal - 1e-12).mean())

    def to_frame(self) -> pd.DataFrame:
        """Return coverage by stratum: all rows, each true class, size and group.

        Columns: stratum ("all", "class", "size" or "group"), value, n, covered,
        coverage, and the interval's ends low and high; with blocks also their number.
        """
        import pandas as pd

        sizes = np.flatnonzero(self.size_counts)
        n = np.concatenate(
            [self.class_counts, self.size_counts[sizes], self.group_counts]
        )
        covered = np.concatenate(
            [self.class_covered, self.size_covered[sizes], self.group_covered]
        )
        low, high = unchecked.clopper_pearson(covered, n, 1.0 - self.level)
        frame = pd.DataFrame(
            {
                "stratum": ["all"]
                + ["class"] * len(self.classes)
                + ["size"] * sizes.size
                + ["group"] * len(self.groups),
                "value": pd.Series(
                    ["", *self.classes, *sizes.tolist(), *self.groups], dtype=object
                ),
                "n": np.concatenate([[self.n], n]),
                "covered": np.concatenate([[self.n_covered], covered]),
            }
        )
        frame["coverage"] = frame["covered"] / frame["n"].where(frame["n"] > 0)
        frame["low"] = np.concatenate([self.interval[:1], low])
        frame["high"] = np.concatenate([self.interval[1:], high])
        if self.blocks is not None:
            n_classes = len(self.classes)
            first = np.arange(1 + n_classes)
            others = np.arange(len(self.groups)) + 2 + 2 * n_classes
            lines = np.concatenate([first, 1 + n_classes + sizes, others])
            frame[["coverage", "low", "high"]] = self.by_block[lines, 1:]
            frame["blocks"] = self.by_block[lines, 0].astype(np.int64)
        return frame

    def summary(self) -> Summary:
        """Return coverage and its strata as a statsmodels ``Summary``."""
        from distfreeuq.conformal.summary import summarize_coverage

        return summarize_coverage(self)

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        """Return today's fields from those in files of format 1."""
        fields = dict(fields)
        fields["level"] = fields.pop("confidence")
        none = read_only(np.zeros(0, dtype=np.int64))
        fields |= {"groups": (), "group_counts": none, "group_covered": none}
        fields |= {"blocks": None, "by_block": _NO_BLOCKS}
        return fields

    def plot(self, ax: Axes | None = None, *, kind: str = "classes") -> Axes:
        """Draw coverage by class, or the distribution of set sizes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        kind : {"classes", "sizes"}
            Each class's coverage with its interval, or set sizes as bars.
        """
        from distfreeuq import plots
        from distfreeuq._base.arguments import Arguments

        args = Arguments("CoverageResult.plot")
        kind = args.choice(kind, "kind", ["classes", "sizes"])
        draw = plots.set_sizes if kind == "sizes" else plots.class_coverage
        return draw(self, ax=ax)


class RowsToEvaluate(NamedTuple):
    """What sets are compared with, row by row.

    Attributes
    ----------
    labels : ndarray (n,)
        Positions of the true classes.
    level : float
        Level of each interval.
    groups : (tuple of names, ndarray (n,)), or None
        Names of groups, and each row's position among them.
    blocks : ndarray (n,) or None
        Each row's block of dependent rows, from 0.
    """

    labels: IntArray
    level: float
    groups: tuple[Names, IntArray] | None
    blocks: IntArray | None


class CoverageCounts(NamedTuple):
    """What coverage is made of; counts of some rows and of others add."""

    size_counts: IntArray
    size_covered: IntArray
    class_counts: IntArray
    class_covered: IntArray
    group_counts: IntArray
    group_covered: IntArray


_NO_GROUPS: tuple[Names, IntArray] = ((), np.zeros(0, dtype=np.int64))


def count_covered(
    mask: BoolMatrix,
    sizes: IntArray,
    labels: IntArray,
    groups: tuple[Names, IntArray] | None = None,
) -> CoverageCounts:
    """Count hits by set size, by true class, and by group.

    `groups` are their names, and each row's position among them.
    """
    n, n_classes = mask.shape
    covered = mask[np.arange(n), labels]
    names, codes = groups or _NO_GROUPS
    covered_codes = codes[covered] if names else codes
    return CoverageCounts(
        size_counts=np.bincount(sizes, minlength=n_classes + 1),
        size_covered=np.bincount(sizes[covered], minlength=n_classes + 1),
        class_counts=np.bincount(labels, minlength=n_classes),
        class_covered=np.bincount(labels[covered], minlength=n_classes),
        group_counts=np.bincount(codes, minlength=len(names)),
        group_covered=np.bincount(covered_codes, minlength=len(names)),
    )


def add_counts(found: Sequence[CoverageCounts]) -> CoverageCounts:
    """Return the counts of all rows."""
    return CoverageCounts(*(np.sum(own, axis=0) for own in zip(*found, strict=True)))


def coverage_of_counts(
    counts: CoverageCounts,
    classes: Classes,
    nominal: float | None,
    level: float,
    names: Names = (),
    by_block: FloatMatrix | None = None,
) -> CoverageResult:
    """Return the coverage of counted rows; with blocks, that of `by_block`."""
    n, n_covered = int(counts.size_counts.sum()), int(counts.size_covered.sum())
    n_labels = int(counts.size_counts @ np.arange(counts.size_counts.size))
    ends = np.array(unchecked.clopper_pearson(n_covered, n, 1.0 - level), dtype=float)
    coverage, n_blocks = n_covered / n if n else float("nan"), None
    if by_block is not None:
        n_blocks, coverage = int(by_block[0, 0]), float(by_block[0, 1])
        ends[:] = by_block[0, 2:]
    return CoverageResult(
        n=n,
        n_covered=n_covered,
        coverage=coverage,
        interval=read_only(ends),
        level=level,
        nominal=nominal,
        mean_size=n_labels / n if n else float("nan"),
        groups=names,
        blocks=n_blocks,
        by_block=read_only(_NO_BLOCKS if by_block is None else by_block),
        classes=classes,
        guarantee=coverage_intervals(level, bool(names), n_blocks is not None),
        **{name: read_only(own) for name, own in counts._asdict().items()},
    )


def measure_coverage(
    mask: BoolMatrix,
    sizes: IntArray,
    classes: Classes,
    nominal: float | None,
    rows: RowsToEvaluate,
) -> CoverageResult:
    """Count hits in all rows, by true class, by set size and by group."""
    n, n_classes = mask.shape
    labels, level = rows.labels, rows.level
    names, codes = rows.groups or _NO_GROUPS
    by_block = None
    if rows.blocks is not None:
        ways = [(np.zeros(n, dtype=np.int64), 1), (labels, n_classes)]
        ways.append((sizes, n_classes + 1))
        if names:
            ways.append((codes, len(names)))
        covered = mask[np.arange(n), labels]
        by_block = coverage_by_block(covered, rows.blocks, ways, level)
    counts = count_covered(mask, sizes, labels, rows.groups)
    return coverage_of_counts(counts, classes, nominal, level, names, by_block)
