"""Label shift with known priors."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, Classes, FloatArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.intent.class_vectors import by_class, common_names, without_names
from distfreeuq.guarantees import NoGuarantee
from distfreeuq.label_shift.results import LabelShiftResult, WeightSolution

# Proportions may sum to one up to this much.
_SUM_TOLERANCE = 1e-6


def label_weights(
    source_prior: ArrayLike,
    target_prior: ArrayLike,
    *,
    classes: ArrayLike | None = None,
) -> LabelShiftResult:
    """Class weights q / p from known class proportions.

    Parameters
    ----------
    source_prior, target_prior : array_like (K,)
        Class proportions p and q, each non-negative and summing to one.
        Known numbers: frequencies of the calibration labels are estimates, for which
        nothing that needs known priors is claimed. Two dicts, or two Series, are
        matched by their names.
    classes : sequence, optional
        Class names, in the order of the columns of probabilities. None: the names that
        the proportions carry, in the order of `source_prior`, or 0..K-1.

    Returns
    -------
    LabelShiftResult
        With ``.known``. The weight is +inf where p_k = 0 < q_k, and 0 where both are 0.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> known = dfu.label_weights([0.1, 0.6, 0.3], [0.3, 0.2, 0.5])
    >>> known.label_weight.round(3).tolist(), round(known.kappa, 3)
    ([3.0, 0.333, 1.667], 9.0)
    >>> known.adapt([[0.2, 0.5, 0.3]]).round(3).tolist()
    [[0.474, 0.132, 0.395]]
    """
    args = Arguments("label_weights")
    if classes is None:
        both = ("source_prior", "target_prior")
        classes = common_names(args, source_prior, target_prior, both)
    in_any_order = _proportions(args, without_names(source_prior), "source_prior")
    names = args.classes(classes, None, in_any_order.size)
    p = by_class(args, source_prior, names, "source_prior")
    q = by_class(args, target_prior, names, "target_prior")
    return fit_known(
        _proportions(args, p, "source_prior"),
        _proportions(args, q, "target_prior", len(names)),
        names,
    )


def fit_known(p: FloatArray, q: FloatArray, classes: Classes) -> LabelShiftResult:
    """Return the weights of source prior p and target prior q."""
    weight = np.zeros(p.size)
    with np.errstate(over="ignore"):  # beyond the floats: inf, as without source rows
        np.divide(q, p, out=weight, where=p > 0)
    weight[(p == 0) & (q > 0)] = np.inf
    return LabelShiftResult(
        method="known",
        classes=classes,
        solution=WeightSolution(
            raw=read_only(weight),
            label_weight=read_only(weight),
            target_prior=read_only(q),
        ),
        source_prior=read_only(p),
        source_counts=read_only(np.zeros(p.size, dtype=np.int64)),
        covariance=read_only(np.zeros((p.size, p.size))),
        likelihood_covariance=None,
        slope_at_zero=None,
        moments=None,
        singular=False,
        condition_number=1.0,
        confusion=None,
        regularization=None,
        prior_from="given",
        calibration=None,
        samples=None,
        shift_test=None,
        output_cells=None,
        calibration_test=None,
        labelled=None,
        predicted=None,
        notes=(),
        guarantee=NoGuarantee(
            "the priors were given, and the weights are as good as they"
        ),
    )


def _proportions(
    args: Arguments, value: ArrayLike, parameter: str, length: int | None = None
) -> FloatArray:
    must = "class proportions that sum to one"
    vector = args.vector(value, parameter, must, length=length)
    if vector.size < 2:
        args.invalid(parameter, "of at least two classes", f"{vector.size}")
    if (vector < 0).any():
        position = int(np.flatnonzero(vector < 0)[0])
        args.invalid(parameter, must, f"{vector[position]} at position {position}")
    total = float(vector.sum())
    if not abs(total - 1.0) <= _SUM_TOLERANCE:
        args.invalid(parameter, must, f"a sum of {total:.8g}")
    return vector
