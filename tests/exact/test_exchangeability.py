"""Coverage of conformal sets, exactly: every set of rows, each row in turn the new one.

Given n + 1 rows, let the new one be the i-th with probability proportional to its
weight. Coverage is then a finite sum of rationals, and for exchangeable (or weighted
exchangeable) rows the theorems say that it is at least 1 - alpha for *every* such set
of rows: with ties everywhere, rows repeated, weights of zero. No simulation, and no
error but of the search.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

import distfreeuq as dfu
from tests.exact.search import ALPHAS, SLACK, assert_caught, assert_holds

K = 3


def own_score(probs: np.ndarray) -> np.ndarray:
    """Score labels in one's own way."""
    return np.sqrt(1.0 - probs)


SCORES = [
    "lac",
    "aps",
    "rank",
    "margin",
    dfu.RAPS(penalty=0.25, k_reg=1),
    dfu.SAPS(0.25),
    dfu.PAS([0.2, 0.3, 0.5]),
    dfu.PAS(),
    dfu.APS(ties="random"),
    own_score,
]
EXAMPLES = 150


class Row(NamedTuple):
    """A row of probabilities in eighths, its label, its weight and its uniform."""

    eighths: tuple[int, ...]
    label: int
    weight: int
    u: int  # in eighths too: uniforms tie as often as probabilities

    @property
    def probs(self) -> list[float]:
        return [e / 8 for e in self.eighths]


class Case(NamedTuple):
    """Rows, of which one is new, and a miscoverage level."""

    rows: list[Row]
    alpha: Fraction


def _simplex() -> st.SearchStrategy[tuple[int, ...]]:
    cuts = st.tuples(st.integers(0, 8), st.integers(0, 8)).map(sorted)
    return cuts.map(lambda c: (c[0], c[1] - c[0], 8 - c[1]))


ROWS = st.builds(
    Row,
    eighths=_simplex(),
    label=st.integers(0, K - 1),
    weight=st.sampled_from([0, 1, 1, 1, 2, 7]),
    u=st.integers(0, 8),
)
CASES = st.builds(Case, rows=st.lists(ROWS, min_size=1, max_size=8), alpha=ALPHAS)

Covers = Callable[[Sequence[Row], Row, Fraction], bool]
"""Whether the set fitted on some rows holds the label of another."""


def others(rows: Sequence[Row], i: int) -> list[Row]:
    """Return the rows that are calibration rows when the i-th is new."""
    return [*rows[:i], *rows[i + 1 :]]


def coverage_gap(case: Case, covers: Covers, weights: Sequence[int]) -> Fraction:
    """Return coverage less 1 - alpha; zero where no row can be the new one."""
    total = sum(weights)
    if total == 0:
        return Fraction(0)
    covered = sum(
        weight
        for i, weight in enumerate(weights)
        if weight and covers(others(case.rows, i), case.rows[i], case.alpha)
    )
    return Fraction(covered, total) - (1 - case.alpha)


def fitted(fit: Callable[..., object], *args: object, **kwargs: object) -> object:
    """Fit few rows without being told that they are few."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.DistFreeWarning)
        return fit(*args, **kwargs)


def arrays(rows: Sequence[Row]) -> tuple[np.ndarray, np.ndarray]:
    probs = np.array([row.probs for row in rows]).reshape(-1, K)
    return probs, np.array([row.label for row in rows], dtype=int)


# --------------------------------------------------------------- no shift: Theorem 1


def split(score: object, **kwargs: object) -> Covers:
    def covers(rows: Sequence[Row], new: Row, alpha: Fraction) -> bool:
        fit = fitted(
            dfu.split_conformal,
            *arrays(rows),
            alpha=float(alpha),
            score=score,
            randomized=False,
            **kwargs,
        )
        return bool(fit.predict([new.probs]).mask[0, new.label])  # type: ignore[attr-defined]

    return covers


def below_one_minus_alpha(covers: Covers) -> Callable[[Case], bool]:
    return lambda case: coverage_gap(case, covers, [1] * len(case.rows)) < -SLACK


@pytest.mark.parametrize(
    "score", SCORES, ids=lambda score: getattr(score, "__name__", str(score))
)
def test_split_sets_cover(score):
    assert_holds(CASES, below_one_minus_alpha(split(score)), EXAMPLES)


def test_sets_that_are_never_empty_cover():
    assert_holds(CASES, below_one_minus_alpha(split("aps", never_empty=True)), EXAMPLES)


def by_scores(
    fit: Callable[[np.ndarray, Fraction], float], below: Callable[[float, float], bool]
) -> Covers:
    """Return split sets of LAC scores with a threshold and comparison of one's own."""

    def covers(rows: Sequence[Row], new: Row, alpha: Fraction) -> bool:
        scores = np.sort([1.0 - row.probs[row.label] for row in rows])
        return below(1.0 - new.probs[new.label], fit(scores, alpha))

    return covers


