"""How often prediction sets held the truth, and how large they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.array_types import BoolMatrix, Classes, FloatArray, IntArray
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import check_floats, check_integers
from distfreeuq.guarantees import Guarantee
from distfreeuq.results import Result, read_only

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
    confidence : float
        The interval's level.
    nominal : float or None
        The coverage the sets were made for.
    mean_size : float
    size_counts, size_covered : ndarray (K + 1,)
        Rows by the size of their set, and how many of those are covered.
    class_counts, class_covered : ndarray (K,)
        Rows by true class, and how many of those are covered.
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
    confidence: float
    nominal: float | None
    mean_size: float
    size_counts: IntArray
    size_covered: IntArray
    class_counts: IntArray
    class_covered: IntArray
    classes: Classes
    guarantee: Guarantee

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<CoverageResult {self.coverage:.4f} of n={self.n} "
            f"mean size {self.mean_size:.3f}>"
        )

    def _validate_state(self) -> None:
        k = len(self.classes)
        check_integers(self, size_counts=(k + 1,), size_covered=(k + 1,))
        check_integers(self, class_counts=(k,), class_covered=(k,))
        check_floats(self, interval=(2,))

    @property
    def n_empty(self) -> int:
        """Number of empty sets."""
        return int(self.size_counts[0])

    def to_frame(self) -> pd.DataFrame:
        """Return coverage by stratum: all rows, each true class, each set size.

        Columns: stratum ("all", "class" or "size"), value, n, covered, coverage, and
        the interval's ends low and high.
        """
        import pandas as pd

        sizes = np.flatnonzero(self.size_counts)
        n = [self.n, *self.class_counts, *self.size_counts[sizes]]
        covered = [self.n_covered, *self.class_covered, *self.size_covered[sizes]]
        frame = pd.DataFrame(
            {
                "stratum": ["all"]
                + ["class"] * len(self.classes)
                + ["size"] * sizes.size,
                "value": pd.Series(["", *self.classes, *sizes.tolist()], dtype=object),
                "n": np.asarray(n, dtype=np.int64),
                "covered": np.asarray(covered, dtype=np.int64),
            }
        )
        frame["coverage"] = frame["covered"] / frame["n"].where(frame["n"] > 0)
        low, high = bounds.clopper_pearson(
            frame["covered"].to_numpy(), frame["n"].to_numpy(), 1.0 - self.confidence
        )
        frame["low"], frame["high"] = low, high
        return frame

    def summary(self) -> Summary:
        """Return coverage and its strata as a statsmodels ``Summary``."""
        from distfreeuq._base import printing
        from distfreeuq._base.printing import Table, class_name, number

        level = f"{100 * self.confidence:g}%"
        nominal = "not known" if self.nominal is None else number(self.nominal)
        facts = [
            ("Rows", str(self.n)),
            ("Coverage", number(self.coverage)),
            (f"{level} interval", _interval(*self.interval)),
            ("Nominal coverage", nominal),
            ("Mean set size", number(self.mean_size, 3)),
            ("Empty sets", str(self.n_empty)),
        ]
        frame = self.to_frame()

        def rows(stratum: str) -> list[list[str]]:
            part = frame[frame["stratum"] == stratum]
            columns = (part[name].tolist() for name in part.columns[1:])
            return [
                [class_name(value), str(n)]
                + ([number(share), _interval(low, high)] if n else ["-", "-"])
                for value, n, _, share, low, high in zip(*columns, strict=True)
            ]

        headers = ["n", "coverage", f"{level} interval"]
        return printing.summarise(
            "Coverage of prediction sets",
            facts,
            [
                Table(["true class", *headers], rows("class")),
                Table(["set size", *headers], rows("size")),
            ],
            printing.guarantee_notes(self.guarantee),
        )

    def plot(self, ax: Axes | None = None, *, by: str = "size") -> Axes:
        """Draw the distribution of set sizes, or coverage by class.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        by : {"size", "class"}
            Set sizes as bars, or each class's coverage with its interval.
        """
        from distfreeuq import plots
        from distfreeuq._base.arguments import Arguments

        by = Arguments("CoverageResult.plot").choice(by, "by", ["size", "class"])
        draw = plots.set_sizes if by == "size" else plots.class_coverage
        return draw(self, ax=ax)


def measure_coverage(
    mask: BoolMatrix,
    sizes: IntArray,
    labels: IntArray,
    classes: Classes,
    nominal: float | None,
    confidence: float,
) -> CoverageResult:
    """Count hits in all rows, by true class and by set size."""
    n, n_classes = mask.shape
    covered = mask[np.arange(n), labels]
    n_covered = int(covered.sum())
    low, high = bounds.clopper_pearson(n_covered, n, 1.0 - confidence)
    return CoverageResult(
        n=n,
        n_covered=n_covered,
        coverage=n_covered / n if n else float("nan"),
        interval=read_only(np.array([low, high], dtype=np.float64)),
        confidence=confidence,
        nominal=nominal,
        mean_size=float(sizes.mean()) if n else float("nan"),
        size_counts=read_only(np.bincount(sizes, minlength=n_classes + 1)),
        size_covered=read_only(np.bincount(sizes[covered], minlength=n_classes + 1)),
        class_counts=read_only(np.bincount(labels, minlength=n_classes)),
        class_covered=read_only(np.bincount(labels[covered], minlength=n_classes)),
        classes=classes,
        guarantee=Guarantee(
            statement=(
                f"each interval covers the sets' true coverage on its stratum, for "
                f"this calibration, with probability >= {confidence:g}; the intervals "
                "are not simultaneous."
            ),
            kind="confidence interval",
            reference="Clopper and Pearson (1934)",
            assumptions=(
                "rows i.i.d.",
                "rows used neither to fit the classifier nor to calibrate",
            ),
            confidence=confidence,
        ),
    )


def _interval(low: float, high: float) -> str:
    return f"[{low:.4f}, {high:.4f}]"
