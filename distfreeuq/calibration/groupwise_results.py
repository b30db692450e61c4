"""What calibration by groups returns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from distfreeuq._base import arrays
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, Classes, FloatMatrix, IntArray
from distfreeuq._base.arrays import AnyArray, listed
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import check_indices, check_integers, require
from distfreeuq.calibration.data import describe_rows, scaled_softmax
from distfreeuq.calibration.logits import read_new_logits
from distfreeuq.calibration.results import CalibrationResult
from distfreeuq.calibration.temperature import TemperatureResult
from distfreeuq.exceptions import UnseenGroupWarning

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

Split = Callable[[Any], ArrayLike]
"""From logits, as the user gave them, to each row's group."""
POOLED = -1
"""In place of a position among the fits: the map that is fitted to all rows."""


@register("groupwise-calibration")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupwiseResult(CalibrationResult):
    """A fitted calibration map for every group of rows.

    Attributes
    ----------
    calibrator : str
        Its name.
    names : tuple
        The groups.
    counts : ndarray (G,)
        Fitted rows of each.
    which : ndarray (G,)
        Position of each group's map in `fits`; -1 for groups of too few rows, which use
        the pooled map.
    fits : tuple of CalibrationResult
    pooled : CalibrationResult
        The map fitted to all rows.
    split : "predicted", None or callable
        How `predict` finds the groups of new rows; None: they are given.

    The other attributes are those of every `CalibrationResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> logits = [[2.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 1.0]] * 5
    >>> labels = [0, 1, 1, 1] * 4 + [0, 1, 0, 0]
    >>> fit = dfu.groupwise_calibration("temperature", logits, labels)
    >>> fit
    <GroupwiseResult temperature groups=2 n=20 K=2>
    >>> fit.predict([[1.0, 0.0]]).round(3).tolist()
    [[0.65, 0.35]]
    """

    calibrator: str
    names: tuple[Hashable, ...]
    counts: IntArray
    which: IntArray
    fits: tuple[CalibrationResult, ...]
    pooled: CalibrationResult
    split: str | Split | None

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<GroupwiseResult {self.calibrator} groups={len(self.names)} n={self.n} "
            f"K={len(self.classes)}>"
        )

    def _validate_state(self) -> None:
        CalibrationResult._validate_state(self)
        n_groups = len(self.names)
        check_integers(self, counts=(n_groups,), which=(n_groups,))
        own = self.which[self.which != POOLED]
        check_indices(own, "positions of fits", len(self.fits))
        maps = (*self.fits, self.pooled)
        of_these = all(
            isinstance(fit, CalibrationResult) and fit.classes == self.classes
            for fit in maps
        )
        require(of_these, "calibration maps of the same classes")
        require(self.split in (None, "predicted"), "a rule for the groups")

    def predict(
        self, logits: ArrayLike, *, groups: ArrayLike | None = None
    ) -> FloatMatrix:
        """Calibrated probabilities, each row by the map of its group, shape (n, K).

        Parameters
        ----------
        logits : array_like (n, K)
            Columns as in the fit. For isotonic calibration, probabilities.
        groups : array_like (n,), optional
            Needed if the fit was given an array of groups, and only then.

        Notes
        -----
        Rows of a group that the fit has not seen use the pooled map, with an
        `UnseenGroupWarning`.
        """
        args = Arguments("GroupwiseResult.predict")
        matrix = read_new_logits(args, logits, self.classes)
        codes, unseen = self._codes(args, logits, matrix, groups)
        if unseen:
            warnings.warn(
                f"{len(unseen)} groups were not in the fit ({listed(unseen)}): their "
                "rows are calibrated by the pooled map.",
                UnseenGroupWarning,
                stacklevel=2,
            )
        maps = np.append(self.which, POOLED)[codes]
        return apply_maps(matrix, maps, self.fits, self.pooled)

    def _codes(
        self,
        args: Arguments,
        logits: ArrayLike,
        matrix: FloatMatrix,
        groups: ArrayLike | None,
    ) -> tuple[IntArray, list[Hashable]]:
        """Return each row's position in `names`, -1 for unseen groups, and these."""
        if self.split is None and groups is None:
            args.invalid("groups", "given, as in the fit", "None")
        if self.split is not None and groups is not None:
            args.invalid("groups", "None, as the fit has a rule for them", "an array")
        rule = groups if self.split is None else self.split
        distinct, codes = split_rows(args, rule, logits, matrix, self.classes)
        position = {name: code for code, name in enumerate(self.names)}
        places = np.array([position.get(name, POOLED) for name in distinct], np.int64)
        return places[codes], [name for name in distinct if name not in position]

    def _check_savable(self) -> None:
        if callable(self.split):
            Arguments("save").invalid(
                "groups",
                "an array, or 'predicted': a file holds no code",
                "a function",
            )

    def to_frame(self) -> pd.DataFrame:
        """Return the groups' own tables below one another, with columns group and n.

        Groups that use the pooled map are told by the column pooled.
        """
        import pandas as pd

        parts: list[pd.DataFrame] = []
        for name, n, which in zip(self.names, self.counts, self.which, strict=True):
            pooled = which == POOLED
            fit = self.pooled if pooled else self.fits[which]
            frame = fit.to_frame()
            frame.insert(0, "group", [name] * len(frame))
            frame.insert(1, "n", n)
            frame["pooled"] = pooled
            parts.append(frame)
        return pd.concat(parts, ignore_index=True)

    def summary(self) -> Summary:
        """Return each group's losses and the guarantee as a ``Summary``."""
        from distfreeuq._base.printing import Table, class_name, number

        rows = []
        for name, n, which in zip(self.names, self.counts, self.which, strict=True):
            if which == POOLED:
                rows.append([class_name(name), str(n), "-", "-", "-", "pooled"])
                continue
            fit = self.fits[which]
            rows.append(
                [
                    class_name(name),
                    str(n),
                    number(fit.loss_before),
                    number(fit.loss_after),
                    str(fit.n_changed),
                    _describe(fit),
                ]
            )
        headers = ["group", "n", "loss before", "loss after", "changed", "map"]
        notes = [("Pooled", f"{_describe(self.pooled)}, fitted to all rows.")]
        facts = [("Calibrator", self.calibrator), ("Groups", str(len(self.names)))]
        return self._summarise(
            "Calibration by groups", facts, [Table(headers, rows)], notes
        )

    def _default_plot(self, ax: Axes | None) -> Axes:
        from distfreeuq import plots

        if isinstance(self.pooled, TemperatureResult):
            return plots.calibration_parameters(self, ax=ax)
        return plots.reliability_change(self, ax=ax)