def ranked(scores: np.ndarray, rank: int) -> float:
    return float(scores[rank - 1]) if rank <= scores.size else math.inf


BROKEN_SPLIT = {
    "rank of n rows, not n + 1": by_scores(
        lambda s, a: ranked(s, max(1, math.ceil((1 - a) * s.size))) if s.size else 0.0,
        lambda score, threshold: score <= threshold,
    ),
    "scores equal to the threshold left out": by_scores(
        lambda s, a: ranked(s, math.ceil((1 - a) * (s.size + 1))),
        lambda score, threshold: score < threshold,
    ),
    "rank rounded down": by_scores(
        lambda s, a: ranked(s, max(1, math.floor((1 - a) * (s.size + 1)))),
        lambda score, threshold: score <= threshold,
    ),
    "largest score where the rank is beyond n": by_scores(
        lambda s, a: (
            ranked(s, min(s.size, math.ceil((1 - a) * (s.size + 1)))) if s.size else 0.0
        ),
        lambda score, threshold: score <= threshold,
    ),
}


@pytest.mark.parametrize("name", BROKEN_SPLIT)
def test_broken_split_sets_are_caught(name):
    assert_caught(CASES, below_one_minus_alpha(BROKEN_SPLIT[name]), EXAMPLES)


def continuous(case: Case) -> bool:
    """Whether no two rows have the same LAC score."""
    scores = [row.eighths[row.label] for row in case.rows]
    return len(set(scores)) == len(scores)


def above_the_upper_bound(covers: Covers) -> Callable[[Case], bool]:
    def violates(case: Case) -> bool:
        n = len(case.rows) - 1
        gap = coverage_gap(case, covers, [1] * (n + 1))
        return continuous(case) and gap > Fraction(1, n + 1)

    return violates


def test_split_sets_do_not_cover_too_often():
    assert_holds(CASES, above_the_upper_bound(split("lac")), 2 * EXAMPLES)


def test_sets_of_a_rank_too_high_are_caught():
    too_high = by_scores(
        lambda s, a: ranked(s, math.ceil((1 - a) * (s.size + 1)) + 1),
        lambda score, threshold: score <= threshold,
    )
    assert_caught(CASES, above_the_upper_bound(too_high), 2 * EXAMPLES)


# ------------------------------------------------ randomised: a row carries its uniform


def randomized(score: object, method: str, given: bool = False) -> Covers:
    """Return sets whose randomised scores use the uniform that each row carries."""

    def covers(rows: Sequence[Row], new: Row, alpha: Fraction) -> bool:
        probs, labels = arrays(rows)
        u = np.array([row.u / 8 for row in rows])
        scores = dfu.nested_scores(probs, labels, score=score, uniforms=u)
        thresholds = fitted(
            dfu.conformal_thresholds,
            scores,
            labels,
            alpha=float(alpha),
            n_classes=K,
            method=method,
        )
        own = dfu.nested_scores([new.probs], score=score, uniforms=[new.u / 8])
        return bool(own[0, new.label] <= thresholds[new.label])  # type: ignore[index]

    return covers


TIES_AT_RANDOM = [
    dfu.APS(ties="random"),
    dfu.RAPS(0.25, 1, ties="random"),
    dfu.SAPS(0.25, ties="random"),
    dfu.Rank(ties="random"),
]


@pytest.mark.parametrize(
    "score", ["aps", "rank", dfu.RAPS(), dfu.SAPS(0.25), *TIES_AT_RANDOM], ids=str
)
def test_randomised_sets_cover(score):
    assert_holds(
        CASES, below_one_minus_alpha(randomized(score, "exchangeable")), EXAMPLES
    )


