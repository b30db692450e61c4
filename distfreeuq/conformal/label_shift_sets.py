"""Conformal prediction under label shift: thresholds by class from weighted scores."""

from __future__ import annotations

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
)
from distfreeuq._base.arrays import listed, read_only
from distfreeuq._base.class_labels import name_classes
from distfreeuq._base.persistence import register
from distfreeuq._base.random_streams import stream
from distfreeuq._base.stored_state import (
    State,
    flag,
    floats,
    integers,
    maybe,
    real,
    require,
    text,
)
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._numerics.sample_weights import effective_sample_size
from distfreeuq.conformal import guarantees
from distfreeuq.conformal.by_group.results import GroupedConformalResult, fit_by_group
from distfreeuq.conformal.data import (
    CalibrationScores,
    calibration_scores,
    warn_small,
)
from distfreeuq.conformal.nonconformity import NestedScore
from distfreeuq.conformal.p_values import weighted_p_values
from distfreeuq.conformal.results import ClassThresholdResult, ConformalResult
from distfreeuq.conformal.thresholds import (
    label_shift_thresholds,
    pac_method,
    stratified_pac_threshold,
    thinned_pac_threshold,
    union_thresholds,
)
from distfreeuq.exceptions import DistFreeWarning
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.results import LabelShiftResult

if TYPE_CHECKING:
    import pandas as pd


