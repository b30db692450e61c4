"""Calibration for a target of other covariates, where rows come in blocks.

Weights are one number a row, and are gathered; logits are read in passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray, RandomState
from distfreeuq._base.arrays import describe, read_only
from distfreeuq._numerics.passes.block_parts import After, BlockParts
from distfreeuq._numerics.row_blocks import (
    RowBlocks,
    is_in_blocks,
    is_iterated,
    read_blocks,
    values_of_block,
)
from distfreeuq.calibration.calibrators import Calibrator, may_mask
from distfreeuq.calibration.data import ReadBlock, rows_of_blocks
from distfreeuq.calibration.results import CalibrationResult
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows, described
from distfreeuq.covariate_shift.bound_estimate import (
    BoundEstimate,
    T,
    bound_of_means,
)
from distfreeuq.covariate_shift.data import (
    LearntFeatures,
    RowWeights,
    estimate_weights,
    names_a_method,
    read_shifted_rows,
)
from distfreeuq.covariate_shift.guarantees import target_guarantee
from distfreeuq.covariate_shift.results import (
    CovariateShiftCalibrationResult,
    RowUse,
    as_probabilities,
    calibrator_input,
)
from distfreeuq.covariate_shift.weighted_fit import (
    CalibratorRequest,
    fit_weighted,
    squared_error,
)
from distfreeuq.density_ratios.data import read_samples
from distfreeuq.density_ratios.results import DensityRatioResult
from distfreeuq.density_ratios.rows.samples_in_blocks import read_samples_in_blocks

_PARAMETERS = ("logits", "labels", "source")


def fit_to_blocks(
    args: Arguments,
    logits: Any,
    labels: Any,
    source: Any,
    target: Any,
    classes: Any,
    request: CalibratorRequest,
    feature_learning: Any,
    ratio: Any,
    ratio_options: Any,
    rng: RandomState,
) -> CovariateShiftCalibrationResult | None:
    """Return the fit to rows of which some come in blocks; None if all are arrays."""
    if not any(map(is_in_blocks, (logits, labels, source, target))):
        return None
    if feature_learning is not False:
        must = "False where rows come in blocks"
        hint = (
            "Learn features from arrays of a sample with indistinguishable_features, "
            "and give blocks of its logits, and of its features as 'source'."
        )
        args.invalid("feature_learning", must, describe(feature_learning), hint=hint)
    if is_iterated(logits):
        given = dict.fromkeys(_PARAMETERS) | {"logits": logits, "labels": labels}
        blocks = read_blocks(args, given, again=True)
        assert blocks is not None
        if blocks.has("source"):
            if source is not None:
                must = "None where blocks have their own"
                args.invalid("source", must, describe(source))
            source = _SourceOf(args, logits)
    weights = _weigh(args, source, target, ratio, ratio_options, rng)
    if not is_in_blocks(logits) and not is_in_blocks(labels):
        masks = may_mask(request.calibrator)
        arrays = (logits, labels, None, None)
        rows = read_shifted_rows(args, *arrays, classes, may_mask=masks)
        if weights.source is not None and weights.source.size != rows.codes.size:
            must = f"of {rows.codes.size} rows, one for each label"
            args.invalid("source", must, f"{weights.source.size} rows")
        return fit_weighted(LearntFeatures(rows, None, None, None), weights, request)
    values = {"logits": logits, "labels": labels, "sample_weight": None}
    if weights.source is not None:
        in_loss = weights.source + request.offset
        if is_iterated(logits):
            values["logits"] = _Weighted(args, logits, in_loss, weights.come_from)
        else:
            _check_sizes(args, logits, labels, weights)
            values["sample_weight"] = in_loss
    blocks = read_blocks(args, values, again=True)
    assert blocks is not None
    return _fit(args, blocks, weights, request, classes)


def _check_sizes(
    args: Arguments, logits: Any, labels: Any, weights: RowWeights
) -> None:
    """Raise an error where Dask's rows are not known to be as many as weights."""
    rows = read_blocks(args, {"logits": logits, "labels": labels})
    assert rows is not None and weights.source is not None
    if rows.n is None:
        must = "of chunks whose sizes are known, to which weights can be given,"
        hint = "Make them known: compute_chunk_sizes() of an array."
        args.invalid("logits", must, "unknown ones", hint=hint)
    if rows.n != weights.source.size:
        _refuse_length(args, rows.n, weights.source.size, weights.come_from)


def _refuse_length(args: Arguments, n: int, size: int, come_from: str) -> None:
    parameter = "source" if come_from == "held out" else "ratio"
    args.invalid(parameter, f"of {n} rows, one for each row of logits", f"{size} rows")


