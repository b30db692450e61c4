"""Sets for many classes, exactly: every row in turn the new one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq.conformal.data import CalibrationScores
from distfreeuq.conformal.many_classes.clustered_sets import fit_clustered
from tests.exact.search import ALPHAS, SLACK, assert_caught, assert_holds
from tests.exact.test_exchangeability import (
    CASES,
    Case,
    K,
    Row,
    arrays,
    coverage_gap,
    fitted,
    smallest_class_gap,
)

EXAMPLES = 200


# ------------------------------------------------------------------- interpolated


def interpolated(share: float):
    def covers(rows: Sequence[Row], new: Row, alpha: Fraction) -> bool:
        fit = fitted(
            dfu.interpolated_conformal, *arrays(rows), alpha=float(alpha), share=share
        )
        return bool(fit.predict([new.probs]).mask[0, new.label])

    return covers


def gap(case: Case, covers, times: int) -> Fraction:
    """Return coverage less 1 - times alpha."""
    found = coverage_gap(case, covers, [1] * len(case.rows))
    return found + (times - 1) * case.alpha


@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_interpolated_sets_cover_all_but_two_alpha(share):
    covers = interpolated(share)
    assert_holds(CASES, lambda case: gap(case, covers, 2) < -SLACK, EXAMPLES)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_at_the_ends_all_but_alpha(share):
    covers = interpolated(share)
    assert_holds(CASES, lambda case: gap(case, covers, 1) < -SLACK, EXAMPLES)


def test_one_alpha_is_not_enough_in_between():
    covers = interpolated(0.5)
    assert_caught(CASES, lambda case: gap(case, covers, 1) < -SLACK, 20 * EXAMPLES)


# ----------------------------------------------------------------- rank-calibrated


class Ranked(NamedTuple):
    """Scores and ranks of one class's rows, of which one is new."""

    rows: list[tuple[int, int]]
    alpha: Fraction
    share: Fraction


RANKED = st.builds(
    Ranked,
    rows=st.lists(
        st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=14
    ),
    alpha=ALPHAS,
    share=st.sampled_from(
        [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1)]
    ),
)


def rule(rows, alpha: Fraction, share: Fraction, *, outer: int = 1, inner: int = 0):
    """Return the threshold and the largest rank, as the theory page defines them."""
    n, m = len(rows), math.floor(share * alpha * (len(rows) + 1))
    ranks = sorted(r for _, r in rows)

    def order(i):
        return -math.inf if i < 1 else ranks[i - 1] if i <= n else math.inf

    k2, k1 = order(n + outer - m), order(n + inner - m)
    if m == 0:
        k2 = k1 = math.inf
    scores = sorted(s if r <= k1 else math.inf for s, r in rows)
    index = math.ceil((1 - alpha) * (n + 1))
    return (scores[index - 1] if index <= n else math.inf), k2


def ranked_gap(case: Ranked, **how) -> Fraction:
    covered = 0
    for i, (s, r) in enumerate(case.rows):
        others = [*case.rows[:i], *case.rows[i + 1 :]]
        tau, largest = rule(others, case.alpha, case.share, **how)
        covered += s <= tau and r <= largest
    return Fraction(covered, len(case.rows)) - (1 - case.alpha)


def test_ranks_are_cut_without_loss():
    assert_holds(RANKED, lambda case: ranked_gap(case) < 0, 3000)


@pytest.mark.parametrize(
    "how", [{"outer": 0}, {"inner": 1, "outer": 0}, {"inner": 5}], ids=str
)
def test_other_order_statistics_are_caught(how):
    assert_caught(RANKED, lambda case: ranked_gap(case, **how) < 0, 3000)


def rank_calibrated(share: float):
    def covers(rows: Sequence[Row], new: Row, alpha: Fraction) -> bool:
        fit = fitted(
            dfu.rank_calibrated_conformal,
            *arrays(rows),
            alpha=float(alpha),
            rank_share=share,
            randomized=False,
        )
        return bool(fit.predict([new.probs]).mask[0, new.label])

    return covers


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_rank_calibrated_sets_cover_every_class(share):
    covers = rank_calibrated(share)
    assert_holds(
        CASES, lambda case: smallest_class_gap(case, covers) < -SLACK, EXAMPLES
    )


