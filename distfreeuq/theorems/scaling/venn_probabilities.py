"""Of two Venn-Abers probabilities, the one of the row's own label is calibrated."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray
from distfreeuq.calibration.probability_maps.venn_prediction import venn_abers
from distfreeuq.references import EXCHANGEABLE, FITTED_ELSEWHERE, VOVK_2015
from distfreeuq.theorems.draws.instance_designs import with_instances
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem
from distfreeuq.theorems.scaling.excess_risk import FAMILY

_ROUNDING = 1e-12


def every_row_in_turn(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    n_classes: int = 2,
    taken: str = "own label",
) -> dict[str, BoolArray]:
    """Let each of n rows be the new one, and compare p_Y with the share of ones.

    Given the rows as a set each is the new one with the same probability, so that a
    finite sum gives P(Y = 1 | p_Y) exactly, whatever the law of the rows. Scores are
    few: most tie. Broken: the probability that is `taken` is the "other label"'s, the
    one of label "1" whatever the label, or what predict has "merged".
    """
    fails = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        scores = generator.integers(0, 7, (n, n_classes)) + 1.0
        probs = scores / scores.sum(axis=1, keepdims=True)
        labels = generator.integers(0, n_classes, n)
        is_one = labels == 1
        values = np.empty(n)
        for row in range(n):
            others = np.arange(n) != row
            fit = venn_abers(probs[others], labels[others])
            low, high = fit.multiprobabilities(probs[row : row + 1])[0, 1]
            values[row] = {
                "own label": high if is_one[row] else low,
                "other label": low if is_one[row] else high,
                "1": high,
                "merged": fit.predict(probs[row : row + 1])[0, 1],
            }[taken]
        levels = np.unique(values.round(9), return_inverse=True)[1]
        gaps = np.bincount(levels, weights=is_one - values)
        fails[i] = bool((np.abs(gaps) > _ROUNDING * n).any())
    return {"P(Y = 1 | p_Y) is not p_Y": fails}


NEVER = (Claim("P(Y = 1 | p_Y) is not p_Y", at_most=0.0, tolerance=0.05),)

VENN_ABERS = Theorem(
    name="venn-abers-calibration",
    title="Of two Venn-Abers probabilities one is perfectly calibrated",
    reference=f"{VOVK_2015}, inductive Venn-Abers (theory page, 8.5)",
    statement=(
        "P(Y = 1 | p_Y) = p_Y in finite samples, p_Y being the probability that "
        "isotonic regression gives once the new row has joined with its own label."
    ),
    assumptions=(EXCHANGEABLE, FITTED_ELSEWHERE),
    family=FAMILY,
    experiments=(
        *(
            Experiment(
                f"public: each of {n} rows in turn",
                partial(every_row_in_turn, n=n),
                NEVER,
                batch=20,
            )
            for n in (3, 9)
        ),
        Experiment(
            "public: three classes, each of 8 rows in turn",
            partial(every_row_in_turn, n=8, n_classes=3),
            NEVER,
            batch=20,
        ),
    ),
    controls=tuple(
        Experiment(name, partial(every_row_in_turn, n=9, taken=taken), NEVER, batch=20)
        for name, taken in (
            ("the probability of the other label", "other label"),
            ("the probability of label 1 for all rows", "1"),
            ("the merged probability", "merged"),
        )
    ),
)

THEOREMS = (with_instances(VENN_ABERS),)
