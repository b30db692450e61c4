"""Coverage by group, exactly: each row of a group in turn the new one.

A row carries its group. Given the rows, the new one is each row of a group with
probability proportional to its weight; coverage of the group is a finite sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

import distfreeuq as dfu
from tests.exact.search import ALPHAS, SLACK, assert_caught, assert_holds
from tests.exact.test_exchangeability import LABEL_WEIGHTS, ROWS, Row, arrays, fitted

EXAMPLES = 120


class Member(NamedTuple):
    """A row and its group."""

    row: Row
    group: str


class Case(NamedTuple):
    """Rows with groups, a miscoverage level, and a weight for every class."""

    members: list[Member]
    alpha: Fraction
    label_weight: tuple[int, ...]


MEMBERS = st.builds(Member, row=ROWS, group=st.sampled_from("ab"))
CASES = st.builds(
    Case,
    members=st.lists(MEMBERS, min_size=2, max_size=9),
    alpha=ALPHAS,
    label_weight=LABEL_WEIGHTS,
).filter(lambda case: any(case.label_weight))

Covers = Callable[[Case, Sequence[Member], Member], bool]


def gap(case: Case, covers: Covers, mass: Callable[[Member], int]) -> Fraction:
    """Return coverage of the rows with a mass, less 1 - alpha; zero without any."""
    total = sum(map(mass, case.members))
    if not total:
        return Fraction(0)
    hits = sum(
        mass(new)
        for i, new in enumerate(case.members)
        if mass(new) and covers(case, [*case.members[:i], *case.members[i + 1 :]], new)
    )
    return Fraction(hits, total) - (1 - case.alpha)


def by(function: Callable[..., Any], grouped: bool = True) -> Covers:
    """Return whether a fit of some rows, by group or of all, covers another one."""

    def covers(case: Case, others: Sequence[Member], new: Member) -> bool:
        if not others:
            return True  # every label
        probs, labels = arrays([member.row for member in others])
        options: dict[str, Any] = {"alpha": float(case.alpha), "randomized": False}
        args = [probs, labels]
        if function is dfu.label_shift_conformal:
            args.append(np.array(case.label_weight, dtype=float))
        if function is dfu.covariate_shift_conformal:
            weights = np.array([float(member.row.weight) for member in others])
            if not weights.any():
                return True
            args.append(weights)
        if grouped:
            options["groups"] = [member.group for member in others]
        fit: Any = fitted(function, *args, **options)
        more: list[Any] = [[new.group]] if grouped else []
        if function is dfu.covariate_shift_conformal:
            more.append([float(new.row.weight)])
        with pytest.warns() if grouped and new.group not in fit.names else _silence():
            sets = fit.predict([new.row.probs], *more)
        return bool(sets.mask[0, new.row.label])

    return covers


class _silence:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def masses(
    function: Callable[..., Any],
) -> list[Callable[[Case], Callable[[Member], int]]]:
    """Return, for each group (and class), the mass that a row has as the new one."""
    found = []
    for group in "ab":
        if function is dfu.split_conformal:
            found.append(lambda case, g=group: lambda m: int(m.group == g))
        elif function is dfu.label_shift_conformal:
            found.append(
                lambda case, g=group: (
                    lambda m: (m.group == g) * case.label_weight[m.row.label]
                )
            )
        elif function is dfu.covariate_shift_conformal:
            found.append(lambda case, g=group: lambda m: (m.group == g) * m.row.weight)
        else:
            found += [
                lambda case, g=group, k=k: (
                    lambda m: int(m.group == g and m.row.label == k)
                )
                for k in range(3)
            ]
    return found


FUNCTIONS = [
    dfu.split_conformal,
    dfu.label_conditional_conformal,
    dfu.label_shift_conformal,
    dfu.covariate_shift_conformal,
]


def violates(function: Callable[..., Any], covers: Covers) -> Callable[[Case], bool]:
    return lambda case: any(
        gap(case, covers, mass(case)) < -SLACK for mass in masses(function)
    )


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_group_is_covered(function):
    assert_holds(CASES, violates(function, by(function)), EXAMPLES)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_thresholds_of_all_rows_are_caught(function):
    assert_caught(CASES, violates(function, by(function, grouped=False)), 4 * EXAMPLES)


def test_groups_that_the_calibration_rows_choose_are_caught():
    """Which group of calibration rows a new row is sent to depends on their labels."""

    def covers(case: Case, others: Sequence[Member], new: Member) -> bool:
        best = min(
            "ab",
            key=lambda g: sum(m.row.probs[m.row.label] for m in others if m.group == g),
        )
        moved = [m._replace(group="a" if m.group == best else "b") for m in others]
        return by(dfu.split_conformal)(case, moved, new)

    assert_caught(CASES, violates(dfu.split_conformal, covers), 4 * EXAMPLES)
