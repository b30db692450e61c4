"""A scorer for searches: the size of sets that cover enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments


@dataclass(frozen=True)
class SizeAtCoverage:
    """Minus the mean size of prediction sets, and less where they cover too little.

    A scorer for ``scoring=`` of `GridSearchCV` and `cross_val_score`. Sets that miss
    the coverage lose K / (1 - coverage) for each unit that they miss it by: more than
    the labels that were left out save, as long as one more unit of coverage costs no
    less than the one before.

    Parameters
    ----------
    coverage : float, default 0.9
        The coverage that is wanted.

    Notes
    -----
    What a search chooses by it must not be calibrated on the rows of the search: see
    `ConformalClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> from distfreeuq.estimators import ConformalClassifier, SizeAtCoverage
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(
    ...     ConformalClassifier(LogisticRegression(max_iter=1000), random_state=0),
    ...     {"conformity_score": ["aps", "lac"], "alpha": [0.05, 0.1]},
    ...     scoring=SizeAtCoverage(0.9), cv=3).fit(X, y)
    >>> sorted(search.best_params_)
    ['alpha', 'conformity_score']
    """

    coverage: float = 0.9

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the score of a fitted estimator's sets on these rows."""
        args = Arguments("SizeAtCoverage")
        wanted = args.probability(self.coverage, "coverage")
        if not hasattr(estimator, "predict_set"):
            must = "one with predict_set, such as ConformalClassifier"
            args.invalid("estimator", must, type(estimator).__name__)
        mask = np.asarray(estimator.predict_set(X), dtype=np.bool_)
        classes = np.asarray(estimator.classes_)
        labels = np.asarray(y)
        # a label that the fit has not seen is in no set
        column = np.minimum(np.searchsorted(classes, labels), classes.size - 1)
        covered = mask[np.arange(labels.size), column] & (classes[column] == labels)
        short = max(0.0, wanted - float(covered.mean()))
        return -float(mask.sum(axis=1).mean()) - classes.size / (1.0 - wanted) * short