def test_uniforms_drawn_for_calibration_alone_are_caught():
    """The new row is scored with u = 0: its score is another function of it."""
    honest = randomized("aps", "exchangeable")
    broken: Covers = lambda rows, new, alpha: honest(  # noqa: E731
        [row._replace(u=0) for row in rows], new._replace(u=8), alpha
    )
    assert_caught(CASES, below_one_minus_alpha(broken), EXAMPLES)


def test_ties_in_another_order_for_the_new_row_are_caught():
    """Of labels that tie, the true one comes first in calibration and last if new."""

    def covers(rows: Sequence[Row], new: Row, alpha: Fraction) -> bool:
        first = [sum(e > row.eighths[row.label] for e in row.eighths) for row in rows]
        rank = math.ceil((1 - alpha) * (len(rows) + 1))
        own = new.eighths[new.label]
        last = sum(e >= own for e in new.eighths) - 1
        return last <= ranked(np.sort(first), rank)

    assert_caught(CASES, below_one_minus_alpha(covers), EXAMPLES)


def test_class_proportions_counted_the_wrong_way_round_are_caught():
    """Counted the wrong way round, that is: the new label's score is then larger."""

    def covers(rows: Sequence[Row], new: Row, alpha: Fraction) -> bool:
        _, labels = arrays(rows)
        counted = 1.0 / (np.bincount(labels, minlength=K) + 1.0)
        return split(dfu.PAS(counted))(rows, new, alpha)

    assert_caught(CASES, below_one_minus_alpha(covers), 10 * EXAMPLES)


# ----------------------------------------------------- label shift: Theorem 2, eq. (10)

LABEL_WEIGHTS = st.tuples(*[st.sampled_from([0, 1, 1, 2, 3, 40])] * K)


class ShiftedCase(NamedTuple):
    """Rows, a miscoverage level, and a weight for every class."""

    rows: list[Row]
    alpha: Fraction
    label_weight: tuple[int, ...]


SHIFTED = st.builds(
    ShiftedCase,
    rows=st.lists(ROWS, min_size=1, max_size=8),
    alpha=ALPHAS,
    label_weight=LABEL_WEIGHTS,
).filter(lambda case: any(case.label_weight))


def label_shift(
    case: ShiftedCase, weights: Callable[[tuple[int, ...]], list[float]]
) -> Covers:
    def covers(rows: Sequence[Row], new: Row, alpha: Fraction) -> bool:
        fit = fitted(
            dfu.label_shift_conformal,
            *arrays(rows),
            np.array(weights(case.label_weight)),
            alpha=float(alpha),
            score="aps",
            randomized=False,
        )
        return bool(fit.predict([new.probs]).mask[0, new.label])  # type: ignore[attr-defined]

    return covers


def shifted_gap(
    case: ShiftedCase,
    weights: Callable[[tuple[int, ...]], list[float]] = lambda w: [float(x) for x in w],
) -> Fraction:
    masses = [case.label_weight[row.label] for row in case.rows]
    return coverage_gap(Case(case.rows, case.alpha), label_shift(case, weights), masses)


def test_label_shift_sets_cover():
    assert_holds(SHIFTED, lambda case: shifted_gap(case) < -SLACK, 2 * EXAMPLES)


def test_label_shift_sets_with_counted_proportions_cover():
    """Weighted, the new label's own count missing: theory page, 1.7."""

    def gap(case: ShiftedCase) -> Fraction:
        def covers(rows: Sequence[Row], new: Row, alpha: Fraction) -> bool:
            fit = fitted(
                dfu.label_shift_conformal,
                *arrays(rows),
                np.array(case.label_weight, dtype=float),
                alpha=float(alpha),
                score=dfu.PAS(),
            )
            return bool(fit.predict([new.probs]).mask[0, new.label])  # type: ignore[attr-defined]

        masses = [case.label_weight[row.label] for row in case.rows]
        return coverage_gap(Case(case.rows, case.alpha), covers, masses)

    assert_holds(SHIFTED, lambda case: gap(case) < -SLACK, 2 * EXAMPLES)


def test_label_shift_sets_do_not_depend_on_the_scale_of_the_weights():
    thousand = lambda w: [x / 1000 for x in w]  # noqa: E731
    assert_holds(
        SHIFTED, lambda case: shifted_gap(case) != shifted_gap(case, thousand), EXAMPLES
    )


