"""Split conformal prediction: the exchangeable case, no shift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, overload

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatMatrix, RandomState, RowsLike
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, count
from distfreeuq._base.tallied import Tallied
from distfreeuq._numerics.quantiles import conformal_rank, smallest_sample
from distfreeuq.bounds import unchecked
from distfreeuq.conformal import guarantees
from distfreeuq.conformal.by_group.results import GroupedConformalResult, fit_by_group
from distfreeuq.conformal.data import CalibrationScores, rows_or_tally, warn_small
from distfreeuq.conformal.guarantees import STATED_CONFIDENCE
from distfreeuq.conformal.p_values import weighted_p_values
from distfreeuq.conformal.results import ClassThresholdResult
from distfreeuq.conformal.scores.nested_score import ScoreLike
from distfreeuq.guarantees import Guarantee


@register("split-conformal")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SplitConformalResult(ClassThresholdResult):
    """Split conformal sets: one threshold, the rank-th smallest calibration score.

    Attributes
    ----------
    rank : int
        n + 1 stands for an infinite threshold.

    The other attributes are those of every `ConformalResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> fit = dfu.split_conformal([[0.8, 0.2]] * 30, [0] * 30, score="lac")
    >>> fit.rank, fit.thresholds.round(2).tolist()
    (28, [0.2, 0.2])
    """

    _new_row: ClassVar[str] = "a new row"

    rank: int

    _state: ClassVar[State] = {
        "rank": count(low=1),
    }

    def at(self, alpha: float) -> SplitConformalResult:
        """Return the same fit at another level, as `ConformalResult.at`."""
        level = Arguments("SplitConformalResult.at").alpha(alpha)
        return fit_split(self._calibration(None), level, self.confidence)

    def _p_values_of(self, scores: FloatMatrix) -> FloatMatrix:
        own = self._kept_scores("p_values")
        return weighted_p_values(scores, own, np.ones(self.n), 1.0)

    def _facts(self) -> list[tuple[str, str]]:
        rank = f"{self.rank} of {self.n}" if self.rank <= self.n else "beyond the last"
        return [("Rank of the threshold", rank)]


@overload
def split_conformal(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = ...,
    *,
    alpha: float = ...,
    score: ScoreLike = ...,
    randomized: bool = ...,
    never_empty: bool = ...,
    confidence: float | None = ...,
    classes: ArrayLike | None = ...,
    rng: RandomState = ...,
    ids: ArrayLike | None = ...,
    groups: None = ...,
) -> SplitConformalResult: ...


@overload
def split_conformal(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = ...,
    *,
    alpha: float = ...,
    score: ScoreLike = ...,
    randomized: bool = ...,
    never_empty: bool = ...,
    confidence: float | None = ...,
    classes: ArrayLike | None = ...,
    rng: RandomState = ...,
    ids: ArrayLike | None = ...,
    groups: ArrayLike,
) -> GroupedConformalResult: ...


def split_conformal(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = None,
    *,
    alpha: float = 0.1,
    score: ScoreLike = "aps",
    randomized: bool = True,
    never_empty: bool = False,
    confidence: float | None = None,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
    ids: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> SplitConformalResult | GroupedConformalResult:
    """Prediction sets that hold the true label with probability 1 - alpha, no shift.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1; or a Tally
        A classifier's probabilities on calibration rows that it was not fitted on.
        Rows sum to one. A DataFrame's columns name the classes.
    labels : array_like (n,), optional
        Integers 0..K-1, or names listed in `classes`.
        With a `Tally` of the rows (see `tally`) in place of `probs`: left out, as are
        `classes`, `ids` and `groups`; score and uniforms are the tally's.
    alpha : float, default 0.1
        Miscoverage level in (0, 1).
    score : str, score object, callable, default "aps"
        "aps", "lac", "raps", "saps", "rank", "margin", or an object such as ``RAPS()``
        or ``APS(ties="random")``. One's own: a function that gives every label of
        probabilities (n, K) a score, larger for less plausible labels; or an object
        with the methods ``of_labels(probs, labels, uniforms)`` (n,) and
        ``of_all_labels(probs, uniforms)`` (n, K), and with ``uses_uniforms = True``
        if it is randomised.
    randomized : bool, default True
        Use one uniform per row, for coverage close to 1 - alpha and not only at least
        that. "lac" and "margin" have no randomised form.
    never_empty : bool, default False
        Add the most likely label to every set at prediction.
    confidence : float, optional
        With a number such as 0.95: coverage of at least 1 - alpha with that probability
        over the calibration draw, and not only on average over calibration draws.
    classes : sequence, optional
        Class names by column.
    rng : seed, Generator or None
        For the randomised scores. With a seed (an integer or a SeedSequence) a row's
        uniform is a hash of the row under a key that the fit keeps, so that `predict`
        needs no `rng` and the same row has the same set in any call. A Generator is
        drawn from in order, and None draws anew, in the fit and in `predict`.
    ids : array_like (n,), optional
        An integer or a text per row, which is hashed in place of the row; `predict`
        then needs the ids of new rows. It tells rows with the same probabilities apart.
    groups : array_like (n,), optional
        Each row's group, such as a hospital: every group is then calibrated by itself,
        and `predict` needs the new rows' groups.

    Returns
    -------
    SplitConformalResult
        With ``.rank``, the rank of the threshold among the calibration scores. With
        `groups` a `GroupedConformalResult`, which holds one for each.

    Notes
    -----
    The threshold is the k-th smallest calibration score, k = ceil((1 - alpha)(n + 1));
    if k > n it is infinite, every set holds every label, and a
    `SmallCalibrationWarning` says which n would be enough. If calibration and test rows
    are exchangeable, coverage is at least 1 - alpha, and exactly k / (n + 1) if no two
    scores can tie [1]_, [3]_, [4]_. For i.i.d. rows the coverage given the calibration
    rows is Beta(k, n + 1 - k), or stochastically larger with ties; `confidence` chooses
    k by that law [2]_.

    With `groups` all of this holds of every group by itself [4]_ (Mondrian sets), if a
    row's group is a function of its inputs that was chosen without these rows; with
    `confidence` it holds of all groups at once, each of which gets its share of
    1 - confidence.

    Ties: only strictly more likely labels count, so tied labels share a score. With a
    seed, rows with the same probabilities and label tie: coverage is at least 1 - alpha
    for every seed that was chosen without the data, but larger where rows repeat,
    unless `ids` tell them apart. Give `predict` the precision of the fit: a probability
    rounded to float32 is another row. For the same set at every call without any
    randomness: ``randomized=False``.

    References
    ----------
    .. [1] Podkopaev and Ramdas (2021), "Distribution-free uncertainty quantification
       for classification under label shift", UAI. Eq. (7), Theorem 1.
    .. [2] Vovk (2012), "Conditional validity of inductive conformal predictors", ACML.
    .. [3] Papadopoulos, Proedrou, Vovk and Gammerman (2002), "Inductive confidence
       machines for regression", ECML: split conformal prediction.
    .. [4] Vovk, Gammerman and Shafer (2005), Algorithmic learning in a random world,
       Springer.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet([2, 1, 1], size=500)
    >>> labels = [rng.choice(3, p=row) for row in probs]
    >>> fit = dfu.split_conformal(probs[:400], labels[:400], alpha=0.1, rng=1)
    >>> fit
    <SplitConformalResult aps alpha=0.1 n=400 K=3>
    >>> fit.predict(probs[400:]).evaluate(labels[400:]).coverage
    0.92
    """
    args = Arguments("split_conformal")
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
        kept="scores",
    )
    alpha = args.alpha(alpha)
    confidence = calibration.read_confidence(args, confidence)
    if groups is not None:
        return fit_by_group(
            args,
            groups,
            calibration,
            lambda part, share: fit_split(part, alpha, share),
            alpha=alpha,
            confidence=confidence,
        )
    return fit_split(calibration, alpha, confidence)


def fit_split(
    calibration: CalibrationScores, alpha: float, confidence: float | None
) -> SplitConformalResult:
    """Return split conformal sets, the training-conditional ones with `confidence`."""
    n = calibration.n
    if confidence is None:
        rank = min(conformal_rank(n, alpha), n + 1)
    else:
        rank = unchecked.pac_rank(n, alpha, 1.0 - confidence)
    threshold = calibration.scores[rank - 1] if rank <= n else np.inf
    if rank > n:
        _warn_small(n, alpha, confidence)

    further: tuple[Guarantee, ...] = ()
    if confidence is not None:
        guarantee = guarantees.split_given_calibration(rank, n, 1.0 - alpha, confidence)
    else:
        guarantee = guarantees.split_marginal(calibration, alpha, rank)
        if rank <= n and not calibration.score.knows_labels:
            covered = unchecked.beta_coverage_quantile(n, rank, 1.0 - STATED_CONFIDENCE)
            further = (
                guarantees.split_given_calibration(rank, n, covered, STATED_CONFIDENCE),
            )
    return SplitConformalResult(
        title="Split conformal prediction sets",
        thresholds=read_only(np.full(len(calibration.classes), threshold)),
        alpha=alpha,
        confidence=confidence,
        guarantee=calibration.needing_seed(guarantee),
        further=tuple(map(calibration.needing_seed, further)),
        rank=rank,
        **calibration.fields(),
    )


def _warn_small(n: int, alpha: float, confidence: float | None) -> None:
    if confidence is None:
        enough, wanted = smallest_sample(alpha), f"alpha={alpha:g}"
    else:
        enough = unchecked.pac_smallest_sample(alpha, 1.0 - confidence)
        wanted = f"alpha={alpha:g} with confidence={confidence:g}"
    warn_small(
        f"{n} calibration rows are too few for {wanted}: every set will hold every "
        f"label. At least {enough} rows are needed."
    )
