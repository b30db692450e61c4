"""Calibration by groups: any calibrator, any splitting (paper D, Algorithm 1)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from distfreeuq import _arrays
from distfreeuq._arrays import listed
from distfreeuq._typing import ArrayLike, Classes, FloatMatrix, IntArray
from distfreeuq._validate import Door
from distfreeuq.calibration.excess_risk import class_guarantee, read_logit_range
from distfreeuq.calibration.isotonic import IsotonicResult, isotonic_calibration
from distfreeuq.calibration.logits import read_new_logits
from distfreeuq.calibration.platt import platt_scaling
from distfreeuq.calibration.result import CalibrationResult, change_fields
from distfreeuq.calibration.rows import CalibrationRows, describe_rows, read_rows
from distfreeuq.calibration.temperature import (
    ALPHA_BOUNDS,
    TemperatureResult,
    read_alpha_bounds,
    temperature_scaling,
)
from distfreeuq.calibration.vector import vector_scaling
from distfreeuq.exceptions import UnseenGroupWarning
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.results import read_only

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

Calibrator = Callable[..., CalibrationResult]
Split = Callable[[Any], ArrayLike]
CALIBRATORS: dict[str, Calibrator] = {
    "temperature": temperature_scaling,
    "vector": vector_scaling,
    "platt": platt_scaling,
    "isotonic": isotonic_calibration,
}
POOLED = -1


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
        door = Door("GroupwiseResult.predict")
        matrix = read_new_logits(door, logits, self.classes)
        codes, unseen = self._codes(door, logits, matrix, groups)
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
        door: Door,
        logits: ArrayLike,
        matrix: FloatMatrix,
        groups: ArrayLike | None,
    ) -> tuple[IntArray, list[Hashable]]:
        """Return each row's position in `names`, -1 for unseen groups, and these."""
        if self.split is None and groups is None:
            door.refuse("groups", "given, as in the fit", "None")
        if self.split is not None and groups is not None:
            door.refuse("groups", "None, as the fit has a rule for them", "an array")
        rule = groups if self.split is None else self.split
        values = split_rows(door, rule, logits, matrix, self.classes)
        position = {name: code for code, name in enumerate(self.names)}
        codes = np.array([position.get(value, POOLED) for value in values], np.int64)
        unseen = dict.fromkeys(value for value in values if value not in position)
        return codes, list(unseen)

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
        from distfreeuq._summary import Table, class_name, number

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


def groupwise_calibration(
    calibrator: str | Calibrator,
    logits: ArrayLike,
    labels: ArrayLike,
    *,
    groups: str | ArrayLike | Split = "predicted",
    sample_weight: ArrayLike | None = None,
    min_rows: int = 2,
    classes: ArrayLike | None = None,
    **options: Any,
) -> GroupwiseResult:
    """Calibrate every group of rows by itself.

    Parameters
    ----------
    calibrator : {"temperature", "vector", "platt", "isotonic"} or callable
        What to fit in each group: a name, or a function with the signature of
        `temperature_scaling` that returns a `CalibrationResult`.
    logits : array_like (n, K)
        A classifier's logits on rows that it was not fitted on; for isotonic
        calibration, probabilities.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`.
    groups : "predicted", array_like (n,) or callable, default "predicted"
        The predicted class; or each row's group, for example a sensitive feature, which
        `predict` then asks for; or a function that makes such an array of logits.
    sample_weight : array_like (n,), optional
        Non-negative weights; their scale has no effect.
    min_rows : int, default 2
        Groups of fewer rows use the map that is fitted to all rows.
    classes : sequence, optional
        Class names by column.
    **options
        Passed on to the calibrator.

    Returns
    -------
    GroupwiseResult

    Notes
    -----
    Paper D's Algorithm 1 without the tie between groups (gamma = inf). For temperatures
    of predicted classes, `classwise_temperature_scaling` does the same in one pass over
    the rows, and has gamma. A splitting must be known for new rows: the label itself is
    not one.

    References
    ----------
    .. [D] Zhao, Chen and Oymak (2020), Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(0.0, 3.0, (2000, 3))
    >>> site = rng.choice(["north", "south"], 2000)
    >>> truth = logits / np.where(site == "north", 1.0, 3.0)[:, None]
    >>> labels = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    >>> fit = dfu.groupwise_calibration("temperature", logits, labels, groups=site)
    >>> fit
    <GroupwiseResult temperature groups=2 n=2000 K=3>
    >>> {name: round(f.temperature, 2) for name, f in zip(fit.names, fit.fits)}
    {'north': 1.01, 'south': 3.18}
    """
    door = Door("groupwise_calibration")
    name, fit_one = _read_calibrator(door, calibrator)
    rows = read_rows(door, logits, labels, sample_weight, classes)
    min_rows = door.count(min_rows, "min_rows", low=1)
    if isinstance(groups, str):
        groups = door.choice(groups, "groups", ["predicted"])
    values = split_rows(door, groups, logits, rows.logits, rows.classes)

    names = _sorted(values)
    position = {name: code for code, name in enumerate(names)}
    codes = np.array([position[value] for value in values], dtype=np.int64)
    counts = np.bincount(codes[rows.weights > 0.0], minlength=len(names))
    own = np.flatnonzero(counts >= min_rows)
    which = np.full(len(names), POOLED, dtype=np.int64)
    which[own] = np.arange(own.size)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pooled = _fit(door, fit_one, rows, slice(None), options)
        fits = tuple(_fit(door, fit_one, rows, codes == code, options) for code in own)
    _pass_on(caught)
    probs = apply_maps(rows.logits, which[codes], fits, pooled)
    before = rows.logits if isinstance(pooled, IsotonicResult) else None
    return GroupwiseResult(
        **change_fields(rows, probs, before=before),
        guarantee=_guarantee(door, fit_one, rows, counts[own], options),
        calibrator=name,
        names=tuple(names),
        counts=read_only(counts),
        which=read_only(which),
        fits=fits,
        pooled=pooled,
        split=groups if isinstance(groups, str) or callable(groups) else None,
    )


