"""Theorems on calibration errors on the target, and what they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from distfreeuq import bounds, metrics
from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.bounds import CovariateShiftTerms
from distfreeuq.references import COVARIATE_SHIFT, INPUTS_OVERLAP, PARK_2020
from distfreeuq.theorems.covariate_shift.weighted_losses import (
    FAMILY,
    never,
)
from distfreeuq.theorems.draws.finite_shift import SAME
from distfreeuq.theorems.draws.instance_designs import with_instances
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

# ------------------------------------------------------------------------- the bound


@dataclass(frozen=True, slots=True)
class RandomForecasts:
    """Laws p and q on a few points, with forecasts, labels and a discriminator.

    Attributes
    ----------
    p, q : ndarray (m,)
    losses : ndarray (m,)
        E[||f(x) - y||^2 | x] in the source.
    target_losses : ndarray (m,)
        The same in the target.
    calibration_error : float
        E_q ||f - c||^2, c = E_q[y | f].
    guess : ndarray (m,)
        g_hat.
    """

    p: FloatArray
    q: FloatArray
    losses: FloatArray
    target_losses: FloatArray
    calibration_error: float
    guess: FloatArray

    @classmethod
    def draw(
        cls, generator: np.random.Generator, concept_shift: bool = False
    ) -> RandomForecasts:
        """Return random ones: certain and wrong as often as not, some points alike."""
        size, n_classes = int(generator.integers(2, 6)), int(generator.integers(2, 4))
        p = generator.integers(1, 20, size=size).astype(np.float64)
        q = generator.integers(0, 20, size=size).astype(np.float64)
        q[0] += 1.0
        p, q = p / p.sum(), q / q.sum()
        spread = float(generator.choice([0.01, 1.0]))  # nearly certain, or not
        said = generator.dirichlet(np.full(n_classes, spread), size=3)
        group = generator.integers(0, 3, size=size)
        forecasts = said[group]
        true = generator.dirichlet(np.full(n_classes, spread), size=(2, size))
        here, there = (true[0], true[1]) if concept_shift else (true[0], true[0])
        losses, target_losses = (
            np.clip((forecasts**2 - 2.0 * forecasts * y).sum(axis=1) + 1.0, 0.0, 2.0)
            for y in (here, there)
        )
        calibration_error = 0.0
        for value in np.unique(group):
            mass = q * (group == value)
            gap = mass.sum() * said[value] - mass @ there
            calibration_error += float(gap @ gap) / max(float(mass.sum()), 1e-300)
        exact = p / (p + q)
        noise = generator.normal(
            scale=generator.choice([0.0, 0.1, 1.0, 5.0]), size=size
        )
        guess = 1.0 / (1.0 + np.exp(noise) * (1.0 - exact) / exact)
        return cls(p, q, losses, target_losses, calibration_error, guess)

    def terms(self, t: float) -> CovariateShiftTerms:
        """Return what the bound is made of."""
        return bounds.covariate_shift_terms(
            self.p, self.q, self.losses, self.guess, t=t
        )


def value_of(
    terms: CovariateShiftTerms, t: float, form: str, upper: float | None = None
) -> float:
    """Return the package's bound of these terms."""
    return bounds.covariate_shift_bound(
        terms.weighted_error,
        terms.discriminator_error,
        terms.best_discriminator_error,
        upper=terms.upper if upper is None else upper,
        t=t,
        form=form,
    )


def random_laws(
    generator: np.random.Generator,
    n_draws: int,
    *,
    half: bool = False,
    concept_shift: bool = False,
) -> dict[str, BoolArray]:
    """Compare the bound in all its forms with the errors on the target.

    At t = 1/2 (`half`), or a random t.
    """
    names = ("calibration error above E_q L", *(f"E_q L above {f}" for f in FORMS))
    events = {name: np.zeros(n_draws, dtype=np.bool_) for name in names}
    for i in range(n_draws):
        case = RandomForecasts.draw(generator, concept_shift)
        t = 0.5 if half else float(10.0 ** generator.uniform(-2.0, 1.0))
        terms = case.terms(t)
        error = float(case.q @ case.target_losses)
        events[names[0]][i] = case.calibration_error > error + SAME
        for form in FORMS if half else FORMS[:2]:
            limit = value_of(terms, t, form)
            events[f"E_q L above {form}"][i] = error > limit + SAME
    return events


FORMS = ("sharp", "simple", "printed")


