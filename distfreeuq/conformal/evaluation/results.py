"""What `coverage_table` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, part, require, several, text
from distfreeuq.conformal.coverage import CoverageResult
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@register("coverage-table")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CoverageTable(Result):
    """Coverage and sizes of several methods' sets on the same rows.

    Attributes
    ----------
    methods : tuple of str
    achieved : tuple of CoverageResult
        What each method's sets achieved.
    promised : tuple of Guarantee or NoGuarantee
        What each fit guarantees of its sets, as far as its needs are met.
    guarantee : Guarantee
        What each interval guarantees.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs, labels = [[0.8, 0.2], [0.3, 0.7]] * 30, [0, 1] * 30
    >>> table = dfu.coverage_table(
    ...     {"split": dfu.split_conformal(probs, labels, score="lac").predict(probs)},
    ...     labels)
    >>> table
    <CoverageTable n=60: split 1.0000>
    """

    methods: tuple[str, ...]
    achieved: tuple[CoverageResult, ...]
    promised: tuple[Guarantee | NoGuarantee, ...]
    guarantee: Guarantee

    _state: ClassVar[State] = {
        "methods": several(text()),
        "achieved": several(part(CoverageResult)),
        "promised": several(part(Guarantee, NoGuarantee)),
        "guarantee": part(Guarantee),
    }

    def _validate_state(self) -> None:
        sizes = {len(self.methods), len(self.achieved), len(self.promised)}
        require(len(sizes) == 1 and 0 not in sizes, "a line for each method")
        require(len({one.n for one in self.achieved}) == 1, "the same rows")

    def __repr__(self) -> str:
        """Return one line."""
        found = zip(self.methods, self.achieved, strict=True)
        shares = ", ".join(f"{name} {one.coverage:.4f}" for name, one in found)
        return f"<CoverageTable n={self.achieved[0].n}: {shares}>"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per method.

        Columns: method, n, coverage, the interval's ends low and high, mean_size,
        empty (sets without a label), worst_class (the smallest coverage of a class),
        promised (the coverage that is guaranteed, NaN for none) and holds
        ("finite-sample", "in the limit" or "none").
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "method": list(self.methods),
                "n": [one.n for one in self.achieved],
                "coverage": [one.coverage for one in self.achieved],
                "low": [float(one.interval[0]) for one in self.achieved],
                "high": [float(one.interval[1]) for one in self.achieved],
                "mean_size": [one.mean_size for one in self.achieved],
                "empty": [one.n_empty for one in self.achieved],
                "worst_class": [worst_class(one) for one in self.achieved],
                "promised": [promised_coverage(claim) for claim in self.promised],
                "holds": [how_it_holds(claim) for claim in self.promised],
            }
        )

    def summary(self) -> Summary:
        """Return the table, and what each promise is, as a ``Summary``."""
        from distfreeuq.conformal.evaluation.summary import summarize_coverage_table

        return summarize_coverage_table(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw each method's coverage with its interval, and its mean set size."""
        from distfreeuq import plots

        found = dict(zip(self.methods, self.achieved, strict=True))
        return plots.coverage_by_method(found, ax=ax)


def worst_class(one: CoverageResult) -> float:
    """Return the smallest coverage among classes with rows."""
    some = one.class_counts > 0
    if not some.any():
        return float("nan")
    return float((one.class_covered[some] / one.class_counts[some]).min())


def promised_coverage(claim: Guarantee | NoGuarantee) -> float:
    """Return the coverage that is guaranteed, NaN if none is."""
    if isinstance(claim, NoGuarantee) or claim.lower is None:
        return float("nan")
    return float(np.min(claim.lower))


def how_it_holds(claim: Guarantee | NoGuarantee) -> str:
    """Return "finite-sample", "in the limit" or "none"."""
    if isinstance(claim, NoGuarantee):
        return "none"
    return "finite-sample" if claim.finite_sample else "in the limit"
