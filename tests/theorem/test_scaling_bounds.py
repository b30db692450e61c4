"""Zhao et al. (2020) by simulation: Theorems 4.1 and 3.1, Corollary 4.2 and Lemma 3.3.

The population has finitely many rows of logits and known label probabilities, so that
expected losses are sums and every excess risk is exact. Draws are counts per row and
label, fitted as weights; the losses are those of the rows themselves.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import bounds
from tests.theorem.binomial import Judge, RefutedError

DELTA = 0.1
BOUNDS = (0.05, 3.0)
RANGE = 4.0
N_DRAWS = 300


@dataclass
class Population:
    """Rows of logits, each with each label, and the probability of every pair."""

    logits: np.ndarray
    labels: np.ndarray
    masses: np.ndarray

    @property
    def predicted(self):
        return self.logits.argmax(axis=1)

    def losses(self, alphas, loss):
        """Return the loss of every pair at one alpha per predicted class."""
        scaled = alphas[self.predicted][:, None] * self.logits
        probs = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        probs /= probs.sum(axis=1, keepdims=True)
        own = np.eye(self.logits.shape[1])[self.labels]
        if loss == "nll":
            return -np.log((probs * own).sum(axis=1))
        return ((probs - own) ** 2).sum(axis=1)


def population(n_classes=3, n_rows=12, seed=0):
    """Over-confident logits in [0, 4]; how much depends on the predicted class."""
    rng = np.random.default_rng(seed)
    rows = RANGE * rng.random((n_rows, n_classes))
    rows[np.arange(n_rows), np.arange(n_rows) % n_classes] = RANGE
    sharpness = np.linspace(0.2, 1.0, n_classes)[rows.argmax(axis=1), None]
    truth = np.exp(sharpness * rows)
    truth /= truth.sum(axis=1, keepdims=True)
    share = rng.dirichlet(np.full(n_rows, 5.0))
    return Population(
        logits=np.repeat(rows, n_classes, axis=0),
        labels=np.tile(np.arange(n_classes), n_rows),
        masses=(share[:, None] * truth).ravel(),
    )


def fit_alphas(pop, counts, loss, gamma):
    """Return one alpha per class for counts of every pair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.FitAtBoundWarning)
        if gamma == 0.0:
            fit = dfu.temperature_scaling(
                pop.logits, pop.labels, sample_weight=counts, loss=loss, bounds=BOUNDS
            )
            return np.full(pop.logits.shape[1], fit.inverse_temperature)
        fit = dfu.classwise_temperature_scaling(
            pop.logits,
            pop.labels,
            sample_weight=counts,
            loss=loss,
            bounds=BOUNDS,
            gamma=gamma,
            min_rows=1,
        )
        return fit.inverse_temperatures


def excess_risks(pop, n, loss, gamma, *, seed, fit=fit_alphas):
    """Return the excess risk of the temperatures fitted to each draw of n rows."""
    rng = np.random.default_rng(seed)
    best = fit_alphas(pop, pop.masses, loss, gamma)
    smallest = pop.masses @ pop.losses(best, loss)
    return np.array(
        [
            pop.masses @ pop.losses(fit(pop, counts, loss, gamma), loss) - smallest
            for counts in rng.multinomial(n, pop.masses, size=N_DRAWS)
        ]
    )


def both_bounds(n, n_classes, loss, gamma):
    """Return the tighter bound and the paper's, with a range known in advance."""
    n_temperatures = 1 if gamma == 0.0 else n_classes
    fixed = {"alpha_bounds": BOUNDS, "gamma": gamma}
    if loss == "nll":
        own = paper = bounds.nll_constants(RANGE, n_classes, BOUNDS[1])
        factor = 1.0
    else:
        own = bounds.half_brier_constants(RANGE)
        norm = RANGE * np.sqrt(n_classes) / 2
        paper, factor = bounds.LossConstants(1.0, np.sqrt(2) * norm), 2.0
    arguments = n, n_temperatures, DELTA
    return (
        factor
        * float(bounds.cts_excess_risk_tight(*arguments, **fixed, **own._asdict())),
        factor * float(bounds.cts_excess_risk(*arguments, **fixed, **paper._asdict())),
    )