BROKEN_WEIGHTS = {
    "no weights": lambda w: [1.0] * K,
    "inverted": lambda w: [1.0 / x if x else 100.0 for x in w],
    "classes in another order": lambda w: [float(x) for x in (*w[1:], w[0])],
}


@pytest.mark.parametrize("name", BROKEN_WEIGHTS)
def test_broken_weights_are_caught(name):
    def violates(case: ShiftedCase) -> bool:
        return any(BROKEN_WEIGHTS[name](case.label_weight)) and (
            shifted_gap(case, BROKEN_WEIGHTS[name]) < -SLACK
        )

    assert_caught(SHIFTED, violates, 4 * EXAMPLES)


def test_a_class_of_infinite_weight_is_in_every_set():
    def violates(case: Case) -> bool:
        rows = [row for row in case.rows if row.label != 2]
        fit = fitted(
            dfu.label_shift_conformal,
            *arrays(rows),
            [1.0, 2.0, math.inf],
            alpha=float(case.alpha),
            randomized=False,
        )
        sets = fit.predict([row.probs for row in case.rows])  # type: ignore[attr-defined]
        return not sets.mask[:, 2].all()

    assert_holds(CASES, violates, EXAMPLES)


def label_conditional(rows: Sequence[Row], new: Row, alpha: Fraction) -> bool:
    fit = fitted(
        dfu.label_conditional_conformal,
        *arrays(rows),
        alpha=float(alpha),
        score="aps",
        randomized=False,
    )
    return bool(fit.predict([new.probs]).mask[0, new.label])  # type: ignore[attr-defined]


def smallest_class_gap(case: Case, covers: Covers) -> Fraction:
    """Return the smallest of the classes' coverages, less 1 - alpha."""
    return min(
        coverage_gap(case, covers, [int(row.label == k) for row in case.rows])
        for k in range(K)
    )


def test_every_class_is_covered():
    assert_holds(
        CASES,
        lambda case: smallest_class_gap(case, label_conditional) < -SLACK,
        EXAMPLES,
    )


def test_one_threshold_for_all_classes_is_caught():
    assert_caught(
        CASES, lambda case: smallest_class_gap(case, split("aps")) < -SLACK, EXAMPLES
    )


# ------------------------------------------------ covariate shift: weights of the rows


def covariate_shift(weight_of_new: Callable[[int], float]) -> Covers:
    def covers(rows: Sequence[Row], new: Row, alpha: Fraction) -> bool:
        weights = [float(row.weight) for row in rows]
        if not any(weights):
            return True  # an all-zero weight is no input; such a row is then alone
        fit = fitted(
            dfu.covariate_shift_conformal,
            *arrays(rows),
            weights,
            alpha=float(alpha),
            score="aps",
            randomized=False,
        )
        sets = fit.predict([new.probs], [weight_of_new(new.weight)])  # type: ignore[attr-defined]
        return bool(sets.mask[0, new.label])

    return covers


def weighted_gap(case: Case, covers: Covers) -> Fraction:
    return coverage_gap(case, covers, [row.weight for row in case.rows])


def test_weighted_sets_cover():
    covers = covariate_shift(float)
    assert_holds(CASES, lambda case: weighted_gap(case, covers) < -SLACK, 2 * EXAMPLES)


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_wrong_weight_of_the_new_row_is_caught(weight):
    covers = covariate_shift(lambda own: weight)
    assert_caught(CASES, lambda case: weighted_gap(case, covers) < -SLACK, 2 * EXAMPLES)


# --------------------------------------------------------------------------- p-values

LEVELS = [Fraction(k, 60) for k in (1, 5, 6, 10, 12, 15, 20, 30, 40, 59)]


def too_small(
    case: ShiftedCase, p_value: Callable[[Sequence[Row], Row], float], masses: list[int]
) -> bool:
    """Whether P(p-value <= a) exceeds a, for some a."""
    total = sum(masses)
    if total == 0:
        return False
    values = [
        p_value(others(case.rows, i), row) if mass else 1.0
        for i, (row, mass) in enumerate(zip(case.rows, masses, strict=True))
    ]
    return any(
        sum(m for m, p in zip(masses, values, strict=True) if p <= float(level) - 1e-12)
        > level * total
        for level in LEVELS
    )


def split_p_value(rows: Sequence[Row], new: Row) -> float:
    fit = fitted(dfu.split_conformal, *arrays(rows), randomized=False)
    return float(fit.p_values([new.probs])[0, new.label])  # type: ignore[attr-defined]


