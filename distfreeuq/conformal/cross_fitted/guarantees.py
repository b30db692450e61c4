"""What cross-conformal sets guarantee: about 1 - 2 alpha, and no more."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq.guarantees import Guarantee, NoGuarantee, at_least
from distfreeuq.references import (
    CLASS_EXCHANGEABLE,
    EXCHANGEABLE,
    FOLDS_ELSEWHERE,
    LABEL_SHIFT,
    ROMANO_2020,
    SCORE_AND_ALPHA_ELSEWHERE,
    VOVK_2018,
    VOVK_2020,
)

_BY = (
    f"{VOVK_2018}; {ROMANO_2020}, CV+; {VOVK_2020} for means of p-values "
    "(theory page, 1.11)"
)


def coverage_bound(fold_counts: IntArray, rank: int) -> float:
    """Return what coverage is at least; 0 where nothing is known.

    A label is left out if at least `rank` of n scores are below its own, each compared
    under the classifier of its fold. Then the p-values of the F folds, weighted by one
    more than their rows, have a mean of at most e = (n - rank + F) / (n + F). A mean of
    p-values is at most e with probability 2 e at most; and with e / w, where w is the
    largest of the weights, which are one in all.

    Parameters
    ----------
    fold_counts : ndarray (F,)
        Rows by fold.
    rank : int
        n + 1 if every label is in every set.
    """
    n, n_folds = int(fold_counts.sum()), fold_counts.size
    if rank > n:
        return 1.0
    mean = (n - rank + n_folds) / (n + n_folds)
    largest = (int(fold_counts.max()) + 1) / (n + n_folds)
    return max(0.0, 1.0 - min(2.0, 1.0 / largest) * mean)


def all_rows(lower: float, n_folds: int) -> Guarantee | NoGuarantee:
    """Return the claim of sets whose scores are compared with those of all rows."""
    if lower <= 0.0:
        return _too_few(n_folds)
    statement = (
        f"P(Y in C(X)) >= {at_least(lower)} for a new row, in finite samples, whatever "
        f"the classifiers of the {n_folds} folds; 1 - alpha itself is not guaranteed."
    )
    if lower == 1.0:
        statement = "every set holds every label, so that coverage is 1."
    return Guarantee(
        statement=statement,
        kind="marginal",
        lower=lower,
        reference=_BY,
        assumptions=(EXCHANGEABLE, FOLDS_ELSEWHERE, SCORE_AND_ALPHA_ELSEWHERE),
    )


def every_class(class_lower: FloatArray, n_folds: int) -> Guarantee | NoGuarantee:
    """Return the claim of sets whose scores are compared within classes."""
    lower = float(np.min(class_lower))
    if float(np.max(class_lower)) <= 0.0:
        return _too_few(n_folds)
    return Guarantee(
        statement=(
            f"P(Y in C(X) | Y = y) is at least 'coverage >=' for each class y, and so "
            f">= {at_least(lower)} for all of them, in finite samples, whatever the "
            f"classifiers of the {n_folds} folds and the target's class proportions; "
            "1 - alpha itself is not guaranteed."
        ),
        kind="class-conditional",
        lower=lower,
        reference=_BY,
        assumptions=(
            LABEL_SHIFT,
            CLASS_EXCHANGEABLE,
            FOLDS_ELSEWHERE,
            SCORE_AND_ALPHA_ELSEWHERE,
        ),
    )


def _too_few(n_folds: int) -> NoGuarantee:
    return NoGuarantee(
        f"with so few rows in {n_folds} folds, or so large an alpha, the bound of "
        "cross-conformal sets says nothing"
    )