CASES = [
    ("brier", 0.0, 400),
    ("nll", 0.0, 400),
    ("nll", 0.1, 400),
    ("brier", np.inf, 400),
    ("nll", np.inf, 50),
]


@pytest.mark.parametrize(("loss", "gamma", "n"), CASES)
def test_theorem_4_1(loss, gamma, n):
    judge = Judge(claims=2 * len(CASES))
    pop = population()
    excess = excess_risks(pop, n, loss, gamma, seed=1)
    tight, paper = both_bounds(n, 3, loss, gamma)
    assert excess.min() >= -1e-12  # the best is the best
    assert tight < paper
    for bound in (tight, paper):
        judge.at_least(int((excess <= bound).sum()), N_DRAWS, 1.0 - DELTA)
    assert excess.max() <= tight  # far below: these bounds are not sharp


def test_theorem_4_1_would_not_excuse_a_wrong_fit():
    """Broken on purpose: the label of every row is taken for its neighbour's."""

    def wrong(pop, counts, loss, gamma):
        shifted = Population(pop.logits, (pop.labels + 1) % 3, pop.masses)
        return fit_alphas(shifted, counts, loss, gamma)

    judge = Judge(claims=1)
    pop, n = population(), 20_000
    excess = excess_risks(pop, n, "brier", 0.0, seed=2, fit=wrong)
    tight, _ = both_bounds(n, 3, "brier", 0.0)
    with pytest.raises(RefutedError):
        judge.at_least(int((excess <= tight).sum()), N_DRAWS, 1.0 - DELTA)


def test_no_bound_without_its_uniform_deviation():
    """Broken on purpose: without both tails the bound is that of no noise at all."""
    judge = Judge(claims=1)
    excess = excess_risks(population(), 50, "nll", np.inf, seed=3)
    with pytest.raises(RefutedError):
        judge.at_least(int((excess <= 0.0).sum()), N_DRAWS, 1.0 - DELTA)


def test_corollary_4_2_for_all_classes_at_once():
    judge = Judge(claims=2)
    pop, n, n_classes = population(), 900, 3
    rng = np.random.default_rng(4)
    best = fit_alphas(pop, pop.masses, "brier", np.inf)
    own = bounds.half_brier_constants(RANGE)
    paper = np.sqrt(2) * RANGE * np.sqrt(n_classes) / 2
    tight_hits = paper_hits = 0
    for counts in rng.multinomial(n, pop.masses, size=N_DRAWS):
        alphas = fit_alphas(pop, counts, "brier", np.inf)
        gain = pop.losses(alphas, "brier") - pop.losses(best, "brier")
        mass = np.bincount(pop.predicted, pop.masses)
        excess = np.bincount(pop.predicted, pop.masses * gain) / mass
        rows = np.bincount(pop.predicted, counts)
        tight = 2 * bounds.cts_excess_risk_tight(
            rows,
            1,
            DELTA / n_classes,
            alpha_bounds=BOUNDS,
            gamma=0.0,
            **own._asdict(),
        )
        printed = 2 * bounds.cts_class_excess_risk(
            rows, n_classes, DELTA, alpha_bounds=BOUNDS, lipschitz=paper
        )
        tight_hits += bool((excess <= tight).all())
        paper_hits += bool((excess <= printed).all())
        assert (tight < printed).all()
    judge.at_least(tight_hits, N_DRAWS, 1.0 - DELTA)
    judge.at_least(paper_hits, N_DRAWS, 1.0 - DELTA)


# --------------------------------------------------------------------------- Lemma 3.3


