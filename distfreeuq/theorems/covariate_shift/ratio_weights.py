"""What `density_ratio` says of its weights: scale, bounds, AUC, tests, neighbours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._numerics.sample_weights import effective_sample_size
from distfreeuq.density_ratios.diagnostics import auc_interval
from distfreeuq.density_ratios.estimation import density_ratio
from distfreeuq.density_ratios.nearest_neighbors import fit_neighbors
from distfreeuq.density_ratios.weight_pipeline import STAGES, Conditioning, condition
from distfreeuq.feature_learning.fresh_discriminators import judge
from distfreeuq.references import PAMPARI_ERMON_2020, TWO_SAMPLES
from distfreeuq.theorems.covariate_shift.weighted_losses import FAMILY, never
from distfreeuq.theorems.draws.finite_shift import SAME
from distfreeuq.theorems.draws.instance_designs import with_instances
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import (
    ASYMPTOTIC,
    Experiment,
    Theorem,
    as_event,
)

# --------------------------------------------------------------- ratios by Bayes' rule


class TrueDiscriminator:
    """P(target | x) by the true ratio of densities, for samples of any sizes.

    Parameters
    ----------
    ratio : callable
        Returns q(x)/p(x) of rows (n, d), shape (n,).
    balanced : bool
        Whether it is that of samples of equal sizes, whatever it is fitted to.
    """

    def __init__(
        self, ratio: Callable[[FloatMatrix], FloatArray], balanced: bool = False
    ) -> None:
        self.ratio, self.balanced = ratio, balanced
        self.odds = 1.0

    def fit(self, x: FloatMatrix, y: IntArray) -> TrueDiscriminator:
        """Take in the sizes of the samples."""
        if not self.balanced:
            self.odds = float(y.sum() / (y.size - y.sum()))
        return self

    def predict_proba(self, x: FloatMatrix) -> FloatMatrix:
        """Return P(source | x) and P(target | x), shape (n, 2)."""
        odds = self.odds * self.ratio(x)
        return np.column_stack([1.0 / (1.0 + odds), odds / (1.0 + odds)])


def normal_ratio(x: FloatMatrix) -> FloatArray:
    """Return N(1/2, 1) / N(0, 1) at rows (n, 1), shape (n,)."""
    ratio: FloatArray = np.exp(0.5 * x[:, 0] - 0.125)
    return ratio


def bayes_ratios(
    generator: np.random.Generator, n_draws: int, *, balanced: bool = False
) -> dict[str, BoolArray]:
    """Compare the ratios of all rows, and of new ones, with the truth."""
    off = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        n, m = generator.integers(100, 300, size=2)
        source = generator.standard_normal((n, 1))
        target = 0.5 + generator.standard_normal((m, 1))
        found = density_ratio(
            source,
            target,
            method=TrueDiscriminator(normal_ratio, balanced),
            calibrate=False,
            normalize=False,
            n_folds=int(generator.integers(2, 5)),
            rng=generator,
        )
        new = generator.standard_normal((5, 1))
        pairs = (
            (found.source_ratio, source),
            (found.target_ratio, target),
            (found.weight(new), new),
        )
        errors = [np.abs(w / normal_ratio(x) - 1.0).max() for w, x in pairs]
        off[i] = max(errors) > SAME
    return {"a ratio is off": off}


BAYES = Theorem(
    name="discriminator-ratio",
    title="The odds of the true discriminator are the density ratio",
    reference=f"{PAMPARI_ERMON_2020}, section 4.2; theory page, 6.4",
    statement="q(x)/p(x) = (n_source/n_target) P(target | x)/P(source | x).",
    assumptions=("the discriminator is the Bayes rule of rows in these proportions",),
    family=FAMILY,
    experiments=(
        Experiment(
            "public: two normals, samples of 100 to 300 rows",
            bayes_ratios,
            never("a ratio is off"),
            batch=200,
        ),
    ),
    controls=(
        Experiment(
            "a discriminator of balanced samples",
            partial(bayes_ratios, balanced=True),
            never("a ratio is off"),
            batch=50,
        ),
    ),
)


# --------------------------------------------------------------- from ratios to weights


def conditioned(
    generator: np.random.Generator, n_draws: int, *, broken: str | None = None
) -> dict[str, BoolArray]:
    """Limit, flatten, clip and normalise random ratios of widths that differ a lot.

    Broken: clipped after they are "normalised first"; "sharpened", by powers above one.
    """
    events = {event: np.empty(n_draws, dtype=np.bool_) for event in WEIGHTS}
    for i in range(n_draws):
        spread = float(generator.choice([0.2, 1.0, 4.0]))
        n = int(generator.integers(2, 200))
        ratio, new = np.exp(spread * generator.standard_normal((2, n)))
        flatten = float(generator.choice([0.0, generator.random(), 1.0]))
        if broken == "sharpened":
            flatten = 1.5
        low, high = np.sort(np.exp(generator.standard_normal(2)))
        ends: Any = generator.choice(4)
        clip = (None, (low, high), (0.0, high), ("1%", "90%"))[ends]
        made = condition(ratio, n, flatten=flatten, clip=clip)
        weights = made.weights(ratio)
        if broken == "normalised first":
            weights = _normalised_first(made, ratio)
        largest = max(weights.max(), made.weights(new).max())
        events[WEIGHTS[0]][i] = largest > made.upper * (1.0 + SAME)
        events[WEIGHTS[1]][i] = abs(weights.mean() - 1.0) > SAME
        sizes = [effective_sample_size(made.stages(ratio)[stage]) for stage in STAGES]
        events[WEIGHTS[2]][i] = (np.diff(sizes) < -SAME * n).any()
    return events


def _normalised_first(made: Conditioning, ratio: FloatArray) -> FloatArray:
    flattened = made.stages(ratio)["flattened"]
    weights: FloatArray = np.clip(flattened / flattened.mean(), made.low, made.high)
    return weights


WEIGHTS = ("a weight above U", "mean not one", "ESS falls at a step")

CONDITIONING = Theorem(
    name="density-ratio-weights",
    title="Weights average one, stay below U, and are worth more rows at every step",
    reference="theory page, 6.7",
    statement=(
        "The source rows' weights have mean one, no row's weight exceeds U, and ESS "
        "grows or stays when ratios are flattened, clipped and normalised."
    ),
    assumptions=("none: any ratios",),
    family=FAMILY,
    experiments=(Experiment("random ratios", conditioned, never(*WEIGHTS), batch=200),),
    controls=tuple(
        Experiment(name, partial(conditioned, broken=broken), never(*WEIGHTS), 100)
        for name, broken in (
            ("normalised before they are clipped", "normalised first"),
            ("sharpened: a power above one", "sharpened"),
        )
    ),
)


# ------------------------------------------------------------------ nearest neighbours


def neighbours(
    generator: np.random.Generator,
    n_draws: int,
    *,
    d: int,
    shift: float = 0.0,
    own: bool = False,
) -> dict[str, BoolArray]:
    """Average the ratios of source rows, and take that of a new one, without shift.

    Rows are of a skewed density with d features. Broken: a `shift`; a source row counts
    as its `own` neighbour. Ratios are scaled by their largest possible values.
    """
    n, m, k = N_SOURCE, 9, N_NEIGHBOURS
    of_rows, of_new = np.empty((2, n_draws))
    for i in range(n_draws):
        source, target = (np.exp(generator.standard_normal((r, d))) for r in (n, m))
        found = fit_neighbors(source, target + shift, k)
        ratio = found.model.ratio(source) if own else found.source_ratio
        largest = n / k if own else (n - 1) / k
        of_rows[i] = ratio.mean() / largest
        new = np.exp(generator.standard_normal((1, d)))
        of_new[i] = found.model.ratio(new)[0] / (n / k)
    return {
        "source ratio / largest": as_event(of_rows, generator),
        "new ratio / largest": as_event(of_new, generator),
    }


N_SOURCE, N_NEIGHBOURS = 12, 4
OF_ROWS = Claim(
    "source ratio / largest", equals=N_NEIGHBOURS / N_SOURCE, tolerance=0.055, mean=True
)
OF_NEW = Claim(
    "new ratio / largest",
    equals=N_NEIGHBOURS / (N_SOURCE + 1),
    tolerance=0.055,
    mean=True,
)

NEIGHBOURS = Theorem(
    name="neighbour-ratio-mean",
    title="Without shift, ratios by nearest neighbours average one, nearly",
    reference="theory page, 6.6",
    statement=(
        "If q = p, E[w_hat] = n/(n + 1) for a new row, and (n - 1)/n for the source "
        "rows, which are not their own neighbours, whatever p and k."
    ),
    assumptions=(TWO_SAMPLES, "no two distances tie"),
    family=FAMILY,
    unsearched="an equality for any law, of n and k alone",
    experiments=(
        Experiment(
            "one feature", partial(neighbours, d=1), (OF_ROWS, OF_NEW), batch=500
        ),
        Experiment("three features", partial(neighbours, d=3), (OF_ROWS,), batch=500),
    ),
    controls=(
        Experiment(
            "source rows as their own neighbours",
            partial(neighbours, d=1, own=True),
            (OF_ROWS,),
            batch=500,
        ),
        Experiment(
            "a shift", partial(neighbours, d=1, shift=4.0), (OF_ROWS,), batch=500
        ),
    ),
)


# ------------------------------------------------------------------------------ the AUC


def auc_holds(
    generator: np.random.Generator,
    n_draws: int,
    *,
    scores: Callable[[np.random.Generator, int, int], Scores],
    broken: str | None = None,
) -> dict[str, BoolArray]:
    """Ask whether the interval of a fixed ratio's AUC holds the true one.

    Broken: "one sample", as if the source's rows were many; "rows twice".
    """
    held = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        truth, source, target = scores(generator, 200, 300)
        if broken == "rows twice":
            source, target = np.repeat(source, 2), np.repeat(target, 2)
        elif broken == "one sample":
            source = np.repeat(source, 100)
        found = auc_interval(source, target)
        held[i] = found.low <= truth <= found.high
    return {"holds the AUC": held}


Scores = tuple[float, FloatArray, FloatArray]
"""The true AUC, scores of source rows, and scores of target rows."""


def normal_scores(
    generator: np.random.Generator, n: int, m: int, *, area: float
) -> Scores:
    """Return scores of unit variance."""
    shift = np.sqrt(2.0) * special.ndtri(area)
    return area, generator.standard_normal(n), shift + generator.standard_normal(m)


def tied_scores(generator: np.random.Generator, n: int, m: int) -> Scores:
    """Return scores of 0, 1 and 2, of which the target has more of the larger."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    area = float(q @ (np.cumsum(p) - 0.5 * p))
    source, target = generator.choice(3, n, p=p), generator.choice(3, m, p=q)
    return area, source.astype(np.float64), target.astype(np.float64)


