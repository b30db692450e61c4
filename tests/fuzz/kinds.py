"""Arguments by what they are: a probability matrix, a level, a count, a choice.

A kind is a function of a `Sample` that returns a value for it. Where the value is an
array in some form, the plain array comes with it, so that both can be compared.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import distfreeuq as dfu
from tests.fuzz.hostile import NO_COUNTS, NUMBERS, TEXTS, odd_value, spoiled
from tests.fuzz.presentation import frames, has_tensors, present, tensor
from tests.fuzz.samples import EDGE, HOSTILE, VALID, Sample

Array = np.ndarray[Any, Any]


class Argument(NamedTuple):
    """A value, and the same numbers as a plain array (or the value itself)."""

    value: Any
    plain: Any


Kind = Callable[[Sample], Argument]


_OWN_WAY: set[Kind] = set()


def in_its_own_way(kind: Kind) -> Kind:
    """Mark a kind that knows itself what a hostile case is given."""
    _OWN_WAY.add(kind)
    return kind


def same(value: Any) -> Argument:
    """Return an argument of one form only."""
    return Argument(value, value)


def draw(kind: Kind, s: Sample, *, hostile: bool) -> Argument:
    """Return an argument of the kind, or one that is meant to be refused."""
    if not hostile or kind in _OWN_WAY:
        return kind(s)
    if kind in EFFORTS:
        return same(s.r.choice(NO_COUNTS))
    if s.r.random() < 0.3:
        return same(odd_value(s.r))
    argument = kind(s)
    if isinstance(argument.plain, np.ndarray) and argument.plain.dtype != object:
        return same(spoiled(argument.plain, s.r))
    if isinstance(argument.plain, str):
        return same(s.r.choice(TEXTS))
    return same(s.r.choice(NUMBERS))


# ----------------------------------------------------------------------------- arrays


def _floats(s: Sample, array: Array) -> Argument:
    """Return the array in one of the float types, and in some form."""
    u = s.r.random()
    if u < 0.12:
        array = array.astype(np.float32)
    elif u < 0.17 and (not array.size or np.abs(array).max() < 6e4):
        array = array.astype(np.float16)
    elif s.spirit != VALID and u < 0.19:
        with np.errstate(all="ignore"):
            array = array.astype(s.r.choice((np.int8, np.int64, np.uint16, bool)))
    elif u > 0.96 and has_tensors():
        return Argument(*tensor(array, s.r))
    return Argument(present(array, s.r), array)


def probs(s: Sample) -> Argument:
    return _new_probs(s, s.n)


def probs_target(s: Sample) -> Argument:
    return _new_probs(s, s.m)


def _new_probs(s: Sample, n: int) -> Argument:
    rows = s.probs(n)
    if s.K == 2 and s.r.random() < 0.3:
        rows = rows[:, 1].copy()
    argument = _floats(s, rows)
    named = s.classes is not None and None not in s.classes  # which pandas calls NaN
    if named and rows.ndim == 2 and s.r.random() < 0.1:
        return Argument(s.r.choice(frames(rows, s.classes)), rows)
    return argument


def probs_of_folds(s: Sample) -> Argument:
    """Return the same rows' probabilities by the classifiers of a few folds."""
    parts = [s.probs(s.n) for _ in range(s.r.choice((1, 2, 2, 3)))]
    return same(s.r.choice((parts, np.array(parts), tuple(parts))))


def logits(s: Sample) -> Argument:
    return _new_logits(s, s.n)


def logits_target(s: Sample) -> Argument:
    return _new_logits(s, s.m)


def _new_logits(s: Sample, n: int) -> Argument:
    rows = s.logits(n)
    if s.K == 2 and s.r.random() < 0.3:
        rows = rows[:, 1].copy()
    with np.errstate(over="ignore"):
        return _floats(s, rows)


def labels(s: Sample) -> Argument:
    return _new_labels(s, s.n)


def labels_target(s: Sample) -> Argument:
    return _new_labels(s, s.m)


def some_labels_target(s: Sample) -> Argument:
    known = s.labels(s.m)
    names = [k if s.classes is None else s.classes[k] for k in known]
    share = s.r.choice((0.0, 0.1, 0.5, 0.9))
    some = [name if s.r.random() < share else None for name in names]
    return Argument(some, some)


def _new_labels(s: Sample, n: int) -> Argument:
    numbers = s.labels(n)
    if s.classes is None or s.r.random() < 0.01:
        dtype = s.r.choice((np.int64,) * 6 + (np.int32, np.uint8, np.float64, np.int16))
        if s.K > 200:
            dtype = np.int64
        numbers = numbers.astype(dtype)
        return Argument(present(numbers, s.r), numbers)
    names = np.empty(n, dtype=object)
    names[:] = [s.classes[k] for k in numbers]
    forms = (names, names.tolist(), tuple(names))
    if all(isinstance(name, str) for name in s.classes):
        texts = [name for name in s.classes if "\0" not in name]
        if len(texts) == len(s.classes):
            as_text = np.array(names.tolist(), dtype=str)
            forms += (as_text, pd.Series(names, dtype=object), pd.Categorical(names))
    return Argument(s.r.choice(forms), names)


