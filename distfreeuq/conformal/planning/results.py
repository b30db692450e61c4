"""What `plan` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq._base.array_types import Classes, FloatArray, IntArray
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    column_names,
    count,
    floats,
    integers,
    maybe,
    part,
    rate,
)
from distfreeuq.guarantees import Guarantee
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@register("plan")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PlanResult(Result):
    """How many calibration rows are needed, in all or of each class.

    Attributes
    ----------
    needed : ndarray (K,), or (1,) without classes
        Rows that each class needs.
    total : int
        Rows to draw so that, with probability `assurance`, every class has them.
    alpha, confidence, tolerance, assurance : float or None
        As given.
    source_prior : ndarray (K,), or (1,) without classes
    classes : sequence
    guarantee : Guarantee
        What so many rows achieve.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> dfu.plan(0.1).total, dfu.plan(0.1, 0.95).total
    (9, 29)
    >>> result = dfu.plan(0.1, source_prior=[0.5, 0.3, 0.2])
    >>> result
    <PlanResult alpha=0.1 total=69 K=3>
    >>> result.needed.tolist()
    [9, 9, 9]
    """

    needed: IntArray
    total: int
    alpha: float
    confidence: float | None
    tolerance: float | None
    assurance: float
    source_prior: FloatArray
    classes: Classes
    guarantee: Guarantee

    _state: ClassVar[State] = {
        "classes": column_names("K"),
        "needed": integers("K"),
        "total": count(),
        "alpha": rate(),
        "confidence": maybe(rate()),
        "tolerance": maybe(rate()),
        "assurance": rate(),
        "source_prior": floats("K", low=0.0, high=1.0, nan=False),
        "guarantee": part(Guarantee),
    }

    @property
    def by_class(self) -> bool:
        """Whether every class is to be covered by itself."""
        return len(self.classes) > 1

    def __repr__(self) -> str:
        """Return one line."""
        more = f" K={len(self.classes)}" if self.by_class else ""
        return f"<PlanResult alpha={self.alpha:g} total={self.total}{more}>"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per class: proportion, rows needed, and rows expected."""
        import pandas as pd

        names = name_array(self.classes)
        return pd.DataFrame(
            {
                "class": pd.Series(names, dtype=names.dtype),
                "proportion": self.source_prior,
                "needed": self.needed,
                "expected": self.total * self.source_prior,
            }
        )

    def summary(self) -> Summary:
        """Return the rows that are needed, and what they achieve."""
        from distfreeuq.conformal.planning.summary import summarize_plan

        return summarize_plan(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how coverage given the calibration rows varies with their number."""
        from distfreeuq import plots

        return plots.coverage_against_rows(self, ax=ax)


def coverage_band(
    counts: IntArray, ranks: IntArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return quantiles of coverage given the rows, Beta(k, n + 1 - k), (N,) each."""
    from scipy import stats

    tail = 0.5 * (1.0 - level)
    free = np.maximum(counts + 1 - ranks, 1e-12)
    low = stats.beta.ppf(tail, ranks, free)
    high = stats.beta.ppf(1.0 - tail, ranks, free)
    beyond = ranks > counts
    return np.where(beyond, 1.0, low), np.where(beyond, 1.0, high)
