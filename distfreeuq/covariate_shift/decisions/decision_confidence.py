"""The confidence that a given classifier's decision is right, for a shifted target."""

from __future__ import annotations

from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray
from distfreeuq._base.arrays import describe, read_only
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._numerics.row_blocks import refuse_blocks
from distfreeuq._numerics.sample_weights import effective_sample_size
from distfreeuq.calibration.reliability_change import bin_sums
from distfreeuq.calibration.rows.calibration_rows import make_rows
from distfreeuq.calibration.temperature import read_alpha_bounds
from distfreeuq.covariate_shift.decisions.data import ReadDecisions, read_decision_rows
from distfreeuq.covariate_shift.decisions.decision_loss import (
    GRID,
    best_inverse_temperature,
    best_of_grid,
    confidences,
    inverse_temperature_error,
    losses,
    mean_loss,
)
from distfreeuq.covariate_shift.decisions.guarantees import error_guarantee
from distfreeuq.covariate_shift.decisions.results import (
    DecisionCalibrationResult,
    squared_error_bound,
)
from distfreeuq.exceptions import FitAtBoundWarning

_INSTEAD = "Give arrays of a sample of the rows."


def decision_calibration(
    logits: ArrayLike,
    labels: ArrayLike,
    decisions: ArrayLike | None = None,
    *,
    sample_weight: Any = None,
    loss: str = "brier",
    offset: float = 0.0,
    weight_bound: float | None = None,
    bounds: tuple[float, float] | None = None,
    alpha: float = 0.05,
    classes: ArrayLike | None = None,
) -> DecisionCalibrationResult:
    """Find the confidence with which a given classifier's own decisions are right.

    Parameters
    ----------
    logits : array_like (n, K), or (n,) for the log-odds of class 1
        A forecaster's logits on labelled rows that it was not fitted on: those of the
        classifier itself, or of another one such as that of learnt features.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`.
    decisions : array_like (n,), optional
        The class that the classifier decided for in each row; by default that of the
        largest logit.
    sample_weight : array_like (n,) or DensityRatioResult, optional
        Weights q(x)/p(x) of the rows, where they are of a source and confidences are
        for a target: known ones, or estimates for these rows.
    loss : {"brier", "nll"}, default "brier"
        What is minimised: (confidence - 1{right})^2, or the log loss of the same event.
    offset : float, default 0
        Added to every weight in the loss; 0.5 in [1]_.
    weight_bound : float, optional
        Number that no weight can exceed, on their scale. With it the temperature is
        chosen among 81 that are fixed in advance, 2^(j/8) from 1/32 to 32, and the
        result has a finite-sample bound for the target, and no standard error.
    bounds : (float, float), optional
        Of the inverse temperature, as in `temperature_scaling`.
    alpha : float, default 0.05
        Probability that the bound fails.
    classes : sequence, optional
        Class names by column.

    Returns
    -------
    DecisionCalibrationResult
        ``predict(logits, decisions)`` gives confidences (n,); ``evaluate`` judges them
        on other rows.

    Notes
    -----
    This is recalibration in the sense of [1]_ (section 3), whose Table 1 measures it:
    the classifier's decisions stay, and one number per row says how far to trust them.
    `temperature_scaling` fits the probabilities of all classes instead. The objective
    is printed in [1]_ with the error of one coordinate and the sharpness of all; here
    it is E(p_f - z)^2 with z = 1{the label is the decision}, which is the squared
    calibration error of the confidence and the variance E c(1 - c).

    The methods of [1]_: "Temp." has no weights, "IW+Temp." the weights of a
    `density_ratio` and offset 0.5, and with "FL" the logits are those of
    `indistinguishable_features` while `decisions` stay those of the classifier.

    With known weights of at most U, the weighted squared error of the rows bounds the
    target's squared calibration error in finite samples (theory page, 7.5). With
    estimated ones nothing does.

    References
    ----------
    .. [1] Park, Bastani, Weimer and Lee (2020), "Calibrated prediction with covariate
       shift via unsupervised domain adaptation", AISTATS.

    Examples
    --------
    The classifier is right less often where x > 0, which the target has more of.

    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=4000)
    >>> labels = (rng.random(4000) < 1 / (1 + np.exp(-x))).astype(int)
    >>> decisions = (np.abs(x) > 1).astype(int)  # a poor classifier, given
    >>> weights = np.exp(x - 0.5)
    >>> fit = dfu.decision_calibration(3 * x, labels, decisions, sample_weight=weights)
    >>> round(fit.temperature, 1)  # whatever was decided, the odds are those of x
    3.0
    >>> fit.predict([4.5, 4.5], [1, 0]).round(1)
    array([0.8, 0.2])
    """
    args = Arguments("decision_calibration")
    refuse_blocks(args, {"logits": logits, "labels": labels}, _INSTEAD)
    read = read_decision_rows(
        args, logits, labels, decisions, sample_weight, weight_bound, classes
    )
    loss = args.choice(loss, "loss", ["brier", "nll"])
    offset = args.number(offset, "offset", "a non-negative number", low=0.0, high=1e6)
    alpha = args.alpha(alpha)
    if weight_bound is not None and bounds is not None:
        must = "None with 'weight_bound', whose temperatures are fixed in advance"
        args.invalid("bounds", must, describe(bounds))
    limits = read_alpha_bounds(
        args,
        bounds,
        make_rows(read.rows.logits, read.rows.decisions, None, read.classes),
    )
    return fit_decisions(read, loss, offset, limits, alpha)


