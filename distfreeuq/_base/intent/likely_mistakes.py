"""What is valid but looks like something else, and hints at what was meant.

Warnings are given only where the data speak for them: rows of logits that are rows of
probabilities, labels that fit the columns before theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distfreeuq._base.array_types import Classes, FloatMatrix, IntArray
from distfreeuq._base.arrays import AnyArray
from distfreeuq._base.user_warnings import warn_user
from distfreeuq.exceptions import LikelyMistakeWarning

_SUM_TOLERANCE = 1e-3
_LIKELY_ALPHA = 0.75
_LARGEST_LEVEL = 0.9999
_LARGEST_LOGIT = 100.0

SOFTMAX = "If these are logits, give scipy.special.softmax(logits, axis=1)."
TEXTS = "pandas.get_dummies(frame, dtype=float) makes numbers of texts and categories."
DATES = "Dates as numbers: (dates - dates.min()).dt.days, or dates.dt.month."
MASKED = (
    "Temperature scaling (by class and by group too) takes -inf for classes that are "
    "masked; where classes have a scale or a bias of their own, these could bring them "
    "back. Such logits can be floored: "
    "numpy.maximum(logits, logits.max(axis=1, keepdims=True) - 100)."
)
PERCENT = "If these are percentages, divide them by 100."
INPUTS = "If these are a classifier's inputs, give its predict_proba of them."
SWAPPED = "Probabilities come first and labels second: are the two swapped?"
PREDICTED = (
    f"{SWAPPED} If these are a classifier's predictions, give its predict_proba."
)
ROWS_FOR_WEIGHTS = (
    "If these are the target's probabilities, estimate the weights from them: "
    "bbse(probs, labels, probs_target)."
)


# ------------------------------------------------------------------------------ levels


def level_hint(value: Any, parameter: str) -> str:
    """Return what to write where a share was given in per cent, or none at all."""
    try:
        percent = 1.0 < float(value) < 100.0
    except (TypeError, ValueError):
        return ""
    if not percent:
        return ""
    share = float(value) / 100.0
    if parameter == "alpha" and share > 0.5:
        return f"For {value:g} % coverage: alpha={1.0 - share:.12g}."
    return f"For {value:g} %: {parameter}={share:.12g}."


def warn_of_large_alpha(alpha: float, caller: str) -> None:
    """Warn of an error rate that looks like the level it leaves."""
    if _LIKELY_ALPHA < alpha <= _LARGEST_LEVEL:
        warn_user(
            f"alpha={alpha:g} of {caller} allows an error in {100 * alpha:g} % of the "
            f"cases. For {100 * alpha:g} % coverage or confidence: "
            f"alpha={1.0 - alpha:.12g}.",
            LikelyMistakeWarning,
        )


# ------------------------------------------------------------------------------- rows


def row_hint(row: FloatMatrix) -> str:
    """Return what a row that is no probability vector may be."""
    finite = row[np.isfinite(row)]
    if finite.size < row.size or finite.size == 0:
        return ""
    total = float(finite.sum(dtype=np.float64))
    if finite.min() >= 0 and abs(total - 100.0) <= 1.0:
        return PERCENT
    return INPUTS if np.abs(finite).max() > _LARGEST_LOGIT else SOFTMAX


def text_hint(array: AnyArray) -> str:
    """Return what texts in the place of probabilities may be."""
    if array.dtype.kind not in "OUST" or array.ndim == 0:
        return ""
    return PREDICTED if array.ndim == 1 else INPUTS


def warn_of_probabilities(logits: FloatMatrix, parameter: str, caller: str) -> None:
    """Warn of logits all rows of which are probability vectors."""
    if logits.size == 0 or not _is_probability_row(logits[0]):
        return
    if logits.min() < 0 or np.isin(logits, (0, 1)).all():
        return
    sums = logits.sum(axis=1, dtype=np.float64)
    if np.abs(sums - 1.0).max() <= _SUM_TOLERANCE:
        warn_user(
            f"Every row of '{parameter}' of {caller} is non-negative and sums to one: "
            "these are probabilities, not logits. Give to_logits(probs).",
            LikelyMistakeWarning,
        )


def _is_probability_row(row: AnyArray) -> bool:
    return bool(abs(row.sum() - 1.0) <= _SUM_TOLERANCE and row.min() >= 0)


# ------------------------------------------------------------------------------ labels


def shape_hint(array: AnyArray, n_rows: int, n_classes: int) -> str:
    """Return what labels of more than one dimension may be."""
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        return ""
    if array.shape == (n_rows, n_classes) and np.isin(array, (0, 1)).all():
        return "If these are one-hot rows, give labels.argmax(axis=1)."
    return SWAPPED if array.dtype.kind == "f" else ""


def label_hint(array: AnyArray, classes: Classes) -> str:
    """Return what to do with labels that are no classes."""
    n_classes = len(classes)
    counted = array.dtype.kind in "iuf" and isinstance(classes, range)
    if counted and array.min() >= 1 and array.max() == n_classes:
        return (
            f"For labels that count from one: labels - 1, or "
            f"classes=range(1, {n_classes + 1})."
        )
    if isinstance(classes, range):
        return "With a scikit-learn classifier: classes=classifier.classes_."
    items = array.tolist()
    if any(name in items for name in classes):
        return ""
    if array.dtype.kind in "iu" and array.min() >= 0 and array.max() < n_classes:
        return "If these are numbers of columns: numpy.array(classes)[labels]."
    return "Name the columns of the probabilities, in their order, with classes=."


def warn_of_counting_from_one(
    labels: IntArray, scores: FloatMatrix, parameter: str, caller: str
) -> None:
    """Warn of labels without a 0 that fit the columns before theirs far better."""
    if labels.size == 0 or labels.min() < 1:
        return
    tops = scores.argmax(axis=1)
    as_given = int((tops == labels).sum())
    from_one = int((tops == labels - 1).sum())
    # in most rows, and by a sign test at about one in a thousand
    by_chance = 3.1 * np.sqrt(from_one + as_given) + 1.0
    if 2 * from_one > labels.size and from_one - as_given > by_chance:
        warn_user(
            f"No row of '{parameter}' of {caller} is 0, and the largest column is "
            f"label - 1 in {from_one} of {labels.size} rows, the label in {as_given}: "
            f"do the labels count from one? Then give labels - 1, or "
            f"classes=range(1, {scores.shape[1] + 1}).",
            LikelyMistakeWarning,
        )


def warn_of_other_order(labels: Any, rows: Any, parameter: str, caller: str) -> None:
    """Warn of labels whose index holds the rows of a frame in another order."""
    first: Any = getattr(labels, "index", None)
    second: Any = getattr(rows, "index", None)
    if not (hasattr(first, "equals") and hasattr(second, "equals")):
        return
    if len(first) != len(second) or first.equals(second):
        return
    same = first.is_unique and second.is_unique and second.isin(first).all()
    if same:
        warn_user(
            f"The index of '{parameter}' of {caller} has the rows of the probabilities "
            "in another order; rows are matched by position. Give "
            f"{parameter}.loc[probs.index] if the index tells the rows.",
            LikelyMistakeWarning,
        )