@register("label-shift-conformal")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LabelShiftConformalResult(ClassThresholdResult):
    """Label-shift conformal sets.

    Attributes
    ----------
    label_weight : ndarray (K,) or None
        The weights; None where only a region of them was used.
    weights_from : str
        "known", or the estimator.
    robust : bool
        Whether thresholds are the largest over a confidence region of the weights.
    score_labels : ndarray (n,)
        The labels of `scores`, as column numbers.
    ess : float or None
        Effective sample size (sum w)^2 / sum w^2 of the weighted calibration rows.
    pac_method : str or None
        With `confidence`: how the threshold was found.

    The other attributes are those of every `ConformalResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs, labels = [[0.8, 0.2], [0.3, 0.7]] * 30, [0, 1] * 30
    >>> fit = dfu.label_shift_conformal(probs, labels, [0.5, 1.5], score="lac")
    >>> fit.weights_from, fit.ess, fit.thresholds.round(2).tolist()
    ('known', 48.0, [0.3, 0.3])
    """

    label_weight: FloatArray | None
    weights_from: str
    robust: bool
    score_labels: IntArray
    ess: float | None
    pac_method: str | None

    _state: ClassVar[State] = {
        "label_weight": maybe(floats("K", low=0.0, nan=False)),
        "weights_from": text(),
        "robust": flag(),
        "score_labels": integers("n", below="K"),
        "ess": maybe(real(0.0, nan=True, finite=False)),
        "pac_method": maybe(text()),
    }

    def _validate_state(self) -> None:
        ConformalResult._validate_state(self)
        counts = np.bincount(self.score_labels, minlength=len(self.classes))
        require(np.array_equal(counts, self.class_counts), "labels that were counted")

    def _p_values_of(self, scores: FloatMatrix) -> FloatMatrix:
        if self.label_weight is None or self.robust:
            Arguments(f"{type(self).__name__}.p_values").invalid(
                "robust", "False in the fit: union sets have no p-values", "True"
            )
        row_weights = _finite(self.label_weight)[self.score_labels]
        return weighted_p_values(scores, self.scores, row_weights, self.label_weight)

    def _facts(self) -> list[tuple[str, str]]:
        weights = self.weights_from
        if weights not in ("known", "given region"):
            weights += ", region" if self.robust else ", estimated"
        facts = [("Weights", weights)]
        if self.ess is not None:
            facts.append(("Effective sample size", f"{self.ess:.1f}"))
        if self.pac_method is not None:
            facts.append(("Threshold by", self.pac_method))
        return facts

    def _advice(self) -> str | None:
        claim = self.guarantee
        if isinstance(claim, Guarantee) and claim.finite_sample:
            return None
        assert isinstance(self.alpha, float)
        robust_too = not self.robust and self.weights_from != "MLLS"
        return guarantees.in_finite_samples(
            self.class_counts, self.classes, self.alpha, robust_too
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a row per class: rows, weight, threshold, if always in the set."""
        frame = ConformalResult.to_frame(self)
        if self.label_weight is not None:
            frame.insert(2, "weight", self.label_weight)
        return frame


@overload
def label_shift_conformal(
    probs: ArrayLike,
    labels: ArrayLike,
    label_weight: ArrayLike | LabelShiftResult | Box | Polytope,
    *,
    alpha: float = ...,
    robust: bool = ...,
    delta: float = ...,
    independent: bool = ...,
    score: str | NestedScore = ...,
    randomized: bool = ...,
    never_empty: bool = ...,
    confidence: float | None = ...,
    classes: ArrayLike | None = ...,
    rng: RandomState = ...,
    ids: ArrayLike | None = ...,
    groups: None = ...,
) -> LabelShiftConformalResult: ...


@overload
def label_shift_conformal(
    probs: ArrayLike,
    labels: ArrayLike,
    label_weight: ArrayLike | LabelShiftResult | Box | Polytope,
    *,
    alpha: float = ...,
    robust: bool = ...,
    delta: float = ...,
    independent: bool = ...,
    score: str | NestedScore = ...,
    randomized: bool = ...,
    never_empty: bool = ...,
    confidence: float | None = ...,
    classes: ArrayLike | None = ...,
    rng: RandomState = ...,
    ids: ArrayLike | None = ...,
    groups: ArrayLike,
) -> GroupedConformalResult: ...


def label_shift_conformal(
    probs: ArrayLike,
    labels: ArrayLike,
    label_weight: ArrayLike | LabelShiftResult | Box | Polytope,
    *,
    alpha: float = 0.1,
    robust: bool = False,
    delta: float = 0.01,
    independent: bool = False,
    score: str | NestedScore = "aps",
    randomized: bool = True,
    never_empty: bool = False,
    confidence: float | None = None,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
    ids: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> LabelShiftConformalResult | GroupedConformalResult:
    """Prediction sets that cover 1 - alpha of the *target* rows under label shift.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        A classifier's probabilities on source rows that it was not fitted on.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`.
    label_weight : array_like (K,), LabelShiftResult, Box or Polytope
        w = q/p, the target's class proportions over the source's, up to scale: known
        numbers, or what `bbse`, `rlls`, `mlls` or `label_weights` returned. Zero:
        absent from the target. +inf: absent from the source, and then in every set. A
        region serves with ``robust=True``.
    alpha : float, default 0.1
        Miscoverage level in (0, 1).
    robust : bool, default False
        Use the largest threshold over a confidence region of the estimated weights:
        finite-sample coverage of at least 1 - alpha - delta (for regions that hold in
        finite samples), even if the weights come from the same rows.
    delta : float, default 0.01
        Probability that the region misses the true weights. A region of your own that
        carries a ``delta`` keeps it; of one that does not, this is the level that you
        declare it to have.
    independent : bool, default False
        Declare that the weights were estimated on rows independent of these and of the
        new rows. The summary then states what their error can cost.
    score, randomized, never_empty, classes, rng, ids
        As in `split_conformal`.
    confidence : float, optional
        With a number such as 0.95 and *known* weights: coverage of at least 1 - alpha
        with that probability over the calibration draw.
    groups : array_like (n,), optional
        Each row's group, such as a hospital: every group is then calibrated by itself,
        with the same weights, and `predict` needs the new rows' groups. Not with
        `independent`.

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
      with ``independent=True`` at least 1 - alpha - TV(q_hat, q) with the total
      variation bounded from the region of the weights;
    - ``robust=True``: coverage >= 1 - alpha - delta with estimated weights. The true
      weights lie in the region with probability 1 - delta, and then the union sets
      contain those of the true weights.

    With `confidence` the threshold is the same for all classes: by rejection sampling
    and a PAC rank or, if both priors are known (`label_weights`), by a Clopper-Pearson
    bound in each class. Which of the two is decided in advance, by n and the priors:
    rejection is right on average over the labels' counts, and chosen by the counts at
    hand it would be chosen where it fails. So the priors must not be taken from these
    labels. `robust` and `confidence` do not combine: the one speaks of coverage on
    average over calibration draws, the other of the calibration draw at hand.

    References
    ----------
    .. [1] Podkopaev and Ramdas (2021), "Distribution-free uncertainty quantification
       for classification under label shift", UAI. Eq. (8)-(9), Theorem 2, Corollary 1.
    .. [2] Tibshirani, Barber, Candes and Ramdas (2019), "Conformal prediction under
       covariate shift", NeurIPS: weighted exchangeability.

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
    robust = args.flag(robust, "robust")
    delta = args.probability(delta, "delta")
    independent = args.flag(independent, "independent")
    if confidence is not None:
        confidence = args.probability(confidence, "confidence")
    if robust and confidence is not None:
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

    estimate = label_weight if isinstance(label_weight, LabelShiftResult) else None
    if estimate is not None and tuple(estimate.classes) != tuple(calibration.classes):
        must = f"for the classes {listed(calibration.classes)}"
        args.invalid("label_weight", must, f"weights for {listed(estimate.classes)}")
    if robust:
        region = _read_region(args, label_weight, len(calibration.classes), delta)
        if groups is not None:
            return fit_by_group(
                args,
                groups,
                calibration,
                lambda part, _: fit_label_shift_union(
                    part, region, estimate, alpha, delta
                ),
                alpha=alpha,
                new_row="a new target row",
                union=guarantees.region_in_words(region, estimate, delta),
            )
        return fit_label_shift_union(calibration, region, estimate, alpha, delta)
    if isinstance(label_weight, Box | Polytope):
        must = "weights; a region of them serves with robust=True"
        args.invalid("label_weight", must, repr(label_weight))
    given: Any = label_weight if estimate is None else estimate.label_weight
    weights = args.label_weights(given, len(calibration.classes), calibration.labels)
    if confidence is not None:
        if estimate is not None and not estimate.known:
            must = (
                "None with estimated weights: no theorem gives coverage for the draw "
                "at hand. label_conditional_conformal has it under any label shift"
            )
            args.invalid("confidence", must, f"{confidence:g}")
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
            new_row="a new target row",
        )
    delta_if_independent = delta if independent else None
    return fit_label_shift(calibration, weights, estimate, alpha, delta_if_independent)


