"""Probabilities for another share of the classes than the classifier was fitted on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import AnyArray, describe
from distfreeuq.estimators.calibrated_classifier import CROSSED
from distfreeuq.estimators.held_out_rows import HeldOutRows, hold_out
from distfreeuq.estimators.target_shift import estimate_label_shift
from distfreeuq.estimators.wrapped_classifier import WrappedClassifier
from distfreeuq.guarantees import NoGuarantee
from distfreeuq.label_shift import label_weights

_NO_TARGET = NoGuarantee(
    "no target rows were given: the target is the rows that were held out, and nothing "
    "was estimated but their calibration"
)


class PriorCorrectedClassifier(WrappedClassifier):
    """A classifier whose probabilities are those of other class proportions.

    After training on resampled, balanced or otherwise selected rows, probabilities are
    those of the training rows. This turns them into those of the target, by Bayes'
    rule.

    Parameters
    ----------
    estimator : classifier
        With ``fit`` and ``predict_proba``; a Pipeline will do.
    target_prior : "estimate" or array_like (K,), default "estimate"
        The target's class proportions, in the order of ``classes_``; or estimate them
        by `mlls` from the rows that are held out and from ``X_target``. Without
        ``X_target`` the target is what was held out: probabilities are then calibrated
        for the rows of ``fit``, as a classifier that resamples inside needs it.
    source_prior : array_like (K,), optional
        With a given `target_prior`: the class proportions that the classifier was
        fitted on. By default those of ``y``, weighted by ``sample_weight``; a
        classifier that resamples or weighs classes inside was fitted on others.
    cv : float, int or "prefit", default 0.5
        As in `ConformalClassifier`, for an estimated prior. With folds, one classifier
        that is fitted on all rows predicts, and nothing is guaranteed. With a given
        prior no rows are held out.
    random_state : int, RandomState or None

    Attributes
    ----------
    result_ : LabelShiftResult
        The weights of the classes; ``shift_`` is the same.
    estimators_ : list of one classifier
    classes_ : ndarray (K,)
    n_features_in_, feature_names_in_
        Those of the classifier, where it has them.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), "Adjusting the outputs of a classifier to
    new a priori probabilities", Neural Computation 14.

    Examples
    --------
    Rows were sampled such that both classes are as frequent; one in ten is positive.

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from distfreeuq.estimators import PriorCorrectedClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 500)
    >>> X = rng.normal(y, 1.0)[:, None]
    >>> fit = PriorCorrectedClassifier(
    ...     LogisticRegression(), target_prior=[0.9, 0.1]).fit(X, y)
    >>> fit.estimators_[0].predict_proba([[0.5]]).round(2).tolist()
    [[0.49, 0.51]]
    >>> fit.predict_proba([[0.5]]).round(2).tolist()
    [[0.9, 0.1]]
    """

    def __init__(
        self,
        estimator: Any,
        *,
        target_prior: Any = "estimate",
        source_prior: Any = None,
        cv: float | int | str = 0.5,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.target_prior = target_prior
        self.source_prior = source_prior
        self.cv = cv
        self.random_state = random_state

    def _estimates(self) -> bool:
        return isinstance(self.target_prior, str)

    def _held_out(
        self,
        args: Arguments,
        cv: float | int | str,
        codes: IntArray,
        groups: Any,
        seed: int,
    ) -> HeldOutRows:
        if self._estimates():
            args.choice(self.target_prior, "target_prior", ["estimate"])
            return hold_out(args, cv, codes, groups, seed)
        nothing, everything = np.empty(0, dtype=np.int64), np.arange(codes.size)
        return HeldOutRows(((everything, nothing),), False, False)

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
        if not self._estimates():
            if X_target is not None:
                must = "None with a target_prior that is given"
                args.invalid("X_target", must, "target rows")
            source = self.source_prior
            if source is None:
                source = _proportions(codes, self.classes_.size, routed)
            self.result_ = label_weights(
                source, self.target_prior, classes=self.classes_
            )
            self.shift_ = self.result_
            return
        if self.source_prior is not None:
            must = "None unless target_prior is given: held-out rows tell it"
            args.invalid("source_prior", must, describe(self.source_prior))
        probs, held = self._held_out_probs(X, rows)
        if rows.crossed:
            everything = np.arange(_num_samples(X))
            self.estimators_ = [self._fit_classifier(X, labels, everything, routed)]
        target = probs
        if X_target is not None:
            target = self._probs_of(self.estimators_[0], X_target)
        own = self.classes_[codes[held]]
        result = estimate_label_shift(args, "mlls", probs, own, target, self.classes_)
        if X_target is None:
            result = replace(result, guarantee=_NO_TARGET)
        elif rows.crossed:
            result = replace(result, guarantee=CROSSED)
        self.shift_ = self.result_ = self._with_needs(result, rows, of_labels=False)

    def predict_proba(self, X: Any) -> FloatMatrix:
        """Return the target's probabilities (n, K), columns as in ``classes_``.

        Parameters
        ----------
        X : array_like or frame (n, d)
        """
        self._check_fitted()
        return self.result_.adapt(self._probs_of(self.estimators_[0], X))


def _proportions(codes: IntArray, n_classes: int, routed: dict[str, Any]) -> FloatArray:
    """Return the classes' shares of the rows, by the weights they are fitted with."""
    weight = routed.get("sample_weight")
    mass = None if weight is None else np.asarray(weight, dtype=np.float64)
    shares = np.bincount(codes, weights=mass, minlength=n_classes)
    return np.asarray(shares / shares.sum())