def apply_maps(
    matrix: FloatMatrix,
    maps: IntArray,
    fits: tuple[CalibrationResult, ...],
    pooled: CalibrationResult,
) -> FloatMatrix:
    """Return each row's probabilities by its map, a position in `fits` or -1."""
    probs = np.empty_like(matrix)
    for index in np.unique(maps):
        own = maps == index
        fit = pooled if index == POOLED else fits[index]
        probs[own] = fit.predict(matrix[own])
    return probs


def split_rows(
    door: Door,
    groups: Any,
    logits: ArrayLike,
    matrix: FloatMatrix,
    classes: Classes,
) -> list[Hashable]:
    """Return each row's group as a plain Python value."""
    if isinstance(groups, str):
        tops, _, _ = describe_rows(matrix)
        return [classes[top] for top in tops.tolist()]
    if callable(groups):
        groups = groups(logits)
    array = door.array(groups, "groups", "groups, one per row")
    if array.ndim != 1 or array.shape[0] != len(matrix):
        must = f"{len(matrix)} groups, one per row"
        door.refuse("groups", must, f"shape {array.shape}")
    items = _arrays.as_items(array)
    for row, item in enumerate(items):
        if not _is_group(item):
            must = "values that can be told apart, none of them missing"
            door.refuse("groups", must, f"{_arrays.describe(item)} at row {row}")
    return items


def _is_group(item: Any) -> bool:
    """Say whether a value can be looked up: hashable, and equal to itself."""
    try:
        hash(item)
        return item is not None and bool(item == item)
    except (TypeError, ValueError):
        return False


def _sorted(values: list[Hashable]) -> list[Hashable]:
    """Return the different values in order, of appearance if they have no other."""
    distinct = list(dict.fromkeys(values))
    try:
        return sorted(distinct)  # type: ignore[type-var]
    except TypeError:
        return distinct


def _read_calibrator(door: Door, value: Any) -> tuple[str, Calibrator]:
    if callable(value):
        for name, known in CALIBRATORS.items():
            if value is known:
                return name, known
        return getattr(value, "__name__", type(value).__name__), value
    name = door.choice(value, "calibrator", CALIBRATORS)
    return name, CALIBRATORS[name]


def _fit(
    door: Door,
    fit_one: Calibrator,
    rows: CalibrationRows,
    own: Any,
    options: dict[str, Any],
) -> CalibrationResult:
    """Fit some of the rows."""
    names = np.empty(rows.n_classes, dtype=object)
    names[:] = list(rows.classes)
    result = fit_one(
        rows.logits[own],
        names[rows.labels[own]],
        sample_weight=rows.weights[own],
        classes=rows.classes,
        **options,
    )
    if not isinstance(result, CalibrationResult):
        must = "a function that returns a CalibrationResult"
        door.refuse("calibrator", must, f"one that returns {type(result).__name__}")
    return result


def _pass_on(caught: list[warnings.WarningMessage]) -> None:
    """Warn once of each kind: which group it was, the results tell."""
    for category in dict.fromkeys(warning.category for warning in caught):
        messages = [str(w.message) for w in caught if w.category is category]
        text = messages[0]
        if len(messages) > 1:
            text += f" ({len(messages) - 1} more of the groups' fits warn of the like.)"
        warnings.warn(text, category, stacklevel=3)


def _guarantee(
    door: Door,
    fit_one: Calibrator,
    rows: CalibrationRows,
    counts: IntArray,
    options: dict[str, Any],
) -> Guarantee | NoGuarantee:
    """Return Corollary 4.2 for temperatures; there is none for the others."""
    if fit_one is not temperature_scaling:
        return NoGuarantee(
            "no finite-sample theorem for this calibrator; paper D's Cor. 4.2 is about "
            "temperatures"
        )
    claim = class_guarantee(
        rows,
        counts,
        loss=options.get("loss", "nll"),
        alpha_bounds=read_alpha_bounds(door, options.get("bounds", ALPHA_BOUNDS)),
        delta=options.get("delta", 0.05),
        logit_range=read_logit_range(door, options.get("logit_range"), rows),
        groups=("group", "groups"),
    )
    if not isinstance(claim, Guarantee):
        return claim
    rule = (
        "a row's group follows from its features by a rule chosen without these labels"
    )
    return replace(claim, assumptions=(*claim.assumptions, rule))


def _describe(fit: CalibrationResult) -> str:
    if isinstance(fit, TemperatureResult):
        error = "at bound" if np.isnan(fit.std_err) else f"s.e. {fit.std_err:.3f}"
        return f"T={fit.temperature:.4g}, {error}"
    return type(fit).__name__.removesuffix("Result").lower()
