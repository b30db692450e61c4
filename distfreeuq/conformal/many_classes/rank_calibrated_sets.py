"""Label-conditional sets without labels of a high rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments, UncheckedProbs
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolMatrix,
    FloatArray,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.class_labels import name_classes
from distfreeuq._base.files.rows_left_out import kept
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, integers, maybe, proportion
from distfreeuq._numerics.quantiles import SLACK, smallest_sample
from distfreeuq._numerics.row_blocks import refuse_blocks
from distfreeuq.conformal.data import (
    CalibrationScores,
    calibration_scores,
    warn_small,
)
from distfreeuq.conformal.many_classes import guarantees
from distfreeuq.conformal.many_classes.class_quantiles import (
    order_statistics,
    ranks_by_count,
)
from distfreeuq.conformal.nonconformity import true_label_scores
from distfreeuq.conformal.results import NO_P_VALUES, ClassThresholdResult, marked_sets
from distfreeuq.conformal.scores.nested_score import ScoreLike
from distfreeuq.conformal.scores.ranked_scores import Rank

if TYPE_CHECKING:
    import pandas as pd


@register("rank-calibrated-conformal")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankCalibratedConformalResult(ClassThresholdResult):
    """Label-conditional sets that leave out labels beyond a rank of their own.

    Attributes
    ----------
    largest_rank : ndarray (K,)
        Label k is in no set of a row where more than largest_rank[k] - 1 labels are
        more likely; +inf: wherever its score allows.
    rank_share : float
        Share of alpha that may be spent on ranks.
    ranks : ndarray (n,) or None
        The true labels' ranks, in the order of `scores`; None where those are.
    score_labels : ndarray (n,) or None
        The labels of `scores`, as column numbers; None where those are.

    The other attributes are those of every `ConformalResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs, labels = [[0.8, 0.2], [0.3, 0.7]] * 30, [0, 1] * 30
    >>> fit = dfu.rank_calibrated_conformal(probs, labels, score="lac")
    >>> fit.largest_rank.tolist(), fit.thresholds.round(2).tolist()
    ([1.0, 1.0], [0.2, 0.3])
    """

    largest_rank: FloatArray
    rank_share: float
    ranks: FloatArray | None
    score_labels: IntArray | None

    _state: ClassVar[State] = {
        "largest_rank": floats("K", low=0.0, nan=False),
        "rank_share": proportion(),
        "ranks": maybe(floats("n", low=1.0, finite=True)),
        "score_labels": maybe(integers("n", below="K")),
    }
    _of_rows: ClassVar[tuple[str, ...]] = ("ranks", "score_labels")
    _covers_every_class: ClassVar[bool] = True

    def at(self, alpha: float) -> RankCalibratedConformalResult:
        """Return the same fit at another level, as `ConformalResult.at`."""
        level = Arguments("RankCalibratedConformalResult.at").alpha(alpha)
        calibration = self._calibration(self._kept_labels(self.score_labels, "at"))
        ranks = kept(self.ranks, "RankCalibratedConformalResult.at")
        return fit_rank_calibrated(calibration, ranks, level, self.rank_share)

    def _members(
        self, rows: UncheckedProbs, uniforms: FloatArray, thresholds: FloatArray
    ) -> tuple[BoolMatrix, IntArray]:
        mask, sizes = ClassThresholdResult._members(self, rows, uniforms, thresholds)
        if np.isinf(self.largest_rank).all():
            return mask, sizes
        ones = np.ones(len(mask))
        near, _ = marked_sets(Rank(), rows, ones, self.largest_rank, self.never_empty)
        mask &= near
        return mask, mask.sum(axis=1)

    def _p_values_of(self, scores: FloatMatrix) -> FloatMatrix:
        args = Arguments("RankCalibratedConformalResult.p_values")
        args.invalid("rank_share", NO_P_VALUES, f"{self.rank_share:g}")

    def _facts(self) -> list[tuple[str, str]]:
        always = np.isinf(self.thresholds) & np.isinf(self.largest_rank)
        return [
            ("Share of alpha for ranks", f"{self.rank_share:g}"),
            ("Classes always in the set", str(int(always.sum()))),
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return a row per class: rows, threshold, largest rank, always in the set."""
        frame = ClassThresholdResult.to_frame(self)
        frame.insert(3, "largest rank", self.largest_rank)
        frame["always"] &= np.isinf(self.largest_rank)
        return frame


_INSTEAD = (
    "Give arrays of a sample. label_conditional_conformal and clustered_conformal "
    "take rows in blocks."
)


def rank_calibrated_conformal(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    alpha: float = 0.1,
    rank_share: float = 0.5,
    score: ScoreLike = "aps",
    randomized: bool = True,
    never_empty: bool = False,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
    ids: ArrayLike | None = None,
) -> RankCalibratedConformalResult:
    """Prediction sets that cover every class, without labels of a high rank.

    Parameters
    ----------
    probs, labels, score, randomized, never_empty, classes, rng, ids
        As in `split_conformal`.
    alpha : float, default 0.1
        Miscoverage level in (0, 1) of every class.
    rank_share : float, default 0.5
        Up to this share of alpha, a class's own rows may have ranks beyond the largest
        that is allowed. 0: label-conditional sets.

    Returns
    -------
    RankCalibratedConformalResult
        With ``.largest_rank`` by class.

    Notes
    -----
    Label y is in a row's set if its score is at most a threshold *and* its rank, one
    more than the number of more likely labels, at most a number of its class [1]_. With
    n rows of the class, m = floor(rank_share alpha (n + 1)) and r_(i) the i-th smallest
    of their ranks, that number is r_(n + 1 - m), and the threshold is the conformal
    quantile of the scores, those of rows with ranks above r_(n - m) counted as
    infinite. Coverage of every class is at least 1 - alpha (theory page, 1.10): what is
    lost by ranks and what is lost by scores are the same rows as a rule, and are
    counted once. In [1]_ the two are added, and the ranks' part is taken as known.

    References
    ----------
    .. [1] Shi, Ghosh, Belkhouja, Doppa and Yan (2024), "Conformal prediction for
       class-wise coverage via augmented label rank calibration", NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet([3, 2, 1, 1], size=800)
    >>> labels = [rng.choice(4, p=row) for row in probs]
    >>> fit = dfu.rank_calibrated_conformal(probs, labels, rng=1)
    >>> fit
    <RankCalibratedConformalResult aps alpha=0.1 n=800 K=4>
    >>> fit.guarantee.kind
    'class-conditional'
    """
    args = Arguments("rank_calibrated_conformal")
    refuse_blocks(args, {"probs": probs, "labels": labels}, _INSTEAD)
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
    )
    alpha = args.alpha(alpha)
    rank_share = args.number(
        rank_share, "rank_share", "a number in [0, 1]", low=0.0, high=1.0
    )
    rows, _ = args.unchecked_probs(probs, classes=classes)
    in_rows = np.empty(calibration.n, dtype=np.int64)
    in_rows[calibration.order] = calibration.labels
    ranks = true_label_scores(Rank(), rows, in_rows, np.ones(calibration.n))
    return fit_rank_calibrated(calibration, ranks[calibration.order], alpha, rank_share)


def fit_rank_calibrated(
    calibration: CalibrationScores, ranks: FloatArray, alpha: float, rank_share: float
) -> RankCalibratedConformalResult:
    """Return rank-calibrated sets; `ranks` (n,) are in the order of the scores."""
    counts, labels = calibration.counts, calibration.labels
    spent = np.floor(rank_share * alpha * (counts + 1) + SLACK).astype(np.int64)
    place = counts + 1 - spent
    largest = order_statistics(ranks, labels, counts, np.where(spent > 0, place, 0))
    inner = order_statistics(ranks, labels, counts, np.where(spent > 0, place - 1, 0))
    # of a class all of whose ranks may be lost, none counts
    inner = np.where((spent > 0) & (place <= 1), 0.0, inner)
    cut = np.where(ranks <= inner[labels], calibration.scores, np.inf)
    thresholds = order_statistics(cut, labels, counts, ranks_by_count(counts, alpha))
    small = np.flatnonzero(np.isinf(thresholds) & np.isinf(largest))
    if small.size:
        named = name_classes(calibration.classes, small)
        warn_small(
            f"too few calibration rows of {named}: every set will hold them. At least "
            f"{smallest_sample(alpha)} rows of a class are needed for alpha={alpha:g}."
        )
    return RankCalibratedConformalResult(
        title="Rank-calibrated conformal prediction sets",
        thresholds=read_only(thresholds),
        alpha=alpha,
        confidence=None,
        guarantee=calibration.needing_seed(guarantees.every_class_by_rank(alpha)),
        further=(),
        largest_rank=read_only(largest),
        rank_share=rank_share,
        ranks=read_only(ranks),
        score_labels=read_only(labels),
        **calibration.fields(),
    )