def test_p_values_are_not_too_small():
    assert_holds(
        SHIFTED,
        lambda case: too_small(case, split_p_value, [1] * len(case.rows)),
        EXAMPLES,
    )


def test_p_values_without_the_new_row_are_caught():
    def p_value(rows: Sequence[Row], new: Row) -> float:
        n = len(rows)
        return (split_p_value(rows, new) * (n + 1) - 1) / max(n, 1)

    assert_caught(
        SHIFTED, lambda case: too_small(case, p_value, [1] * len(case.rows)), EXAMPLES
    )


def test_p_values_under_label_shift_are_not_too_small():
    def violates(case: ShiftedCase) -> bool:
        def p_value(rows: Sequence[Row], new: Row) -> float:
            fit = fitted(
                dfu.label_shift_conformal,
                *arrays(rows),
                np.array(case.label_weight, dtype=float),
                randomized=False,
            )
            return float(fit.p_values([new.probs])[0, new.label])  # type: ignore[attr-defined]

        masses = [case.label_weight[row.label] for row in case.rows]
        return too_small(case, p_value, masses)

    assert_holds(SHIFTED, violates, EXAMPLES)


# ------------------------------------------- a seed: uniforms that belong to the rows

SEEDS = [0, 1, 5, 56, 2**40]
FIVE = [(8, 0, 0), (5, 2, 1), (1, 5, 2), (3, 3, 2), (0, 1, 7)]
Fit = Callable[..., object]


class SeededCase(NamedTuple):
    """Rows whose outputs repeat, a level, weights of the classes, and a seed."""

    rows: list[Row]
    alpha: Fraction
    label_weight: tuple[int, ...]
    seed: int


def rows_with(outputs: list[tuple[int, ...]]) -> st.SearchStrategy[Row]:
    return st.tuples(st.sampled_from(outputs), ROWS).map(
        lambda pair: pair[1]._replace(eighths=pair[0])
    )


SEEDED = st.builds(
    SeededCase,
    rows=st.one_of(
        st.lists(rows, min_size=1, max_size=8)
        for rows in (ROWS, rows_with(FIVE), rows_with(FIVE[1:2]), rows_with(FIVE[:1]))
    ),
    alpha=ALPHAS,
    label_weight=LABEL_WEIGHTS.filter(any),
    seed=st.sampled_from(SEEDS),
)


def equal_mass(case: SeededCase) -> list[list[int]]:
    return [[1] * len(case.rows)]


def mass_of_each_class(case: SeededCase) -> list[list[int]]:
    return [[int(row.label == k) for row in case.rows] for k in range(K)]


def mass_by_label(case: SeededCase) -> list[list[int]]:
    return [[case.label_weight[row.label] for row in case.rows]]


def mass_by_row(case: SeededCase) -> list[list[int]]:
    return [[row.weight for row in case.rows]]


def fit_rows(method: str, rows: Sequence[Row], case: SeededCase, **options: object):
    """Fit by a public function, with the case's level and its seed."""
    options = {"alpha": float(case.alpha), "rng": case.seed} | options
    if method == "split":
        return fitted(dfu.split_conformal, *arrays(rows), **options)
    if method == "label-conditional":
        return fitted(dfu.label_conditional_conformal, *arrays(rows), **options)
    if method == "label shift":
        weights = np.array(case.label_weight, dtype=float)
        return fitted(dfu.label_shift_conformal, *arrays(rows), weights, **options)
    weights = np.array([row.weight for row in rows], dtype=float)
    return fitted(dfu.covariate_shift_conformal, *arrays(rows), weights, **options)


def set_of(method: str, fit: object, new: Row, **options: object) -> bool:
    """Return whether the set of one row, in a call of its own, holds its label."""
    weight = [[float(new.weight)]] if method == "covariate shift" else []
    sets = fit.predict([new.probs], *weight, **options)  # type: ignore[attr-defined]
    return bool(sets.mask[0, new.label])


def seeded(method: str, case: SeededCase, score: object, by_id: bool) -> Covers:
    """Return sets of a fit with a seed; where there are ids, they repeat as well."""

    def covers(rows: Sequence[Row], new: Row, alpha: Fraction) -> bool:
        if method == "covariate shift" and not any(row.weight for row in rows):
            return True
        ids = {"ids": [f"row {row.u}" for row in rows]} if by_id else {}
        fit = fit_rows(method, rows, case, score=score, **ids)
        return set_of(method, fit, new, **({"ids": [f"row {new.u}"]} if by_id else {}))

    return covers


