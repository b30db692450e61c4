"""Every registered theorem: nothing is violated, and every control is caught.

Theorems on prediction sets are decided here; the others get a few draws, and may stay
undecided: ``python -m distfreeuq verify`` decides all. The probability that any of
these tests fails though all is well is at most 0.001.
"""

from dataclasses import replace

import pytest

from distfreeuq import theorems
from distfreeuq.theorems import Claim, Experiment, conformal

DECIDED = {theorem.name for theorem in conformal.THEOREMS}
FEW = 100


@pytest.mark.parametrize("name", theorems.names())
def test_nothing_is_violated(name):
    theorem = replace(theorems.get(name), controls=())
    result = theorems.verify(theorem, n_sim=None if name in DECIDED else FEW)
    allowed = {"holds"} if name in DECIDED else {"holds", "undecided"}
    assert result.verdicts[name] in allowed, str(result)


def nothing(generator, n_draws):
    return {"nothing": generator.random(n_draws) < 0.0}


@pytest.mark.parametrize("name", theorems.names())
def test_every_control_is_caught(name):
    stub = Experiment("nothing", nothing, (Claim("nothing", at_most=0.0),))
    theorem = replace(theorems.get(name), experiments=(stub,))
    result = theorems.verify(theorem)
    assert result.ok, str(result)


def test_every_theorem_has_words_and_controls():
    for name in theorems.names():
        theorem = theorems.get(name)
        assert theorem.controls, name
        assert theorem.assumptions, name
        for text in (theorem.title, theorem.reference, theorem.statement):
            assert text and text == text.strip(), name
        assert theorem.statement.endswith("."), name
        assert not theorem.title.endswith("."), name
        assert not theorem.reference.endswith("."), name
