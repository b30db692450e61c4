"""What `target_performance` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import Classes, FloatArray, IntArray
from distfreeuq._base.persistence import register
from distfreeuq._base.row_groups import Names
from distfreeuq._base.stored_state import (
    State,
    column_names,
    count,
    floats,
    integers,
    part,
    rate,
    require,
    several,
    text,
)
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

KINDS = ("asymptotic", "finite-sample")


@register("performance")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PerformanceResult(Result):
    """What a classifier achieves on unlabelled target rows.

    Attributes
    ----------
    metrics : tuple of str
        What each of R rows is about.
    row_class, row_predicted, row_group : ndarray (R,)
        The class, the predicted class (of confusions) and the group that a row is of,
        by position; -1 for all together.
    source : ndarray (R,)
        The value in the source rows.
    estimates : ndarray (R,)
        The value estimated for the target; NaN where there is none.
    low, high : ndarray (R,)
        Asymptotic intervals; NaN where there is none.
    certified_low, certified_high : ndarray (R,)
        Finite-sample intervals; NaN where there is none.
    alpha, delta : float
        One minus the levels of the two kinds of intervals.
    target_prior : ndarray (K,)
        The target's class proportions, estimated or as given; NaN if they are neither.
    shift : str
        What carries the source to the target.
    classes : sequence
    groups : tuple
        Names of groups; empty without.
    n, m : int
        Rows of source and target.
    notes : tuple of str
    guarantees : tuple of Guarantee or NoGuarantee
        What holds for each kind of interval.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.choice(2, p=[0.5, 0.5], size=4000)
    >>> labels_target = rng.choice(2, p=[0.1, 0.9], size=4000)
    >>> def classify(y):
    ...     return 1 / (1 + np.exp(2 - 4 * rng.normal(0.8 * y, 0.6)))
    >>> result = dfu.target_performance(
    ...     classify(labels), labels, classify(labels_target), metrics="accuracy")
    >>> result
    <PerformanceResult accuracy=0.7111 n=4000 m=4000 K=2>
    >>> bool(result["accuracy"] == result.estimates[0])
    True
    """

    metrics: tuple[str, ...]
    row_class: IntArray
    row_predicted: IntArray
    row_group: IntArray
    source: FloatArray
    estimates: FloatArray
    low: FloatArray
    high: FloatArray
    certified_low: FloatArray
    certified_high: FloatArray
    alpha: float
    delta: float
    target_prior: FloatArray
    shift: str
    classes: Classes
    groups: Names
    n: int
    m: int
    notes: tuple[str, ...]
    guarantees: tuple[Guarantee | NoGuarantee, ...]

    _state: ClassVar[State] = {
        "metrics": several(text(), "R"),
        "row_class": integers("R", low=-1),
        "row_predicted": integers("R", low=-1),
        "row_group": integers("R", low=-1),
        "source": floats("R"),
        "estimates": floats("R"),
        "low": floats("R"),
        "high": floats("R"),
        "certified_low": floats("R"),
        "certified_high": floats("R"),
        "alpha": rate(),
        "delta": rate(),
        "classes": column_names("K"),
        "target_prior": floats("K"),
        "shift": text(),
        "groups": column_names("G"),
        "n": count(low=1),
        "m": count(low=1),
        "notes": several(text()),
        "guarantees": several(part(Guarantee, NoGuarantee)),
    }

    def _validate_state(self) -> None:
        k, g = len(self.classes), len(self.groups)
        inside = (self.row_class < k).all() and (self.row_predicted < k).all()
        require(
            inside and (self.row_group < g).all(), "positions of classes and groups"
        )
        require(self.metrics, "one metric at least")

    def __repr__(self) -> str:
        """Return one line."""
        first = f"{self.metrics[0]}={self.estimates[0]:.4f}"
        size = f"n={self.n} m={self.m} K={len(self.classes)}"
        return f"<PerformanceResult {first} {size}>"

    @property
    def guarantee(self) -> Guarantee | NoGuarantee:
        """The first of `guarantees`."""
        return self.guarantees[0]

    def __getitem__(self, metric: str) -> float:
        """Return the estimate of a metric that is one number, over all groups."""
        found = [
            i
            for i, name in enumerate(self.metrics)
            if name == metric and self.row_class[i] < 0 and self.row_group[i] < 0
        ]
        if not found:
            names = ", ".join(dict.fromkeys(self.metrics))
            Arguments("PerformanceResult").invalid(
                "metric", f"a single number among {names}", repr(metric)
            )
        return float(self.estimates[found[0]])

    def to_frame(self) -> pd.DataFrame:
        """Return two rows for each number: an interval of either kind.

        Columns: metric, class, predicted, group, source, estimate, low, high, kind.
        Class, predicted and group are None where a number is of all. A kind of interval
        that there is not has no row; if there is neither, low and high are missing and
        kind is "none".
        """
        import pandas as pd

        columns = (
            "metric",
            "class",
            "predicted",
            "group",
            "source",
            "estimate",
            "low",
            "high",
            "kind",
        )
        rows = []
        for i, metric in enumerate(self.metrics):
            head = (
                metric,
                _named(self.classes, self.row_class[i]),
                _named(self.classes, self.row_predicted[i]),
                _named(self.groups, self.row_group[i]),
                float(self.source[i]),
                float(self.estimates[i]),
            )
            ends = [
                (float(self.low[i]), float(self.high[i]), KINDS[0]),
                (float(self.certified_low[i]), float(self.certified_high[i]), KINDS[1]),
            ]
            there = [one for one in ends if not np.isnan(one[0])]
            rows += [
                (*head, *one) for one in there or [(float("nan"), float("nan"), "none")]
            ]
        frame = pd.DataFrame(rows, columns=list(columns))
        names = ["class", "predicted", "group"]
        lists = zip(*(row[1:4] for row in rows), strict=True)
        for name, values in zip(names, lists, strict=True):
            frame[name] = pd.Series(list(values), dtype=object)
        return frame

    def summary(self) -> Summary:
        """Return estimates, intervals and what holds of them, as a ``Summary``."""
        from distfreeuq.monitoring.performance.summary import summarize_performance

        return summarize_performance(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw estimates and intervals, the source's values beside them."""
        from distfreeuq import plots

        return plots.performance_intervals(self, ax=ax)


def _named(names: Classes | Names, position: int) -> object:
    """Return a name, None for no position."""
    return None if position < 0 else names[int(position)]