def auc_of_own_fit(
    generator: np.random.Generator,
    n_draws: int,
    *,
    method: str,
    as_fixed: bool = False,
) -> dict[str, BoolArray]:
    """Ask the same of cross-fitted ratios, without shift: the AUC is 1/2.

    Broken: the ratio is taken `as_fixed` before, though rows were held out in turn.
    """
    held = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        source, target = (generator.standard_normal((r, 5)) for r in (200, 120))
        fit = density_ratio(source, target, method=method, rng=generator, **_PLAIN)
        found = fit.auc
        if as_fixed:
            found = auc_interval(fit.source_ratio, fit.target_ratio)
        assert found is not None
        held[i] = found.low <= 0.5 <= found.high
    return {"holds the AUC": held}


def auc_of_judges(
    generator: np.random.Generator, n_draws: int, *, repeats: int = 1
) -> dict[str, BoolArray]:
    """Ask it of the discriminators that judge learnt features, without shift.

    Broken: every row `repeats` times.
    """
    held = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        rows = np.repeat(generator.standard_normal((70, 3)), repeats, axis=0)
        auc = judge(rows, 40 * repeats, 3, generator).auc
        held[i] = auc.low <= 0.5 <= auc.high
    return {"holds the AUC": held}


_PLAIN: Any = {"calibrate": False}
HOLDS_AUC = (Claim("holds the AUC", equals=0.95, tolerance=0.02),)
# training takes its time
JUDGES_HOLD_AUC = (Claim("holds the AUC", at_least=0.95, tolerance=0.3),)

