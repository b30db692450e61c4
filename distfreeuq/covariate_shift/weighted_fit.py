"""Fits to weighted rows: what is to be fitted, and the bound of its error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import Classes, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import describe, read_only
from distfreeuq.binning.data import BinningRows
from distfreeuq.binning.histogram import fit_histogram
from distfreeuq.binning.results import BinningResult
from distfreeuq.binning.settings import read_options
from distfreeuq.calibration.calibrators import (
    CALIBRATORS,
    AnyCalibrator,
    Calibrator,
    read_calibrator,
)
from distfreeuq.calibration.groupwise_results import GroupwiseResult
from distfreeuq.calibration.results import CalibrationResult
from distfreeuq.calibration.rows.calibration_rows import make_rows
from distfreeuq.covariate_shift.bound_estimate import estimate_bound
from distfreeuq.covariate_shift.data import LearntFeatures, RowWeights, read_mapping
from distfreeuq.covariate_shift.guarantees import target_guarantee
from distfreeuq.covariate_shift.results import (
    CovariateShiftCalibrationResult,
    RowUse,
    as_probabilities,
    calibrator_input,
)

ALL_CALIBRATORS = tuple(dict.fromkeys((*CALIBRATORS, "binning")))


class CalibratorRequest(NamedTuple):
    """What is to be fitted to weighted rows.

    Attributes
    ----------
    args : Arguments
        Whose messages name the caller.
    name : str
    calibrator : Calibrator, OwnCalibrator or None
        None for histogram binning.
    options : dict
        As given, by name.
    offset : float
    upper : float or None
    """

    args: Arguments
    name: str
    calibrator: AnyCalibrator | None
    options: dict[str, Any]
    offset: float
    upper: float | None


def read_request(
    args: Arguments,
    *,
    calibrator: Any,
    loss: Any,
    offset: Any,
    upper: Any,
    calibrator_options: Any,
) -> CalibratorRequest:
    """Check what is to be fitted, but for what depends on the rows."""
    name, chosen = read_any_calibrator(args, calibrator)
    offset = args.number(offset, "offset", "a non-negative number", low=0.0, high=1e6)
    if upper is not None:
        must = "a number from 1e-100 to 1e100, or None"
        upper = args.number(upper, "upper", must, low=1e-100, high=1e100)
    options = _read_calibrator_options(args, name, loss, calibrator_options)
    return CalibratorRequest(args, name, chosen, options, offset, upper)


def read_any_calibrator(
    args: Arguments, value: Any
) -> tuple[str, AnyCalibrator | None]:
    """Return name and calibrator; None for histogram binning."""
    if isinstance(value, str):
        name = args.choice(value, "calibrator", ALL_CALIBRATORS)
        if name == "binning":
            return name, None
    return read_calibrator(args, value)


def fit_map(
    request: CalibratorRequest,
    logits: FloatMatrix,
    labels: IntArray,
    weights: FloatArray | None,
    classes: Classes,
) -> CalibrationResult | BinningResult:
    """Fit the calibrator to rows; labels are column numbers, None for no weights."""
    in_loss = None if weights is None else weights + request.offset
    chosen, options = request.calibrator, request.options
    if chosen is None:
        return _fit_bins(as_probabilities(logits), labels, classes, in_loss, options)
    wants_probs = isinstance(chosen, Calibrator) and chosen.takes_probs
    inputs = as_probabilities(logits) if wants_probs else logits
    rows = make_rows(inputs, labels, in_loss, classes)
    if isinstance(chosen, Calibrator):
        return chosen.fit(rows, chosen.options(rows, options))
    found = chosen.fit(request.args, "calibrator", rows, options, in_loss)
    if not isinstance(found, CalibrationResult | BinningResult):
        must = "a calibrator that returns probabilities, or a map to them"
        request.args.invalid("calibrator", must, repr(found))
    return found


def fit_weighted(
    learnt: LearntFeatures, weights: RowWeights, request: CalibratorRequest
) -> CovariateShiftCalibrationResult:
    """Fit the calibrator to weighted rows, and estimate the bound of Park et al."""
    rows = learnt.rows
    assert rows.logits is not None
    fit = fit_map(request, rows.logits, rows.codes, weights.source, rows.classes)
    needs_groups = isinstance(fit, GroupwiseResult) and fit.split is None
    bound = None
    if weights.source is not None and weights.target is not None and not needs_groups:
        probs = fit._predict(calibrator_input(fit, rows.logits))
        bound = estimate_bound(
            squared_error(probs, rows.codes),
            weights.source,
            weights.target,
            request.upper,
        )
    n = rows.codes.size
    return CovariateShiftCalibrationResult(
        calibrator=request.name,
        calibration=fit,
        ratio=weights.ratio,
        feature_map=learnt.feature_map,
        sample_weight=read_only(
            np.ones(n) if weights.source is None else weights.source
        ),
        offset=request.offset,
        rows=RowUse(
            n_calibration=n,
            n_target=weights.n_target,
            n_map_source=learnt.n_source,
            n_map_target=learnt.n_target,
            weights_from=weights.come_from,
        ),
        bound=bound,
        classes=rows.classes,
        features=None if learnt.feature_map is None else rows.features,
        guarantee=target_guarantee(weights.come_from, request.offset, fit.guarantee),
    )


def _fit_bins(
    probs: FloatMatrix,
    labels: IntArray,
    classes: Classes,
    weights: FloatArray | None,
    options: dict[str, Any],
) -> BinningResult:
    if len(classes) > 2:
        options = {"mode": "top-label", **options}
    binned, settings = read_options(
        Arguments("histogram_binning"),
        BinningRows(probs, labels, classes, weights),
        **options,
    )
    return fit_histogram(binned, settings)


def _read_calibrator_options(
    args: Arguments, calibrator: str, loss: str, given: Mapping[str, Any] | None
) -> dict[str, Any]:
    loss = args.choice(loss, "loss", ["nll", "brier"])
    options = read_mapping(args, given, "calibrator_options")
    for taken in ("sample_weight", "classes", "loss"):
        if taken in options:
            args.invalid("calibrator_options", f"without {taken!r}", describe(given))
    if loss == "nll":
        return options
    if calibrator in ("temperature", "classwise-temperature"):
        return {"loss": loss, **options}
    if loss != "nll":
        must = "'nll' for every calibrator but temperatures"
        args.invalid("loss", must, f"{loss!r} with {calibrator!r}")
    return options


def squared_error(probs: FloatMatrix, codes: IntArray) -> FloatArray:
    """Return ||f(x) - y||^2 of every row, shape (n,)."""
    residual = probs.astype(np.float64)
    residual[np.arange(codes.size), codes] -= 1.0
    return np.asarray(np.einsum("ij,ij->i", residual, residual))
