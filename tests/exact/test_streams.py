"""P-values of a line, enumerated in rational arithmetic: no Monte Carlo error.

Given the uniforms, p-values are functions of the order of the rows. Every order of a
multiset of scores is equally likely; p_t is uniform on an interval between multiples of
1/t, so that the joint law of several p-values is a table of cells and their masses.
"""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from distfreeuq.monitoring.streams.line_p_values import join_line

SCORES = st.lists(st.integers(0, 3), min_size=3, max_size=5)


def intervals(order, n_source, fixed=False):
    """Return (above, tied, rows) for each row: p = (above + u tied)/rows."""
    found = []
    for t in range(n_source, len(order)):
        line = order[:n_source] if fixed else order[:t]
        above = sum(s > order[t] for s in line)
        tied = 1 + sum(s == order[t] for s in line)
        found.append((above, tied, len(line) + 1))
    return found


def joint_law(scores, n_source, fixed=False):
    """Return the probability of each cell of a grid that all intervals are made of."""
    orders = list(permutations(scores))
    law = Counter()
    for order in orders:
        pieces = intervals(order, n_source, fixed)
        cells = [range(above, above + tied) for above, tied, _ in pieces]
        weight = Fraction(1, len(orders))
        for _, tied, _ in pieces:
            weight /= tied
        for cell in product(*cells):
            law[cell] += weight
    return law, [rows for _, _, rows in pieces]


@settings(max_examples=40, deadline=None)
@given(SCORES, st.data())
def test_p_values_are_exactly_independent_and_uniform(scores, data):
    n_source = data.draw(st.integers(1, len(scores) - 1))
    law, rows = joint_law(scores, n_source)
    each = Fraction(1)
    for n in rows:
        each /= n
    assert len(law) == np.prod(rows) and set(law.values()) == {each}


def test_p_values_against_a_fixed_sample_are_not():
    law, rows = joint_law([0, 1, 2, 3], 2, fixed=True)
    assert rows == [3, 3] and len(set(law.values())) > 1
    assert law[0, 0] > Fraction(1, 9)


@given(SCORES, st.data())
def test_the_kernel_gives_these_intervals(scores, data):
    n_source = data.draw(st.integers(1, len(scores) - 1))
    line = np.bincount(scores[:n_source], minlength=4)
    rest = np.array(scores[n_source:], dtype=np.int32)
    uniforms = np.full(rest.size, 0.25)
    _, p, q = join_line(line, rest, uniforms)
    for found, other, piece in zip(p, q, intervals(scores, n_source), strict=True):
        above, tied, rows = piece
        exact = (above + Fraction(1, 4) * tied) / Fraction(rows)
        assert abs(Fraction(found) - exact) < Fraction(1, 10**15)
        assert abs(Fraction(other) - (1 - exact)) < Fraction(1, 10**15)
