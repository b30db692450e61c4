"""How often prediction sets held the truth, and how large they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distfreeuq._base.array_types import BoolMatrix, Classes, FloatArray, IntArray
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
from distfreeuq.conformal.guarantees import coverage_intervals
from distfreeuq.guarantees import Guarantee
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@register("coverage")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CoverageResult(Result):
    """Coverage of prediction sets on labelled rows, with exact binomial intervals.

    Attributes
    ----------
    n, n_covered : int
        Rows, and rows whose set holds the true label.
    coverage : float
        Their ratio; nan if there are no rows.
    interval : ndarray (2,)
        Clopper-Pearson interval of the coverage.
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
        coverage, and the interval's ends low and high.
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
        return fields

    def plot(self, ax: Axes | None = None, *, kind: str = "sizes") -> Axes:
        """Draw the distribution of set sizes, or coverage by class.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        kind : {"sizes", "classes"}
            Set sizes as bars, or each class's coverage with its interval.
        """
        from distfreeuq import plots
        from distfreeuq._base.arguments import Arguments

        args = Arguments("CoverageResult.plot")
        kind = args.choice(kind, "kind", ["sizes", "classes"])
        draw = plots.set_sizes if kind == "sizes" else plots.class_coverage
        return draw(self, ax=ax)


def measure_coverage(
    mask: BoolMatrix,
    sizes: IntArray,
    labels: IntArray,
    classes: Classes,
    nominal: float | None,
    level: float,
    groups: tuple[Names, IntArray] = ((), np.zeros(0, dtype=np.int64)),
) -> CoverageResult:
    """Count hits in all rows, by true class, by set size and by group.

    `groups` are their names, and each row's position among them.
    """
    n, n_classes = mask.shape
    covered = mask[np.arange(n), labels]
    n_covered = int(covered.sum())
    low, high = unchecked.clopper_pearson(n_covered, n, 1.0 - level)
    names, codes = groups
    covered_codes = codes[covered] if names else codes
    return CoverageResult(
        n=n,
        n_covered=n_covered,
        coverage=n_covered / n if n else float("nan"),
        interval=read_only(np.array([low, high], dtype=np.float64)),
        level=level,
        nominal=nominal,
        mean_size=float(sizes.mean()) if n else float("nan"),
        size_counts=read_only(np.bincount(sizes, minlength=n_classes + 1)),
        size_covered=read_only(np.bincount(sizes[covered], minlength=n_classes + 1)),
        class_counts=read_only(np.bincount(labels, minlength=n_classes)),
        class_covered=read_only(np.bincount(labels[covered], minlength=n_classes)),
        groups=names,
        group_counts=read_only(np.bincount(codes, minlength=len(names))),
        group_covered=read_only(np.bincount(covered_codes, minlength=len(names))),
        classes=classes,
        guarantee=coverage_intervals(level, bool(names)),
    )
