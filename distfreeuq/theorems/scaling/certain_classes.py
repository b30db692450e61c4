"""A theorem on class-wise temperatures of classes that are predicted without an error.

Their loss falls with the temperature for ever, so that a temperature of their own would
say that they are certain.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatMatrix, IntArray
from distfreeuq.calibration.classwise_temperature import classwise_temperature_scaling
from distfreeuq.calibration.temperature import temperature_scaling
from distfreeuq.theorems.draws.instance_designs import with_instances
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem
from distfreeuq.theorems.scaling.excess_risk import FAMILY

OWN, CERTAIN = "not the shared temperature", "not its probabilities"


def rows(generator: np.random.Generator, errors: bool) -> tuple[FloatMatrix, IntArray]:
    """Return logits and labels; class 0 is predicted without an error, unless asked."""
    n, k = int(generator.integers(30, 200)), int(generator.integers(2, 6))
    scale = float(10.0 ** generator.uniform(-0.5, 1.5))
    logits = scale * generator.standard_normal((n, k))
    labels = (logits / scale + generator.gumbel(size=(n, k))).argmax(axis=1)
    first = logits.argmax(axis=1) == 0
    if not errors:
        labels[first] = 0
    # an error elsewhere, so that the rows together have a temperature
    elsewhere = np.flatnonzero(~first)
    labels[elsewhere[0]] = 0
    return logits, labels


def facts(
    generator: np.random.Generator, n_draws: int, *, errors: bool = False
) -> dict[str, BoolArray]:
    """Compare class 0 with the temperature of all rows together.

    Broken: with `errors` class 0 has a temperature of its own.
    """
    events = {name: np.zeros(n_draws, dtype=np.bool_) for name in (OWN, CERTAIN)}
    for i in range(n_draws):
        logits, labels = rows(generator, errors)
        shared = temperature_scaling(logits, labels)
        fit = classwise_temperature_scaling(logits, labels)
        first = logits.argmax(axis=1) == 0
        if shared.at_bound or not first.any() or first.sum() < 2:
            continue  # nothing to share, or too few rows
        same = np.isclose(fit.temperatures[0], shared.temperature, rtol=1e-6)
        events[OWN][i] = not same
        gap = fit.predict(logits[first]) - shared.predict(logits[first])
        events[CERTAIN][i] = bool(np.abs(gap).max() > 1e-5)
    return events


NEVER = (
    Claim(OWN, at_most=0.0, tolerance=0.03),
    Claim(CERTAIN, at_most=0.0, tolerance=0.03),
)

CERTAIN_CLASSES = with_instances(
    Theorem(
        name="classes-without-error",
        title="Classes that are predicted without an error share the temperature",
        reference="theory page, 8",
        statement=(
            "A class without an error among the rows that are predicted to be of it "
            "has the temperature of all rows together, if that has one, and so the "
            "probabilities of one temperature for all."
        ),
        assumptions=("an error elsewhere",),
        family=FAMILY,
        experiments=(Experiment("random rows", facts, NEVER, batch=50),),
        controls=(
            Experiment(
                "errors in the class too", partial(facts, errors=True), NEVER, batch=50
            ),
        ),
    )
)

THEOREMS = (CERTAIN_CLASSES,)