def worst_discriminator(
    generator: np.random.Generator,
    n_draws: int,
    *,
    factor: float = 1.0,
    upper: float = 1.0,
) -> dict[str, BoolArray]:
    """Compare the sharp bound with E_q L where no smaller lambda holds.

    Only the first point, whose ratio is U, has a loss, of 2, and is guessed wrong, by
    as much as hurts most. Broken: lambda, or U, times less than one.
    """
    exceeded, slack = np.empty((2, n_draws), dtype=np.bool_)
    for i in range(n_draws):
        ratio = float(generator.uniform(1.5, 10.0))
        t = float(generator.uniform(0.05, 0.7))
        p = float(generator.uniform(0.05, 0.99) / ratio)
        g = 1.0 / (1.0 + ratio)
        guesses = np.linspace(g, 1.0, 20_001)[1:]
        cost = (1.0 / g - 1.0 / guesses - t) / (guesses - g) ** 2
        other = (1.0 - p) / (2.0 - p - ratio * p)
        terms = bounds.covariate_shift_terms(
            [p, 1.0 - p],
            [ratio * p, 1.0 - ratio * p],
            [2.0, 0.0],
            [guesses[cost.argmax()], other],
            t=t,
        )
        limit = value_of(terms, t, "sharp", upper * ratio)
        limit -= (1.0 - factor) * (limit - terms.weighted_error)
        exceeded[i] = terms.target_error > limit + SAME
        slack[i] = limit > terms.target_error * (1.0 + 1e-4)
    return {"E_q L above sharp": exceeded, "not attained": slack}


def as_printed(generator: np.random.Generator, n_draws: int) -> dict[str, BoolArray]:
    """Compare the paper's statement, with E_q in place of E_p, with E_q ||f - c||^2.

    The forecast is certain and wrong at a point that the target has less of, and right
    at another: random laws, of which the first is the example of theory page, 7.
    """
    exceeded = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        p = 0.75 if i == 0 else float(generator.uniform(0.5, 0.95))
        q = 0.3 if i == 0 else p * float(generator.uniform(0.1, 0.45))
        exact = [p / (p + q), (1.0 - p) / (2.0 - p - q)]
        terms = bounds.covariate_shift_terms([p, 1 - p], [q, 1 - q], [2.0, 0.0], exact)
        exceeded[i] = 2.0 * q > bounds.covariate_shift_bound_printed(terms) + SAME
    return {"calibration error above printed": exceeded}


def without_t(generator: np.random.Generator, n_draws: int) -> dict[str, BoolArray]:
    """Leave the 1/2 out of the weights, but keep lambda(U, 1/2)."""
    exceeded = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        case = RandomForecasts.draw(generator)
        terms = case.terms(1e-12)
        limit = value_of(terms, 0.5, "sharp")
        exceeded[i] = terms.target_error > limit + SAME
    return {"E_q L above sharp": exceeded}


ORDERED = "calibration error above E_q L"
TWO_FORMS = never(ORDERED, *(f"E_q L above {f}" for f in FORMS[:2]), tolerance=0.003)
THREE_FORMS = never(ORDERED, *(f"E_q L above {f}" for f in FORMS), tolerance=0.003)
SHARP = never("E_q L above sharp")

BOUND = Theorem(
    name="covariate-shift-bound",
    title="The calibration error on the target is bounded by errors on the source",
    reference=f"{PARK_2020}, Thm 1, repaired (theory page, 7)",
    statement=(
        "E_q ||f - c||^2 <= E_q L <= E_p[L (1/g_hat - 1 + t)] + lambda (E_r (g_hat - "
        "s)^2 - E_r (g - s)^2), L = ||f - y||^2, for t > 0 and lambda = (1 + U)^3 / t, "
        "(1 + U)^4 at t = 1/2, or the sharp one, which is attained."
    ),
    assumptions=(COVARIATE_SHIFT, INPUTS_OVERLAP, "q(x)/p(x) <= U"),
    family=FAMILY,
    experiments=(
        Experiment("random laws, forecasts and t", random_laws, TWO_FORMS, batch=500),
        Experiment(
            "random laws and forecasts, t = 1/2",
            partial(random_laws, half=True),
            THREE_FORMS,
            batch=500,
        ),
        Experiment(
            "the worst discriminator",
            worst_discriminator,
            (*SHARP, *never("not attained")),
            batch=500,
        ),
    ),
    controls=(
        Experiment(
            "as printed, with E_q, and the exact discriminator",
            as_printed,
            never("calibration error above printed"),
            batch=200,
        ),
        Experiment("weights without the 1/2", without_t, SHARP, batch=200),
        Experiment(
            "lambda smaller by a hundredth",
            partial(worst_discriminator, factor=0.99),
            SHARP,
            batch=200,
        ),
        Experiment(
            "U smaller than the largest ratio",
            partial(worst_discriminator, upper=0.9),
            SHARP,
            batch=200,
        ),
        Experiment(
            "p(y | x) differs",
            partial(random_laws, concept_shift=True),
            SHARP,
            batch=200,
        ),
    ),
)