def test_label_noise_makes_classifiers_under_confident():
    """A logistic regression on noisy labels, judged on cleaner ones."""
    judge = Judge(claims=5)
    p_plus, p_minus, p_test, n = 0.3, 0.1, 0.05, 40_000
    claim = bounds.label_noise_confidence(p_plus, p_minus, p_test)
    rng = np.random.default_rng(5)
    x = rng.choice([-1, 1], n)
    wrong = rng.random(n) < np.where(x > 0, p_plus, p_minus)
    fit = dfu.platt_scaling(x.astype(float), ((x > 0) ^ wrong).astype(int))
    at_plus, at_minus = fit.predict([1.0, -1.0])

    # two inputs, two parameters: the fit's confidences are the training frequencies
    for side, own, probability in (
        (x > 0, at_plus[1], claim.confidence_plus),
        (x < 0, at_minus[0], claim.confidence_minus),
    ):
        right = int((side & ~wrong).sum())
        assert own == pytest.approx(right / side.sum(), rel=1e-8)
        judge.exactly(right, int(side.sum()), probability)
    assert fit.slope == pytest.approx(claim.slope, abs=0.06)
    assert fit.intercept == pytest.approx(claim.intercept, abs=0.06)

    new = rng.choice([-1.0, 1.0], n)
    new_labels = (new > 0) ^ (rng.random(n) < p_test)
    hits = int((fit.predict(new).argmax(axis=1) == new_labels).sum())
    judge.exactly(hits, n, claim.accuracy)
    # accuracy above confidence on both sides
    judge.at_least(hits, n, 0.94)
    with pytest.raises(RefutedError):
        judge.at_most(hits, n, claim.confidence_minus)


# ------------------------------------------------------------------------- Theorem 3.1

N_SMALL, EPSILON, SETS = 100, 1e-3, 2000
RADIUS = 6.0 * np.log(50 * N_SMALL + 1 / EPSILON)
SIGNS = np.array([-1.0, 1.0, -1.0])  # labels of v', v and -v
MASSES = np.array([1 / (20 * N_SMALL), 0.5, 0.5 - 1 / (20 * N_SMALL)])
ANGLES = np.linspace(-np.pi / 2, 0.0, 4001)


def constrained_scores(counts):
    """Return the scores (S, 3) of v', v, -v by each set's best (a, b) with |a| <= R.

    The sets are separable, so that the best a has norm R: a = R (sin t u + cos t v). At
    the optimum all margins are at least R/3 > 17, where ln(1 + exp(-m)) is exp(-m) but
    for a relative 1e-8; then the loss is A exp(-b) + B exp(b), least at b = ln(A/B) /
    2, and what remains is sought on a grid of t.
    """
    of_v = RADIUS * np.cos(ANGLES)
    of_rare = RADIUS * (np.cos(ANGLES) + np.sin(ANGLES)) / np.sqrt(2.0)
    with np.errstate(divide="ignore"):
        rare, v, minus_v = np.log(counts).T[:, :, None]
    log_a = v - of_v
    log_b = np.logaddexp(minus_v - of_v, rare + of_rare)
    best = (log_a + log_b).argmin(axis=1)
    everyone = np.arange(len(counts))
    b = 0.5 * (log_a - log_b)[everyone, best]
    return np.column_stack([of_rare[best] + b, of_v[best] + b, -of_v[best] + b])


def holds(rows, want_perfect, seed):
    """Return in how many training sets of so many rows the theorem's claim holds."""
    counts = np.random.default_rng(seed).multinomial(rows, MASSES, size=SETS)
    scores = constrained_scores(counts)
    confident = (1 / (1 + np.exp(-np.abs(scores))) >= 1 - EPSILON).all(axis=1)
    accuracy = (np.sign(scores) == SIGNS) @ MASSES
    if want_perfect:
        return int((confident & (accuracy > 1 - 1e-12)).sum())
    limit = 1 - 1 / (20 * N_SMALL) + 1e-12
    return int((confident & (accuracy <= limit)).sum())


def test_few_rows_make_classifiers_over_confident():
    judge = Judge(claims=4)
    effect = bounds.sample_size_effect(N_SMALL, multiple=50, radius=RADIUS)
    assert effect.confidence >= 1 - EPSILON
    small = holds(N_SMALL, want_perfect=False, seed=6)
    large = holds(50 * N_SMALL, want_perfect=True, seed=7)
    judge.at_least(small, SETS, effect.probability_small)
    judge.at_least(large, SETS, effect.probability_large)
    assert min(effect.probability_small, effect.probability_large) > 0.9

    # as printed, with 30 n rows: not nine times in ten
    as_stated = holds(30 * N_SMALL, want_perfect=True, seed=8)
    with pytest.raises(RefutedError):
        judge.at_least(as_stated, SETS, 0.9)
    stated = bounds.sample_size_effect(N_SMALL, multiple=30, radius=RADIUS)
    judge.exactly(as_stated, SETS, stated.probability_large)
