"""Methods that make something of each new row: with Dask's rows, lazily.

``@lazy`` on a method whose first argument is a matrix of rows: given a collection of
Dask it returns a Dask array, of which each block is what the method itself returns for
the block's rows, when that is computed. Other arguments by row are cut likewise.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.arrays import describe
from distfreeuq._kernels.threads import one_thread_here
from distfreeuq._numerics.row_blocks.block import (
    Piece,
    Place,
    in_words_of_all_rows,
)
from distfreeuq._numerics.row_blocks.dask_rows import DaskRows, is_dask, no_rows
from distfreeuq.exceptions import InputError

_BY_ROW = ("sample_weight", "features", "uniforms", "ids", "groups")

_Method = TypeVar("_Method", bound=Callable[..., Any])


def lazy(method: _Method) -> _Method:
    """Return the method, which is lazy where its rows are Dask's."""
    signature = inspect.signature(method)
    first = list(signature.parameters)[1]

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        rows = args[0] if args else kwargs.get(first)
        if not is_dask(rows):
            return method(self, *args, **kwargs)
        given = signature.bind(self, *args, **kwargs).arguments
        given.pop(next(iter(signature.parameters)))
        return _lazily(method, self, first, given)

    return cast(_Method, call)


def _lazily(
    method: Callable[..., Any], self: Any, first: str, given: Mapping[str, Any]
) -> Any:
    args = Arguments(f"{type(self).__name__}.{method.__name__}")
    rng = given.get("rng")
    if isinstance(rng, np.random.Generator):
        must = "None or a seed with Dask, whose blocks are read in no order of ours"
        args.invalid("rng", must, describe(rng))
    by_row = {
        name: value
        for name, value in given.items()
        if value is not None and (name == first or name in _BY_ROW)
    }
    others = {name: value for name, value in given.items() if name not in by_row}
    if getattr(self, "_draws_uniforms", False) and "uniforms" not in by_row:
        must = (
            "in memory, or the fit made with a seed: where uniforms are drawn, a row "
            "would have another set each time that it is computed"
        )
        args.invalid(first, must, describe(given[first]))
    example = method(self, **{k: no_rows(v) for k, v in by_row.items()}, **others)
    rows = DaskRows(args, by_row)
    task = MethodTask(method, tuple(by_row), others)
    if hasattr(example, "mask"):
        mask = rows.lazily(task, self, example.mask.shape[1], np.dtype(np.bool_))
        return example._of_dask(mask)
    n_columns = example.shape[1] if example.ndim > 1 else None
    return rows.lazily(task, self, n_columns, example.dtype)


class MethodTask:
    """A method's result for the rows of one block; a callable that can be pickled."""

    def __init__(
        self,
        method: Callable[..., Any],
        names: tuple[str, ...],
        others: Mapping[str, Any],
    ) -> None:
        self._method = method.__name__
        self._names = names
        self._others = dict(others)

    def __call__(self, fit: Any, place: Place, *pieces: Any) -> Any:
        """Return the array of what was made of each row."""
        own = [piece.value if isinstance(piece, Piece) else piece for piece in pieces]
        values = dict(zip(self._names, own, strict=True))
        try:
            with one_thread_here():
                found = getattr(fit, self._method)(**values, **self._others)
        except InputError as error:
            words = in_words_of_all_rows(str(error), place.number, place.start)
            raise type(error)(words) from None
        return getattr(found, "mask", found)
