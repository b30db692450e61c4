"""Columns of a frame as numbers: texts and categories by level, or by a formula.

A column of texts or categories becomes one column of zeros and ones for each level but
the first, as R's treatment contrasts; levels are those of both samples. A formula is
patsy's, which statsmodels brings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distfreeuq._base import arrays
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import Classes, FloatArray, FloatMatrix
from distfreeuq._base.arrays import AnyArray, describe, listed
from distfreeuq._base.containers.foreign_values import column_labels
from distfreeuq._base.persistence import register
from distfreeuq._base.row_groups import in_order
from distfreeuq._base.stored_state import (
    State,
    column_names,
    maybe,
    require,
    row_name,
    several,
)

if TYPE_CHECKING:
    import pandas as pd

Levels = tuple[Any, ...]


@register("factor-design")
@dataclass(frozen=True, slots=True, eq=False)
class FactorDesign:
    """Which columns are numbers, and the levels of the others.

    Attributes
    ----------
    columns : sequence
        Names of the frame's columns.
    levels : tuple of (tuple or None)
        The levels of a column of texts or categories, the first of which is none of the
        matrix's; None for numbers.
    """

    columns: Classes
    levels: tuple[Levels | None, ...]

    _state: ClassVar[State] = {
        "columns": column_names("c"),
        "levels": several(maybe(several(row_name())), "c"),
    }

    def _validate_state(self) -> None:
        known = (own for own in self.levels if own is not None)
        require(all(len(set(own)) == len(own) > 0 for own in known), "different levels")

    @property
    def features(self) -> Classes:
        """Names of the matrix's columns."""
        names: list[Any] = []
        for column, own in zip(self.columns, self.levels, strict=True):
            more = [column] if own is None else [f"{column}[{x}]" for x in own[1:]]
            names += more
        return tuple(names)

    def matrix(self, args: Arguments, frame: Any, parameter: str) -> FloatMatrix:
        """Return the columns of a frame as numbers, shape (n, d)."""
        columns = column_labels(frame)
        if columns is None or tuple(map(arrays.plain, columns)) != tuple(self.columns):
            must = f"a frame with the columns {listed(self.columns)}, in this order"
            got = describe(frame) if columns is None else listed(columns)
            args.invalid(parameter, must, got)
        parts: list[AnyArray] = []
        for name, own, values in zip(
            self.columns, self.levels, _values(args, frame, parameter), strict=True
        ):
            if own is None:
                parts.append(_numbers(args, values, name, parameter)[:, None])
                continue
            items = arrays.as_items(values)
            code = {level: k for k, level in enumerate(own)}
            codes = [code.get(item, -1) if _is_level(item) else -1 for item in items]
            if -1 in codes:
                row = codes.index(-1)
                must = f"without levels that column {name!r} did not have in the fit"
                args.invalid(parameter, must, f"{describe(items[row])} at row {row}")
            parts.append(np.equal.outer(np.array(codes), np.arange(1, len(own))))
        return np.hstack(parts).astype(np.float64)


class FormulaDesign:
    """The matrix of a formula, with what patsy keeps of the rows of the fit."""

    def __init__(self, formula: str, frame: pd.DataFrame) -> None:
        import patsy

        self.formula = formula
        self._frame = frame
        scope = patsy.EvalEnvironment([{"np": np}])
        self._info: Any = patsy.incr_dbuilder(formula, lambda: iter([frame]), scope)
        names = self._info.column_names
        self._kept = [k for k, name in enumerate(names) if name != "Intercept"]
        self.features: Classes = tuple(names[k] for k in self._kept)

    def __reduce__(self) -> Any:
        """Be copied, and pickled, by the formula and the rows: patsy's are not."""
        return FormulaDesign, (self.formula, self._frame)

    def matrix(self, args: Arguments, frame: Any, parameter: str) -> FloatMatrix:
        """Return the formula's columns, without an intercept, shape (n, d)."""
        import patsy

        try:
            built = patsy.build_design_matrices(
                [self._info], as_pandas(args, frame, parameter), NA_action="raise"
            )[0]
        except Exception as error:  # whatever the formula's own functions raise
            must = f"rows for which {self.formula!r} has numbers"
            args.invalid(parameter, must, f"{type(error).__name__} ({error})")
        return np.asarray(built, dtype=np.float64)[:, self._kept]


Design = FactorDesign | FormulaDesign


