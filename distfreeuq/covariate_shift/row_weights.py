"""Weights of calibration rows, from wherever they come."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray, RandomState
from distfreeuq.covariate_shift.data import ShiftedRows, read_mapping
from distfreeuq.density_ratios.estimation import density_ratio
from distfreeuq.density_ratios.results import DensityRatioResult

WeightsFrom = Literal["none", "known", "held out", "given ratio", "given ratio's rows"]


class RowWeights(NamedTuple):
    """Weights, and where they come from.

    Attributes
    ----------
    source : ndarray (n,) or None
        Of the calibration rows; None for no weights.
    target : ndarray (m,) or None
        Of target rows, where weights are estimated.
    ratio : DensityRatioResult or None
    come_from : str
        As in `RowUse`.
    """

    source: FloatArray | None
    target: FloatArray | None
    ratio: DensityRatioResult | None
    come_from: WeightsFrom


def weigh_rows(
    args: Arguments, rows: ShiftedRows, ratio: Any, options: Any, rng: RandomState
) -> RowWeights:
    """Return the weights that `ratio` stands for: nothing, numbers, a fit, a method."""
    is_method = isinstance(ratio, str) or hasattr(ratio, "predict_proba")
    if options is not None and not is_method:
        must = "None, unless 'ratio' is a method of density_ratio"
        args.invalid("ratio_options", must, "options")
    if ratio is None:
        return RowWeights(None, None, None, "none")
    if isinstance(ratio, DensityRatioResult):
        return _by_result(args, rows, ratio)
    if not is_method:
        given = args.weights(ratio, "ratio", rows.n_given)[rows.kept]
        if given.max() == 0.0:
            args.invalid("ratio", "positive for a row that calibrates", "all zero")
        return RowWeights(given, None, None, "known")
    source, target = rows.both(args, "a density ratio")
    found = density_ratio(
        source,
        target,
        method=ratio,
        **({"rng": rng} | read_mapping(args, options, "ratio_options")),
    )
    return RowWeights(found.source_weight, found.target_weight, found, "held out")


def _by_result(
    args: Arguments, rows: ShiftedRows, ratio: DensityRatioResult
) -> RowWeights:
    if ratio.n_source == rows.codes.size:
        own = ratio.source_weight, ratio.target_weight
        return RowWeights(*own, ratio, "given ratio's rows")
    source, target = rows.both(args, "a ratio of other rows")
    weights = ratio.weight_by(args, source, "source")
    others = ratio.weight_by(args, target, "target")
    return RowWeights(weights, others, ratio, "given ratio")