# ------------------------------------------------------------ the Brier score in parts


def brier_parts(
    generator: np.random.Generator, n_draws: int, *, broken: str | None = None
) -> dict[str, BoolArray]:
    """Take the Brier score of random rows apart, and put it together again.

    Forecasts are few, so that rows share them, or all different. Broken: "within", the
    bins' within terms left out; "mixed", the error of one coordinate beside the
    sharpness of all.
    """
    events = {name: np.empty(n_draws, dtype=np.bool_) for name in PARTS}
    for i in range(n_draws):
        n, n_classes = int(generator.integers(3, 40)), int(generator.integers(2, 5))
        n_forecasts = n if generator.random() < 0.5 else 4
        said = generator.dirichlet(np.full(n_classes, 0.7), size=n_forecasts)
        probs = said[generator.integers(0, n_forecasts, size=n)]
        labels = generator.integers(0, n_classes, size=n)
        weights = 0.1 + generator.exponential(size=n)
        total = ((probs - np.eye(n_classes)[labels]) ** 2).sum(axis=1)
        score = float(weights @ total / weights.sum())

        bins = metrics.brier_decomposition(
            probs, labels, n_bins=5, sample_weight=weights
        )
        put_together = bins.calibration + 1.0 - bins.sharpness
        if broken != "within":
            put_together += bins.within_var - 2.0 * bins.within_cov
        murphy = bins.uncertainty - bins.resolution - 1.0 + bins.sharpness
        events[PARTS[0]][i] = max(abs(put_together - score), abs(murphy)) > SAME

        same = metrics.brier_decomposition(
            probs, labels, groups="forecasts", sample_weight=weights
        )
        within = max(abs(same.within_var), abs(same.within_cov))
        put_together = same.calibration + 1.0 - same.sharpness
        events[PARTS[1]][i] = max(abs(put_together - score), within) > SAME

        events[PARTS[2]][i] = not _one_coordinate(probs, labels, broken == "mixed")
    return events


def _one_coordinate(probs: FloatMatrix, labels: IntArray, mixed: bool) -> bool:
    """Return whether E(f - z)^2 = E(f - c)^2 + E c(1 - c), z = 1{y = top label}."""
    confidence = probs.max(axis=1)
    hits = (probs.argmax(axis=1) == labels).astype(np.int64)
    of_top = np.column_stack([1.0 - confidence, confidence])
    parts = metrics.brier_decomposition(of_top, hits, groups="forecasts")
    noise = 0.5 * (1.0 - parts.sharpness)
    if mixed:
        every = metrics.brier_decomposition(probs, labels, groups="forecasts")
        noise = 1.0 - every.sharpness
    score = float(((confidence - hits) ** 2).mean())
    return abs(0.5 * parts.calibration + noise - score) <= SAME


PARTS = (
    "parts of bins do not add up",
    "parts of forecasts do not add up",
    "parts of one coordinate do not add up",
)
ADD_UP = never(*PARTS)

BRIER = Theorem(
    name="brier-decomposition",
    title="The Brier score is calibration error plus what is left to chance",
    reference=f"{PARK_2020}, eq. (2), corrected (theory page, 7); Murphy (1973)",
    statement=(
        "E ||f - y||^2 = E ||f - c||^2 + 1 - E ||c||^2 with c = E[y | f], on data with "
        "rows of equal forecasts as groups; bins add within_var - 2 within_cov; and "
        "E (f_k - z)^2 = E (f_k - c_k)^2 + E c_k (1 - c_k) for the top label k, "
        "z = 1{y = k}."
    ),
    assumptions=("none: these are identities, of any rows with any weights",),
    family=FAMILY,
    experiments=(Experiment("random rows", brier_parts, ADD_UP, batch=200),),
    controls=tuple(
        Experiment(name, partial(brier_parts, broken=broken), ADD_UP, batch=100)
        for name, broken in (
            ("what bins leave over left out", "within"),
            ("error of one coordinate with the sharpness of all", "mixed"),
        )
    ),
)

THEOREMS = (with_instances(BOUND), with_instances(BRIER))