AUC = Theorem(
    name="auc-interval",
    title="The interval of the AUC holds it, in the limit",
    reference="DeLong, DeLong & Clarke-Pearson (1988); theory page, 6.8",
    statement=(
        "P(low <= AUC <= high) -> 0.95 as both samples grow (asymptotic: no claim at a "
        "given sample size), ties counted by half; here at 200 and 300 rows."
    ),
    assumptions=(
        TWO_SAMPLES,
        "the ratio was not fitted on these rows, or it was cross-fitted and there is "
        "no shift",
    ),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        Experiment(
            "logistic regression, cross-fitted, no shift",
            partial(auc_of_own_fit, method="logistic"),
            (Claim("holds the AUC", at_least=0.95, tolerance=0.07),),
            batch=50,
        ),
        Experiment(
            "discriminators of learnt features, no shift",
            auc_of_judges,
            JUDGES_HOLD_AUC,
            batch=10,
        ),
        *(
            Experiment(
                f"normal scores, AUC {area}",
                partial(auc_holds, scores=partial(normal_scores, area=area)),
                HOLDS_AUC,
                batch=1000,
            )
            for area in (0.5, 0.8)
        ),
        Experiment(
            "three different scores",
            partial(auc_holds, scores=tied_scores),
            HOLDS_AUC,
            batch=1000,
        ),
    ),
    controls=(
        *(
            Experiment(
                name,
                partial(auc_holds, scores=tied_scores, broken=broken),
                HOLDS_AUC,
                batch=500,
            )
            for name, broken in (
                ("every row counted twice", "rows twice"),
                ("source rows taken for many", "one sample"),
            )
        ),
        Experiment(
            "a cross-fitted ratio taken for one fixed before",
            partial(auc_of_own_fit, method="logistic", as_fixed=True),
            (Claim("holds the AUC", at_least=0.95, tolerance=0.07),),
            batch=50,
        ),
        Experiment(
            "discriminators of learnt features, every row five times",
            partial(auc_of_judges, repeats=5),
            JUDGES_HOLD_AUC,
            batch=10,
        ),
    ),
)


