"""Label-shift conformal sets, fitted: by weights, by regions of them, by a draw."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.class_labels import name_classes
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    flag_or_text,
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
from distfreeuq.conformal.data import CalibrationScores, warn_small
from distfreeuq.conformal.p_values import weighted_p_values
from distfreeuq.conformal.pac_thresholds import (
    label_conditional_pac_thresholds,
    pac_method,
    stratified_pac_threshold,
    thinned_pac_threshold,
)
from distfreeuq.conformal.results import (
    FIT_ANEW,
    ClassThresholdResult,
    ConformalResult,
)
from distfreeuq.conformal.thresholds import (
    label_conditional_thresholds,
    label_shift_thresholds,
    union_thresholds,
)
from distfreeuq.conformal.under_label_shift.capped_priors import (
    capped_pac_threshold,
    capped_threshold,
)
from distfreeuq.conformal.under_label_shift.directional_search import (
    directional_thresholds,
)
from distfreeuq.exceptions import DistFreeWarning, IdentificationWarning
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.results import LabelShiftResult

if TYPE_CHECKING:
    import pandas as pd

# A number of rows that would be enough is told up to so many.
_MOST_ROWS = 1e15


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
    robust : bool, "directional" or "combined"
        True: thresholds are the largest over a confidence region of the weights.
        "directional": each label's has a bound of its own. "combined": the smaller
        one of that and a label-conditional one.
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
    robust: bool | str
    score_labels: IntArray
    ess: float | None
    pac_method: str | None

    _state: ClassVar[State] = {
        "label_weight": maybe(floats("K", low=0.0, nan=False)),
        "weights_from": text(),
        "robust": flag_or_text("directional", "combined"),
        "score_labels": integers("n", below="K"),
        "ess": maybe(real(0.0, nan=True, finite=False)),
        "pac_method": maybe(text()),
    }

    def _validate_state(self) -> None:
        ConformalResult._validate_state(self)
        counts = np.bincount(self.score_labels, minlength=len(self.classes))
        require(np.array_equal(counts, self.class_counts), "labels that were counted")

    def at(self, alpha: float) -> LabelShiftConformalResult:
        """Return the same fit at another level, as `ConformalResult.at`."""
        args = Arguments("LabelShiftConformalResult.at")
        level = args.alpha(alpha)
        if self.label_weight is None or self.robust or self.confidence is not None:
            args.invalid("alpha", FIT_ANEW, f"{level:g}")
        claim = self.guarantee
        if isinstance(claim, Guarantee) and claim.confidence is not None:
            must = "given to a fit of its own with independent=True"
            args.invalid("alpha", must, f"{level:g}")
        calibration = self._calibration(self.score_labels)
        if self.weights_from == "known":
            known = guarantees.known_weights(calibration, self.label_weight, level)
            claim = calibration.needing_seed(known)
        elif isinstance(claim, Guarantee):
            claim = guarantees.in_the_limit(claim, level)
        thresholds = label_shift_thresholds(
            self.scores, self.score_labels, self.label_weight, level
        )
        return replace(
            self, alpha=level, thresholds=read_only(thresholds), guarantee=claim
        )

    def _p_values_of(self, scores: FloatMatrix) -> FloatMatrix:
        if self.label_weight is None or self.robust:
            Arguments(f"{type(self).__name__}.p_values").invalid(
                "robust",
                "False in the fit: union and directional sets have no p-values",
                repr(self.robust),
            )
        row_weights = _finite(self.label_weight)[self.score_labels]
        return weighted_p_values(scores, self.scores, row_weights, self.label_weight)

    def _facts(self) -> list[tuple[str, str]]:
        weights = self.weights_from
        if weights not in ("known", "given region"):
            weights += ", region" if self.robust is True else ", estimated"
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
        robust_too = self.robust is not True
        return guarantees.in_finite_samples(
            self.class_counts, self.classes, self.alpha, robust_too
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a row per class: rows, weight, threshold, if always in the set."""
        frame = ConformalResult.to_frame(self)
        if self.label_weight is not None:
            frame.insert(2, "weight", self.label_weight)
        return frame


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


def fit_label_shift_capped(
    calibration: CalibrationScores,
    estimate: LabelShiftResult,
    alpha: float,
    delta: float,
) -> LabelShiftConformalResult:
    """Return sets for every target prior below caps of level 1 - delta."""
    caps = estimate._prior_caps(delta)
    threshold = capped_threshold(calibration.scores, calibration.labels, caps, alpha)
    thresholds = np.where(calibration.counts > 0, threshold, np.inf)
    _warn_infinite(calibration, thresholds, None, alpha, None)
    return _result(
        calibration,
        thresholds,
        guarantees.capped(estimate, alpha, delta),
        alpha,
        None if estimate.singular else estimate.label_weight,
        estimate,
        robust=True,
    )