def _weigh(
    args: Arguments,
    source: Any,
    target: Any,
    ratio: Any,
    options: Any,
    rng: RandomState,
) -> RowWeights:
    """Return the weights that `ratio` stands for, as `weigh_rows` does in memory."""
    is_method = names_a_method(args, ratio, options)
    if ratio is None:
        return RowWeights(None, None, None, "none")
    if isinstance(ratio, DensityRatioResult):
        others = None if ratio.auc is None else ratio.target_weight
        return RowWeights(ratio.source_weight, others, ratio, "given ratio's rows")
    if not is_method:
        n = args.array(ratio, "ratio", "numbers").size
        given = args.weights(ratio, "ratio", n, squared=True)
        if given.max(initial=0.0) == 0.0:
            args.invalid("ratio", "positive for a row that calibrates", "all zero")
        return RowWeights(given, None, None, "known")
    for name, value in (("source", source), ("target", target)):
        if value is None:
            args.invalid(name, "given for a density ratio", "None")
    if is_in_blocks(source) or is_in_blocks(target):
        if not isinstance(ratio, str) or ratio != "logistic":
            must = "'logistic', weights or a DensityRatioResult where features come "
            must += "in blocks"
            hint = (
                "Estimate another ratio from arrays of a sample, and give what its "
                "weight method says of the rows of every block."
            )
            args.invalid("ratio", must, describe(ratio), hint=hint)
        samples = read_samples_in_blocks(args, source, target, ratio, None)
        assert samples is not None
        return estimate_weights(args, samples, ratio, options, rng)
    return estimate_weights(
        args, read_samples(args, source, target), ratio, options, rng
    )


def _fit(
    args: Arguments,
    blocks: RowBlocks,
    weights: RowWeights,
    request: CalibratorRequest,
    classes: Any,
) -> CovariateShiftCalibrationResult:
    """Fit the calibrator to weighted rows in blocks, and estimate the bound."""
    chosen = request.calibrator
    if not isinstance(chosen, Calibrator) or request.name in ("venn-abers", "binning"):
        must = "a map that is fitted in passes, such as 'temperature' or 'isotonic',"
        hint = "Give arrays of a sample, which others need."
        args.invalid("calibrator", must, repr(request.name), hint=hint)
    names = blocks.classes(classes)
    read = ReadBlock("logits", names, False, may_mask(chosen))
    make = After(_as_probabilities, read) if chosen.takes_probs else read
    rows = rows_of_blocks(args, blocks, names, make)
    n = rows.n
    if weights.source is not None and weights.source.size != n:
        _refuse_length(args, n, weights.source.size, weights.come_from)
    fit = chosen.fit(rows, chosen.options(rows, request.options))
    bound: BoundEstimate | None = None
    if weights.source is not None and weights.target is not None:
        losses = BlockParts(blocks, read).total(_Losses(fit))
        bound = _bound(losses, n, weights.source, weights.target, request)
    return CovariateShiftCalibrationResult(
        calibrator=request.name,
        calibration=fit,
        ratio=weights.ratio,
        feature_map=None,
        sample_weight=read_only(
            np.ones(n) if weights.source is None else weights.source
        ),
        offset=request.offset,
        rows=RowUse(
            n_calibration=n,
            n_target=weights.n_target,
            n_map_source=None,
            n_map_target=None,
            weights_from=weights.come_from,
        ),
        bound=bound,
        classes=names,
        features=None,
        guarantee=target_guarantee(weights.come_from, request.offset, fit.guarantee),
    )


def _bound(
    losses: tuple[float, float],
    n: int,
    source_weight: FloatArray,
    target_weight: FloatArray,
    request: CalibratorRequest,
) -> BoundEstimate:
    weighted, plain = losses
    error = (weighted - request.offset * plain) / n
    return bound_of_means(
        error, error + T * plain / n, source_weight, target_weight, request.upper
    )


@dataclass(frozen=True, slots=True)
class _Losses:
    """Sums the squared errors of a fit over a block: weighted, and as they are."""

    fit: CalibrationResult

    def __call__(self, rows: CalibrationRows) -> tuple[float, float]:
        probs = self.fit._predict(calibrator_input(self.fit, rows.logits))
        found = squared_error(probs, rows.labels)
        return float(np.sum(found * rows.weights)), float(np.sum(found))


def _as_probabilities(rows: CalibrationRows) -> CalibrationRows:
    """Return a block's rows with probabilities in place of logits."""
    probs = as_probabilities(rows.logits)
    return described(probs, rows.labels, rows.weights, rows.classes)


@dataclass(frozen=True, slots=True)
class _SourceOf:
    """The features of blocks that have logits and labels as well."""

    args: Arguments
    given: Any

    def __call__(self) -> Iterator[Any]:
        for block in self.given():
            yield values_of_block(self.args, _PARAMETERS, block).get("source")


@dataclass(frozen=True, slots=True)
class _Weighted:
    """Blocks with the weights of their rows, which are in memory."""

    args: Arguments
    given: Any
    weights: FloatArray
    come_from: str

    def __call__(self) -> Iterator[dict[str, Any]]:
        start, size = 0, self.weights.size
        for block in self.given():
            values = dict(values_of_block(self.args, _PARAMETERS, block))
            values.pop("source", None)
            first, start = start, start + len(values["logits"])
            if start > size:
                must = f"of {start} rows or more, one for each row of logits"
                parameter = "source" if self.come_from == "held out" else "ratio"
                self.args.invalid(parameter, must, f"{size} rows")
            yield {**values, "sample_weight": self.weights[first:start]}
