"""Calibrated probabilities, for the source or for a target that has shifted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatMatrix, IntArray
from distfreeuq._base.arrays import AnyArray, describe
from distfreeuq.calibration import (
    CalibrationResult,
    isotonic_calibration,
    platt_scaling,
    temperature_scaling,
    to_logits,
    vector_scaling,
)
from distfreeuq.covariate_shift import covariate_shift_calibration
from distfreeuq.estimators.held_out_rows import HeldOutRows
from distfreeuq.estimators.target_shift import (
    LABEL_SHIFT_ESTIMATORS,
    estimate_label_shift,
)
from distfreeuq.estimators.wrapped_classifier import WrappedClassifier
from distfreeuq.guarantees import NoGuarantee

CALIBRATORS: dict[str, Callable[..., CalibrationResult]] = {
    "temperature": temperature_scaling,
    "vector": vector_scaling,
    "platt": platt_scaling,
    "isotonic": isotonic_calibration,
}
CROSSED = NoGuarantee(
    "rows were calibrated by the classifiers of several folds, and predictions are "
    "those of one that was fitted on all rows"
)


class ShiftCalibratedClassifier(WrappedClassifier):
    """A classifier whose probabilities are calibrated, for a shifted target if asked.

    Parameters
    ----------
    estimator : classifier
        With ``fit`` and ``predict_proba``; a Pipeline will do.
    calibrator : {"temperature", "vector", "platt", "isotonic"}
        What is fitted to the rows that are held out.
    shift : {None, "label", "covariate"}
        None: calibrate for rows like those of ``fit``. "label": weigh each class by
        the target's share of it over the source's, by `mlls` ("bbse" and "rlls" name
        the other estimators). "covariate": weigh rows by a density ratio of the inputs
        (`covariate_shift_calibration`). All but None need ``X_target`` in ``fit``.
    cv : float, int or "prefit", default 0.5
        As in `ConformalClassifier`. With folds, all rows are calibrated on by
        classifiers that have not seen them, one that is fitted on all rows predicts,
        and nothing is guaranteed.
    options : mapping, optional
        Further options of the calibrator, or of `covariate_shift_calibration`.
    random_state : int, RandomState or None

    Attributes
    ----------
    result_ : CalibrationResult or CovariateShiftCalibrationResult
    shift_ : LabelShiftResult, DensityRatioResult or None
    estimators_ : list of one classifier
    classes_ : ndarray (K,)
    n_features_in_, feature_names_in_
        Those of the classifier, where it has them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from distfreeuq.estimators import ShiftCalibratedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> fit = ShiftCalibratedClassifier(GaussianNB(), random_state=0).fit(X, y)
    >>> round(fit.result_.temperature, 1)
    6.5
    >>> fit.predict_proba(X[:1]).round(3).tolist()
    [[0.986, 0.014]]
    """

    def __init__(
        self,
        estimator: Any,
        *,
        calibrator: str = "temperature",
        shift: str | None = None,
        cv: float | int | str = 0.5,
        options: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.shift = shift
        self.cv = cv
        self.options = options
        self.random_state = random_state

    def _finish(
        self,
        args: Arguments,
        X: Any,
        labels: AnyArray,
        codes: IntArray,
        X_target: Any,
        rows: HeldOutRows,
        routed: dict[str, Any],
        seed: int,
    ) -> None:
        name = args.choice(self.calibrator, "calibrator", CALIBRATORS)
        shift = self.shift
        if shift is not None:
            known = ("label", "covariate", *LABEL_SHIFT_ESTIMATORS)
            shift = args.choice(shift, "shift", known)
        if (shift is None) != (X_target is None):
            must = "inputs of target rows with shift=, and None without"
            got, hint = "None", ""
            if X_target is not None:
                got, hint = "rows", f"Say which: {type(self).__name__}(shift='label')."
            args.invalid("X_target", must, got, hint=hint)
        if self.options is not None and not isinstance(self.options, Mapping):
            args.invalid("options", "a mapping or None", describe(self.options))
        more = dict(self.options or {})
        probs, held = self._held_out_probs(X, rows)
        if rows.crossed:
            everything = np.arange(_num_samples(X))
            self.estimators_ = [self._fit_classifier(X, labels, everything, routed)]
        own = self.classes_[codes[held]]
        logits = probs if name == "isotonic" else to_logits(probs)
        self.shift_: Any = None
        if shift == "covariate":
            result: Any = covariate_shift_calibration(
                to_logits(probs),
                own,
                _safe_indexing(X, held),
                X_target,
                calibrator=name,
                classes=self.classes_,
                rng=seed,
                **more,
            )
            self.shift_ = result.ratio
        else:
            if shift is not None:
                target = self._probs_of(self.estimators_[0], X_target)
                method = "mlls" if shift == "label" else shift
                self.shift_ = estimate_label_shift(
                    args, method, probs, own, target, self.classes_
                )
                more["sample_weight"] = self.shift_.label_weight[codes[held]]
            result = CALIBRATORS[name](logits, own, classes=self.classes_, **more)
        self._on_logits = shift == "covariate" or name != "isotonic"
        if rows.crossed:
            result = replace(result, guarantee=CROSSED)
            if self.shift_ is not None and shift != "covariate":
                self.shift_ = replace(self.shift_, guarantee=CROSSED)
        self.result_ = self._with_needs(result, rows, of_labels=False)

    def predict_proba(self, X: Any) -> FloatMatrix:
        """Return calibrated probabilities (n, K), columns as in ``classes_``.

        Parameters
        ----------
        X : array_like or frame (n, d)
        """
        self._check_fitted()
        probs = self._probs_of(self.estimators_[0], X)
        given = to_logits(probs) if self._on_logits else probs
        return np.asarray(self.result_.predict(given))
