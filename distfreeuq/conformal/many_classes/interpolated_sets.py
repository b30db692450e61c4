"""Thresholds between that of all classes and each class's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatMatrix, IntArray, RandomState
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, integers, maybe, proportion
from distfreeuq._numerics.quantiles import conformal_rank, smallest_order_statistic
from distfreeuq.conformal.data import CalibrationScores, calibration_scores
from distfreeuq.conformal.many_classes import guarantees
from distfreeuq.conformal.many_classes.class_quantiles import (
    order_statistics,
    ranks_by_count,
)
from distfreeuq.conformal.results import NO_P_VALUES, ClassThresholdResult
from distfreeuq.conformal.scores.nested_score import ScoreLike


@register("interpolated-conformal")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class InterpolatedConformalResult(ClassThresholdResult):
    """Sets by thresholds between the marginal one and each class's own.

    Attributes
    ----------
    share : float
        The weight of a class's own threshold.
    score_labels : ndarray (n,) or None
        The labels of `scores`, as column numbers; None where those are.

    The other attributes are those of every `ConformalResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs, labels = [[0.8, 0.2], [0.3, 0.7]] * 30, [0, 1] * 30
    >>> fit = dfu.interpolated_conformal(probs, labels, share=0.5, score="lac")
    >>> fit.thresholds.round(2).tolist()
    [0.25, 0.3]
    """

    share: float
    score_labels: IntArray | None

    _state: ClassVar[State] = {
        "share": proportion(),
        "score_labels": maybe(integers("n", below="K")),
    }
    _of_rows: ClassVar[tuple[str, ...]] = ("score_labels",)
    _new_row: ClassVar[str] = "a new row"

    def at(self, alpha: float) -> InterpolatedConformalResult:
        """Return the same fit at another level, as `ConformalResult.at`."""
        level = Arguments("InterpolatedConformalResult.at").alpha(alpha)
        labels = self._kept_labels(self.score_labels, "at")
        return fit_interpolated(self._calibration(labels), level, self.share)

    def _p_values_of(self, scores: FloatMatrix) -> FloatMatrix:
        args = Arguments("InterpolatedConformalResult.p_values")
        args.invalid("share", NO_P_VALUES, f"{self.share:g}")

    def _facts(self) -> list[tuple[str, str]]:
        return [("Share of the class's own threshold", f"{self.share:g}")]


def interpolated_conformal(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    alpha: float = 0.1,
    share: float = 0.5,
    score: ScoreLike = "lac",
    randomized: bool = True,
    never_empty: bool = False,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
    ids: ArrayLike | None = None,
) -> InterpolatedConformalResult:
    """Prediction sets between marginal and label-conditional ones, for many classes.

    Parameters
    ----------
    probs, labels
        As in `split_conformal`.
    alpha : float, default 0.1
        Of each of the two thresholds. The claim is coverage of at least 1 - 2 alpha;
        in practice it is near 1 - alpha.
    share : float, default 0.5
        Weight of a class's own threshold: 0 gives split conformal sets, 1
        label-conditional ones, but for classes of too few rows.
    score : str or score object, default "lac"
        As in `split_conformal`, but one that is bounded: not a score of one's own.
    randomized, never_empty, classes, rng, ids
        As in `split_conformal`.

    Returns
    -------
    InterpolatedConformalResult

    Notes
    -----
    Class y's threshold is share q_y + (1 - share) q, with q that of all rows and q_y
    that of its own [1]_. Where a class has too few rows for a finite q_y, the largest
    score that there can be stands in its place. A label that is missed has a score
    above the smaller of q and q_y, hence above one of the two: each has probability
    alpha at most, so that coverage is at least 1 - 2 alpha (theory page, 1.8).

    References
    ----------
    .. [1] Ding, Fermanian and Salmon (2025), "Conformal prediction for long-tailed
       classification".

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet([9, 3, 1], size=500)
    >>> labels = [rng.choice(3, p=row) for row in probs]
    >>> fit = dfu.interpolated_conformal(probs, labels)
    >>> fit
    <InterpolatedConformalResult lac alpha=0.1 n=500 K=3>
    >>> fit.guarantee.lower
    0.8
    """
    args = Arguments("interpolated_conformal")
    calibration = calibration_scores(
        args,
        probs,
        labels,
        score=score,
        randomized=randomized,
        never_empty=never_empty,
        classes=classes,
        rng=rng,
        ids=ids,
        kept="labels",
    )
    alpha = args.alpha(alpha)
    share = args.number(share, "share", "a number in [0, 1]", low=0.0, high=1.0)
    if calibration.score.upper(len(calibration.classes)) is None:
        args.invalid("score", "one of the package's, which are bounded", "another")
    return fit_interpolated(calibration, alpha, share)


def fit_interpolated(
    calibration: CalibrationScores, alpha: float, share: float
) -> InterpolatedConformalResult:
    """Return the sets by interpolated thresholds."""
    counts = calibration.counts
    for_all = smallest_order_statistic(
        calibration.scores, conformal_rank(calibration.n, alpha)
    )
    own = order_statistics(
        calibration.scores, calibration.labels, counts, ranks_by_count(counts, alpha)
    )
    largest = calibration.score.upper(counts.size)
    assert largest is not None
    own = np.where(np.isinf(own), largest, own)
    thresholds = np.full(counts.size, for_all)
    if np.isfinite(for_all) or share == 1.0:
        common = min(for_all, largest)
        thresholds = share * own + (1.0 - share) * common
        # rounding may put a mean of equal numbers below them, and rows that score as
        # much outside
        thresholds = np.maximum(thresholds, np.minimum(own, common))
    return InterpolatedConformalResult(
        title="Interpolated conformal prediction sets",
        thresholds=read_only(thresholds),
        alpha=alpha,
        confidence=None,
        guarantee=calibration.needing_seed(guarantees.interpolated(alpha, share)),
        further=(),
        share=share,
        score_labels=read_only(calibration.labels),
        **calibration.fields(),
    )
