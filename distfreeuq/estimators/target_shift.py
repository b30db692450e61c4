"""Label shift between the rows that were held out and those of the target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatMatrix
from distfreeuq._base.arrays import AnyArray
from distfreeuq.label_shift import LabelShiftResult, bbse, mlls, rlls

LABEL_SHIFT_ESTIMATORS: dict[str, Callable[..., LabelShiftResult]] = {
    "mlls": mlls,
    "bbse": bbse,
    "rlls": rlls,
}


def estimate_label_shift(
    args: Arguments,
    method: Any,
    probs: FloatMatrix,
    labels: AnyArray,
    probs_target: FloatMatrix,
    classes: AnyArray,
) -> LabelShiftResult:
    """Return what one of the estimators finds."""
    name = args.choice(method, "shift", LABEL_SHIFT_ESTIMATORS)
    return LABEL_SHIFT_ESTIMATORS[name](probs, labels, probs_target, classes=classes)
