"""A claim that must be printed, and the comparison with the one that is.

The rooms' tables (``test_claims.py``) have a row for every situation. What is needed is
named by the constants of `distfreeuq.references`, whose wording has a test of its own;
statements and references are written out, so that another theorem, another year or
another word fails.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from distfreeuq.guarantees import Guarantee, NoGuarantee

ASYMPTOTIC = "(asymptotic: no claim at this sample size)"


@dataclass(frozen=True)
class Claim:
    """What must be claimed.

    A number of the statement that depends on the data is written <= or >=, between
    braces: it must be the bound `upper` or `lower`, rounded the safe way.
    """

    statement: str
    kind: str
    needs: tuple[str, ...]
    by: str
    confidence: float | None = None
    finite_sample: bool = True
    lower: float | None = None
    upper: float | None = None


def assert_claims(claim: Guarantee | NoGuarantee, expected: Claim) -> None:
    """Compare field by field."""
    assert isinstance(claim, Guarantee)
    assert claim.kind == expected.kind
    assert list(claim.assumptions) == list(expected.needs)
    assert claim.reference == expected.by
    assert claim.finite_sample is expected.finite_sample
    for name in ("confidence", "lower", "upper"):
        wanted, got = getattr(expected, name), getattr(claim, name)
        assert got == (None if wanted is None else pytest.approx(wanted)), name
    assert_states(claim.statement, expected)


def assert_states(statement: str, expected: Claim) -> None:
    """Compare words, and numbers in braces with the bounds that they stand for."""
    pieces = re.split(r"(\{<=\}|\{>=\})", expected.statement)
    pattern = "".join(
        r"(\d[\d.e+-]*)" if piece.startswith("{") else re.escape(piece)
        for piece in pieces
    )
    found = re.fullmatch(pattern, statement)
    assert found, f"{statement!r} is not {expected.statement!r}"
    sides = [piece for piece in pieces if piece.startswith("{")]
    for side, digits in zip(sides, found.groups(), strict=True):
        bound = expected.upper if side == "{<=}" else expected.lower
        assert bound is not None
        excess = float(digits) - bound if side == "{<=}" else bound - float(digits)
        assert -1e-9 <= excess <= 1e-3 * max(1.0, abs(bound))


def assert_prints(result: object, expected: Claim) -> None:
    """The summary says the claim, all of its needs, and whether it is a limit."""
    notes = dict(result.summary().page.notes)  # type: ignore[attr-defined]
    claim = result.guarantee  # type: ignore[attr-defined]
    mark = "" if expected.finite_sample else f" {ASYMPTOTIC}"
    assert notes["Guarantee"] == claim.statement + mark
    assert notes["Needs"] == "; ".join(expected.needs) + "."
    assert notes["By"] == f"{expected.by}."


def assert_claims_nothing(result: object, reason: str) -> None:
    """Nothing is guaranteed, and the reason is printed in the same words."""
    claim = result.guarantee  # type: ignore[attr-defined]
    assert isinstance(claim, NoGuarantee)
    assert claim.reason == reason
    notes = dict(result.summary().page.notes)  # type: ignore[attr-defined]
    assert notes["Guarantee"] == f"none: {reason}."
    assert "Needs" not in notes and "By" not in notes
