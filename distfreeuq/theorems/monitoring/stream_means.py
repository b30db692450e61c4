"""The theorem behind bounds that are looked at for ever: means that may drift."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray
from distfreeuq.monitoring.running_means import first_above, running_sums
from distfreeuq.references import HOWARD_2021
from distfreeuq.theorems.draws import stream_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

ALPHA = 0.1
ROWS = 400


def ever_outside(
    generator: np.random.Generator,
    n_draws: int,
    *,
    mean: float,
    binary: bool,
    drift: bool = False,
) -> dict[str, BoolArray]:
    """Return whether the running mean is ever outside, after any of the rows.

    With `drift` the mean of a row is larger after a row below one half than after
    others, and a third of that in the second half of the rows.
    """
    values, means = np.empty((ROWS, n_draws)), np.full((ROWS, n_draws), mean)
    for t in range(ROWS):
        if drift:
            more = values[t - 1] < 0.5 if t else np.zeros(n_draws, dtype=np.bool_)
            means[t] *= np.where(more, 1.5, 0.5) / (3.0 if 2 * t > ROWS else 1.0)
        drawn = generator.random(n_draws)
        values[t] = drawn < means[t] if binary else 2.0 * drawn * means[t]
    n = np.arange(1, ROWS + 1)
    outside = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        totals, spreads = running_sums(values[:, i], 0.0, 0.0, 0)
        running = np.cumsum(means[:, i]) / n
        side = 0.5 * ALPHA, binary
        low = first_above(totals, spreads, n, running, *side)
        high = first_above(n - totals, spreads, n, 1.0 - running, *side)
        outside[i] = low is not None or high is not None
    return {"outside": outside}


def ever_significant(
    generator: np.random.Generator, n_draws: int
) -> dict[str, BoolArray]:
    """Return whether a test that is meant for one look ever rejects the true mean."""
    totals = np.cumsum(generator.random((n_draws, ROWS)) < 0.5, axis=1)
    n = np.arange(1, ROWS + 1)
    far = np.abs(totals - 0.5 * n) > 1.6449 * np.sqrt(0.25 * n)
    return {"outside": np.asarray(far[:, 20:].any(axis=1))}


CLAIMS = (Claim("outside", at_most=ALPHA, tolerance=0.02),)

MEANS = Theorem(
    name="stream-means",
    title="A running mean in [0, 1] is in its interval at all times at once",
    reference=f"{HOWARD_2021}: running means (theory page, 11.4)",
    statement=(
        "P(the running mean of numbers in [0, 1], which may drift, is ever outside of "
        "its confidence sequence) <= alpha."
    ),
    assumptions=("the running mean is that of each number's mean given those before",),
    family="streams",
    experiments=tuple(
        Experiment(
            f"{what}, mean {mean:g}{', drifting' if drift else ''}",
            partial(ever_outside, mean=mean, binary=binary, drift=drift),
            CLAIMS,
            500,
        )
        for what, binary in (("binary", True), ("between", False))
        for mean, drift in ((0.5, False), (0.05, False), (0.3, True))
    ),
    controls=(Experiment("intervals meant for one look", ever_significant, CLAIMS),),
    designs=stream_designs.mean_designs,
)

THEOREMS = (MEANS,)
