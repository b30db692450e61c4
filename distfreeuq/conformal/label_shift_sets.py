"""Conformal prediction under label shift: thresholds by class from weighted scores."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, RandomState, RowsLike
from distfreeuq._base.arrays import describe, listed
from distfreeuq._base.random_streams import stream
from distfreeuq._base.tallied import Tallied
from distfreeuq.conformal.by_group.results import GroupedConformalResult, fit_by_group
from distfreeuq.conformal.data import rows_or_tally
from distfreeuq.conformal.scores.nested_score import ScoreLike
from distfreeuq.conformal.under_label_shift import guarantees
from distfreeuq.conformal.under_label_shift.capped_fits import (
    fit_capped_pac,
    fit_label_shift_capped,
)
from distfreeuq.conformal.under_label_shift.directional_fits import (
    fit_directional_pac,
    fit_label_shift_directional,
)
from distfreeuq.conformal.under_label_shift.given_weights_fits import (
    fit_label_shift,
    fit_label_shift_pac,
    fit_label_shift_union,
)
from distfreeuq.conformal.under_label_shift.results import LabelShiftConformalResult
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.results import (
    LabelShiftResult,
    identified_weights,
)


@overload
def label_shift_conformal(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = ...,
    label_weight: ArrayLike | LabelShiftResult | Box | Polytope | None = ...,
    *,
    alpha: float = ...,
    robust: bool | Literal["directional"] = ...,
    delta: float = ...,
    independent: bool = ...,
    score: ScoreLike = ...,
    randomized: bool = ...,
    never_empty: bool = ...,
    confidence: float | None = ...,
    classes: ArrayLike | None = ...,
    rng: RandomState = ...,
    ids: ArrayLike | None = ...,
    groups: None = ...,
    progress: bool = ...,
) -> LabelShiftConformalResult: ...


@overload
def label_shift_conformal(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = ...,
    label_weight: ArrayLike | LabelShiftResult | Box | Polytope | None = ...,
    *,
    alpha: float = ...,
    robust: bool | Literal["directional"] = ...,
    delta: float = ...,
    independent: bool = ...,
    score: ScoreLike = ...,
    randomized: bool = ...,
    never_empty: bool = ...,
    confidence: float | None = ...,
    classes: ArrayLike | None = ...,
    rng: RandomState = ...,
    ids: ArrayLike | None = ...,
    groups: ArrayLike,
    progress: bool = ...,
) -> GroupedConformalResult: ...


def label_shift_conformal(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = None,
    label_weight: ArrayLike | LabelShiftResult | Box | Polytope | None = None,
    *,
    alpha: float = 0.1,
    robust: bool | Literal["directional"] = False,
    delta: float = 0.01,
    independent: bool = False,
    score: ScoreLike = "aps",
    randomized: bool = True,
    never_empty: bool = False,
    confidence: float | None = None,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
    ids: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    progress: bool = False,
) -> LabelShiftConformalResult | GroupedConformalResult:
    """Prediction sets that cover 1 - alpha of the *target* rows under label shift.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1; or a Tally
        A classifier's probabilities on source rows that it was not fitted on.
    labels : array_like (n,), optional
        Integers 0..K-1, or names listed in `classes`.
        With a `Tally` of the rows (see `tally`) in place of `probs`: left out, as are
        `classes`, `ids` and `groups`; score and uniforms are the tally's.
    label_weight : array_like (K,), LabelShiftResult, Box or Polytope
        w = q/p, the target's class proportions over the source's, up to scale: known
        numbers, or what `bbse`, `rlls`, `mlls` or `label_weights` returned. Zero:
        absent from the target. +inf: absent from the source, and then in every set. A
        region serves with ``robust=True``, an estimate with all of them.
    alpha : float, default 0.1
        Miscoverage level in (0, 1).
    robust : bool or "directional", default False
        True: use the largest threshold over a confidence region of the target's class
        proportions: finite-sample coverage of at least 1 - alpha - delta, whichever
        estimator's rows they are, the calibration rows included. (If a region of the
        weights is given, over that.)
        "directional": bound, for each label, only the combination of the weights that
        its threshold depends on. Coverage of at least 1 - alpha - delta in the limit,
        with sets that are nearly those of known weights.
    delta : float, default 0.01
        Probability that the region misses the true weights, or that a label's bound
        fails. A region of your own that carries a ``delta`` keeps it; of one that does
        not, this is the level that you declare it to have.
    independent : bool, default False
        Declare that the weights were estimated on rows independent of these and of the
        new rows. The summary then states what their error can cost; directional sets
        with `confidence` are smaller.
    score, randomized, never_empty, classes, rng, ids
        As in `split_conformal`.
    confidence : float, optional
        With a number such as 0.95: coverage of at least 1 - alpha with that
        probability over the calibration draw and, with estimated weights, over the rows
        that these are from.
    groups : array_like (n,), optional
        Each row's group, such as a hospital: every group is then calibrated by itself,
        with the same weights, and `predict` needs the new rows' groups. Not with
        `independent`, and not with ``robust="directional"``.
    progress : bool, default False
        Show a bar over the classes where thresholds are searched one by one: with a
        `Polytope` of yours and many classes every step is a linear program.

    Returns
    -------
    LabelShiftConformalResult
        With ``.label_weight`` and ``.ess``, the effective sample size. With `groups` a
        `GroupedConformalResult`, which holds one for each.

    Notes
    -----
    Class y's threshold is the level-(1 - alpha) quantile of the calibration scores,
    each with its label's weight w(Y_i), and the weight w(y) at +inf. What is
    guaranteed:

    - known weights: coverage >= 1 - alpha in finite samples (Theorem 2 of [1]_, an
      instance of [2]_);
    - estimated weights: in the limit (Corollary 1, without its no-jump assumption), or
      with ``independent=True`` at least 1 - alpha - TV(q_hat, q), with the total
      variation bounded from counted predictions at every sample size;
    - ``robust=True``: coverage >= 1 - alpha - delta with estimated weights. From the
      predicted classes, the target's proportions are below caps with probability
      1 - delta; taken is the largest threshold over all proportions below them. It
      needs label shift, and nothing of the classifier;
    - ``robust="directional"``: the same in the limit. A label's threshold depends on
      the weights through the sign of one linear combination of them, and a bound of
      that one at level 1 - delta is enough: no union over weights, thresholds or
      labels. The estimate is that of moment equations for all methods, so that nothing
      need be calibrated; for RLLS it is the unregularised one.

    With `confidence` and known weights the threshold is the same for all classes: by
    rejection sampling and a PAC rank or, if both priors are known (`label_weights`), by
    a Clopper-Pearson bound in each class. Which is decided in advance, by n and priors:
    rejection is right on average over the labels' counts, and chosen by the counts at
    hand it would be chosen where it fails. So the priors must not be taken from these
    labels. With estimated weights it is one for all target priors below caps, one for
    each class that leaves out a common share of its rows, or one for each class by
    itself: that which covers the fewest calibration rows, since all hold at once (PAC
    sets with estimated weights are due to [3]_, by another way). In the limit,
    ``robust="directional"`` bounds the share of the target that a threshold leaves out,
    and has no use for `delta`. ``robust=True`` and `confidence` do not combine: the one
    speaks of coverage on average over calibration draws, the other of the calibration
    draw at hand.

    References
    ----------
    .. [1] Podkopaev and Ramdas (2021), "Distribution-free uncertainty quantification
       for classification under label shift", UAI. Eq. (8)-(9), Theorem 2, Corollary 1.
    .. [2] Tibshirani, Barber, Candes and Ramdas (2019), "Conformal prediction under
       covariate shift", NeurIPS: weighted exchangeability.
    .. [3] Si, Park, Lee, Dobriban and Bastani (2024), "PAC prediction sets under label
       shift", ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet([2, 1, 1], size=500)
    >>> labels = [rng.choice(3, p=row) for row in probs]
    >>> fit = dfu.label_shift_conformal(probs, labels, [0.4, 1.0, 2.0], rng=1)
    >>> fit
    <LabelShiftConformalResult aps alpha=0.1 n=500 K=3>
    >>> fit.guarantee.lower
    0.9
    """
    args = Arguments("label_shift_conformal")
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
    alpha = args.alpha(alpha)
    robust = _read_robust(args, robust)
    delta = args.probability(delta, "delta")
    independent = args.flag(independent, "independent")
    progress = args.flag(progress, "progress")
    confidence = calibration.read_confidence(args, confidence)
    if robust is True and confidence is not None:
        must = (
            "None with robust=True, which speaks of coverage on average over "
            "calibration draws and not of the draw at hand"
        )
        args.invalid("confidence", must, f"{confidence:g}")

    if independent and groups is not None:
        must = (
            "None with independent=True, whose statement is about the class "
            "proportions of all rows and not of a group"
        )
        args.invalid("groups", must, "groups")
    if robust == "directional" and groups is not None:
        must = (
            "None with robust='directional', whose bounds are about the rows of all "
            "groups together"
        )
        args.invalid("groups", must, "groups")

    if label_weight is None:
        must = "weights of the classes, or what bbse, rlls or mlls returned"
        args.invalid("label_weight", must, "None")
    estimate = label_weight if isinstance(label_weight, LabelShiftResult) else None
    if estimate is not None and tuple(estimate.classes) != tuple(calibration.classes):
        must = f"for the classes {listed(calibration.classes)}"
        args.invalid("label_weight", must, f"weights for {listed(estimate.classes)}")
    if robust == "directional":
        if estimate is None or estimate.known:
            must = "what bbse, rlls or mlls returned, with robust='directional'"
            args.invalid("label_weight", must, _kind(label_weight))
        if confidence is not None:
            return fit_directional_pac(
                calibration, estimate, alpha, confidence, independent
            )
        return fit_label_shift_directional(calibration, estimate, alpha, delta)
    if robust and estimate is not None and not estimate.known and groups is None:
        return fit_label_shift_capped(calibration, estimate, alpha, delta)
    if robust:
        region = _read_region(args, label_weight, len(calibration.classes), delta)
        if groups is not None:
            return fit_by_group(
                args,
                groups,
                calibration,
                lambda part, _: fit_label_shift_union(
                    part, region, estimate, alpha, delta, progress=progress
                ),
                alpha=alpha,
                union=guarantees.region_in_words(region, estimate, delta),
            )
        return fit_label_shift_union(
            calibration, region, estimate, alpha, delta, progress=progress
        )
    if isinstance(label_weight, Box | Polytope):
        must = "weights; a region of them serves with robust=True"
        args.invalid("label_weight", must, repr(label_weight))
    if confidence is not None and estimate is not None and not estimate.known:
        if groups is not None:
            must = "None with estimated weights and confidence"
            args.invalid("groups", must, "groups")
        return fit_capped_pac(calibration, estimate, alpha, confidence)
    given = identified_weights(args, label_weight)
    weights = args.label_weights(given, calibration.classes, calibration.labels)
    if confidence is not None:
        generator = stream(rng, "thin", args.caller)
        if groups is None:
            return fit_label_shift_pac(
                calibration, weights, estimate, alpha, confidence, generator
            )
    if groups is not None:
        # the priors of all rows are not those of a group, but the weights are
        return fit_by_group(
            args,
            groups,
            calibration,
            lambda part, share: (
                fit_label_shift(part, weights, estimate, alpha, None)
                if share is None
                else fit_label_shift_pac(part, weights, None, alpha, share, generator)
            ),
            alpha=alpha,
            confidence=confidence,
        )
    delta_if_independent = delta if independent else None
    return fit_label_shift(calibration, weights, estimate, alpha, delta_if_independent)


def _read_robust(args: Arguments, given: Any) -> bool | Literal["directional"]:
    if isinstance(given, str) and given == "directional":
        return "directional"
    if not isinstance(given, bool | np.bool_):
        args.invalid("robust", "True, False or 'directional'", describe(given))
    return bool(given)


def _read_region(
    args: Arguments, given: Any, n_classes: int, delta: float
) -> Box | Polytope:
    """Return the region of the weights: the estimate's, or the given one."""
    must = "what bbse, rlls or mlls returned, or a region, with robust=True"
    region: Box | Polytope
    if isinstance(given, LabelShiftResult) and not given.known:
        region = given.region(delta)
    elif isinstance(given, Box | Polytope):
        region = given
    else:
        args.invalid("label_weight", must, _kind(given))
    if region.n_classes != n_classes:
        args.invalid("label_weight", f"for {n_classes} classes", f"{region.n_classes}")
    return region


def _kind(given: Any) -> str:
    """Return what was given in place of estimated weights."""
    if isinstance(given, LabelShiftResult):
        return "known weights, which need no region"
    if isinstance(given, Box | Polytope):
        return "a region"
    return "an array of weights"
