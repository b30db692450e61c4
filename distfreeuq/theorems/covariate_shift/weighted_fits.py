"""What `covariate_shift_calibration` prints: weighted fits, the terms of a bound."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import special

from distfreeuq import bounds
from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.calibration.results import coefficients
from distfreeuq.calibration.temperature import TemperatureResult
from distfreeuq.covariate_shift.weighted_calibration import covariate_shift_calibration
from distfreeuq.references import COVARIATE_SHIFT, INPUTS_OVERLAP, TRUE_RATIO_TO_SCALE
from distfreeuq.theorems.covariate_shift.ratio_weights import TrueDiscriminator
from distfreeuq.theorems.covariate_shift.weighted_losses import (
    FAMILY,
    NEAR,
)
from distfreeuq.theorems.draws.finite_shift import FiniteShift
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import ASYMPTOTIC, Experiment, Theorem

ROWS = "rows i.i.d., none of which the classifier was fitted on"
# over-confident at points of which the target has more
FOUR_POINTS = FiniteShift(
    p=(0.3, 0.4, 0.2, 0.1),
    q=(0.1, 0.2, 0.3, 0.4),
    positive=(0.05, 0.3, 0.6, 0.7),
    forecast=(0.05, 0.2, 0.8, 0.95),
)


def best_temperature(shift: FiniteShift, law: tuple[float, ...]) -> float:
    """Return the temperature of the smallest expected log loss under a law.

    The derivative in the inverse temperature, sum law z (sigmoid(a z) - P(Y = 1)), is
    increasing: halve an interval until it is a number.
    """
    z, one = shift.logits, np.array(shift.positive)
    low, high = 1e-3, 1e3
    for _ in range(100):
        middle = 0.5 * (low + high)
        slope = np.array(law) @ (z * (special.expit(middle * z) - one))
        low, high = (low, middle) if slope > 0.0 else (middle, high)
    return 1.0 / low


# ------------------------------------------------------------- temperatures, weighted


def interval_of_temperature(
    generator: np.random.Generator, n_draws: int, *, n: int, broken: str | None = None
) -> dict[str, BoolArray]:
    """Ask whether the printed interval holds the target's best temperature.

    Broken: rows "not weighted"; the standard error "of equal rows".
    """
    truth = best_temperature(FOUR_POINTS, FOUR_POINTS.q)
    held = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        points, labels = FOUR_POINTS.rows(generator, n, FOUR_POINTS.p)
        weights = None if broken == "not weighted" else FOUR_POINTS.ratio[points]
        fit = _temperature(FOUR_POINTS.logits[points], labels, weights)
        error = fit.std_err
        if broken == "of equal rows":
            plain = _temperature(FOUR_POINTS.logits[points], labels, None)
            error = plain.std_err / plain.temperature * fit.temperature
        ends = coefficients(
            np.array([fit.temperature]), np.array([error]), 1.0, positive=True
        )
        held[i] = ends["low"][0] <= truth <= ends["high"][0]
    return {"holds the target's best": held}


def _temperature(
    logits: FloatArray, labels: IntArray, weights: FloatArray | None
) -> TemperatureResult:
    fit = covariate_shift_calibration(logits, labels, None, None, ratio=weights)
    assert isinstance(fit.calibration, TemperatureResult)
    return fit.calibration


HELD = (Claim("holds the target's best", equals=0.95, tolerance=0.04),)

TEMPERATURE = Theorem(
    name="weighted-temperature",
    title="The weighted temperature's interval holds the target's best, in the limit",
    reference="theory page, 6.1; sandwich standard errors (Huber, 1967; White, 1982)",
    statement=(
        "P(interval holds the temperature of the smallest log loss on the target) -> "
        "0.95 as n -> infinity (asymptotic: no claim at a given sample size); here at "
        "n = 500 weighted source rows."
    ),
    assumptions=(COVARIATE_SHIFT, INPUTS_OVERLAP, TRUE_RATIO_TO_SCALE, ROWS),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        Experiment(
            "public: four points, n = 500",
            partial(interval_of_temperature, n=500),
            HELD,
            batch=200,
        ),
    ),
    controls=tuple(
        Experiment(
            name,
            partial(interval_of_temperature, n=500, broken=broken),
            HELD,
            batch=100,
        )
        for name, broken in (
            ("rows not weighted", "not weighted"),
            ("standard error of rows of equal weight", "of equal rows"),
        )
    ),
)


# ------------------------------------------------------------- the terms of the bound


def ratio_to_power(x: FloatMatrix, *, power: float) -> FloatArray:
    """Return the ratio at rows (n, 1) of numbers of points, raised to a power."""
    ratio: FloatArray = FOUR_POINTS.ratio[x[:, 0].astype(np.int64)] ** power
    return ratio


def printed_terms(
    generator: np.random.Generator, n_draws: int, *, n: int, power: float = 1.0
) -> dict[str, BoolArray]:
    """Compare the printed terms with those of the theorem, by enumeration.

    A `power` of the ratio other than one makes a discriminator that is not calibrated.
    """
    near = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        points, labels = FOUR_POINTS.rows(generator, n, FOUR_POINTS.p)
        new, _ = FOUR_POINTS.rows(generator, n // 2, FOUR_POINTS.q)
        fit = covariate_shift_calibration(
            FOUR_POINTS.logits[points],
            labels,
            points.astype(np.float64),
            new.astype(np.float64),
            ratio=TrueDiscriminator(partial(ratio_to_power, power=power)),
            ratio_options={"calibrate": False, "normalize": False, "n_folds": 2},
            upper=float(FOUR_POINTS.ratio.max()),
            rng=generator,
        )
        assert fit.bound is not None
        forecast = fit.predict(FOUR_POINTS.logits)[:, 1]
        true = bounds.covariate_shift_terms(
            FOUR_POINTS.p,
            FOUR_POINTS.q,
            2.0 * FOUR_POINTS.losses(forecast),
            1.0 / (1.0 + FOUR_POINTS.ratio**power),
        )
        pairs = (
            (fit.bound.target_error, true.target_error),
            (fit.bound.weighted_error, true.weighted_error),
            (fit.bound.discriminator_error, true.discriminator_error),
            (fit.bound.supposed_best_error, true.best_discriminator_error),
        )
        allowed = (0.1, 0.1, 0.02, 0.02)
        near[i] = all(abs(a - b) <= c for (a, b), c in zip(pairs, allowed, strict=True))
    return {"near": near}


TERMS = Theorem(
    name="covariate-shift-bound-terms",
    title="The terms that are printed tend to those of the bound",
    reference="theory page, 7; laws of large numbers",
    statement=(
        "Of a calibrated discriminator, the mean of L w_hat tends to E_q L, that of "
        "L (w_hat + 1/2) to the bound's first term, and that of g_hat (1 - g_hat) to "
        "E_r (g - s)^2: here within 0.1, 0.1 and 0.02 at n = 4000."
    ),
    assumptions=(
        COVARIATE_SHIFT,
        INPUTS_OVERLAP,
        "the discriminator is P(source | x)",
        ROWS,
    ),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        Experiment(
            "public: the exact discriminator, n = 4000 and 2000",
            partial(printed_terms, n=4000),
            NEAR,
            batch=25,
        ),
    ),
    controls=(
        Experiment(
            "a discriminator that is not calibrated",
            partial(printed_terms, n=4000, power=2.0),
            NEAR,
            batch=25,
        ),
    ),
)

THEOREMS = (TEMPERATURE, TERMS)