def fit_decisions(
    read: ReadDecisions,
    loss: str,
    offset: float,
    bounds: tuple[float, float],
    alpha: float,
) -> DecisionCalibrationResult:
    """Fit the temperature of rows that are read already."""
    in_loss = read.rows._replace(weights=_scaled(read.rows.weights + offset))
    rows = read.rows._replace(weights=_scaled(read.rows.weights))
    at_bound, n_temperatures, error_bound = None, 0, None
    if read.weight_bound is None:
        factor, at_bound = best_inverse_temperature(in_loss, bounds, loss)
    else:
        factor, n_temperatures = best_of_grid(in_loss, loss), GRID.size
        at_bound = {GRID[0]: "low", GRID[-1]: "high"}.get(factor)
        squared = losses(read.rows, factor, "brier")
        error_bound = squared_error_bound(
            squared, read.rows, read.weight_bound, alpha / GRID.size
        )
    if at_bound is not None:
        warn_user(
            "No temperature inside the bounds is best for the decisions' confidence: "
            f"it stands at its bound, {1.0 / factor:g}.",
            FitAtBoundWarning,
        )
    # what a grid has best is a step from the optimum, which errors do not shrink
    error = np.nan
    if at_bound is None and not n_temperatures:
        error = inverse_temperature_error(in_loss, factor, loss) / factor**2
    before = confidences(rows.logits, rows.decisions, 1.0)
    after = confidences(rows.logits, rows.decisions, factor)
    total = float(rows.weights.sum())
    return DecisionCalibrationResult(
        classes=read.classes,
        temperature=1.0 / factor,
        inverse_temperature=factor,
        std_err=float(error),
        at_bound=at_bound,
        loss=loss,
        loss_before=mean_loss(rows, 1.0, loss),
        loss_after=mean_loss(rows, factor, loss),
        accuracy=float(rows.weights @ rows.right) / total,
        confidence_before=min(1.0, float(rows.weights @ before) / total),
        confidence_after=min(1.0, float(rows.weights @ after) / total),
        n=int((rows.weights > 0.0).sum()),
        effective_n=effective_sample_size(rows.weights),
        weights_of=read.weights_of,
        offset=offset,
        n_temperatures=n_temperatures,
        error_bound=error_bound,
        alpha=alpha,
        bins_before=read_only(bin_sums(before, rows.right, rows.weights)),
        bins_after=read_only(bin_sums(after, rows.right, rows.weights)),
        guarantee=error_guarantee(error_bound, alpha, read.weights_of, n_temperatures),
    )


def _scaled(weights: FloatArray) -> FloatArray:
    """Return weights in units of their largest, so that no square overflows."""
    return np.asarray(weights / weights.max())
