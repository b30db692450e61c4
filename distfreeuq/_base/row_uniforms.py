"""Uniforms for randomised scores: drawn in order, or belonging to the rows themselves.

With an integer seed a row's uniform is a keyed hash of the row, under one key that the
fit keeps and prediction uses. A randomised score is then one fixed function of the row,
so that calibration and new rows stay exchangeable given the seed, and the same row has
the same set today, tomorrow, alone or in any batch. Two keys, or a hash on one side
only, would lose coverage where rows repeat (theory page, 12.8).

A Generator is drawn from in order: fresh uniforms for every row, in calibration and in
prediction. So it is without a seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, RandomState
from distfreeuq._base.arrays import as_items, describe, is_integer, shape_of
from distfreeuq._base.persistence import register
from distfreeuq._base.random_streams import check_rng, stream
from distfreeuq._base.stored_state import State, count, flag
from distfreeuq._kernels import _row_hash
from distfreeuq._kernels.threads import threads_for

if TYPE_CHECKING:
    from distfreeuq._base.arguments import Arguments


@register("row-key")
@dataclass(frozen=True, slots=True)
class RowKey:
    """What makes a row's uniform: a key, and whether it hashes the row or its id."""

    key: int
    by_id: bool

    _state: ClassVar[State] = {
        "key": count(high=2**64 - 1),
        "by_id": flag(),
    }


def fit_uniforms(
    args: Arguments,
    probs: FloatMatrix,
    rng: RandomState,
    ids: Any,
    randomized: bool,
) -> tuple[FloatArray, RowKey | None]:
    """Return the uniforms of calibration rows, and the key if they have one.

    Scores that are not randomised have uniforms of one. A bad `rng`, or ids that are
    none, raise an error in either case.
    """
    n = probs.shape[0]
    if not randomized:
        return _ones(args, n, rng, ids), None
    if ids is None and not is_seed(rng):
        return np.asarray(stream(rng, "fit", args.caller).random(n)), None
    key = RowKey(row_key_of(rng, args.caller), ids is not None)
    return hashed_uniforms(args, probs, key, ids), key


def new_uniforms(
    args: Arguments,
    probs: FloatMatrix,
    key: RowKey | None,
    rng: RandomState,
    ids: Any,
    randomized: bool,
) -> FloatArray:
    """Return the uniforms of new rows, in the way of the fit."""
    n = probs.shape[0]
    if not randomized:
        return _ones(args, n, rng, ids)
    check_rng(rng, args.caller)
    if ids is None and key is not None and key.by_id:
        args.invalid("ids", "given, one per row, as in the fit", "None")
    if ids is not None and (key is None or not key.by_id):
        args.invalid("ids", "None, as in the fit", describe(ids))
    if key is None:
        if is_seed(rng):
            must = (
                "a numpy.random.Generator or None, because the fit was made without a "
                "seed: fit with the seed, and no rng is needed here"
            )
            args.invalid("rng", must, describe(rng))
        return np.asarray(stream(rng, "predict", args.caller).random(n))
    if rng is not None and not (
        is_seed(rng) and row_key_of(rng, args.caller) == key.key
    ):
        must = (
            "None or the seed of the fit, whose uniforms belong to the rows: others "
            "would lose coverage where rows repeat"
        )
        args.invalid("rng", must, describe(rng))
    return hashed_uniforms(args, probs, key, ids)


def is_seed(rng: RandomState) -> bool:
    """Return whether the same object gives the same numbers again."""
    return isinstance(rng, int | np.integer | np.random.SeedSequence)


def row_key_of(rng: RandomState, caller: str) -> int:
    """Return the key under which rows are hashed for a seed."""
    return int(stream(rng, "fit", caller).integers(1 << 64, dtype=np.uint64))


def _ones(args: Arguments, n: int, rng: RandomState, ids: Any) -> FloatArray:
    check_rng(rng, args.caller)
    if ids is not None:
        hashed_ids(args, ids, n, 0)
    return np.ones(n)


def hashed_uniforms(
    args: Arguments, probs: FloatMatrix, key: RowKey, ids: Any
) -> FloatArray:
    """Return a uniform per row: a hash of the row, or of its id."""
    n, n_classes = probs.shape
    if key.by_id:
        return hashed_ids(args, ids, n, key.key)
    out = np.empty(n)
    keys = np.empty(n_classes + 1, dtype=np.uint64)
    _row_hash._hash_rows(probs, key.key, keys, out, threads_for(probs.size))
    return out


def hashed_ids(args: Arguments, ids: Any, n: int, key: int) -> FloatArray:
    """Return a uniform per id: an integer or a text each."""
    array = args.array(ids, "ids", "integers or texts")
    if array.ndim != 1 or array.shape[0] != n:
        args.invalid("ids", f"of length {n}", shape_of(array))
    texts = _as_bytes(args, as_items(array))
    secret = key.to_bytes(8, "little")
    digests = b"".join(
        hashlib.blake2b(text, digest_size=8, key=secret).digest() for text in texts
    )
    bits = np.frombuffer(digests, dtype="<u8")
    return np.asarray((bits >> np.uint64(11)) * 2.0**-53)


def _as_bytes(args: Arguments, items: Iterable[Any]) -> Iterable[bytes]:
    for row, item in enumerate(items):
        if isinstance(item, str):
            yield b"s" + item.encode("utf-8", "surrogatepass")
        elif is_integer(item):
            yield b"i" + str(int(item)).encode()
        else:
            must = "integers or texts, one per row"
            args.invalid("ids", must, f"{describe(item)} at row {row}")
