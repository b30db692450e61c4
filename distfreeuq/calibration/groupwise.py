"""Calibration by groups: any calibrator, any splitting (paper D, Algorithm 1)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, IntArray
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.repeated_warnings import listed_warnings, warn_once
from distfreeuq.calibration.data import CalibrationRows, read_rows
from distfreeuq.calibration.groupwise_results import (
    POOLED,
    GroupwiseResult,
    Split,
    apply_maps,
    split_rows,
)
from distfreeuq.calibration.guarantees import class_guarantee, read_logit_range
from distfreeuq.calibration.isotonic import IsotonicResult, isotonic_calibration
from distfreeuq.calibration.platt import platt_scaling
from distfreeuq.calibration.results import CalibrationResult, change_fields, outcome_of
from distfreeuq.calibration.temperature import (
    ALPHA_BOUNDS,
    read_alpha_bounds,
    temperature_scaling,
)
from distfreeuq.calibration.vector import vector_scaling
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.results import read_only

Calibrator = Callable[..., CalibrationResult]
CALIBRATORS: dict[str, Calibrator] = {
    "temperature": temperature_scaling,
    "vector": vector_scaling,
    "platt": platt_scaling,
    "isotonic": isotonic_calibration,
}


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
    args = Arguments("groupwise_calibration")
    name, fit_one = read_calibrator(args, calibrator)
    rows = read_rows(args, logits, labels, sample_weight, classes)
    min_rows = args.count(min_rows, "min_rows", low=1)
    if isinstance(groups, str):
        groups = args.choice(groups, "groups", ["predicted"])
    distinct, codes = split_rows(args, groups, logits, rows.logits, rows.classes)

    names = _sorted(distinct)
    position = {name: code for code, name in enumerate(names)}
    codes = np.array([position[name] for name in distinct], dtype=np.int64)[codes]
    counts = np.bincount(codes[rows.weights > 0.0], minlength=len(names))
    own = np.flatnonzero(counts >= min_rows)
    which = np.full(len(names), POOLED, dtype=np.int64)
    which[own] = np.arange(own.size)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pooled = _fit(args, fit_one, rows, slice(None), options)
        fits = tuple(_fit(args, fit_one, rows, codes == code, options) for code in own)
    # which group it was, the results tell
    warn_once(listed_warnings(caught), "the groups' fits", stacklevel=2)
    probs = apply_maps(rows.logits, which[codes], fits, pooled)
    before = rows.logits if isinstance(pooled, IsotonicResult) else None
    return GroupwiseResult(
        **change_fields(rows, outcome_of(rows, probs), before=before),
        guarantee=_guarantee(args, fit_one, rows, counts[own], options),
        calibrator=name,
        names=tuple(names),
        counts=read_only(counts),
        which=read_only(which),
        fits=fits,
        pooled=pooled,
        split=groups if isinstance(groups, str) or callable(groups) else None,
    )


def _sorted(distinct: list[Hashable]) -> list[Hashable]:
    """Return the values in order, of appearance if they have no other."""
    try:
        return sorted(distinct)  # type: ignore[type-var]
    except TypeError:
        return distinct


def read_calibrator(
    args: Arguments, value: Any, parameter: str = "calibrator"
) -> tuple[str, Calibrator]:
    """Return a calibrator and its name from either."""
    if callable(value):
        for name, known in CALIBRATORS.items():
            if value is known:
                return name, known
        return getattr(value, "__name__", type(value).__name__), value
    name = args.choice(value, parameter, CALIBRATORS)
    return name, CALIBRATORS[name]


def _fit(
    args: Arguments,
    fit_one: Calibrator,
    rows: CalibrationRows,
    own: Any,
    options: dict[str, Any],
) -> CalibrationResult:
    """Fit some of the rows."""
    result = fit_one(
        rows.logits[own],
        name_array(rows.classes)[rows.labels[own]],
        sample_weight=rows.weights[own],
        classes=rows.classes,
        **options,
    )
    if not isinstance(result, CalibrationResult):
        must = "a function that returns a CalibrationResult"
        args.invalid("calibrator", must, f"one that returns {type(result).__name__}")
    return result


def _guarantee(
    args: Arguments,
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
        alpha_bounds=read_alpha_bounds(args, options.get("bounds", ALPHA_BOUNDS)),
        delta=options.get("delta", 0.05),
        logit_range=read_logit_range(args, options.get("logit_range"), rows),
        groups=("group", "groups"),
    )
    if not isinstance(claim, Guarantee):
        return claim
    rule = (
        "a row's group follows from its features by a rule chosen without these labels"
    )
    return replace(claim, assumptions=(*claim.assumptions, rule))