def _read_region(
    args: Arguments, given: Any, n_classes: int, delta: float
) -> Box | Polytope:
    """Return the region of the weights: the estimate's, or the given one."""
    must = "what bbse, rlls or mlls returned, or a region, with robust=True"
    region: Box | Polytope
    if isinstance(given, LabelShiftResult):
        if given.known:
            args.invalid("label_weight", must, "known weights, which need no region")
        region = given.region(delta)
    elif isinstance(given, Box | Polytope):
        region = given
    else:
        args.invalid("label_weight", must, "an array of weights")
    if region.n_classes != n_classes:
        args.invalid("label_weight", f"for {n_classes} classes", f"{region.n_classes}")
    return region


def fit_label_shift(
    calibration: CalibrationScores,
    weights: FloatArray,
    estimate: LabelShiftResult | None,
    alpha: float,
    delta: float | None,
) -> LabelShiftConformalResult:
    """Return the sets of these weights.

    Parameters
    ----------
    calibration : CalibrationScores
    weights : ndarray (K,)
    estimate : LabelShiftResult or None
        Where the weights are from; None if they were given as numbers.
    alpha : float
    delta : float or None
        A number if the weights were estimated on independent rows: the probability
        with which the bound on their error may fail.
    """
    thresholds = label_shift_thresholds(
        calibration.scores, calibration.labels, weights, alpha
    )
    guarantee: Guarantee | NoGuarantee
    if estimate is None or estimate.known:
        guarantee = guarantees.known_weights(calibration, weights, alpha)
    elif delta is not None:
        guarantee = guarantees.independent_weights(estimate, alpha, delta)
    else:
        guarantee = guarantees.estimated_weights(estimate, alpha)
    _warn_infinite(calibration, thresholds, weights, alpha, None)
    return _result(calibration, thresholds, guarantee, alpha, weights, estimate)


def fit_label_shift_pac(
    calibration: CalibrationScores,
    weights: FloatArray,
    estimate: LabelShiftResult | None,
    alpha: float,
    confidence: float,
    generator: np.random.Generator,
) -> LabelShiftConformalResult:
    """Return the training-conditional sets of known weights.

    `estimate` holds the priors, if they are known and not only the weights.
    """
    threshold, method = _pac_threshold(
        calibration, _finite(weights), estimate, alpha, 1.0 - confidence, generator
    )
    thresholds = np.where(np.isinf(weights), np.inf, threshold)
    guarantee = guarantees.label_shift_given_calibration(alpha, confidence, method)
    _warn_infinite(calibration, thresholds, weights, alpha, method)
    return _result(
        calibration,
        thresholds,
        guarantee,
        alpha,
        weights,
        estimate,
        confidence=confidence,
        pac_method=method,
    )