MASSES = {
    "split": equal_mass,
    "label-conditional": mass_of_each_class,
    "label shift": mass_by_label,
    "covariate shift": mass_by_row,
}


def seeded_gap(case: SeededCase, covers: Covers, method: str = "split") -> Fraction:
    plain = Case(case.rows, case.alpha)
    return min(coverage_gap(plain, covers, masses) for masses in MASSES[method](case))


@pytest.mark.parametrize("by_id", [False, True], ids=["rows", "ids"])
@pytest.mark.parametrize("method", MASSES)
def test_sets_of_a_seed_cover_given_the_seed(method, by_id):
    def violates(case: SeededCase) -> bool:
        return (
            seeded_gap(case, seeded(method, case, "aps", by_id), method=method) < -SLACK
        )

    assert_holds(SEEDED, violates, 2 * EXAMPLES)


@pytest.mark.parametrize("score", ["rank", dfu.RAPS(), dfu.SAPS(0.25)], ids=str)
def test_sets_of_a_seed_cover_with_other_scores(score):
    def violates(case: SeededCase) -> bool:
        return seeded_gap(case, seeded("split", case, score, by_id=False)) < -SLACK

    assert_holds(SEEDED, violates, EXAMPLES)


def hash_of(row: Row, seed: int) -> float:
    """Return the package's own uniform of a row: its score, if it is rank - 1 + u."""
    fit = fitted(dfu.split_conformal, [row.probs], [row.label], score="rank", rng=seed)
    rank = sum(e > row.eighths[row.label] for e in row.eighths)
    return float(fit.scores[0]) - rank  # type: ignore[attr-defined]


def other_uniform(case: SeededCase, uniform: Callable[[Row], float]) -> Covers:
    """Return sets whose calibration rows are hashed, and whose new row is not."""

    def covers(rows: Sequence[Row], new: Row, alpha: Fraction) -> bool:
        fit = fit_rows("split", rows, case)
        return set_of("split", fit, new, uniforms=[uniform(new)])

    return covers


BROKEN_UNIFORMS: dict[str, Callable[[SeededCase], Callable[[Row], float]]] = {
    "another key in prediction": lambda case: lambda row: hash_of(row, case.seed + 1),
    "one uniform for all calls": lambda case: lambda row: 0.98,
}


@pytest.mark.parametrize("name", BROKEN_UNIFORMS)
def test_other_uniforms_than_those_of_the_fit_are_caught(name):
    def violates(case: SeededCase) -> bool:
        covers = other_uniform(case, BROKEN_UNIFORMS[name](case))
        return seeded_gap(case, covers) < -SLACK

    assert_caught(SEEDED, violates, EXAMPLES)


@pytest.mark.parametrize("n", [9, 19, 39])
def test_a_hash_in_prediction_alone_is_caught_given_the_key(n):
    """Where every row is certain, scores are the uniforms themselves.

    If those of calibration are drawn and that of the new row is u, it is covered with
    the probability that fewer than k of n uniforms lie below u: k / (n + 1) on average
    over u, and far less for some keys. With a hash on both sides all scores are equal.
    """
    alpha = Fraction(1, 10)
    rank = math.ceil((1 - alpha) * (n + 1))
    certain = Row((8, 0, 0), 0, 1, 0)

    def covered(u: Fraction) -> Fraction:
        return sum(
            (math.comb(n, j) * u**j * (1 - u) ** (n - j) for j in range(rank)),
            start=Fraction(0),
        )

    uniforms = [Fraction(hash_of(certain, seed)) for seed in range(40)]
    assert min(map(covered, uniforms)) < Fraction(3, 4)
    # on average over keys it does hold: the integral over u
    beta = sum(
        math.comb(n, j)
        * Fraction(math.factorial(j) * math.factorial(n - j), math.factorial(n + 1))
        for j in range(rank)
    )
    assert beta == Fraction(rank, n + 1)
    for seed in SEEDS:
        case = SeededCase([certain] * (n + 1), alpha, (1, 1, 1), seed)
        covers = seeded("split", case, "aps", by_id=False)
        assert covers(case.rows[1:], certain, alpha)