def read_design(
    args: Arguments, source: Any, target: Any, formula: Any
) -> Design | None:
    """Return how two frames become matrices; None where they are matrices already."""
    if formula is not None:
        return _formula_design(args, source, target, formula)
    columns = column_labels(source)
    if columns is None or column_labels(target) is None:
        return None
    names = tuple(map(arrays.plain, columns))
    factors = [_factors(frame) for frame in (source, target)]
    others = tuple(map(arrays.plain, column_labels(target) or ()))
    if not any(map(any, factors)) or names != others:
        return None  # what does not agree is told by those who compare matrices
    of_both = [_values(args, source, "source"), _values(args, target, "target")]
    levels: list[Levels | None] = []
    for k, name in enumerate(names):
        if not (factors[0][k] or factors[1][k]):
            levels.append(None)
            continue
        seen: dict[Any, None] = {}
        for values, parameter in zip(of_both, ("source", "target"), strict=True):
            seen |= dict.fromkeys(_levels(args, values[k], name, parameter))
        levels.append(tuple(in_order(list(seen))))
    return FactorDesign(names, tuple(levels))


def _formula_design(
    args: Arguments, source: Any, target: Any, formula: Any
) -> FormulaDesign:
    import pandas as pd

    must = "a formula of the columns, such as 'age + C(city)'"
    if not isinstance(formula, str):
        args.invalid("formula", must, describe(formula))
    frames = [
        as_pandas(args, frame, parameter)
        for frame, parameter in ((source, "source"), (target, "target"))
    ]
    try:
        design = FormulaDesign(formula, pd.concat(frames, ignore_index=True))
    except Exception as error:  # patsy's, or of the formula's own functions
        args.invalid("formula", must, f"{formula!r} ({type(error).__name__}: {error})")
    if not design.features:
        args.invalid("formula", must, f"{formula!r}, which has no columns")
    return design


def as_pandas(args: Arguments, frame: Any, parameter: str) -> pd.DataFrame:
    """Return the columns of any frame in one of pandas, for patsy."""
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        return frame
    columns = column_labels(frame)
    if columns is None:
        args.invalid(parameter, "a frame, as a formula names columns", describe(frame))
    values = _values(args, frame, parameter)
    return pd.DataFrame(
        {name: arrays.as_items(one) for name, one in zip(columns, values, strict=True)}
    )


# ------------------------------------------------------------------- columns of frames


def _values(args: Arguments, frame: Any, parameter: str) -> list[AnyArray]:
    """Return the columns of a frame, each with its own kind of values."""
    if hasattr(frame, "iloc"):  # in a matrix 1 beside 0.5 is 1.0
        columns = (frame.iloc[:, k] for k in range(frame.shape[1]))
        return [args.array(column, parameter, "features") for column in columns]
    matrix = args.array(frame, parameter, "features")
    if matrix.ndim != 2:
        args.invalid(parameter, "a frame of columns", describe(frame))
    return [matrix[:, k] for k in range(matrix.shape[1])]


def _factors(frame: Any) -> list[bool]:
    """Say of each column whether it holds texts or categories."""
    array = arrays.as_array(frame)
    if array.ndim != 2:
        return []
    kinds = [str(kind) == "category" for kind in getattr(frame, "dtypes", [])]
    kinds = kinds if len(kinds) == array.shape[1] else [False] * array.shape[1]
    if array.dtype.kind in "OUS":
        texts = [
            any(isinstance(x, str) for x in array[:, k]) for k in range(len(kinds))
        ]
        kinds = [a or b for a, b in zip(kinds, texts, strict=True)]
    return kinds


def _levels(args: Arguments, values: AnyArray, name: Any, parameter: str) -> list[Any]:
    items = arrays.as_items(values)
    for row, item in enumerate(items):
        if not _is_level(item):
            must = f"texts, numbers or categories in column {name!r}, none missing"
            args.invalid(parameter, must, f"{describe(item)} at row {row}")
    return items


def _is_level(item: Any) -> bool:
    return isinstance(item, str | int | float | bool) and item == item


def _numbers(
    args: Arguments, values: AnyArray, name: Any, parameter: str
) -> FloatArray:
    floats = arrays.as_floats(values)
    if floats is None:
        got = arrays.first_no_number(values)
        args.invalid(parameter, f"numbers in column {name!r}", got)
    bad = ~np.isfinite(floats)
    if bad.any():
        row = int(np.argmax(bad))
        must = f"finite numbers in column {name!r}"
        args.invalid(parameter, must, f"{floats[row]} at row {row}")
    return floats.astype(np.float64, copy=False)
