"""The theorem behind class proportions at all times: means, looked at for ever."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray
from distfreeuq.monitoring.streams.mean_sequences import log_evidence
from distfreeuq.references import INDEPENDENT, VILLE_1939
from distfreeuq.theorems.draws import stream_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

ALPHA = 0.1
ROWS = 400


def ever_outside(
    generator: np.random.Generator, n_draws: int, *, mean: float, binary: bool
) -> dict[str, BoolArray]:
    """Return whether the true mean is ever outside, after any of the rows."""
    shape = (n_draws, ROWS)
    rows = generator.random(shape) < mean
    values = rows.astype(float) if binary else generator.beta(mean, 1.0 - mean, shape)
    totals, n = np.cumsum(values, axis=1), np.arange(1, ROWS + 1)
    evidence = log_evidence(np.minimum(totals, n), n, mean)
    return {"outside": np.asarray((evidence >= -math.log(ALPHA)).any(axis=1))}


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
    title="A mean in [0, 1] is in its interval at all times at once",
    reference=f"{VILLE_1939}: means at all times (theory page, 11.3)",
    statement=(
        "P(the mean of numbers in [0, 1] is ever outside of its confidence sequence) "
        "<= alpha."
    ),
    assumptions=(INDEPENDENT, "the mean is the same for all rows"),
    family="streams",
    experiments=tuple(
        Experiment(
            f"{what}, mean {mean:g}",
            partial(ever_outside, mean=mean, binary=binary),
            CLAIMS,
            2000,
        )
        for what, binary in (("binary", True), ("between", False))
        for mean in (0.5, 0.05)
    ),
    controls=(Experiment("intervals meant for one look", ever_significant, CLAIMS),),
    designs=stream_designs.mean_designs,
)

THEOREMS = (MEANS,)
