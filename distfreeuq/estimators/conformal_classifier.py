"""Prediction sets behind ``fit`` and ``predict_set``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatMatrix, IntArray
from distfreeuq._base.arrays import AnyArray, describe, row_names
from distfreeuq.conformal.covariate_shift_sets import covariate_shift_conformal
from distfreeuq.conformal.cross_fitted import cross_conformal
from distfreeuq.conformal.label_conditional_sets import label_conditional_conformal
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.conformal.sets import PredictionSets
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.density_ratios.estimation import density_ratio
from distfreeuq.estimators.held_out_rows import HeldOutRows
from distfreeuq.estimators.set_frames import OUTPUTS, sets_as_frame
from distfreeuq.estimators.target_shift import estimate_label_shift
from distfreeuq.estimators.wrapped_classifier import WrappedClassifier

METHODS = ("split", "label-conditional", "label-shift", "covariate-shift")


class ConformalClassifier(WrappedClassifier):
    """A classifier with prediction sets, and a summary that says what they guarantee.

    Parameters
    ----------
    estimator : classifier
        With ``fit`` and ``predict_proba``; a Pipeline will do.
    method : {"split", "label-conditional", "label-shift", "covariate-shift"}
        `split_conformal`, `label_conditional_conformal`, `label_shift_conformal` or
        `covariate_shift_conformal`. The last two need ``X_target`` in ``fit``.
    alpha : float, default 0.1
        Miscoverage level in (0, 1).
    conformity_score : str, score object or callable, default "aps"
        The `score` of `split_conformal`; here ``score`` is the method that every
        classifier has.
    shift : {"mlls", "bbse", "rlls"}
        How label weights are estimated, for "label-shift".
    cv : float, int or "prefit", default 0.5
        A share of rows that is held out to calibrate; a number of folds; or "prefit",
        where the classifier has been fitted and all rows of ``fit`` calibrate. Folds
        let all rows train and calibrate, and have a weaker guarantee
        (`cross_conformal`): about 1 - 2 alpha.
    options : mapping, optional
        Further options of the procedure: ``{"never_empty": True}``,
        ``{"confidence": 0.95}``, ``{"robust": True}``.
    random_state : int, RandomState or None
        For the split and the uniforms of randomised scores. The sets of a fitted
        estimator are the same at every call, whatever it is.

    Attributes
    ----------
    result_ : ConformalResult or CrossConformalResult
        The fit, with its summary, guarantee, figure and file.
    shift_ : LabelShiftResult, DensityRatioResult or None
        What was estimated of the shift.
    estimators_ : list
        The fitted classifier; with folds, one for each.
    classes_ : ndarray (K,)
    n_features_in_, feature_names_in_
        Those of the classifier, where it has them.

    Notes
    -----
    The rows to train on are drawn at random and not by class, or the rest would not be
    exchangeable with a new row. A class that is in none of the labels of ``fit`` is in
    no set; the guarantee lists that among what it needs.

    `alpha`, the score and everything else that is chosen by a search over the rows of
    ``fit`` is chosen by the rows that calibrate, which no guarantee allows: search on
    other rows, then calibrate with ``cv="prefit"``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from distfreeuq.estimators import ConformalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> sets = ConformalClassifier(
    ...     LogisticRegression(max_iter=1000), conformity_score="lac", random_state=0)
    >>> sets.fit(X[::2], y[::2]).result_
    <SplitConformalResult lac alpha=0.1 n=37 K=3>
    >>> sets.predict_set(X[1:4:2]).tolist()
    [[True, False, False], [True, False, False]]
    >>> round(sets.prediction_sets(X[1::2]).evaluate(y[1::2]).coverage, 2)
    0.95
    """

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "split",
        alpha: float = 0.1,
        conformity_score: Any = "aps",
        shift: str = "mlls",
        cv: float | int | str = 0.5,
        options: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.alpha = alpha
        self.conformity_score = conformity_score
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
        method = args.choice(self.method, "method", METHODS)
        if self.options is not None and not isinstance(self.options, Mapping):
            args.invalid("options", "a mapping or None", describe(self.options))
        shifted = method in ("label-shift", "covariate-shift")
        if shifted and X_target is None:
            must = f"given, inputs of target rows, with method={method!r}"
            args.invalid("X_target", must, "None")
        if shifted and rows.crossed:
            must = f"a share of rows or 'prefit' with method={method!r}"
            args.invalid("cv", must, f"{self.cv}")
        if X_target is not None and not shifted:
            must = f"None with method={method!r}, which knows no target"
            hint = "Say how it has shifted: method='label-shift' or 'covariate-shift'."
            args.invalid("X_target", must, "target rows", hint=hint)
        probs, held = self._held_out_probs(X, rows)
        given = {
            "alpha": self.alpha,
            "score": self.conformity_score,
            "classes": self.classes_,
            "rng": seed,
            **(self.options or {}),
        }
        own = self.classes_[codes[held]]
        self.shift_: Any = None
        if rows.crossed:
            folds = np.repeat(
                np.arange(len(rows.splits)), [len(some) for _, some in rows.splits]
            )
            kind = {"split": "exchangeable"}.get(method, method)
            result: Any = cross_conformal(probs, own, folds, method=kind, **given)
        elif method == "split":
            result = split_conformal(probs, own, **given)
        elif method == "label-conditional":
            result = label_conditional_conformal(probs, own, **given)
        elif method == "label-shift":
            target = self._probs_of(self.estimators_[0], X_target)
            self.shift_ = estimate_label_shift(
                args, self.shift, probs, own, target, self.classes_
            )
            result = label_shift_conformal(probs, own, self.shift_, **given)
        else:
            train, held = rows.splits[0]
            # weights from the rows that train are independent of those that calibrate
            source = _safe_indexing(X, train) if train.size else X
            self.shift_ = density_ratio(source, X_target, rng=seed)
            features = _safe_indexing(X, held) if train.size else None
            result = covariate_shift_conformal(
                probs, own, self.shift_, features=features, **given
            )
        fitted_here = self.estimators_[0] is not self.estimator
        self.result_ = self._with_needs(result, rows, of_labels=fitted_here)

    def predict_proba(self, X: Any) -> FloatMatrix:
        """Return the classifier's probabilities (n, K); with folds, their mean.

        Parameters
        ----------
        X : array_like or frame (n, d)
        """
        return self._mean_probs(X)

    def prediction_sets(self, X: Any) -> PredictionSets:
        """Return sets that print, evaluate and turn into a frame with the index of X.

        Parameters
        ----------
        X : array_like or frame (n, d)
        """
        self._check_fitted()
        parts = [self._probs_of(one, X) for one in self.estimators_]
        sets: PredictionSets
        if len(parts) > 1:
            sets = self.result_.predict(parts)
        elif self.method == "covariate-shift":
            sets = self.result_.predict(parts[0], features=X)
        else:
            sets = self.result_.predict(parts[0])
        # people join sets to their rows: the names are those of X, not of the arrays
        # that classifiers return
        return replace(sets, index=row_names(X))

    def predict_set(self, X: Any) -> Any:
        """Return which classes are in each row's set, shape (n, K).

        Parameters
        ----------
        X : array_like or frame (n, d)

        Returns
        -------
        ndarray of bool, or a frame
            Columns as in ``classes_``. A frame after `set_output`, with the index of X
            where that has one.
        """
        sets = self.prediction_sets(X)
        output = getattr(self, "_sklearn_output_config", {}).get("transform")
        if output in (None, "default"):
            return sets.mask
        return sets_as_frame(sets, X, output)

    def set_output(self, *, transform: str | None = None) -> ConformalClassifier:
        """Choose what `predict_set` returns.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            An array, or a frame whose columns are the classes. None changes nothing.
        """
        if transform is None:
            return self
        args = Arguments("ConformalClassifier.set_output")
        chosen = args.choice(transform, "transform", OUTPUTS)
        self._sklearn_output_config = {"transform": chosen}
        return self
