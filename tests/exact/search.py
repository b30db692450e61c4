"""Searching for a counterexample to a theorem on finite spaces, in exact arithmetic.

A *case* is a small finite situation whose probabilities are rational numbers, so that
whether it violates a claim is decided without Monte Carlo error. Hypothesis looks for a
case that does. Of the package none may be found; of a broken variant one must be.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

Case = TypeVar("Case")

SLACK = Fraction(1, 10**12)
"""How far below its level a coverage may be: the tolerance of the package's ranks."""

ALPHAS = st.sampled_from(
    [Fraction(k, 60) for k in (1, 3, 6, 10, 12, 15, 20, 24, 30, 40, 45, 54, 59)]
)


def counterexample(
    cases: st.SearchStrategy[Case],
    violates: Callable[[Case], bool],
    examples: int,
    phases: tuple[Phase, ...] = (Phase.generate, Phase.shrink),
) -> Case | None:
    """Return a case that violates the claim, the simplest if it is shrunk; or None."""
    how = settings(
        max_examples=examples,
        phases=phases,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    try:
        return find(cases, violates, settings=how)
    except NoSuchExample:
        return None


def assert_holds(
    cases: st.SearchStrategy[Case], violates: Callable[[Case], bool], examples: int
) -> None:
    """Search, and fail with the simplest case that was found."""
    found = counterexample(cases, violates, examples)
    assert found is None, f"the claim is violated by {found}"


def assert_caught(
    cases: st.SearchStrategy[Case], violates: Callable[[Case], bool], examples: int
) -> None:
    """Search for what is broken, with the same cases: it must be found.

    Releases of hypothesis differ in how soon they find it, and stop when they have.
    """
    found = counterexample(cases, violates, 10 * examples, (Phase.generate,))
    assert found is not None, "the broken variant was not caught"