def apply_maps(
    matrix: FloatMatrix,
    maps: IntArray,
    fits: tuple[CalibrationResult, ...],
    pooled: CalibrationResult,
) -> FloatMatrix:
    """Return each row's probabilities by its map, a position in `fits` or -1."""
    everyone = [*fits, pooled]  # of which -1 is the pooled one
    temperatures = [fit for fit in everyone if isinstance(fit, TemperatureResult)]
    if len(temperatures) == len(everyone):
        tops, _, _ = describe_rows(matrix)
        alphas = np.array([fit.inverse_temperature for fit in temperatures])
        return scaled_softmax(matrix, tops, maps % alphas.size, alphas)
    probs = np.empty_like(matrix)
    for index in np.unique(maps):
        own = maps == index
        probs[own] = everyone[index].predict(matrix[own])
    return probs


def split_rows(
    args: Arguments,
    groups: Any,
    logits: ArrayLike,
    matrix: FloatMatrix,
    classes: Classes,
) -> tuple[list[Hashable], IntArray]:
    """Return the different groups as plain Python values, and which each row is in."""
    if isinstance(groups, str):
        tops, _, _ = describe_rows(matrix)
        seen, codes = _few_integers(tops)
        return [classes[top] for top in seen], codes
    if callable(groups):
        groups = groups(logits)
    array = args.array(groups, "groups", "groups, one per row")
    if array.ndim != 1 or array.shape[0] != len(matrix):
        must = f"{len(matrix)} groups, one per row"
        args.invalid("groups", must, f"shape {array.shape}")
    if _is_within_few(array):
        numbers, codes = _few_integers(array.astype(np.int64))
        return list(numbers), codes
    items = arrays.as_items(array)
    try:
        distinct = list(dict.fromkeys(items))
    except TypeError:  # one of them cannot be looked up
        distinct = items
    for item in distinct:
        if not _is_group(item):
            row = next(row for row, other in enumerate(items) if other is item)
            must = "values that can be told apart, none of them missing"
            args.invalid("groups", must, f"{arrays.describe(item)} at row {row}")
    position = {item: code for code, item in enumerate(distinct)}
    codes = np.fromiter(map(position.__getitem__, items), np.int64, len(items))
    return distinct, codes


def _is_within_few(array: AnyArray) -> bool:
    """Say whether these are integers with no more between them than there are rows."""
    if array.dtype.kind not in "iu" or not np.can_cast(array.dtype, np.int64):
        return False
    return array.size > 0 and int(array.max()) - int(array.min()) < array.size


def _few_integers(values: IntArray) -> tuple[list[int], IntArray]:
    """Return the different ones in order, and where each row's stands among them."""
    low = int(values.min()) if values.size else 0
    offsets = values - low
    present = np.bincount(offsets) > 0
    distinct = (low + np.flatnonzero(present)).tolist()
    return distinct, (np.cumsum(present) - 1)[offsets]


def _is_group(item: Any) -> bool:
    """Say whether a value can be looked up: hashable, and equal to itself."""
    try:
        hash(item)
        return item is not None and bool(item == item)
    except (TypeError, ValueError):
        return False


def _describe(fit: CalibrationResult) -> str:
    if isinstance(fit, TemperatureResult):
        error = "at bound" if np.isnan(fit.std_err) else f"s.e. {fit.std_err:.3f}"
        return f"T={fit.temperature:.4g}, {error}"
    return type(fit).__name__.removesuffix("Result").lower()
