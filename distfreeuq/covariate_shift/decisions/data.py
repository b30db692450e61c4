"""Rows of decisions, checked: logits, what was decided, labels, weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._base.arrays import describe
from distfreeuq.calibration.data import read_logits, read_new_logits
from distfreeuq.calibration.rows.calibration_rows import describe_rows
from distfreeuq.covariate_shift.decisions.decision_loss import DecisionRows
from distfreeuq.covariate_shift.decisions.guarantees import WeightsOf
from distfreeuq.density_ratios.results import DensityRatioResult


class ReadDecisions(NamedTuple):
    """Checked rows with weights as given (ones for none), and where these come from."""

    rows: DecisionRows
    classes: Classes
    weights_of: WeightsOf
    weight_bound: float | None


def read_decision_rows(
    args: Arguments,
    logits: ArrayLike,
    labels: ArrayLike,
    decisions: ArrayLike | None,
    sample_weight: Any,
    weight_bound: Any,
    classes: ArrayLike | None,
    fitted: Classes | None = None,
) -> ReadDecisions:
    """Check what a fit or an evaluation is given; `fitted` are the fit's classes."""
    if fitted is None:
        matrix, names = read_logits(args, logits, classes)
    else:
        matrix, names = read_new_logits(args, logits, fitted), fitted
    matrix = matrix.astype(np.float64, copy=False)
    n = matrix.shape[0]
    if n == 0:
        args.invalid("logits", "of at least one row", "no rows")
    codes = args.labels(labels, names, n)
    chosen = read_decisions(args, matrix, decisions, names)
    weights, weights_of = _read_weights(args, sample_weight, n)
    bound = None
    if weight_bound is not None:
        must = "a positive finite number, or None"
        bound = args.number(weight_bound, "weight_bound", must, low=1e-300, high=1e300)
        if weights_of != "known":
            what = "None, unless 'sample_weight' are numbers"
            args.invalid("weight_bound", what, describe(weight_bound))
        if weights.max() > bound:
            row = int(np.argmax(weights))
            must = f"at least every weight: {weights[row]:.6g} at row {row}"
            args.invalid("weight_bound", must, describe(weight_bound))
    rows = DecisionRows(matrix, chosen, codes == chosen, weights)
    return ReadDecisions(rows, names, weights_of, bound)


def read_decisions(
    args: Arguments,
    logits: FloatMatrix,
    decisions: ArrayLike | None,
    classes: Classes,
) -> IntArray:
    """Return the decided columns (n,): as given, or those of the largest logits."""
    if decisions is None:
        return describe_rows(logits)[0]
    return args.labels(decisions, classes, logits.shape[0], "decisions")


def _read_weights(args: Arguments, value: Any, n: int) -> tuple[FloatArray, WeightsOf]:
    if value is None:
        return np.ones(n), "none"
    if isinstance(value, DensityRatioResult):
        if value.n_source != n:
            must = f"a ratio of these {n} source rows, or a weight for each"
            args.invalid("sample_weight", must, f"one of {value.n_source} rows")
        return value.source_weight, "estimated"
    return args.weights(value, "sample_weight", n, squared=True), "known"