# ---------------------------------------------------------- tests of the coefficients


def coefficient_tests(
    generator: np.random.Generator, n_draws: int, *, repeats: int = 1
) -> dict[str, BoolArray]:
    """Test a feature's coefficient where there is no shift.

    Broken: every row `repeats` times.
    """
    p_values = np.empty(n_draws)
    for i in range(n_draws):
        source, target = (
            np.repeat(generator.standard_normal((size, 2)), repeats, axis=0)
            for size in (120, 80)
        )
        fit: Any = density_ratio(
            source, target, calibrate=False, n_folds=2, rng=generator
        )
        found = fit.model.discriminator
        z = found.glm_coef[0] / found.glm_std_err[0]
        p_values[i] = 2.0 * special.ndtr(-abs(z))
    return {f"P>|z| <= {level}": p_values <= level for level in (0.1, 0.5)}


LEVELS = (
    Claim("P>|z| <= 0.1", equals=0.1, tolerance=0.08),
    Claim("P>|z| <= 0.5", equals=0.5, tolerance=0.14),
)

COEFFICIENTS = Theorem(
    name="density-ratio-z-test",
    title="Tests of the discriminator's coefficients have their level",
    reference="Wald tests of logistic regression",
    statement=(
        "If a feature has no part in the shift, P(P>|z| <= a) -> a (asymptotic: no "
        "claim at a given sample size); here at 120 and 80 rows without shift."
    ),
    assumptions=(TWO_SAMPLES, "log q(x)/p(x) is linear in the features"),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        Experiment("public: two features", coefficient_tests, LEVELS, batch=100),
    ),
    controls=(
        Experiment(
            "every row four times",
            partial(coefficient_tests, repeats=4),
            LEVELS,
            batch=50,
        ),
    ),
)

THEOREMS = (
    with_instances(BAYES),
    with_instances(CONDITIONING),
    NEIGHBOURS,
    AUC,
    COEFFICIENTS,
)
