"""Calibration by groups: any calibrator, any splitting."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, BoolArray, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.row_groups import in_order
from distfreeuq._base.user_warnings import listed_warnings, warn_once
from distfreeuq.calibration.calibrators import (
    Calibrator,
    UserCalibrator,
    fit_calibrator,
    read_calibrator,
    takes_probs,
)
from distfreeuq.calibration.data import CalibrationRows, read_rows, split_rows
from distfreeuq.calibration.groupwise_results import (
    POOLED,
    GroupwiseResult,
    Split,
    apply_maps,
)
from distfreeuq.calibration.guarantees import class_guarantee, no_theorem
from distfreeuq.calibration.results import change_fields, outcome_of
from distfreeuq.calibration.temperature import TemperatureOptions
from distfreeuq.guarantees import Guarantee, NoGuarantee

# A share of the largest weight whose square is no number: such a row has no weight.
_NO_WEIGHT = 1e-150


def groupwise_calibration(
    calibrator: str | UserCalibrator,
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
    calibrator : {"temperature", "classwise-temperature", "vector", "platt", \
"dirichlet", "isotonic", "venn-abers", "beta"}, callable or object
        What to fit in each group: a name; a function that is called as
        `temperature_scaling` is, with `sample_weight`, and returns a
        `CalibrationResult` or a map of logits; or an object with ``fit(logits, labels,
        sample_weight=)`` and ``predict_proba``.
    logits : array_like (n, K)
        A classifier's logits on rows that it was not fitted on; for isotonic,
        Venn-Abers and beta calibration, probabilities.
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
    Algorithm 1 of [1]_ without the tie between groups (gamma = inf). For temperatures
    of predicted classes, `classwise_temperature_scaling` does the same in one pass over
    the rows, and has gamma. A splitting must be known for new rows: the label itself is
    not one. A group without an error among its rows has no best temperature, and T -> 0
    would make its predictions certain: it uses the map that is fitted to all rows.

    References
    ----------
    .. [1] Zhao, Chen and Oymak (2020), Algorithm 1.

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
    name, chosen = read_calibrator(args, calibrator)
    may_be_probs = not isinstance(chosen, Calibrator) or chosen.takes_probs
    rows = read_rows(
        args, logits, labels, sample_weight, classes, may_be_probs=may_be_probs
    )
    min_rows = args.count(min_rows, "min_rows", low=1)
    if isinstance(groups, str):
        groups = args.choice(groups, "groups", ["predicted"])
    distinct, codes = split_rows(args, groups, logits, rows.logits, rows.classes)

    names = in_order(distinct)
    position = {name: code for code, name in enumerate(names)}
    codes = np.array([position[name] for name in distinct], dtype=np.int64)[codes]
    some = rows.weights > _NO_WEIGHT * rows.weights.max()
    counts = np.bincount(codes[some], minlength=len(names))
    checked: Any = options
    if isinstance(chosen, Calibrator):
        if chosen.takes_probs:
            args.probs(rows.logits, "logits")
        checked = chosen.options(rows, options)
    own = np.flatnonzero(counts >= min_rows)
    n_candidates = own.size
    if isinstance(checked, TemperatureOptions):
        own = own[_has_errors(rows, codes, len(names))[own]]
    which = np.full(len(names), POOLED, dtype=np.int64)
    which[own] = np.arange(own.size)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pooled = fit_calibrator(args, chosen, rows, checked, rows.weights)
        fits = tuple(
            fit_calibrator(args, chosen, part, checked, part.weights)
            for part in (rows.some(codes == code) for code in own)
        )
    # the results say which groups they were
    warn_once(listed_warnings(caught), "the groups' fits")
    probs = apply_maps(rows.logits, which[codes], fits, pooled)
    before = rows.logits if takes_probs(pooled) else None
    return GroupwiseResult(
        **change_fields(rows, outcome_of(rows, probs), before=before),
        guarantee=_guarantee(rows, counts[own], n_candidates, checked),
        calibrator=name,
        names=tuple(names),
        counts=read_only(counts),
        which=read_only(which),
        fits=fits,
        pooled=pooled,
        split=groups if isinstance(groups, str) or callable(groups) else None,
    )


def _has_errors(rows: CalibrationRows, codes: IntArray, n_groups: int) -> BoolArray:
    """Return which groups have a best temperature: those with an error in their rows.

    All of them, where there is no error in any.
    """
    wrong = np.bincount(
        codes, rows.weights * (rows.tops != rows.labels), minlength=n_groups
    )
    return np.asarray((wrong > 0.0) | (wrong.sum() == 0.0))


def _guarantee(
    rows: CalibrationRows, counts: IntArray, n_candidates: int, options: Any
) -> Guarantee | NoGuarantee:
    """Return Corollary 4.2 for temperatures; there is none for the others."""
    if not isinstance(options, TemperatureOptions):
        return no_theorem("this calibrator", "Cor. 4.2")
    claim = class_guarantee(
        rows,
        counts,
        n_candidates,
        loss=options.loss,
        alpha_bounds=options.bounds,
        delta=options.delta,
        logit_range=options.logit_range,
        groups=("group", "groups"),
    )
    if not isinstance(claim, Guarantee):
        return claim
    rule = (
        "a row's group follows from its features by a rule chosen without these labels"
    )
    return replace(claim, assumptions=(*claim.assumptions, rule))