def classes(s: Sample) -> Argument:
    if s.spirit != VALID and s.r.random() < 0.02:
        return same([f"\ud800{k}" for k in range(s.K)])  # which UTF-8 cannot hold
    if s.classes is None:
        return same(None)
    forms = (s.classes, tuple(s.classes), pd.Index(s.classes, dtype=object))
    return Argument(s.r.choice(forms), s.classes)


def _vector(size: Callable[[Sample], int], weights: bool = True) -> Kind:
    def kind(s: Sample) -> Argument:
        array = s.weights(size(s)) if weights else s.np.random(size(s))
        with np.errstate(over="ignore"):
            return _floats(s, array)

    return kind


sample_weight = _vector(lambda s: s.n)
new_weight = _vector(lambda s: s.n)
uniforms = _vector(lambda s: s.n, weights=False)


def class_weight(s: Sample) -> Argument:
    with np.errstate(over="ignore"):
        return _by_position(_floats(s, s.weights(s.K)))


def prior(s: Sample) -> Argument:
    return _by_position(_floats(s, s.prior()))


def _by_position(argument: Argument) -> Argument:
    """Leave out an index, which would name the classes that entries are of."""
    value = argument.value
    if isinstance(value, pd.Series):
        value = value.reset_index(drop=True)
    return Argument(value, argument.plain)


def source(s: Sample) -> Argument:
    return _new_features(s, s.n, 0.0)


def target(s: Sample) -> Argument:
    return _new_features(s, s.m, 0.3)


def _new_features(s: Sample, n: int, shift: float) -> Argument:
    rows = s.features(n, shift)
    if s.d == 1 and s.r.random() < 0.5:
        rows = rows[:, 0].copy()
    with np.errstate(over="ignore"):
        return _floats(s, rows)


