"""What summaries of label-shift sets say beside their claims."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import Classes, IntArray
from distfreeuq._base.class_labels import name_classes
from distfreeuq._numerics.quantiles import smallest_sample
from distfreeuq.guarantees import at_least


def in_finite_samples(
    counts: IntArray, classes: Classes, alpha: float, robust_too: bool
) -> str:
    """Return which procedures have a claim for finite samples, the strongest first.

    `robust_too` if the estimated weights have a finite-sample region.
    """
    enough = smallest_sample(alpha)
    short = np.flatnonzero((counts > 0) & (counts < enough))
    absent = np.flatnonzero(counts == 0)
    advice = (
        "label_conditional_conformal covers every class with probability >= "
        f"{at_least(1.0 - alpha)} under any label shift, in finite samples"
    )
    if short.size:
        advice += (
            f"; but every set would hold {name_classes(classes, short)}: fewer than "
            f"{enough} rows"
        )
    if absent.size:
        advice += f"; every set would hold {name_classes(classes, absent)}: no rows"
    if robust_too:
        advice += (
            ". robust=True covers target rows with probability >= 1 - alpha - delta, "
            "in finite samples"
        )
    return f"{advice}."
