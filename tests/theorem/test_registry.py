"""Every theorem is decided: it holds, and each of its controls is caught.

The draws are those of ``python -m distfreeuq verify --fast``, so that a coverage below
its level by more than the tolerance is refuted, not left undecided. The probability
that any of these tests fails though all is well is at most 0.001.
"""

from dataclasses import replace

import pytest

from distfreeuq import theorems

FEW = 20


@pytest.mark.slow
@pytest.mark.parametrize("name", theorems.names())
def test_every_theorem_holds_and_its_controls_are_caught(name):
    result = theorems.verify(name, effort="fast")
    assert result.verdicts == {name: "holds"}, str(result)
    assert set(result.outcomes(name, control=True).values()) == {"caught"}, str(result)


@pytest.mark.parametrize("name", theorems.names())
def test_a_few_draws_refute_nothing(name):
    theorem = replace(theorems.get(name), controls=())
    result = theorems.verify(theorem, n_sim=FEW)
    assert result.verdicts[name] != "violated", str(result)


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
