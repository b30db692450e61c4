"""Label-shift conformal sets: thresholds by class, and what they were made of."""

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
from distfreeuq._numerics.sample_weights import effective_sample_size
from distfreeuq.conformal.data import CalibrationScores, warn_small
from distfreeuq.conformal.p_values import weighted_p_values
from distfreeuq.conformal.results import (
    FIT_ANEW,
    ClassThresholdResult,
    ConformalResult,
)
from distfreeuq.conformal.thresholds import (
    label_shift_thresholds,
)
from distfreeuq.conformal.under_label_shift import guarantees
from distfreeuq.conformal.under_label_shift.summary import in_finite_samples
from distfreeuq.guarantees import Guarantee, NoGuarantee
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
    score_labels : ndarray (n,) or None
        The labels of `scores`, as column numbers; None where those are.
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
    score_labels: IntArray | None
    ess: float | None
    pac_method: str | None

    _state: ClassVar[State] = {
        "label_weight": maybe(floats("K", low=0.0, nan=False)),
        "weights_from": text(),
        "robust": flag_or_text("directional", "combined"),
        "score_labels": maybe(integers("n", below="K")),
        "ess": maybe(real(0.0, nan=True, finite=False)),
        "pac_method": maybe(text()),
    }
    _of_rows: ClassVar[tuple[str, ...]] = ("score_labels",)

    def _validate_state(self) -> None:
        ConformalResult._validate_state(self)
        if self.score_labels is None:
            return
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
        labels = self._kept_labels(self.score_labels, "at")
        calibration = self._calibration(labels)
        if self.weights_from == "known":
            known = guarantees.known_weights(calibration, self.label_weight, level)
            claim = calibration.needing_seed(known)
        elif isinstance(claim, Guarantee):
            claim = guarantees.in_the_limit(claim, level)
        thresholds = label_shift_thresholds(
            calibration.scores, labels, self.label_weight, level
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
        own = self._kept_scores("p_values")
        labels = self._kept_labels(self.score_labels, "p_values")
        row_weights = finite_weights(self.label_weight)[labels]
        return weighted_p_values(scores, own, row_weights, self.label_weight)

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
        return in_finite_samples(
            self.class_counts, self.classes, self.alpha, robust_too
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a row per class: rows, weight, threshold, if always in the set."""
        frame = ConformalResult.to_frame(self)
        if self.label_weight is not None:
            frame.insert(2, "weight", self.label_weight)
        return frame


_TITLES: dict[bool | str, str] = {
    False: "",
    True: ", robust",
    "directional": ", directional",
    "combined": ", combined",
}


def label_shift_result(
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
    """Return the result with these thresholds; what it needs of the rows is theirs."""
    ess = None
    if weights is not None:
        ess = effective_sample_size(finite_weights(weights), calibration.counts)
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


def finite_weights(weights: FloatArray) -> FloatArray:
    """Return the weights of the calibration rows: an infinite one has no rows."""
    return np.where(np.isinf(weights), 0.0, weights)


def warn_infinite(
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
    if weights is not None and not (finite_weights(weights) > 0.0).any():
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


def _rows_enough(weights: FloatArray, largest: float, alpha: float) -> float:
    """Return how many rows of these weights a class of the largest weight needs."""
    scale = max(largest, float(weights.max(initial=0.0)))
    mean = float((weights / scale).mean()) if weights.size else 0.0
    return (largest / scale) * (1.0 - alpha) / alpha / mean if mean > 0 else math.inf
