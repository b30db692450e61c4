"""Printed verdicts, held word for word."""

from distfreeuq import theorems
from distfreeuq.theorems import Claim
from tests.snapshots.snapshot import assert_matches
from tests.unit.theorems.test_checking import biased, coin, theorem


def test_one_theorem():
    assert_matches("theorem_one", str(theorems.verify(theorem())))


def test_several_theorems_of_which_some_fail():
    never = Claim("heads", equals=0.5, tolerance=0.001)
    several = [
        theorem(),
        theorem(name="false-one", draw=biased),
        theorem(name="toothless-one", control=coin),
        theorem(name="undecided-one", claim=never, control=None),
    ]
    result = theorems.verify(several, n_sim=30_000)
    assert_matches("theorem_several", str(result))


def test_a_theorem_of_the_package():
    result = theorems.verify("total-variation-coverage", n_sim=100)
    assert_matches("theorem_total_variation", str(result))
