"""The theorem on the total variation of estimated proportions, from counts."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq.label_shift.confusion import Confusion, hard_confusion
from distfreeuq.label_shift.inference.prior_distance import (
    total_variation,
    total_variation_of_counts,
)
from distfreeuq.references import FITTED_ELSEWHERE, IID, LABEL_SHIFT, TWO_SAMPLES
from distfreeuq.theorems.conformal.split_coverage import FAMILY
from distfreeuq.theorems.draws.on_target import shift_error_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

BELOW, SMALL = "bound below the total variation", "bound below 0.3"


def shares(n_classes: int, right: float) -> FloatMatrix:
    """Return shares of predictions by class: wrong ones are the next class."""
    return right * np.eye(n_classes) + (1.0 - right) * np.roll(
        np.eye(n_classes), 1, axis=0
    )


def counted(
    generator: np.random.Generator,
    n: int,
    p: FloatArray,
    q: FloatArray,
    law: FloatMatrix,
    target_law: FloatMatrix,
) -> Confusion:
    """Return the counts of n rows of the source and n of the target."""
    k = p.size
    pairs = generator.choice(k * k, size=n, p=(law * p).ravel())
    predicted_target = generator.choice(k, size=n, p=target_law @ q)
    return hard_confusion(pairs // k, pairs % k, predicted_target, k)


def bounded(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n_classes: int,
    n: int,
    right: float,
    delta: float,
    right_in_target: float | None = None,
    others: bool = False,
) -> dict[str, BoolArray]:
    """Estimate the weights from counts, and bound what they are off.

    With `right_in_target` the target is predicted better or worse than the source: no
    label shift. With `others` the bound of the estimate is held against weights that
    are none.
    """
    law = shares(n_classes, right)
    target_law = law if right_in_target is None else shares(n_classes, right_in_target)
    below, small = np.empty((2, n_draws), dtype=np.bool_)
    p = np.arange(2.0, n_classes + 2.0)
    p /= p.sum()
    for i in range(n_draws):
        q = generator.dirichlet(np.ones(n_classes))
        confusion = counted(generator, n, p, q, law, target_law)
        raw = np.linalg.lstsq(confusion.matrix, confusion.frequencies, rcond=None)[0]
        used = np.maximum(raw, 0.0)
        bound = total_variation_of_counts(confusion, used, delta)
        if others:
            used = np.ones(n_classes)
        implied = used * p / (used @ p)
        below[i] = bound < total_variation(implied, q)
        small[i] = bound < 0.3
    return {BELOW: below, SMALL: small}


VARIATION_OF_COUNTS = Theorem(
    name="total-variation-of-counts",
    title="How far estimated proportions can be from the true ones",
    reference="theory page, 4.13",
    statement=(
        "A number from counted predictions is below TV(q_used, q) with probability at "
        "most delta, at every sample size, for weights estimated from the same rows."
    ),
    assumptions=(LABEL_SHIFT, IID, TWO_SAMPLES, FITTED_ELSEWHERE),
    family=FAMILY,
    designs=shift_error_designs.variation_designs,
    experiments=(
        Experiment(
            "three classes, n = m = 200",
            partial(bounded, n_classes=3, n=200, right=0.8, delta=0.2),
            (Claim(BELOW, at_most=0.2),),
            batch=200,
        ),
        Experiment(
            "ten classes, n = m = 20000, which is not vacuous",
            partial(bounded, n_classes=10, n=20_000, right=0.9, delta=0.2),
            (Claim(BELOW, at_most=0.2), Claim(SMALL, at_least=0.9)),
            batch=50,
        ),
    ),
    controls=(
        Experiment(
            "no label shift",
            partial(
                bounded,
                n_classes=3,
                n=20_000,
                right=0.95,
                delta=0.2,
                right_in_target=0.4,
            ),
            (Claim(BELOW, at_most=0.2),),
            batch=50,
        ),
        Experiment(
            "weights other than those bounded",
            partial(bounded, n_classes=3, n=20_000, right=0.95, delta=0.2, others=True),
            (Claim(BELOW, at_most=0.2),),
            batch=50,
        ),
    ),
)

THEOREMS = (VARIATION_OF_COUNTS,)
