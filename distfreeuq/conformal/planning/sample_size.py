"""How many rows a threshold needs, from the law of coverage given the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, BoolArray, FloatArray, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.intent.class_vectors import by_class, names_of, without_names
from distfreeuq._numerics.quantiles import conformal_rank, smallest_sample
from distfreeuq.bounds import unchecked
from distfreeuq.conformal.planning import guarantees
from distfreeuq.conformal.planning.results import PlanResult

_MOST_ROWS = 10**8


# So many numbers of rows are looked at as this goes into one.
_LEAST_TOLERANCE = 1e-6


def plan(
    alpha: float = 0.1,
    confidence: float | None = None,
    *,
    tolerance: float | None = None,
    source_prior: ArrayLike | None = None,
    assurance: float = 0.95,
    classes: ArrayLike | None = None,
) -> PlanResult:
    """How many calibration rows are needed, in all or of each class.

    Parameters
    ----------
    alpha : float, default 0.1
        Miscoverage level in (0, 1).
    confidence : float, optional
        As in `split_conformal`: coverage of at least 1 - alpha with that probability
        over the calibration draw. With `source_prior` of all classes at once, as in
        `label_conditional_conformal`.
    tolerance : float, optional
        How far coverage may be off. Without `confidence`: rows such that coverage given
        them is at least 1 - alpha - tolerance with probability 0.95 over their draw.
        With it: rows such that coverage is at most 1 - alpha + tolerance on average, as
        sets grow with what is covered in excess. By default rows are counted that a
        finite threshold needs: with fewer, every set holds every label.
    source_prior : array_like (K,), optional
        Class proportions of the rows that will be drawn: every class is then to be
        covered by itself.
    assurance : float, default 0.95
        Probability with which the total is to hold every class's rows.
    classes : sequence, optional
        Class names.

    Returns
    -------
    PlanResult
        With ``.needed`` by class, and ``.total``.

    Notes
    -----
    Coverage given n i.i.d. rows and a threshold at their k-th smallest score is
    Beta(k, n + 1 - k), or larger with ties [1]_. The number is such that it and every
    larger one will do: ranks are integers, and coverage is not monotone in n.

    References
    ----------
    .. [1] Vovk (2012), "Conditional validity of inductive conformal predictors", ACML.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> dfu.plan(0.1).total  # with fewer, every set holds every label
    9
    >>> dfu.plan(0.1, tolerance=0.02).total
    651
    >>> dfu.plan(0.1, 0.95, tolerance=0.02).total
    638
    >>> by_class = dfu.plan(0.1, source_prior=[0.9, 0.09, 0.01], tolerance=0.02)
    >>> by_class.needed.tolist(), by_class.total
    ([651, 651, 651], 69332)
    """
    args = Arguments("plan")
    alpha = args.alpha(alpha)
    if confidence is not None:
        confidence = args.probability(confidence, "confidence")
    if tolerance is not None:
        tolerance = args.number(
            tolerance,
            "tolerance",
            f"a number in (0, {min(alpha, 1.0 - alpha):g}), 1e-06 or more",
            low=_LEAST_TOLERANCE,
            high=float(np.nextafter(min(alpha, 1.0 - alpha), 0.0)),
        )
    assurance = args.probability(assurance, "assurance")
    prior, names = _read_prior(args, source_prior, classes)
    share = None if confidence is None else (1.0 - confidence) / prior.size
    needed = rows_needed(alpha, share, tolerance)
    if needed > np.iinfo(np.int64).max:
        args.invalid(
            "alpha", "a level that some sample has rows enough for", f"{alpha}"
        )
    each = np.full(prior.size, needed, dtype=np.int64)
    total = needed if prior.size == 1 else rows_in_all(each, prior, assurance)
    return PlanResult(
        needed=read_only(each),
        total=total,
        alpha=alpha,
        confidence=confidence,
        tolerance=tolerance,
        assurance=assurance,
        source_prior=read_only(prior),
        classes=names,
        guarantee=guarantees.enough_rows(
            alpha, confidence, tolerance, assurance, prior.size > 1
        ),
    )


def _read_prior(
    args: Arguments, source_prior: ArrayLike | None, classes: Any
) -> tuple[FloatArray, Any]:
    if source_prior is None:
        if classes is not None:
            args.invalid("classes", "None without source_prior=", "names")
        return np.ones(1), range(1)
    must = "positive class proportions, two or more, that sum to one"
    if classes is None:
        classes = names_of(source_prior)
    prior = args.vector(
        without_names(source_prior), "source_prior", must, low=1e-12, high=1.0
    )
    if prior.size < 2 or abs(prior.sum() - 1.0) > 1e-6:
        args.invalid("source_prior", must, f"a sum of {prior.sum():.8g}")
    names = args.classes(classes, None, prior.size)
    in_order = by_class(args, source_prior, names, "source_prior")
    return args.vector(in_order, "source_prior", must), names


def rows_needed(alpha: float, delta: float | None, tolerance: float | None) -> int:
    """Return the smallest n from which on the threshold does what is wanted.

    `delta` is the probability that the rows may fail to cover, None for a threshold
    that covers on average.
    """
    from scipy import stats

    if tolerance is None:
        if delta is None:
            return smallest_sample(alpha)
        return unchecked.pac_smallest_sample(alpha, delta)
    if delta is None:
        floor = 1.0 - alpha - tolerance

        def holds(n: IntArray) -> BoolArray:
            # the rank is at least (1 - alpha)(n + 1), and coverage grows with it
            a = (1.0 - alpha) * (n + 1)
            low = stats.beta.ppf(1.0 - guarantees.STATED, a, n + 1 - a)
            return np.asarray(low >= floor)

        return max(_first_from_which(holds, tolerance), smallest_sample(alpha))
    most = 1.0 - alpha + tolerance
    enough = unchecked.pac_smallest_sample(alpha, delta)

    def covers_little_more(n: IntArray) -> BoolArray:
        rank = stats.binom.ppf(1.0 - delta, n, 1.0 - alpha) + 1
        return np.asarray((rank <= most * (n + 1)) & (n >= enough))

    return _first_from_which(covers_little_more, tolerance)


def _first_from_which(holds: Callable[[IntArray], BoolArray], tolerance: float) -> int:
    """Return the smallest n such that a condition holds from n on.

    What it compares moves by 1/n from one n to the next, while it drifts by about
    tolerance/(2n): there are no changes further than 2/tolerance beyond the crossing.
    """
    window, high = int(8.0 / tolerance) + 8, 64
    while not holds(_grid(high // 2, high)).all():
        high *= 2
        if high > _MOST_ROWS:
            return high
    grid = _grid(1, high)
    fails = np.flatnonzero(~holds(grid))
    if not fails.size:
        return 1
    start = int(grid[fails[-1]])
    stop = int(grid[min(fails[-1] + 1, grid.size - 1)]) + window
    near = np.arange(start, stop + 1)
    return int(near[np.flatnonzero(~holds(near))[-1]]) + 1


def _grid(low: int, high: int) -> IntArray:
    return np.unique(np.linspace(low, high, 1024).astype(np.int64))


def rows_in_all(needed: IntArray, prior: FloatArray, assurance: float) -> int:
    """Return the smallest n that gives every class its rows with this probability.

    By a union over the classes, whose counts are binomial.
    """
    from scipy import stats

    def fails(n: int) -> bool:
        short = stats.binom.cdf(needed - 1, n, prior)
        return bool(short.sum() > 1.0 - assurance)

    low, high = 0, int(needed.max())
    while fails(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fails(middle) else (low, middle)
    return high


def ranks_of(counts: IntArray, alpha: float, delta: float | None) -> IntArray:
    """Return the rank of the threshold for each number of rows."""
    if delta is None:
        ranks = [conformal_rank(int(n), alpha) for n in counts]
    else:
        ranks = [unchecked.pac_rank(int(n), alpha, delta) for n in counts]
    return np.minimum(ranks, counts + 1)
