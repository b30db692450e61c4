"""Several classifiers on the same rows, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from distfreeuq._random import stream
from distfreeuq._typing import ArrayLike, FloatMatrix, RandomState
from distfreeuq._validate import Door
from distfreeuq.assessment.assess import read_measures
from distfreeuq.assessment.bootstrap import resample
from distfreeuq.assessment.result import TITLES
from distfreeuq.guarantees import NoGuarantee
from distfreeuq.metrics.bins import check_bins
from distfreeuq.results import Result, read_only

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ComparisonResult(Result):
    """Metrics of several classifiers, and their differences to the first.

    Attributes
    ----------
    names : tuple of str
        The C classifiers.
    metrics : tuple of str
        The J metrics.
    estimates : ndarray (C, J)
    differences : ndarray (C, J)
        To the first classifier; zero in its own row.
    low, high : ndarray (C, J)
        Paired bootstrap intervals of the differences; NaN without a bootstrap.
    confidence : float
        Their level, each by itself.
    n_boot, n : int
    guarantee : NoGuarantee

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> sure, unsure = [[0.9, 0.1]] * 20, [[0.6, 0.4]] * 20
    >>> labels = [0] * 14 + [1] * 6
    >>> result = dfu.compare({"sure": sure, "unsure": unsure}, labels, n_boot=0)
    >>> result
    <ComparisonResult sure, unsure n=20>
    >>> result.to_frame().query("metric == 'ece'")["estimate"].round(3).tolist()
    [0.2, 0.1]
    """

    names: tuple[str, ...]
    metrics: tuple[str, ...]
    estimates: FloatMatrix
    differences: FloatMatrix
    low: FloatMatrix
    high: FloatMatrix
    confidence: float
    n_boot: int
    n: int
    guarantee: NoGuarantee

    def __repr__(self) -> str:
        """Return one line."""
        return f"<ComparisonResult {', '.join(self.names)} n={self.n}>"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per metric and classifier.

        Columns: metric, classifier, estimate, difference, low, high.
        """
        import pandas as pd

        shape = self.estimates.shape
        return pd.DataFrame(
            {
                "metric": np.repeat(self.metrics, shape[0]),
                "classifier": np.tile(self.names, shape[1]),
                "estimate": self.estimates.T.ravel(),
                "difference": self.differences.T.ravel(),
                "low": self.low.T.ravel(),
                "high": self.high.T.ravel(),
            }
        )

    def summary(self) -> Summary:
        """Return metrics by classifier, then the differences, as a ``Summary``."""
        from distfreeuq import _summary
        from distfreeuq._summary import Table, class_name, number

        names = [class_name(name) for name in self.names]
        tables = [
            Table(
                ["metric", *names],
                [
                    [TITLES[metric], *(number(value) for value in column)]
                    for metric, column in zip(
                        self.metrics, self.estimates.T, strict=True
                    )
                ],
            )
        ]
        notes = []
        if self.n_boot:
            level = f"{100 * self.confidence:g}% intervals"
            rows = [
                [
                    f"{names[c]}: {TITLES[metric]}",
                    number(self.differences[c, j]),
                    f"[{self.low[c, j]:.4f}, {self.high[c, j]:.4f}]",
                ]
                for c in range(1, len(names))
                for j, metric in enumerate(self.metrics)
            ]
            tables.append(Table([f"less {names[0]}", "difference", level], rows))
            notes = [
                (
                    "Intervals",
                    f"{self.n_boot} bootstrap samples of rows, the same for all "
                    "classifiers; basic intervals, each by itself, asymptotic.",
                )
            ]
        return _summary.summarise(
            "Comparison of classifiers",
            [("Rows", str(self.n)), ("Classifiers", str(len(names)))],
            tables,
            [*notes, *_summary.guarantee_notes(self.guarantee)],
        )

    def plot(self, ax: Axes | None = None, *, metric: str = "ece") -> Axes:
        """Draw one metric of every classifier, and its difference to the first.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        metric : str
        """
        from distfreeuq import plots

        Door("ComparisonResult.plot").choice(metric, "metric", self.metrics)
        return plots.metric_comparison(self, metric, ax=ax)


