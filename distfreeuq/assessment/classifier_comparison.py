"""Compare several classifiers on the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolMatrix,
    FloatArray,
    FloatMatrix,
    RandomState,
)
from distfreeuq._base.arrays import describe, read_only
from distfreeuq._base.random_streams import stream
from distfreeuq.assessment.bootstrap import resample
from distfreeuq.assessment.data import read_measures
from distfreeuq.assessment.guarantees import BOOTSTRAPPED, NO_INTERVALS
from distfreeuq.assessment.interval_rules import (
    enough_events,
    near_noise,
    often_differ,
    usable,
)
from distfreeuq.assessment.measures import Measures
from distfreeuq.assessment.monte_carlo_test import noise
from distfreeuq.assessment.results import ComparisonResult
from distfreeuq.metrics.bins import check_bins


def compare(
    *classifiers: Any,
    labels: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    n_bins: int = 15,
    scheme: str | ArrayLike = "equal-width",
    closed: str = "right",
    event: str = "predicted",
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
    n_boot: int = 1000,
    level: float = 0.95,
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
        Names of the classifiers; A, B, ... by default.
    n_bins, scheme, closed, event
        As in `assess`. Bins of equal mass are each classifier's own.
    sample_weight : array_like (n,), optional
    classes : sequence, optional
    n_boot : int, default 1000
        Bootstrap samples for the intervals of the differences; 0 for none.
    level : float
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
    cancels: a difference is known better than either metric. The intervals are
    approximate, and left out where they were found to cover too seldom; `interval` of
    the result lists where, and the summary says so.

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
    level = args.probability(level, "level")
    n_jobs = args.jobs(n_jobs)
    progress = args.flag(progress, "progress")
    given, truth = _split_off_labels(args, classifiers, labels)
    several = _named(args, given, names)
    measures = [
        read_measures(
            args,
            probs,
            truth,
            n_bins,
            how,
            event,
            None,
            sample_weight,
            classes,
            parameter="classifiers",
        )
        for probs in several.values()
    ]
    estimates = np.array([one.values(one.sums())[0] for one in measures])
    with np.errstate(invalid="ignore"):  # both likelihoods may be infinite
        differences = estimates - estimates[0]
    differences[0] = 0.0
    noise_alone = np.array([noise(one) for one in measures])
    low, high = np.full((2, *estimates.shape), np.nan)
    if n_boot:
        boot = resample(
            measures, n_boot, stream(rng, "bootstrap", "compare"), n_jobs, progress
        )
        keep = _with_interval(measures, estimates, differences, noise_alone)
        tail = 0.5 * (1.0 - level)
        for c, samples in enumerate(boot):
            some = keep[c]
            drawn = samples[:, some] - boot[0][:, some]
            ends = np.quantile(drawn, [1.0 - tail, tail], axis=0)
            low[c, some], high[c, some] = 2.0 * differences[c, some] - ends
    return ComparisonResult(
        names=tuple(several),
        metrics=measures[0].names,
        estimates=read_only(estimates),
        differences=read_only(differences),
        low=read_only(low),
        high=read_only(high),
        noise=read_only(noise_alone),
        level=level,
        n_boot=n_boot,
        n=measures[0].rows.n,
        guarantee=BOOTSTRAPPED if n_boot else NO_INTERVALS,
    )


def _with_interval(
    measures: Sequence[Measures],
    estimates: FloatMatrix,
    differences: FloatMatrix,
    noise_alone: FloatArray,
) -> BoolMatrix:
    """Return which differences get an interval, shape (C, J)."""
    names = measures[0].names
    pairs = zip(estimates, noise_alone.tolist(), strict=True)
    near = [near_noise(names, row, noise) for row, noise in pairs]
    enough = [enough_events(one) for one in measures]
    keep = np.array(
        [
            usable(one, row, near[0] | near[c], enough[0] and enough[c])
            for c, (one, row) in enumerate(zip(measures, differences, strict=True))
        ]
    )
    if "accuracy" in names:
        differ = [often_differ(measures[0], one) for one in measures]
        keep[:, names.index("accuracy")] &= differ
    if "frequency" in names:  # the same for all
        keep[:, names.index("frequency")] = False
    keep[0] = np.isfinite(estimates[0])
    return keep


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
    shape = args.array(last, "labels", "labels, one per row").shape
    if len(shape) == 2 and shape[1] > 1:
        args.invalid("labels", must, f"a matrix of shape {shape} in its place")
    return tuple(given), last


def _named(
    args: Arguments, given: tuple[Any, ...], names: Sequence[str] | None
) -> dict[str, ArrayLike]:
    """Return the classifiers by name."""
    must = "probabilities of at least two (for one there is assess)"
    if len(given) == 1 and isinstance(given[0], Mapping):
        if names is not None:
            args.invalid("names", "left out where a mapping has names", describe(names))
        several = {str(name): probs for name, probs in given[0].items()}
    else:
        one_list = len(given) == 1 and isinstance(given[0], list | tuple)
        matrices = list(given[0] if one_list else given)
        wanted = [_letter(i) for i in range(len(matrices))]
        if names is not None:
            wanted = list(names) if isinstance(names, list | tuple) else []
        if not all(isinstance(name, str) for name in wanted):
            wanted = []
        if len(set(wanted)) != len(matrices) or len(wanted) != len(matrices):
            must_names = f"{len(matrices)} different names, one per classifier"
            args.invalid("names", must_names, describe(names))
        several = dict(zip(wanted, matrices, strict=True))
    if len(several) < 2:
        args.invalid("classifiers", must, "one" if several else "none")
    return several


def _letter(i: int) -> str:
    return chr(ord("A") + i) if i < 26 else f"classifier {i + 1}"