def test_the_fit_follows_the_rule():
    def differs(case: Ranked) -> bool:
        rows = case.rows
        probs = np.full((len(rows), 6), 0.0)
        for i, (s, r) in enumerate(rows):  # the true label is 0, r - 1 are more likely
            probs[i, 1:r] = (0.9 - 0.01 * s) / max(r - 1, 1)
            probs[i, 0] = 0.1 * probs[i, 1] if r > 1 else 0.9 - 0.01 * s
            probs[i, r:] += (1.0 - probs[i].sum()) / (6 - r)
        ranks = [int((p > p[0]).sum()) + 1 for p in probs]
        fit = fitted(
            dfu.rank_calibrated_conformal,
            probs,
            [0] * len(rows),
            alpha=float(case.alpha),
            rank_share=float(case.share),
            score="lac",
        )
        tau, largest = rule(
            list(zip((1 - probs[:, 0]).tolist(), ranks, strict=True)),
            case.alpha,
            case.share,
        )
        largest = max(largest, 0.0)
        return bool(
            not np.isclose(fit.thresholds[0], tau) or fit.largest_rank[0] != largest
        )

    assert_holds(RANKED, differs, 300)


# ----------------------------------------------------------------------- clustered


def clustered(rows: Sequence[Row], new: Row, alpha: Fraction) -> bool:
    """Fit given clusters: classes 0 and 1 together, class 2 by itself."""
    probs, labels = arrays(rows)
    scores = dfu.nested_scores(probs, labels, score="lac")
    order = np.argsort(scores, kind="stable")
    calibration = CalibrationScores(
        scores=scores[order],
        counts=np.bincount(labels, minlength=K),
        labels=labels[order],
        order=order,
        classes=range(K),
        score=dfu.LAC(),
        randomized=False,
        never_empty=False,
        row_key=None,
    )
    fit = fitted(fit_clustered, calibration, np.array([1, 1, 2]), float(alpha))
    return bool(fit.predict([new.probs]).mask[0, new.label])


def cluster_gap(case: Case, *clusters: set[int]) -> Fraction:
    return min(
        coverage_gap(case, clustered, [int(row.label in cluster) for row in case.rows])
        for cluster in clusters
    )


def test_every_cluster_is_covered():
    assert_holds(CASES, lambda case: cluster_gap(case, {0, 1}, {2}) < -SLACK, EXAMPLES)


def test_a_class_of_a_cluster_need_not_be():
    assert_caught(CASES, lambda case: cluster_gap(case, {0}, {1}) < -SLACK, EXAMPLES)


def smallest_rank_that_will_do(rows, alpha: Fraction) -> tuple[float, float]:
    """Return the paper's rule with the share of ranks that the same rows show."""
    n = len(rows)
    if n == 0:
        return math.inf, math.inf
    for k in range(1, 6):
        lost = Fraction(sum(r > k for _, r in rows), n)
        if lost < alpha:
            break
    index = math.ceil((1 - (alpha - lost)) * (n + 1))
    scores = sorted(s for s, _ in rows)
    return (scores[index - 1] if index <= n else math.inf), k


def test_the_smallest_rank_that_will_do_is_caught():
    """A rank chosen by the rows themselves, and the rest of alpha for the scores."""

    def gap(case: Ranked) -> Fraction:
        covered = 0
        for i, (s, r) in enumerate(case.rows):
            others = [*case.rows[:i], *case.rows[i + 1 :]]
            tau, largest = smallest_rank_that_will_do(others, case.alpha)
            covered += s <= tau and r <= largest
        return Fraction(covered, len(case.rows)) - (1 - case.alpha)

    assert_caught(RANKED, lambda case: gap(case) < 0, 3000)