def fit_label_shift_union(
    calibration: CalibrationScores,
    region: Box | Polytope,
    estimate: LabelShiftResult | None,
    alpha: float,
    delta: float,
) -> LabelShiftConformalResult:
    """Return the union sets over a region of the weights.

    `estimate` is where the region is from, None if it was given; then `delta` is its
    level if it carries none of its own.
    """
    delta = delta if region.delta is None else region.delta
    if region.is_empty:
        thresholds = np.full(len(calibration.classes), np.inf)
        warn_user(
            f"no weights are compatible with the data at delta={delta:g}: label shift "
            "is contradicted, and every set will hold every label.",
            DistFreeWarning,
        )
    else:
        thresholds = union_thresholds(
            calibration.scores, calibration.labels, region, alpha
        )
        _warn_infinite(calibration, thresholds, None, alpha, None)
    guarantee = guarantees.union(region, estimate, alpha, delta)
    plug_in = None
    if estimate is not None and not estimate.singular:
        plug_in = estimate.label_weight
    return _result(
        calibration, thresholds, guarantee, alpha, plug_in, estimate, robust=True
    )


def _result(
    calibration: CalibrationScores,
    thresholds: FloatArray,
    guarantee: Guarantee | NoGuarantee,
    alpha: float,
    weights: FloatArray | None,
    estimate: LabelShiftResult | None,
    *,
    robust: bool = False,
    confidence: float | None = None,
    pac_method: str | None = None,
) -> LabelShiftConformalResult:
    ess = None
    if weights is not None:
        ess = effective_sample_size(_finite(weights)[calibration.labels])
    if isinstance(guarantee, Guarantee):
        guarantee = calibration.needing_seed(guarantee)
    source = "given region" if robust else "known"
    if estimate is not None:
        source = estimate.method
    return LabelShiftConformalResult(
        title="Label-shift conformal prediction sets" + (", robust" if robust else ""),
        thresholds=read_only(thresholds),
        alpha=alpha,
        confidence=confidence,
        guarantee=guarantee,
        further=(),
        label_weight=None if weights is None else read_only(weights),
        weights_from=source,
        robust=robust,
        score_labels=read_only(calibration.labels),
        ess=ess,
        pac_method=pac_method,
        **calibration.fields(),
    )


def _finite(weights: FloatArray) -> FloatArray:
    """Return the weights of the calibration rows: an infinite one has no rows."""
    return np.where(np.isinf(weights), 0.0, weights)


def _pac_threshold(
    calibration: CalibrationScores,
    weights: FloatArray,
    priors: LabelShiftResult | None,
    alpha: float,
    delta: float,
    generator: np.random.Generator,
) -> tuple[float, str]:
    """Return a training-conditional threshold and how it was found.

    By rejection or, if the priors are known, by bounds in each class: the choice is
    made from n and the priors, and sees neither labels nor scores.
    """
    bound = float(weights.max())
    if bound == 0.0:  # no class of the source is in the target
        return np.inf, "no class in common"
    if priors is not None:
        # a class that the source lacks is in every set: the others have to be covered
        target_prior = np.where(weights > 0.0, priors.target_prior, 0.0)
        method = pac_method(
            calibration.n, weights, priors.source_prior, target_prior, alpha, delta
        )
        if method == "class-wise bounds":
            threshold = stratified_pac_threshold(
                calibration.scores, calibration.labels, target_prior, alpha, delta
            )
            return threshold, method
    threshold, _, kept = thinned_pac_threshold(
        calibration.scores,
        weights[calibration.labels],
        bound,
        alpha,
        delta,
        generator,
    )
    return threshold, f"rejection, {kept} kept"


def _warn_infinite(
    calibration: CalibrationScores,
    thresholds: FloatArray,
    weights: FloatArray | None,
    alpha: float,
    pac_method: str | None,
) -> None:
    """Warn of classes that are in every set because there are too few rows."""
    always = np.isinf(thresholds)
    if weights is not None:
        always &= np.isfinite(weights)  # with an infinite weight it is meant to be so
    if not always.any():
        return
    named = name_classes(calibration.classes, np.flatnonzero(always))
    if weights is not None and not (_finite(weights) > 0.0).any():
        warn_small(
            "the weights leave the target no class of the source, so that no "
            f"calibration row counts: every set will hold {named}."
        )
        return
    message = (
        f"too few calibration rows for alpha={alpha:g}: every set will hold {named}."
    )
    if weights is not None and pac_method is None:
        mean = float(weights[calibration.labels].mean()) if calibration.n else 0.0
        largest = float(weights[always].max())
        if mean > 0:
            enough = int(np.ceil(largest * (1.0 - alpha) / alpha / mean))
            message += f" About {enough} rows like these would be enough."
    warn_small(message)
