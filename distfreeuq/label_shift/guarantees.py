"""What is guaranteed of estimated weights, in words."""

from __future__ import annotations

import numpy as np

from distfreeuq import references
from distfreeuq._base.array_types import Classes, IntArray
from distfreeuq._base.class_labels import name_classes
from distfreeuq.guarantees import Guarantee
from distfreeuq.label_shift.inference.scarce_classes import ENOUGH_ROWS

_BASICS = (
    references.LABEL_SHIFT,
    references.CLASSES_OVERLAP,
    references.TWO_SAMPLES,
    references.FITTED_ELSEWHERE,
)


def _more(labelled: bool) -> str:
    """Return the reference for labels of some target rows."""
    return "; shares of labels beside it (theory page, 4.15)" if labelled else ""


def exact_cells(labelled: bool = False) -> Guarantee:
    """Return the claim of the Clopper-Pearson polytope, with some labels or none."""
    return Guarantee(
        statement=(
            "region(delta) holds all true weights at once with probability >= "
            "1 - delta, in finite samples, whatever the classifier."
        ),
        kind="confidence interval",
        reference=(
            f"{references.CLOPPER_PEARSON_1934} for each cell; Oettli and Prager "
            f"(1964) for the weights they allow (theory page, 4.3){_more(labelled)}"
        ),
        assumptions=(*_BASICS, *(references.LABELLED_AT_RANDOM,) * labelled),
    )


def norm_ball(labelled: bool = False) -> Guarantee:
    """Return the claim of the l2 region of soft predictions."""
    return Guarantee(
        statement=(
            "region(delta) holds all true weights at once with probability >= "
            "1 - delta, in finite samples, whatever the classifier; it may be "
            "unbounded."
        ),
        kind="confidence interval",
        reference=(
            "bounded differences of mean vectors (theory page, 4.4)" + _more(labelled)
        ),
        assumptions=(*_BASICS, *(references.LABELLED_AT_RANDOM,) * labelled),
    )


def moment_equations(labelled: bool = False) -> Guarantee:
    """Return the claim of MLLS's intervals: nothing need be calibrated."""
    return Guarantee(
        statement=(
            "each interval covers its true weight, and region(delta) all of them, with "
            "the probability it states, be the probabilities calibrated or not"
        ),
        kind="confidence interval",
        reference=(
            "score intervals of the moment equations (theory page, 4.6)"
            f"{_more(labelled)}"
        ),
        assumptions=(
            references.LABEL_SHIFT,
            references.CLASSES_OVERLAP,
            references.TWO_SAMPLES,
            references.FITTED_ELSEWHERE,
            references.CLASSES_TOLD_APART,
            *(references.LABELLED_AT_RANDOM,) * labelled,
        ),
        finite_sample=False,
    )


def scarce_classes(counts: IntArray, classes: Classes) -> list[str]:
    """Return a note on classes whose rows are too few to know their predictions by."""
    few = np.flatnonzero((counts > 0) & (counts < ENOUGH_ROWS))
    if not few.size:
        return []
    return [
        f"Fewer than {ENOUGH_ROWS} source rows of {name_classes(classes, few)}: where "
        "the target has many, asymptotic intervals allow for all predictions that so "
        "few rows do not exclude. Standard errors do not."
    ]
