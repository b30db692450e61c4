"""Covariate-shift conformal sets, fitted: the new row's weight moves its threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.arguments import LARGEST, Arguments, UncheckedProbs
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix, RandomState
from distfreeuq._base.arrays import describe, read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    count,
    floats,
    masses,
    maybe,
    part_or_none,
    real,
)
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq._numerics.sample_weights import effective_sample_size
from distfreeuq.bounds import unchecked
from distfreeuq.conformal.data import (
    CalibrationScores,
    warn_small,
)
from distfreeuq.conformal.nonconformity import all_label_scores
from distfreeuq.conformal.p_values import weighted_p_values
from distfreeuq.conformal.pac_thresholds import thinned_pac_threshold
from distfreeuq.conformal.results import FIT_ANEW, ConformalResult
from distfreeuq.conformal.sets import PredictionSets
from distfreeuq.conformal.thresholds import covariate_shift_thresholds
from distfreeuq.conformal.under_covariate_shift import guarantees
from distfreeuq.density_ratios.results import (
    DensityRatioResult,
    weights_by_ratio,
)
from distfreeuq.guarantees import Guarantee


@register("covariate-shift-conformal")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CovariateShiftConformalResult(ConformalResult):
    """Weighted conformal sets: the threshold depends on the new row's own weight.

    `thresholds` are those of a new row whose weight is the calibration rows' mean.

    Attributes
    ----------
    sample_weight : ndarray (n,)
        Weights of the calibration rows, in the order of `scores`.
    ess : float
        Effective sample size (sum w)^2 / sum w^2.
    n_kept : int or None
        With `confidence`, the rows that rejection sampling kept. All new rows then have
        the same threshold, whatever their weights.
    ratio : DensityRatioResult or None
        What the weights were estimated by; it weights new rows by their features.

    The other attributes are those of every `ConformalResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs, labels = [[0.8, 0.2], [0.3, 0.7]] * 30, [0, 1] * 30
    >>> weights = [0.5, 1.5] * 30
    >>> fit = dfu.covariate_shift_conformal(probs, labels, weights, score="lac")
    >>> fit.ess, fit.threshold_for([0.5, 9.0]).round(2).tolist()
    (48.0, [0.3, inf])
    """

    _one_threshold_per_row: ClassVar[bool] = True

    sample_weight: FloatArray
    ess: float
    n_kept: int | None
    ratio: DensityRatioResult | None

    _state: ClassVar[State] = {
        "scores": floats("n", ascending=True),
        "sample_weight": masses("n"),
        "ess": real(0.0, nan=True, finite=False),
        "n_kept": maybe(count()),
        "ratio": part_or_none(DensityRatioResult),
    }

    def _why_rows(self) -> str:
        return "whose threshold for a new row is a quantile of all scores"

    def at(self, alpha: float) -> CovariateShiftConformalResult:
        """Return the same fit at another level, as `ConformalResult.at`."""
        args = Arguments("CovariateShiftConformalResult.at")
        level = args.alpha(alpha)
        if self.n_kept is not None:
            args.invalid("alpha", FIT_ANEW, f"{level:g}")
        labels = np.repeat(np.arange(len(self.classes)), self.class_counts)
        calibration = self._calibration(labels)
        return fit_covariate_shift(calibration, self.sample_weight, self.ratio, level)

    def threshold_for(
        self,
        sample_weight: ArrayLike | None = None,
        *,
        features: ArrayLike | None = None,
    ) -> FloatArray:
        """Threshold of new rows with these weights, shape (m,).

        +inf where the row's own weight exceeds its share: its set then holds every
        label.

        Parameters
        ----------
        sample_weight : array_like (m,)
            On the scale of the calibration rows' weights.
        features : array_like (m, d)
            In place of the weights, after a fit with a density ratio.
        """
        args = Arguments(f"{type(self).__name__}.threshold_for")
        if sample_weight is None or features is not None:
            weights = self._weights_by_features(args, sample_weight, features)
        else:
            must = "a non-negative finite number, or several"
            weights = args.numbers(
                sample_weight, "sample_weight", must, low=0.0, high=LARGEST
            )
        return self._thresholds_of(weights)

    @lazy
    def predict(
        self,
        probs: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        features: ArrayLike | None = None,
        rng: RandomState = None,
        uniforms: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> PredictionSets:
        """Prediction sets for new rows, by their weights or by their features.

        Parameters
        ----------
        probs : array_like (m, K)
            The same classifier's probabilities.
        sample_weight : array_like (m,)
            w(x) of the new rows, on the scale of the calibration rows' weights. Not
            needed after a fit with `confidence`.
        features : array_like (m, d)
            In place of the weights, after a fit with a density ratio: it weights them.
        rng, uniforms, ids
            As in `ConformalResult.predict`.
        """
        rows, u = self._rows(probs, rng, uniforms, ids, "predict")
        weights = self._new_weights(sample_weight, features, u.size, "predict")
        thresholds = self._thresholds_of(weights)
        return self._sets(rows, u, thresholds, own_uniforms=uniforms is not None)

    @lazy
    def p_values(
        self,
        probs: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        features: ArrayLike | None = None,
        rng: RandomState = None,
        uniforms: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> FloatMatrix:
        """Weighted conformal p-value of every label, shape (m, K).

        Parameters
        ----------
        probs, sample_weight, features, rng, uniforms, ids
            As in `predict`.
        """
        rows, u = self._rows(probs, rng, uniforms, ids, "p_values")
        weights = self._new_weights(sample_weight, features, u.size, "p_values")
        return self._weighted_p_values(rows, u, weights)

    def _weighted_p_values(
        self, rows: UncheckedProbs, uniforms: FloatArray, weights: FloatArray
    ) -> FloatMatrix:
        scores = all_label_scores(self.score, rows, uniforms)
        own = self._kept_scores("p_values")
        return weighted_p_values(scores, own, self.sample_weight, weights[:, None])

    def _own_weights(
        self,
        sample_weight: ArrayLike | None,
        features: ArrayLike | None,
        n_rows: int,
        method: str,
    ) -> FloatArray:
        return self._new_weights(sample_weight, features, n_rows, method)

    def _thresholds_for(self, own_weight: FloatArray | None) -> FloatArray:
        assert own_weight is not None
        return self._thresholds_of(own_weight)

    def _p_values_at(
        self, probs: FloatMatrix, uniforms: FloatArray, own_weight: FloatArray | None
    ) -> FloatMatrix:
        assert own_weight is not None
        rows = UncheckedProbs(probs, np.inf, Arguments("p_values"), "probs")
        return self._weighted_p_values(rows, uniforms, own_weight)

    def _new_weights(
        self,
        sample_weight: ArrayLike | None,
        features: ArrayLike | None,
        n_rows: int,
        method: str,
    ) -> FloatArray:
        args = Arguments(f"{type(self).__name__}.{method}")
        given = sample_weight is not None or features is not None
        if not given and self.n_kept is not None and method == "predict":
            return np.zeros(n_rows)
        if sample_weight is None or features is not None:
            weights = self._weights_by_features(args, sample_weight, features)
            if weights.size != n_rows:
                must = f"of {n_rows} rows, as 'probs'"
                args.invalid("features", must, f"{weights.size} rows")
            return weights
        return args.weights(sample_weight, "sample_weight", n_rows, allow_all_zero=True)

    def _weights_by_features(
        self,
        args: Arguments,
        sample_weight: ArrayLike | None,
        features: ArrayLike | None,
    ) -> FloatArray:
        if features is None:
            must = "given: each new row's threshold depends on its own weight w(x)"
            if self.ratio is not None:
                must += " (or give 'features', which the density ratio weights)"
            args.invalid("sample_weight", must, "None")
        if self.ratio is None:
            must = "None: the fit was given weights, and cannot weight new rows itself"
            args.invalid("features", must, describe(features))
        if sample_weight is not None:
            args.invalid("features", "None where 'sample_weight' is given", "both")
        return weights_by_ratio(self.ratio, args, features, "features")

    def _thresholds_of(self, own: FloatArray) -> FloatArray:
        if self.n_kept is not None:
            return np.full(own.shape, self.thresholds[0])
        scores = self._kept_scores("threshold_for")
        return covariate_shift_thresholds(
            scores, self.sample_weight, own, float(self.alpha)
        )

    def _facts(self) -> list[tuple[str, str]]:
        by = "given" if self.ratio is None else f"estimated ({self.ratio.method})"
        facts = [
            ("Weights", by),
            ("Effective sample size", f"{self.ess:.1f}"),
        ]
        if self.n_kept is not None:
            facts.append(("Rows kept by rejection", str(self.n_kept)))
        return facts


def fit_covariate_shift(
    calibration: CalibrationScores,
    weights: FloatArray,
    ratio: DensityRatioResult | None,
    alpha: float,
) -> CovariateShiftConformalResult:
    """Return weighted conformal sets.

    Parameters
    ----------
    calibration : CalibrationScores
    weights : ndarray (n,)
        In the order of the scores.
    ratio : DensityRatioResult or None
        What estimated the weights.
    alpha : float
    """
    mean = np.array([weights.mean() if weights.size else 1.0])
    threshold = float(
        covariate_shift_thresholds(calibration.scores, weights, mean, alpha)[0]
    )
    if np.isinf(threshold):
        what = "a new row of their mean weight gets every label."
        _warn_small(calibration.n, alpha, what)
    guarantee = calibration.needing_seed(guarantees.covariate_shift_marginal(alpha))
    return _result(calibration, weights, ratio, threshold, guarantee, alpha, None, None)


def fit_covariate_shift_pac(
    calibration: CalibrationScores,
    weights: FloatArray,
    ratio: DensityRatioResult | None,
    alpha: float,
    confidence: float,
    bound: float,
    generator: np.random.Generator,
) -> CovariateShiftConformalResult:
    """Return the training-conditional sets: no weight exceeds `bound`."""
    threshold, _, n_kept = thinned_pac_threshold(
        calibration.scores, weights, bound, alpha, 1.0 - confidence, generator
    )
    if np.isinf(threshold):
        enough = unchecked.pac_smallest_sample(alpha, 1.0 - confidence)
        what = f"rejection leaves {n_kept}, and {enough} are needed."
        _warn_small(calibration.n, alpha, what)
    guarantee = calibration.needing_seed(
        guarantees.covariate_shift_given_calibration(alpha, confidence)
    )
    return _result(
        calibration, weights, ratio, threshold, guarantee, alpha, confidence, n_kept
    )


def _result(
    calibration: CalibrationScores,
    weights: FloatArray,
    ratio: DensityRatioResult | None,
    threshold: float,
    guarantee: Guarantee,
    alpha: float,
    confidence: float | None,
    n_kept: int | None,
) -> CovariateShiftConformalResult:
    return CovariateShiftConformalResult(
        title="Covariate-shift conformal prediction sets",
        thresholds=read_only(np.full(len(calibration.classes), threshold)),
        alpha=alpha,
        confidence=confidence,
        guarantee=guarantee if ratio is None else guarantees.estimated_density_ratio(),
        further=(),
        ratio=ratio,
        sample_weight=read_only(weights),
        ess=effective_sample_size(weights),
        n_kept=n_kept,
        **calibration.fields(),
    )


def _warn_small(n: int, alpha: float, consequence: str) -> None:
    warn_small(
        f"the {n} calibration rows carry too little weight for alpha={alpha:g}: "
        f"{consequence}"
    )