def compare(
    classifiers: Mapping[str, ArrayLike] | Sequence[ArrayLike],
    labels: ArrayLike,
    *,
    n_bins: int = 15,
    scheme: str = "equal-width",
    closed: str = "right",
    event: str = "predicted",
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
    n_boot: int = 1000,
    confidence: float = 0.95,
    rng: RandomState = None,
    n_jobs: int = 1,
    progress: bool = False,
) -> ComparisonResult:
    """Compare probabilities of several classifiers for the same labelled rows.

    Parameters
    ----------
    classifiers : mapping of str to array_like (n, K), or sequence of these
        The first is what the others are compared with.
    labels : array_like (n,)
    n_bins, scheme, closed, event
        As in `assess`. Bins of equal mass are each classifier's own.
    sample_weight : array_like (n,), optional
    classes : sequence, optional
    n_boot : int, default 1000
        Bootstrap samples for the intervals of the differences; 0 for none.
    confidence : float
        Level of the intervals.
    rng : seed, Generator, SeedSequence or None
    n_jobs : int
        Processes for the bootstrap.
    progress : bool

    Returns
    -------
    ComparisonResult

    Notes
    -----
    All classifiers are measured on the same drawn rows, so what the rows have in common
    cancels: a difference is known better than either metric. Where calibration errors
    are near zero, their differences inherit their bias.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> labels = (rng.random(2000) < p).astype(int)
    >>> sharper = p**3 / (p**3 + (1 - p) ** 3)
    >>> result = dfu.compare([p, sharper], labels, n_boot=200, rng=0)
    >>> j = result.metrics.index("ece")
    >>> bool(result.low[1, j] > 0)  # the second is worse
    True
    """
    door = Door("compare")
    n_bins, how = check_bins(door, n_bins, scheme, closed)
    n_boot = door.count(n_boot, "n_boot", low=0)
    confidence = door.probability(confidence, "confidence")
    several = _named(door, classifiers)
    measures = [
        read_measures(
            door, probs, labels, n_bins, how, event, None, sample_weight, classes
        )
        for probs in several.values()
    ]
    estimates = np.array([one.values(one.rows.weights) for one in measures])
    differences = estimates - estimates[0]
    low, high = np.full((2, *estimates.shape), np.nan)
    if n_boot:
        boot = resample(
            measures, n_boot, stream(rng, "bootstrap", "compare"), n_jobs, progress
        )
        tail = 0.5 * (1.0 - confidence)
        for c, samples in enumerate(boot):
            ends = np.quantile(samples - boot[0], [1.0 - tail, tail], axis=0)
            low[c], high[c] = 2.0 * differences[c] - ends
    return ComparisonResult(
        names=tuple(several),
        metrics=measures[0].names,
        estimates=read_only(estimates),
        differences=read_only(differences),
        low=read_only(low),
        high=read_only(high),
        confidence=confidence,
        n_boot=n_boot,
        n=measures[0].rows.n,
        guarantee=NoGuarantee("bootstrap intervals hold in the limit of many rows"),
    )


def _named(door: Door, classifiers: Any) -> dict[str, ArrayLike]:
    """Return the classifiers by name; without names they are A, B, ..."""
    must = "a mapping of names to probabilities, or a list of them: at least one"
    if isinstance(classifiers, Mapping):
        several = {str(name): probs for name, probs in classifiers.items()}
    elif isinstance(classifiers, list | tuple):
        several = {_letter(i): probs for i, probs in enumerate(classifiers)}
    else:
        door.refuse("classifiers", must, type(classifiers).__name__)
    if not several:
        door.refuse("classifiers", must, "none")
    return several


def _letter(i: int) -> str:
    return chr(ord("A") + i) if i < 26 else f"classifier {i + 1}"
