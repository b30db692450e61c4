"""A theorem on weights that are not the density ratio: what coverage they can cost."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray
from distfreeuq.conformal.covariate_shift_sets import covariate_shift_conformal
from distfreeuq.references import CHOSEN_ELSEWHERE, COVARIATE_SHIFT, IID, INPUTS_OVERLAP
from distfreeuq.theorems.conformal.split_coverage import FAMILY, covers
from distfreeuq.theorems.draws.row_designs import ratio_variation_designs
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

RARE = 0.3
"""Share of the second point in the target; in the source it has half of the rows."""


def two_points(
    generator: np.random.Generator, n_draws: int, *, n: int, used: float
) -> dict[str, BoolArray]:
    """Weight two points as if the second had a share `used` of the target.

    Its scores lie above those of the first, so that it is given up first: nearly all
    that the weights can cost is lost.
    """
    covered = np.empty(n_draws, dtype=np.bool_)
    weight = np.array([2.0 * (1.0 - used), 2.0 * used])
    for i in range(n_draws):
        point = (generator.random(n + 1) < 0.5).astype(np.int64)
        point[n] = generator.random() < RARE
        scores = 0.5 * (generator.random(n + 1) + point)
        probs = np.column_stack([1.0 - scores, scores])
        fit = covariate_shift_conformal(
            probs[:n],
            np.zeros(n, dtype=np.int64),
            weight[point[:n]],
            alpha=0.1,
            score="lac",
            rng=generator,
        )
        sets = fit.predict(probs[n:], weight[point[n:]], rng=generator)
        covered[i] = sets.mask[0, 0]
    return {"covered": covered}


COST = Theorem(
    name="wrong-ratio-coverage",
    title="What weights that are not the density ratio can cost",
    reference="Lei & Candes (2021); theory page, 4.1",
    statement=(
        "P(Y in C(X)) >= 1 - alpha - E_p|w_hat - w| / 2 for weights w_hat that come "
        "from other rows and have mean one in the source, w being q(x)/p(x)."
    ),
    assumptions=(
        COVARIATE_SHIFT,
        INPUTS_OVERLAP,
        IID,
        CHOSEN_ELSEWHERE,
        "the weights come from other rows, and have mean one in the source",
    ),
    family=FAMILY,
    designs=ratio_variation_designs,
    experiments=tuple(
        Experiment(
            f"two points, {words}, n = 100",
            partial(two_points, n=100, used=used),
            covers(0.1 + abs(used - RARE), 0.03),
            batch=500,
        )
        for words, used in (("rare one underrated", 0.05), ("overrated", 0.6))
    ),
    controls=(
        Experiment(
            "two points, cost left out",
            partial(two_points, n=100, used=0.05),
            covers(0.1, 0.03),
            batch=500,
        ),
        Experiment(
            "two points, half of the cost",
            partial(two_points, n=100, used=0.05),
            covers(0.1 + 0.125, 0.03),
            batch=500,
        ),
    ),
)

THEOREMS = (COST,)
