"""What all estimators share: rows are held out, a classifier is fitted and asked."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Bunch, _safe_indexing, check_random_state, indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_method_params,
    _num_samples,
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from distfreeuq._base.arguments import LARGEST, Arguments
from distfreeuq._base.array_types import FloatMatrix, IntArray
from distfreeuq._base.arrays import AnyArray, describe
from distfreeuq.estimators.held_out_rows import HeldOutRows, hold_out, read_cv
from distfreeuq.guarantees import Guarantee
from distfreeuq.references import CLASSES_OF_LABELS, ONE_ROW_OF_EACH_GROUP

Self = TypeVar("Self", bound="WrappedClassifier")
AnyResult = TypeVar("AnyResult", bound=Any)


class WrappedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Base of the estimators: ``fit`` holds rows out, fits, and calls `_finish`."""

    estimator: Any
    cv: Any
    random_state: Any

    # ------------------------------------------------------------------------- fitting

    def fit(
        self: Self,
        X: Any,
        y: Any,
        X_target: Any = None,
        groups: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Hold rows out, fit the classifier on the others, and calibrate.

        Parameters
        ----------
        X : array_like or frame (n, d)
            Inputs, as the classifier takes them.
        y : array_like (n,)
            Labels of any kind.
        X_target : array_like or frame (m, d), optional
            Inputs of unlabelled target rows, where the shift is estimated from them.
        groups : array_like (n,), optional
            Rows that belong together, such as those of a patient: they are never split,
            and one of each group, drawn at random, is calibrated on. New rows are then
            meant to be of new groups.
        **fit_params
            For the classifier's own ``fit``, such as ``sample_weight``; those with an
            entry per row are cut to the rows that it is fitted on. With metadata
            routing the classifier must have asked for them
            (``set_fit_request(sample_weight=True)``).
        """
        args = Arguments(f"{type(self).__name__}.fit")
        cv = read_cv(args, self.cv)
        (X,) = indexable(X)
        labels = self._read_labels(args, X, y, cv == "prefit")
        codes = np.searchsorted(self.classes_, labels)
        seed = self._seed()
        rows = self._held_out(args, cv, codes, groups, seed)
        routed = self._routed(args, codes, fit_params)
        if cv == "prefit":
            self.estimators_ = [self.estimator]
        else:
            self.estimators_ = [
                self._fit_classifier(X, labels, train, routed)
                for train, _ in rows.splits
                if train.size
            ]
        self._finish(args, X, labels, codes, X_target, rows, routed, seed)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimators_[0], name):
                setattr(self, name, getattr(self.estimators_[0], name))
        return self

    @abstractmethod
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
        """Set ``result_`` from the rows that were held out."""

    def _read_labels(self, args: Arguments, X: Any, y: Any, prefit: bool) -> AnyArray:
        """Return labels (n,), and set ``classes_``."""
        if not hasattr(self.estimator, "fit") or isinstance(self.estimator, type):
            must = "a classifier, an object with fit and predict_proba"
            args.invalid("estimator", must, describe(self.estimator))
        if not hasattr(self.estimator, "predict_proba"):
            must = (
                "a classifier with predict_proba (one that has only decision_function "
                "gets it from sklearn.calibration.CalibratedClassifierCV)"
            )
            args.invalid("estimator", must, type(self.estimator).__name__)
        if y is None:
            # in the words that scikit-learn's own estimators have for it
            must = "labels (it requires y to be passed, but the target y is None)"
            args.invalid("y", must, "None")
        check_consistent_length(X, y)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels)
        check_classification_targets(labels)
        if prefit:
            check_is_fitted(self.estimator)
            self.classes_ = np.asarray(self.estimator.classes_)
            unknown = ~np.isin(labels, self.classes_)
            if unknown.any():
                row = int(np.argmax(unknown))
                must = "labels of classes that the classifier was fitted on"
                args.invalid("y", must, f"{describe(labels[row])} at row {row}")
        else:
            self.classes_ = np.unique(labels)
            if labels.size < 2:
                args.invalid("X", "of two rows at least", f"n_samples={labels.size}")
        if self.classes_.size < 2:
            args.invalid("y", "labels of two classes at least", "labels of one class")
        return np.asarray(labels)

    def _held_out(
        self,
        args: Arguments,
        cv: float | int | str,
        codes: IntArray,
        groups: Any,
        seed: int,
    ) -> HeldOutRows:
        return hold_out(args, cv, codes, groups, seed)

    def _seed(self) -> int:
        """Return an integer for splits and uniforms, so that sets can be had again."""
        if isinstance(self.random_state, int | np.integer) and self.random_state >= 0:
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _routed(
        self, args: Arguments, codes: IntArray, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        """Return what the classifier's ``fit`` gets besides rows and labels."""
        given = {name: value for name, value in fit_params.items() if value is not None}
        if get_config()["enable_metadata_routing"]:
            routed: Bunch = process_routing(self, "fit", **given)
            given = dict(routed.estimator.fit)
        if "sample_weight" in given:
            must = "non-negative finite numbers, one per row"
            weights = args.vector(
                given["sample_weight"],
                "sample_weight",
                must,
                length=codes.size,
                low=0.0,
                high=LARGEST,
            )
            if np.unique(codes[weights > 0.0]).size < 2:
                must = "positive for rows of two classes at least"
                args.invalid("sample_weight", must, "weights of one class or none")
        return given

    def _fit_classifier(
        self, X: Any, labels: AnyArray, rows: IntArray, routed: dict[str, Any]
    ) -> Any:
        more = _check_method_params(X, params=routed, indices=rows)
        some = X if rows.size == _num_samples(X) else _safe_indexing(X, rows)
        return clone(self.estimator).fit(some, labels[rows], **more)

    def _held_out_probs(
        self, X: Any, rows: HeldOutRows
    ) -> tuple[FloatMatrix, IntArray]:
        """Return probabilities of all rows that were held out, and which they are."""
        held = [held for _, held in rows.splits]
        parts = [
            self._probs_of(
                classifier,
                X if len(some) == _num_samples(X) else _safe_indexing(X, some),
            )
            for classifier, some in zip(self.estimators_, held, strict=True)
            if len(some)
        ]
        if not parts:
            return np.empty((0, self.classes_.size)), np.empty(0, dtype=np.int64)
        return np.concatenate(parts), np.concatenate(held)

    def _with_needs(
        self, result: AnyResult, rows: HeldOutRows, *, of_labels: bool
    ) -> AnyResult:
        """Return the result with what else its guarantee needs here."""
        needs = (
            *((CLASSES_OF_LABELS,) if of_labels else ()),
            *((ONE_ROW_OF_EACH_GROUP,) if rows.one_per_group else ()),
        )
        claim = result.guarantee
        if not isinstance(claim, Guarantee) or not needs:
            return result
        claim = replace(claim, assumptions=(*claim.assumptions, *needs))
        return replace(result, guarantee=claim)

    # ---------------------------------------------------------------------- predicting

    def _probs_of(self, classifier: Any, X: Any) -> FloatMatrix:
        """Return a classifier's probabilities, columns as in ``classes_``."""
        probs: FloatMatrix = np.asarray(classifier.predict_proba(X))
        known = getattr(classifier, "classes_", None)
        if known is None or probs.shape[1] == self.classes_.size:
            return probs
        # a class without rows to train on has no column: it is never predicted
        wide = np.zeros((probs.shape[0], self.classes_.size), dtype=probs.dtype)
        wide[:, np.searchsorted(self.classes_, known)] = probs
        return wide

    def _mean_probs(self, X: Any) -> FloatMatrix:
        """Return the classifier's probabilities, the mean of them with folds."""
        self._check_fitted()
        first, *others = (self._probs_of(one, X) for one in self.estimators_)
        if not others:
            return first
        return np.asarray(np.mean([first, *others], axis=0))

    @abstractmethod
    def predict_proba(self, X: Any) -> FloatMatrix:
        """Return probabilities (n, K), columns as in ``classes_``."""

    def predict(self, X: Any) -> AnyArray:
        """Return the most likely class of each row, shape (n,).

        Parameters
        ----------
        X : array_like or frame (n, d)
        """
        probs = self.predict_proba(X)
        return np.asarray(self.classes_[probs.argmax(axis=1)])

    # ------------------------------------------------------------- scikit-learn's words

    def _check_fitted(self) -> None:
        """Raise what scikit-learn raises of an estimator that is not fitted.

        Its own check asks for all tags first, which takes longer than a prediction.
        """
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` has been called."""
        return hasattr(self, "result_")

    def __sklearn_tags__(self) -> Any:
        """Return the classifier's own tags, as far as they are about its inputs."""
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            own = self.estimator.__sklearn_tags__()
            tags.input_tags.sparse = own.input_tags.sparse
            tags.input_tags.allow_nan = own.input_tags.allow_nan
            tags.input_tags.string = own.input_tags.string
            tags.input_tags.categorical = own.input_tags.categorical
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what is passed on to the classifier's ``fit``, and what is used here.

        See scikit-learn's user guide on metadata routing.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)