def fit_capped_pac(
    calibration: CalibrationScores,
    estimate: LabelShiftResult,
    alpha: float,
    confidence: float,
) -> LabelShiftConformalResult:
    """Return the training-conditional sets of estimated weights.

    By one threshold for all priors below caps, or by a threshold for each class, each
    with half of what may fail: both hold at once, so that the choice may look at them.
    Taken is the one that covers fewer of the calibration rows, classes weighted by the
    caps.
    """
    delta = 1.0 - confidence
    scores, labels, counts = calibration.scores, calibration.labels, calibration.counts
    caps = estimate._prior_caps(delta / 4.0)
    threshold = capped_pac_threshold(scores, labels, caps, alpha, delta / 4.0)
    one = np.where(counts > 0, threshold, np.inf)
    by_class = label_conditional_pac_thresholds(
        scores, labels, counts, alpha, delta / 2.0
    )
    share = caps.high[labels] / np.maximum(counts[labels], 1)
    covered = [float(share[scores <= t[labels]].sum()) for t in (one, by_class)]
    take_one = covered[0] < covered[1]
    thresholds = one if take_one else by_class
    method = "capped priors" if take_one else "a threshold per class"
    _warn_infinite(calibration, thresholds, None, alpha, method)
    return _result(
        calibration,
        thresholds,
        guarantees.capped_given_calibration(estimate, alpha, confidence),
        alpha,
        None if estimate.singular else estimate.label_weight,
        estimate,
        confidence=confidence,
        pac_method=method,
    )


def fit_label_shift_directional(
    calibration: CalibrationScores,
    estimate: LabelShiftResult,
    alpha: float,
    delta: float,
) -> LabelShiftConformalResult:
    """Return sets with a bound on the estimated weights for each label by itself."""
    law = estimate._limit_law()
    thresholds = directional_thresholds(
        calibration.scores, calibration.labels, law, alpha, delta
    )
    unknown = np.flatnonzero(~law.told & (calibration.counts > 0))
    if unknown.size:
        named = name_classes(calibration.classes, unknown)
        warn_user(
            f"the weight of {named} is not identified, so that every set will hold "
            "every label. label_conditional_conformal needs no weights.",
            IdentificationWarning,
        )
    else:
        _warn_infinite(calibration, thresholds, None, alpha, None)
    return _result(
        calibration,
        thresholds,
        guarantees.directional(estimate, alpha, delta),
        alpha,
        None if estimate.singular else estimate.label_weight,
        estimate,
        robust="directional",
    )


def fit_label_shift_combined(
    calibration: CalibrationScores,
    estimate: LabelShiftResult,
    alpha: float,
    delta: float,
    share: float,
) -> LabelShiftConformalResult:
    """Return directional sets at share * alpha, cut to label-conditional ones.

    The latter have the rest of alpha: a label is in a set if it is in both.
    """
    scores, labels = calibration.scores, calibration.labels
    rest = (1.0 - share) * alpha
    n_classes = len(calibration.classes)
    by_class = label_conditional_thresholds(scores, labels, np.full(n_classes, rest))
    directional = directional_thresholds(
        scores, labels, estimate._limit_law(), share * alpha, delta
    )
    thresholds = np.minimum(by_class, directional)
    _warn_infinite(calibration, thresholds, None, alpha, None)
    return _result(
        calibration,
        thresholds,
        guarantees.combined(estimate, alpha, delta, rest),
        alpha,
        None if estimate.singular else estimate.label_weight,
        estimate,
        robust="combined",
    )


_TITLES: dict[bool | str, str] = {
    False: "",
    True: ", robust",
    "directional": ", directional",
    "combined": ", combined",
}


def _result(
    calibration: CalibrationScores,
    thresholds: FloatArray,
    guarantee: Guarantee | NoGuarantee,
    alpha: float,
    weights: FloatArray | None,
    estimate: LabelShiftResult | None,
    *,
    robust: bool | str = False,
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
        title="Label-shift conformal prediction sets" + _TITLES[robust],
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


def _rows_enough(weights: FloatArray, largest: float, alpha: float) -> float:
    """Return how many rows of these weights a class of the largest weight needs."""
    scale = max(largest, float(weights.max(initial=0.0)))
    mean = float((weights / scale).mean()) if weights.size else 0.0
    return (largest / scale) * (1.0 - alpha) / alpha / mean if mean > 0 else math.inf


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
        enough = _rows_enough(
            weights[calibration.labels], float(weights[always].max()), alpha
        )
        if enough < _MOST_ROWS:
            message += f" About {math.ceil(enough)} rows like these would be enough."
    warn_small(message)
