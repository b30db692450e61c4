"""Each entry of a table allows what it says, and nothing else."""

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np
import pytest

from distfreeuq._base import persistence, stored_state
from distfreeuq._base.stored_state import (
    column_names,
    count,
    either,
    flag,
    flags,
    floats,
    integers,
    masses,
    maybe,
    nothing,
    pair,
    part,
    proportion,
    rate,
    real,
    several,
    table_of_counts,
    text,
)

ONES = np.ones(3)
BIG_ENDIAN = ONES.astype(">f8")
UNALIGNED = np.frombuffer(b"0" + ONES.tobytes(), np.uint8)[1:].view(np.float64)
NAN, INF = math.nan, math.inf

CASES = [
    (
        floats("K"),
        [ONES, np.array([NAN, INF, -INF])],
        [
            ONES[:2],
            np.ones((3, 1)),
            np.ones(3, np.float32),
            np.ones(3, int),
            np.array([None] * 3),
            BIG_ENDIAN,
            UNALIGNED,
            [1.0] * 3,
            None,
            1.0,
        ],
    ),
    (floats("*"), [ONES, ONES[:0]], [np.ones(()), np.ones((3, 3))]),
    (floats(...), [ONES, np.ones(()), np.ones((2, 4))], [np.ones(3, int)]),
    (floats("K+1"), [np.ones(4)], [ONES, np.ones(5)]),
    (floats(2), [np.ones(2)], [ONES, np.ones(1)]),
    (floats("K", "m"), [np.ones((3, 0)), np.ones((3, 9))], [np.ones((2, 3)), ONES]),
    (floats("K", single=True), [ONES, np.ones(3, np.float32)], [np.ones(3, np.half)]),
    (floats("K", nan=False), [ONES * INF], [ONES * NAN]),
    (floats("K", finite=True), [ONES], [ONES * NAN, ONES * INF]),
    (floats("K", low=0.0, high=1.0), [ONES, ONES * NAN], [ONES * -1e-9, ONES * 1.1]),
    (
        floats("K", ascending=True),
        [ONES, np.array([-INF, 0.0, INF])],
        [np.array([0.0, 2.0, 1.0]), np.array([0.0, NAN, 1.0])],
    ),
    (masses("K"), [ONES, ONES * 0], [-ONES, ONES * NAN, ONES * INF]),
    (integers("K"), [np.arange(3)], [np.arange(3) - 1, ONES, np.arange(3, dtype="i4")]),
    (integers("K", low=-1), [np.arange(3) - 1], [np.arange(3) - 2]),
    (integers("K", below="K"), [np.arange(3)], [np.arange(3) + 1]),
    (integers("K", below=2), [np.array([0, 1, 1])], [np.arange(3)]),
    (flags("K"), [ONES > 0], [ONES, np.ones(3, np.uint8), [True] * 3]),
    (
        table_of_counts("K"),
        [ONES, np.arange(3)],
        [-ONES, np.arange(3) - 1, ONES > 0, ONES * NAN],
    ),
    (real(), [1, -2.5, np.float64(3)], [NAN, INF, 10**400, True, "1", None, ONES]),
    (real(nan=True, finite=False), [NAN, INF, -INF], [10**400]),
    (real(0.0), [0, 5e-324], [-5e-324]),
    (real(above=0.0, high=1.0), [1e-300, 1.0], [0.0, 1.0000001]),
    (proportion(), [0, 1, 0.5], [-0.1, 1.1, NAN]),
    (proportion(nan=True), [NAN], [INF]),
    (rate(), [0.5, 5e-324], [0, 1, 0.0, 1.0, NAN, "0.5"]),
    (count(), [0, np.int64(7), 2**53 - 1], [-1, 1.0, True, 2**53, None]),
    (count("K"), [3], [4, 2]),
    (count(low=1, high=None), [1, 2**70], [0]),
    (flag(), [True, np.False_], [0, 1, None, "True"]),
    (text(), ["", "a"], [None, 1, b"a", ("a",)]),
    (text("a", "b"), ["a", "b"], ["c", ""]),
    (
        column_names("K"),
        [range(3), ("a", 1, None), ((), ("x",), -0.5)],
        [range(4), range(1, 4), range(0, 6, 2), ("a", "a", "b"), (1, 1.0, 2), "abc"],
    ),
    (column_names("d"), [range(10**7)], [range(10**7 + 1), (NAN,), ["a"]]),
    (several(text(), "K"), [("a",) * 3], [("a",), ("a", "b", 3), ["a"] * 3, "abc"]),
    (pair(text(), count()), [("a", 1)], [("a",), ("a", 1, 2), (1, "a"), ["a", 1]]),
    (maybe(count()), [None, 1], [-1, False]),
    (either(floats("K"), rate()), [ONES, 0.5], [ONES[:2], 2.0]),
    (part(dict, set), [{}, set()], [[], None, dict]),
    (nothing(), [None], [0, False, "", ()]),
]


@pytest.mark.parametrize(("entry", "allowed", "refused"), CASES)
def test_an_entry_allows_what_it_says(entry, allowed, refused):
    for value in allowed:
        entry(value, {"K": 3})
    for value in refused:
        with pytest.raises(ValueError, match="expected"):
            entry(value, {"K": 3})


@dataclasses.dataclass
class Part:
    weights: Any
    _state: ClassVar[Any] = {"weights": floats("K")}


@dataclasses.dataclass
class Whole:
    one: Any
    other: Any
    _state: ClassVar[Any] = {"one": floats("K"), "other": part(Part, same="K")}

    def _validate_state(self) -> None:
        stored_state.require(self.one[0] == self.other.weights[0], "the same start")


@dataclasses.dataclass
class More(Whole):
    third: Any
    _state: ClassVar[Any] = {"third": floats("K")}


def test_sizes_are_shared_by_fields_parts_and_derived_classes():
    stored_state.check_state(Whole(np.ones(5), Part(np.ones(5))))
    stored_state.check_state(More(np.ones(5), Part(np.ones(5)), np.ones(5)))
    with pytest.raises(ValueError, match=r"^other: weights: .+ K = 5, was expected"):
        stored_state.check_state(Whole(np.ones(5), Part(np.ones(4))))
    with pytest.raises(ValueError, match=r"^third: .+ K = 5, was expected"):
        stored_state.check_state(More(np.ones(5), Part(np.ones(5)), np.ones(4)))
    with pytest.raises(ValueError, match=r"^the same start was expected"):
        stored_state.check_state(More(np.ones(5), Part(np.zeros(5)), np.ones(5)))


def test_a_class_whose_table_leaves_out_a_field_is_not_registered():
    @dataclasses.dataclass
    class Hasty:
        known: Any
        forgotten: Any
        _state: ClassVar[Any] = {"known": flag()}

    with pytest.raises(TypeError, match=r"differ in \{'forgotten'\}"):
        persistence.register("hasty")(Hasty)
    assert "hasty" not in persistence._classes
