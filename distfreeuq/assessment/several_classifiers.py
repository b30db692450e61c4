"""Several classifiers on the same rows, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix, RandomState
from distfreeuq._base.persistence import register
from distfreeuq._base.random_streams import stream
from distfreeuq._base.stored_state import check_floats
from distfreeuq.assessment.bootstrap import resample
from distfreeuq.assessment.exact_test import noise
from distfreeuq.assessment.one_classifier import read_measures
from distfreeuq.assessment.results import NEAR_ZERO, TITLES
from distfreeuq.guarantees import NoGuarantee
from distfreeuq.metrics.bins import check_bins
from distfreeuq.results import Result, read_only

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@register("comparison")
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
    noise : ndarray (C,)
        About the ECE that each would have in this sample if it were calibrated.
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
    noise: FloatArray
    confidence: float
    n_boot: int
    n: int
    guarantee: NoGuarantee

    def __repr__(self) -> str:
        """Return one line."""
        return f"<ComparisonResult {', '.join(self.names)} n={self.n}>"

    def _validate_state(self) -> None:
        shape = (len(self.names), len(self.metrics))
        check_floats(self, estimates=shape, differences=shape, low=shape, high=shape)
        check_floats(self, noise=(len(self.names),))

    @property
    def near_zero(self) -> tuple[str, ...]:
        """Classifiers whose ECE is too near to noise alone for intervals of errors."""
        ece = self.estimates[:, self._place("ece")]
        near = ece < NEAR_ZERO * self.noise
        return tuple(np.asarray(self.names, dtype=object)[near])

    def difference(self, metric: str) -> FloatArray:
        """Return a metric's differences to the first classifier, shape (C,)."""
        return self.differences[:, self._place(metric)]

    def interval(self, metric: str) -> FloatMatrix:
        """Return paired intervals of these, shape (C, 2); NaN without a bootstrap."""
        place = self._place(metric)
        return np.column_stack([self.low[:, place], self.high[:, place]])

    def _place(self, metric: str) -> int:
        args = Arguments("ComparisonResult")
        return self.metrics.index(args.choice(metric, "metric", self.metrics))

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
        from distfreeuq._base import printing
        from distfreeuq._base.printing import Table, class_name, number

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
            level = f"{100 * self.confidence:g}% interval"
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
        if self.n_boot and self.near_zero:
            near = " and of ".join(class_name(name) for name in self.near_zero)
            notes.append(
                (
                    "Note",
                    f"the ECE of {near} is not far above what noise alone gives a "
                    "calibrated classifier in this sample: there no interval of a "
                    "difference in calibration error can be trusted. Those of Brier "
                    "score and likelihood can; assess tests calibration.",
                )
            )
        return printing.summarise(
            "Comparison of classifiers",
            [("Rows", str(self.n)), ("Classifiers", str(len(names)))],
            tables,
            [*notes, *printing.guarantee_notes(self.guarantee)],
        )

    def plot(self, ax: Axes | None = None, *, metric: str = "ece") -> Axes:
        """Draw one metric of every classifier, and its difference to the first.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        metric : str
        """
        from distfreeuq import plots

        Arguments("ComparisonResult.plot").choice(metric, "metric", self.metrics)
        return plots.metric_comparison(self, metric, ax=ax)


def compare(
    *classifiers: Any,
    labels: ArrayLike | None = None,
    names: Sequence[str] | None = None,
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
    *classifiers : array_like (n, K), or (n,) for the probability of class 1
        One after the other, and the labels last: ``compare(a, b, labels)``. Or all in
        one: ``compare({"raw": a, "scaled": b}, labels)``, ``compare([a, b], labels)``.
        The first is what the others are compared with.
    labels : array_like (n,)
        By name, unless they stand last: ``compare(a, b, labels=labels)``.
    names : sequence of str, optional
        Of the classifiers; without names they are A, B, ...
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
    cancels: a difference is known better than either metric. Where a classifier's ECE
    is near what noise alone gives, no interval of a calibration error can be trusted,
    nor one of a difference to it: ``.near_zero`` and the summary say so.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> labels = (rng.random(2000) < p).astype(int)
    >>> sharper = p**3 / (p**3 + (1 - p) ** 3)
    >>> result = dfu.compare(p, sharper, labels, n_boot=200, rng=0)
    >>> result
    <ComparisonResult A, B n=2000>
    >>> result.difference("brier_score").round(4).tolist()
    [0.0, 0.0508]
    >>> low, high = result.interval("brier_score")[1]
    >>> bool(low > 0)  # the second is worse
    True
    """
    args = Arguments("compare")
    n_bins, how = check_bins(args, n_bins, scheme, closed)
    n_boot = args.count(n_boot, "n_boot", low=0)
    confidence = args.probability(confidence, "confidence")
    given, truth = _split_off_labels(args, classifiers, labels)
    several = _named(args, given, names)
    measures = [
        read_measures(
            args, probs, truth, n_bins, how, event, None, sample_weight, classes
        )
        for probs in several.values()
    ]
    estimates = np.array([one.values(one.sums())[0] for one in measures])
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
        noise=read_only(np.array([noise(one) for one in measures])),
        confidence=confidence,
        n_boot=n_boot,
        n=measures[0].rows.n,
        guarantee=NoGuarantee(
            "bootstrap intervals hold in the limit of many rows"
            if n_boot
            else "no intervals were asked for (n_boot=0)"
        ),
    )


def _split_off_labels(
    args: Arguments, positional: tuple[Any, ...], labels: ArrayLike | None
) -> tuple[tuple[Any, ...], ArrayLike]:
    """Return the classifiers and the labels, which stand last or come by name."""
    if labels is not None:
        return positional, labels
    must = "given by name, or last: compare(a, b, labels)"
    if len(positional) < 2:
        args.invalid("labels", must, "None")
    *given, last = positional
    if np.ndim(last) == 2 and np.shape(last)[1] > 1:
        args.invalid("labels", must, f"a matrix of shape {np.shape(last)} in its place")
    return tuple(given), last


def _named(
    args: Arguments, given: tuple[Any, ...], names: Sequence[str] | None
) -> dict[str, ArrayLike]:
    """Return the classifiers by name."""
    must = "probabilities of at least two (for one there is assess)"
    if len(given) == 1 and isinstance(given[0], Mapping):
        if names is not None:
            args.invalid("names", "left out where a mapping has names", f"{names!r}")
        several = {str(name): probs for name, probs in given[0].items()}
    else:
        one_list = len(given) == 1 and isinstance(given[0], list | tuple)
        matrices = list(given[0] if one_list else given)
        wanted = [_letter(i) for i in range(len(matrices))]
        if names is not None:
            wanted = [str(name) for name in names]
        if len(set(wanted)) != len(matrices) or len(wanted) != len(matrices):
            must_names = f"{len(matrices)} different names, one per classifier"
            args.invalid("names", must_names, f"{names!r}")
        several = dict(zip(wanted, matrices, strict=True))
    if len(several) < 2:
        args.invalid("classifiers", must, "one" if several else "none")
    return several


def _letter(i: int) -> str:
    return chr(ord("A") + i) if i < 26 else f"classifier {i + 1}"