def ids(s: Sample) -> Argument:
    numbers = s.np.permutation(s.n)
    forms = (numbers, numbers.tolist(), [f"row {i}" for i in numbers], numbers // 2)
    return same(s.r.choice(forms))


def groups(s: Sample) -> Argument:
    codes = s.np.integers(0, 3, s.n)
    forms = (
        "predicted", codes, codes.tolist(), [f"group {k}" for k in codes],
        codes == 0, np.zeros(s.n), codes / 3, _first_column, [None] * s.n,
    )  # fmt: skip
    return same(s.r.choice(forms))


def row_groups(s: Sample) -> Argument:
    """Return the group of each row."""
    return _groups_of(s, s.n)


def target_groups(s: Sample) -> Argument:
    """Return the group of each row of the target."""
    return _groups_of(s, s.m)


def _groups_of(s: Sample, n: int) -> Argument:
    codes = s.np.integers(0, s.r.choice((1, 2, 3)), n)
    forms = (
        codes, codes.tolist(), [f"group {k}" for k in codes], codes == 0, codes / 3,
        pd.Series(codes), [("pair", int(k)) for k in codes], ["$x\n"] * n,
    )  # fmt: skip
    return same(s.r.choice(forms))


def new_groups(s: Sample) -> Argument:
    return same(s.r.choice((None, s.np.integers(0, 4, s.n), ["group 1"] * s.n)))


def metric_groups(s: Sample) -> Argument:
    codes = s.np.integers(0, 3, s.n)
    return same(s.r.choice(("bins", "rows", "predicted", codes, codes.tolist())))


def _first_column(rows: Any) -> Any:
    rows = np.asarray(rows)
    first = rows if rows.ndim == 1 else rows[:, 0]
    return (first > 0).astype(int)


# ---------------------------------------------------------------------------- numbers


def number(*usual: Any, edge: tuple[Any, ...] = ()) -> Kind:
    """Return a kind: one of the usual values, or an extreme that may be valid too."""

    def kind(s: Sample) -> Argument:
        return same(s.r.choice(edge if edge and s.spirit == EDGE else usual))

    return kind


_NEAR_ONE = float(np.nextafter(1.0, 0.0))
level = number(
    0.1, 0.05, 0.2, 0.5, 1 / 3, np.float32(0.1),
    edge=(5e-324, 1e-300, 1e-16, 1e-3, 0.5, 0.9, 1 - 1e-9, _NEAR_ONE),
)  # fmt: skip
level_or_none = number(
    None, 0.9, 0.5, 0.95, edge=(None, 5e-324, 1e-9, 0.5, 0.999999, _NEAR_ONE)
)
positive = number(
    0.1, 1.0, 2.0, 10.0, 1, edge=(5e-324, 1e-300, 1e-9, 1.0, 1e3, 1e12, 1e150, 1e300)
)
positive_or_none = number(
    None, 0.1, 1.0, 10.0, edge=(None, 5e-324, 1e-300, 1e-9, 1.0, 1e3, 1e150, 1e300)
)
non_negative = number(
    0.0, 0.1, 1.0, 0, edge=(0.0, 5e-324, 1e-300, 1e-9, 1.0, 1e3, 1e150, 1e300)
)
real = number(
    0.0, 1.0, -1.0, 0.3, edge=(0.0, -1e300, 1e300, 5e-324, -1e-300, 1e150, 3.0)
)
n_bins = number(1, 2, 3, 5, 10, 15, edge=(1, 2, 3, 100, 1000, 100_000))
small_count = number(1, 2, 3, edge=(1, 2, 4, 7, 30))
row_count = number(1, 5, 10, 100, edge=(0, 1, 2, 10**4, 10**9, 2**31 - 1, 2**40))
class_count = number(2, 3, 4, 10, edge=(1, 2, 3, 100, 3000))
EFFORTS: set[Kind] = set()
"""Kinds whose large values are work, or memory, that was asked for."""


def effort_of(*usual: Any, edge: tuple[Any, ...] = ()) -> Kind:
    """Return a kind as `number` does, whose hostile values are none or small."""
    kind = number(*usual, edge=edge)
    EFFORTS.add(kind)
    return kind


effort = effort_of(1, 2, 10, 20, edge=(0, 1, 2, 3, 19))
flag = number(True, False, np.bool_(True))
false = number(False)
one_job = effort_of(1)


def counts_array(s: Sample) -> Argument:
    """Return a count, or several in some form."""
    if s.r.random() < 0.5:
        return row_count(s)
    array = s.np.integers(0, 50, s.r.randint(0, 6))
    return Argument(present(array, s.r), array)


def unit_array(s: Sample) -> Argument:
    """Return numbers in [0, 1], or one."""
    if s.r.random() < 0.3:
        return level(s)
    return _floats(s, s.np.random(s.K))


def unit_rows(s: Sample) -> Argument:
    return _floats(s, s.probs(s.r.randint(0, 5)))


def levels(s: Sample) -> Argument:
    """Return a level, or one per class."""
    if s.r.random() < 0.6:
        return level(s)
    return _by_position(_floats(s, s.np.uniform(0.01, 0.99, s.K)))


def quantile_levels(s: Sample) -> Argument:
    if s.r.random() < 0.5:
        return level(s)
    return same(s.np.uniform(0.01, 1.0, s.r.randint(0, 4)))


def pair(s: Sample) -> Argument:
    """Return two ends, as a rule in order."""
    ends = (1e-3, 0.1, 0.5, 1.0, 2.0, 100.0)
    if s.spirit == EDGE:
        ends = (1e-300, 1e-12, 1e-3, 1.0, 1.0, 1e3, 1e12, 1e300)
    low, high = sorted((s.r.choice(ends), s.r.choice(ends)))
    return same(s.r.choice(((low, high), [low, high], None, np.array([low, high]))))


def choice(*options: Any) -> Kind:
    """Return a kind: one of the options."""

    def kind(s: Sample) -> Argument:
        return same(s.r.choice(options))

    return kind


def _own_score(probs: Any) -> Any:
    return 1.0 - np.asarray(probs)


def _no_score(probs: Any) -> Any:
    return "scores"


def score(s: Sample) -> Argument:
    numbers = (0.0, 0.01, 1.0) if s.spirit != EDGE else (0.0, 5e-324, 1e150, 1e300)
    options = (
        "aps", "lac", "raps", "saps", "rank", "margin", "pas", dfu.APS(), dfu.LAC(),
        dfu.APS(ties="random"), dfu.PAS(), dfu.PAS(counted=True),
        dfu.PAS(s.np.dirichlet(np.ones(s.K))),
        _own_score, _own_score, _no_score,
        dfu.RAPS(s.r.choice(numbers), s.r.choice((0, 1, 5, 10**6))),
        dfu.SAPS(s.r.choice(numbers)), dfu.Rank(), dfu.Margin(),
    )  # fmt: skip
    return same(s.r.choice(options))


def rng(s: Sample) -> Argument:
    u = s.r.random()
    if u < 0.8 or s.spirit == VALID:
        return same(s.r.choice((0, 1, 7, 2**64, np.int64(3))))
    if u < 0.9:
        return same(np.random.default_rng(s.r.getrandbits(30)))
    return same(s.r.choice((None, np.random.SeedSequence(5))))


def generator(s: Sample) -> Argument:
    return same(np.random.default_rng(s.r.getrandbits(30)))


def optional(kind: Kind) -> Kind:
    """Return a kind that is None now and then."""

    def either(s: Sample) -> Argument:
        return same(None) if s.r.random() < 0.3 else kind(s)

    return either


__all__ = ["EDGE", "HOSTILE", "Argument", "Kind", "draw"]
