"""Conformal prediction under label shift: thresholds by class (paper A, eq. 8-9)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    FloatArray,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._base.persistence import register
from distfreeuq._base.random_streams import stream
from distfreeuq._base.stored_state import check_floats, check_indices, check_integers
from distfreeuq.conformal import guarantees as claims
from distfreeuq.conformal.data import (
    CalibrationScores,
    calibration_scores,
    name_some,
    warn_small,
)
from distfreeuq.conformal.nonconformity import NestedScore
from distfreeuq.conformal.p_values import weighted_p_values
from distfreeuq.conformal.results import ConformalResult
from distfreeuq.conformal.stratified import expected_excess, stratified_pac_threshold
from distfreeuq.conformal.thinning import thinned_pac_threshold
from distfreeuq.conformal.thresholds import label_shift_thresholds
from distfreeuq.conformal.union import union_thresholds
from distfreeuq.density_ratios.diagnostics import effective_sample_size
from distfreeuq.exceptions import DistFreeWarning
from distfreeuq.guarantees import Guarantee
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.results import LabelShiftResult
from distfreeuq.results import read_only

if TYPE_CHECKING:
    import pandas as pd


@register("label-shift-conformal")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LabelShiftConformalResult(ConformalResult):
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

    def _validate_state(self) -> None:
        ConformalResult._validate_state(self)
        check_integers(self, score_labels=(self.n,))
        check_indices(self.score_labels, "score_labels", len(self.classes))
        if self.label_weight is not None:
            check_floats(self, label_weight=(len(self.classes),))

    def _p_values_of(self, scores: FloatMatrix) -> FloatMatrix:
        if self.label_weight is None or self.robust:
            Arguments(f"{type(self).__name__}.p_values").invalid(
                "robust", "False in the fit: union sets have no p-values", "True"
            )
        finite = np.where(np.isinf(self.label_weight), 0.0, self.label_weight)
        return weighted_p_values(
            scores, self.scores, finite[self.score_labels], self.label_weight
        )

    def _facts(self) -> list[tuple[str, str]]:
        weights = (
            self.weights_from
            if self.weights_from == "known"
            else (f"{self.weights_from}, {'region' if self.robust else 'estimated'}")
        )
        facts = [("Weights", weights)]
        if self.ess is not None:
            facts.append(("Effective sample size", f"{self.ess:.1f}"))
        if self.pac_method is not None:
            facts.append(("Threshold by", self.pac_method))
        return facts

    def to_frame(self) -> pd.DataFrame:
        """Return a row per class: rows, weight, threshold, if always in the set."""
        frame = ConformalResult.to_frame(self)
        if self.label_weight is not None:
            frame.insert(2, "weight", self.label_weight)
        return frame


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
) -> LabelShiftConformalResult:
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
        Probability that the region misses the true weights.
    independent : bool, default False
        Declare that the weights were estimated on rows independent of these and of the
        new rows. The summary then states what their error can cost.
    score, randomized, never_empty, classes, rng
        As in `split_conformal`.
    confidence : float, optional
        With a number such as 0.95 and *known* weights: coverage of at least 1 - alpha
        with that probability over the calibration draw.

    Returns
    -------
    LabelShiftConformalResult
        With ``.label_weight`` and ``.ess``, the effective sample size.

    Notes
    -----
    Class y's threshold is the level-(1 - alpha) quantile of the calibration scores,
    each with its label's weight w(Y_i), and the weight w(y) at +inf. What is
    guaranteed:

    - known weights: coverage >= 1 - alpha in finite samples (paper A, Thm 2);
    - estimated weights: in the limit (Cor. 1; its no-jump assumption is not needed), or
      with ``independent=True`` at least 1 - alpha - TV(q_hat, q) with the total
      variation bounded from the region of the weights;
    - ``robust=True``: coverage >= 1 - alpha - delta with estimated weights. The true
      weights lie in the region with probability 1 - delta, and then the union sets
      contain those of the true weights.

    With `confidence` the threshold is the same for all classes: by rejection sampling
    and a PAC rank or, if the target prior itself is known (`label_weights`), by a
    Clopper-Pearson bound in each class; which of the two is decided by the counts and
    weights alone. `robust` and `confidence` do not combine: the one speaks of coverage
    on average over calibration draws, the other of the calibration draw at hand.

    References
    ----------
    .. [A] Podkopaev and Ramdas (2021), UAI. Eq. (8)-(9), Theorem 2, Corollary 1.

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
    )
    level = args.alpha(alpha)
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

    estimate = label_weight if isinstance(label_weight, LabelShiftResult) else None
    if estimate is not None and tuple(estimate.classes) != tuple(calibration.classes):
        must = f"for the classes {list(calibration.classes)[:8]}"
        args.invalid("label_weight", must, f"weights for {list(estimate.classes)[:8]}")
    if robust:
        return _robust(args, calibration, label_weight, level, delta)
    if isinstance(label_weight, Box | Polytope):
        must = "weights; a region of them serves with robust=True"
        args.invalid("label_weight", must, repr(label_weight))

    known = estimate is None or estimate.known
    given: Any = label_weight if estimate is None else estimate.label_weight
    weights = args.label_weights(given, len(calibration.classes), calibration.labels)
    finite = np.where(np.isinf(weights), 0.0, weights)
    row_weights = finite[calibration.labels]
    pac_method = None
    if confidence is not None:
        if not known:
            must = (
                "None with estimated weights: no theorem gives coverage for the draw "
                "at hand. label_conditional_conformal has it under any label shift"
            )
            args.invalid("confidence", must, f"{confidence:g}")
        prior = None if estimate is None else estimate.target_prior
        threshold, pac_method = _pac_threshold(
            calibration,
            finite,
            prior,
            level,
            1.0 - confidence,
            stream(rng, "thin", args.caller),
        )
        thresholds = np.where(np.isinf(weights), np.inf, threshold)
        guarantee: Guarantee = claims.given_calibration(level, confidence, pac_method)
    else:
        thresholds = label_shift_thresholds(
            calibration.scores, calibration.labels, weights, level
        )
        if known:
            guarantee = claims.known_weights(calibration, weights, level)
        elif independent:
            assert estimate is not None
            guarantee = claims.independent_weights(estimate, level, delta)
        else:
            guarantee = claims.estimated_weights(level)
    _warn_infinite(calibration, thresholds, weights, level, pac_method)

    return LabelShiftConformalResult(
        title="Label-shift conformal prediction sets",
        thresholds=read_only(thresholds),
        alpha=level,
        confidence=confidence,
        guarantee=guarantee,
        further=(),
        label_weight=read_only(weights),
        weights_from="known" if estimate is None else estimate.method,
        robust=False,
        score_labels=read_only(calibration.labels),
        ess=effective_sample_size(row_weights),
        pac_method=pac_method,
        **calibration.fields(),
    )


def _robust(
    args: Arguments,
    calibration: CalibrationScores,
    given: Any,
    alpha: float,
    delta: float,
) -> LabelShiftConformalResult:
    """Return the union sets over the region of the weights."""
    must = "what bbse, rlls or mlls returned, or a region, with robust=True"
    source: str
    if isinstance(given, LabelShiftResult):
        if given.known:
            args.invalid("label_weight", must, "known weights, which need no region")
        region, source = given.region(delta), given.method
    elif isinstance(given, Box | Polytope):
        region, source = given, "given region"
    else:
        args.invalid("label_weight", must, "an array of weights")
    n_classes = len(calibration.classes)
    if region.n_classes != n_classes:
        args.invalid("label_weight", f"for {n_classes} classes", f"{region.n_classes}")

    if region.is_empty:
        thresholds = np.full(n_classes, np.inf)
        warnings.warn(
            f"no weights are compatible with the data at delta={delta:g}: label shift "
            "is contradicted, and every set will hold every label.",
            DistFreeWarning,
            stacklevel=3,
        )
    else:
        thresholds = union_thresholds(
            calibration.scores, calibration.labels, region, alpha
        )
        _warn_infinite(calibration, thresholds, None, alpha, None)
    plug_in = None
    if isinstance(given, LabelShiftResult) and not given.singular:
        plug_in = read_only(np.asarray(given.label_weight))
    return LabelShiftConformalResult(
        title="Label-shift conformal prediction sets, robust",
        thresholds=read_only(thresholds),
        alpha=alpha,
        confidence=None,
        guarantee=claims.union(region.finite_sample, alpha, delta),
        further=(),
        label_weight=plug_in,
        weights_from=source,
        robust=True,
        score_labels=read_only(calibration.labels),
        ess=None
        if plug_in is None
        else effective_sample_size(plug_in[calibration.labels]),
        pac_method=None,
        **calibration.fields(),
    )


def _pac_threshold(
    calibration: CalibrationScores,
    weights: FloatArray,
    target_prior: FloatArray | None,
    alpha: float,
    delta: float,
    generator: np.random.Generator,
) -> tuple[float, str]:
    """Return a training-conditional threshold and how it was found.

    Rejection or stratification: chosen by the counts and weights, never by the scores.
    """
    bound = float(weights.max())
    expected = int(calibration.counts @ weights / bound)
    rank = bounds.pac_rank(expected, alpha, delta)
    by_rejection = np.inf if rank > expected else rank / (expected + 1) - (1.0 - alpha)
    by_class = np.inf
    if target_prior is not None:
        by_class = expected_excess(calibration.counts, target_prior, alpha, delta)
    if by_class < by_rejection:
        assert target_prior is not None
        threshold = stratified_pac_threshold(
            calibration.scores, calibration.labels, target_prior, alpha, delta
        )
        return threshold, "class-wise bounds"
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
    """Warn of classes that are in every set for want of data."""
    always = np.isinf(thresholds)
    if weights is not None:
        always &= np.isfinite(weights)  # an infinite weight asks for it
    if not always.any():
        return
    named = name_some(calibration.classes, np.flatnonzero(always))
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
