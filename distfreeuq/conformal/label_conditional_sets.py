"""Label-conditional conformal prediction: one threshold per class, any label shift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    FloatArray,
    FloatMatrix,
    IntArray,
    RandomState,
    RowsLike,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.class_labels import name_classes
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, integers, maybe, require
from distfreeuq._base.tallied import Tallied
from distfreeuq._numerics.quantiles import conformal_rank, smallest_sample
from distfreeuq.bounds import unchecked
from distfreeuq.conformal import guarantees
from distfreeuq.conformal.by_group.results import GroupedConformalResult, fit_by_group
from distfreeuq.conformal.data import CalibrationScores, rows_or_tally, warn_small
from distfreeuq.conformal.guarantees import STATED_CONFIDENCE
from distfreeuq.conformal.p_values import weighted_p_values
from distfreeuq.conformal.results import ClassThresholdResult, ConformalResult
from distfreeuq.conformal.scores.nested_score import ScoreLike

if TYPE_CHECKING:
    import pandas as pd


@register("label-conditional-conformal")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LabelConditionalConformalResult(ClassThresholdResult):
    """Label-conditional conformal sets.

    Attributes
    ----------
    ranks : ndarray (K,)
        Rank of each class's threshold among its own scores; one more than the class's
        rows stands for an infinite threshold.
    score_labels : ndarray (n,) or None
        The labels of `scores`, as column numbers; None where those are.
    class_lower : ndarray (K,)
        With probability 0.95 over the calibration draw, class k's coverage given the
        calibration rows is at least this (each class by itself).

    The other attributes are those of every `ConformalResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs, labels = [[0.8, 0.2], [0.3, 0.7]] * 30, [0, 1] * 30
    >>> fit = dfu.label_conditional_conformal(probs, labels, score="lac")
    >>> fit.ranks.tolist(), fit.thresholds.round(2).tolist()
    ([28, 28], [0.2, 0.3])
    """

    _covers_every_class: ClassVar[bool] = True

    ranks: IntArray
    score_labels: IntArray | None
    class_lower: FloatArray

    _state: ClassVar[State] = {
        "ranks": integers("K"),
        "score_labels": maybe(integers("n", below="K")),
        "class_lower": floats("K", low=0.0, high=1.0),
    }
    _of_rows: ClassVar[tuple[str, ...]] = ("score_labels",)

    def _validate_state(self) -> None:
        ConformalResult._validate_state(self)
        if self.score_labels is None:
            return
        counts = np.bincount(self.score_labels, minlength=len(self.classes))
        require(np.array_equal(counts, self.class_counts), "labels that were counted")

    def at(self, alpha: float | ArrayLike) -> LabelConditionalConformalResult:
        """Return the same fit at another level, as `ConformalResult.at`."""
        args = Arguments("LabelConditionalConformalResult.at")
        alphas = args.alphas(alpha, self.classes)
        calibration = self._calibration(self._kept_labels(self.score_labels, "at"))
        return fit_label_conditional(
            calibration, alphas, self.confidence, np.ndim(alpha) == 0
        )

    def _p_values_of(self, scores: FloatMatrix) -> FloatMatrix:
        p = np.empty(scores.shape)
        labels = self._kept_labels(self.score_labels, "p_values")
        by_class = self._kept_scores("p_values")[np.argsort(labels, kind="stable")]
        ends = np.cumsum(self.class_counts)
        for k, (n, end) in enumerate(zip(self.class_counts, ends, strict=True)):
            own = by_class[end - n : end]
            p[:, k] = weighted_p_values(scores[:, k], own, np.ones(n), 1.0)
        return p

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("Classes always in the set", str(int(np.isinf(self.thresholds).sum())))
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return a row per class: rows, alpha, rank, threshold, coverage given data.

        ``coverage >=`` holds with probability 0.95 over the calibration draw, for each
        class by itself.
        """
        frame = ConformalResult.to_frame(self)
        frame.insert(2, "alpha", np.broadcast_to(self.alpha, len(self.classes)))
        frame.insert(3, "rank", self.ranks)
        frame["coverage >="] = self.class_lower
        return frame


@overload
def label_conditional_conformal(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = ...,
    *,
    alpha: float | ArrayLike = ...,
    score: ScoreLike = ...,
    randomized: bool = ...,
    never_empty: bool = ...,
    confidence: float | None = ...,
    classes: ArrayLike | None = ...,
    rng: RandomState = ...,
    ids: ArrayLike | None = ...,
    groups: None = ...,
) -> LabelConditionalConformalResult: ...


@overload
def label_conditional_conformal(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = ...,
    *,
    alpha: float | ArrayLike = ...,
    score: ScoreLike = ...,
    randomized: bool = ...,
    never_empty: bool = ...,
    confidence: float | None = ...,
    classes: ArrayLike | None = ...,
    rng: RandomState = ...,
    ids: ArrayLike | None = ...,
    groups: ArrayLike,
) -> GroupedConformalResult: ...


def label_conditional_conformal(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = None,
    *,
    alpha: float | ArrayLike = 0.1,
    score: ScoreLike = "aps",
    randomized: bool = True,
    never_empty: bool = False,
    confidence: float | None = None,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
    ids: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> LabelConditionalConformalResult | GroupedConformalResult:
    """Prediction sets that cover every class at its own level, under any label shift.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1; or a Tally
        A classifier's probabilities on calibration rows that it was not fitted on.
    labels : array_like (n,), optional
        Integers 0..K-1, or names listed in `classes`.
        With a `Tally` of the rows (see `tally`) in place of `probs`: left out, as are
        `classes`, `ids` and `groups`; score and uniforms are the tally's.
    alpha : float or array_like (K,), default 0.1
        Miscoverage level in (0, 1), one for all classes or one per class.
    score, randomized, never_empty, classes, rng, ids
        As in `split_conformal`.
    confidence : float, optional
        With a number such as 0.95: with that probability over the calibration draw, all
        classes at once are covered at their levels.
    groups : array_like (n,), optional
        Each row's group, such as a hospital: every class of every group is then
        calibrated by itself, and `predict` needs the new rows' groups.

    Returns
    -------
    LabelConditionalConformalResult
        With ``.ranks`` and, per class, a lower bound on coverage given the calibration
        rows. With `groups` a `GroupedConformalResult`, which holds one for each.

    Notes
    -----
    Class y's threshold is the k-th smallest of its own n_y scores,
    k = ceil((1 - alpha_y)(n_y + 1)), infinite if k > n_y: such classes are in every set
    and named in a `SmallCalibrationWarning`. Coverage given Y = y is at least
    1 - alpha_y, hence at least 1 - sum_y q_y alpha_y for every target prior q, also for
    classes that the source lacks [1]_, [2]_. With `confidence`, ranks are the PAC ranks
    at (1 - confidence) / K each.

    References
    ----------
    .. [1] Podkopaev and Ramdas (2021), "Distribution-free uncertainty quantification
       for classification under label shift", UAI. Eq. (10).
    .. [2] Vovk, Gammerman and Shafer (2005), Algorithmic learning in a random world,
       Springer: label-conditional (Mondrian) predictors.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet([2, 1, 1], size=500)
    >>> labels = [rng.choice(3, p=row) for row in probs]
    >>> fit = dfu.label_conditional_conformal(
    ...     probs, labels, alpha=[0.05, 0.1, 0.2], rng=1)
    >>> fit
    <LabelConditionalConformalResult aps alpha=0.05..0.2 n=500 K=3>
    >>> fit.ranks.tolist(), fit.class_counts.tolist()
    ([240, 117, 98], [251, 128, 121])
    """
    args = Arguments("label_conditional_conformal")
    calibration = rows_or_tally(
        args,
        probs,
        labels,
        score=score,
        randomized=randomized,
        never_empty=never_empty,
        classes=classes,
        rng=rng,
        ids=ids,
        groups=groups,
        kept="labels",
    )
    alphas = args.alphas(alpha, calibration.classes)
    confidence = calibration.read_confidence(args, confidence)
    one_alpha = np.ndim(alpha) == 0
    if groups is not None:
        return fit_by_group(
            args,
            groups,
            calibration,
            lambda part, share: fit_label_conditional(part, alphas, share, one_alpha),
            alpha=alphas,
            confidence=confidence,
        )
    return fit_label_conditional(calibration, alphas, confidence, one_alpha)


def fit_label_conditional(
    calibration: CalibrationScores,
    alphas: FloatArray,
    confidence: float | None,
    one_alpha: bool,
) -> LabelConditionalConformalResult:
    """Return label-conditional sets; `one_alpha` if one level was given for all."""
    n_classes, counts = alphas.size, calibration.counts
    if confidence is None:
        ranks = _by_pair(conformal_rank, counts, alphas)
    else:
        share = (1.0 - confidence) / n_classes
        ranks = _by_pair(lambda n, a: unchecked.pac_rank(n, a, share), counts, alphas)
    rank_array = np.minimum(ranks, counts + 1)
    enough = rank_array <= counts

    by_class = calibration.scores[np.argsort(calibration.labels, kind="stable")]
    first = np.cumsum(counts) - counts
    thresholds = np.full(n_classes, np.inf)
    thresholds[enough] = by_class[(first + rank_array - 1)[enough]]
    if not enough.all():
        _warn_small(calibration, alphas, np.flatnonzero(~enough), confidence)

    return LabelConditionalConformalResult(
        title="Label-conditional conformal prediction sets",
        thresholds=read_only(thresholds),
        alpha=float(alphas[0]) if one_alpha else read_only(alphas),
        confidence=confidence,
        guarantee=calibration.needing_seed(guarantees.every_class(alphas, confidence)),
        further=(calibration.needing_seed(guarantees.each_class_by_itself()),),
        ranks=read_only(rank_array),
        score_labels=read_only(calibration.labels),
        class_lower=read_only(np.array(_by_pair(_stated_coverage, counts, rank_array))),
        **calibration.fields(),
    )


def _by_pair(
    function: Callable[[int, Any], Any], counts: IntArray, others: Any
) -> list[Any]:
    """Return a function of each class's count and another number.

    It is asked once for each pair that occurs: of thousands of classes many share it.
    """
    known: dict[tuple[int, Any], Any] = {}
    found = []
    for pair in zip(counts.tolist(), others.tolist(), strict=True):
        if pair not in known:
            known[pair] = function(*pair)
        found.append(known[pair])
    return found


def _stated_coverage(n: int, rank: int) -> float:
    return unchecked.beta_coverage_quantile(n, rank, 1.0 - STATED_CONFIDENCE)


def _warn_small(
    calibration: CalibrationScores,
    alphas: FloatArray,
    small: IntArray,
    confidence: float | None,
) -> None:
    worst = int(small[np.argmin(alphas[small])])
    level = float(alphas[worst])
    if confidence is None:
        enough = smallest_sample(level)
    else:
        share = (1.0 - confidence) / alphas.size
        enough = unchecked.pac_smallest_sample(level, share)
    named = name_classes(calibration.classes, small)
    warn_small(
        f"too few calibration rows of {named}: every set will hold them. At least "
        f"{enough} rows of a class are needed for alpha={level:g}."
    )
