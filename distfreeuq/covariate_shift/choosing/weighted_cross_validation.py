"""Choose among calibrations by importance-weighted cross-validation (IWCV)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    FloatArray,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.progress import progress_bar
from distfreeuq._base.user_warnings import listed_warnings, warn_once
from distfreeuq._numerics.row_blocks import refuse_blocks
from distfreeuq._numerics.sample_weights import effective_sample_size
from distfreeuq.calibration.results import nll_of
from distfreeuq.covariate_shift.choosing.data import (
    Candidate,
    deal_rows,
    read_candidates,
    rows_of,
)
from distfreeuq.covariate_shift.choosing.results import CalibrationChoiceResult
from distfreeuq.covariate_shift.data import (
    LearntFeatures,
    RowWeights,
    ShiftedRows,
    learn_features,
    read_shifted_rows,
    weigh_rows,
)
from distfreeuq.covariate_shift.results import calibrator_input
from distfreeuq.covariate_shift.weighted_fit import (
    fit_map,
    fit_weighted,
    squared_error,
)
from distfreeuq.guarantees import NoGuarantee

_REASON = (
    "the candidate was chosen on these rows, of which its score is the smallest: too "
    "small on average. Judge it on other rows"
)


_INSTEAD = (
    "Give arrays of a sample: candidates are judged by fits to parts of the rows. "
    "covariate_shift_calibration fits the chosen one to blocks."
)


def choose_calibration(
    logits: ArrayLike | None,
    labels: ArrayLike,
    source: ArrayLike | None,
    target: ArrayLike | None,
    candidates: Any,
    *,
    ratio: Any = "logistic",
    ratio_options: Mapping[str, Any] | None = None,
    loss: str = "brier",
    n_folds: int = 5,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
    progress: bool = False,
) -> CalibrationChoiceResult:
    """Choose a calibration for a shifted target by weighted cross-validation.

    Parameters
    ----------
    logits, labels, source, target
        As in `covariate_shift_calibration`.
    candidates : mapping, or list of calibrators
        Names, and for each the options of `covariate_shift_calibration` in which it
        differs: calibrators, ridges, loss, offset, weights (``{"ratio": None}`` for
        none), their flattening (``{"ratio_options": {"flatten": 0.5}}``), hidden units
        of a discriminator or of learnt features. A list holds calibrators by name, or
        your own.
    ratio, ratio_options
        Weights of the scores, and of candidates that have no ``ratio`` or
        ``ratio_options`` of their own. Weights given as numbers are on the scale of
        q/p, with mean about one.
    loss : {"brier", "nll"}, default "brier"
        What is averaged over held-out rows: the Brier score sum_k (p_k - e_k)^2, or the
        negative log-likelihood, infinite for a probability of zero.
    n_folds : int, default 5
        Rows are dealt into folds at random.
    classes : sequence, optional
        Class names by column.
    rng : seed, Generator or None
        Deals the folds; then as in `covariate_shift_calibration`.
    progress : bool, default False
        Show a progress bar.

    Returns
    -------
    CalibrationChoiceResult
        ``.fit`` is the chosen calibration, fitted to all rows.

    Notes
    -----
    A candidate's score is the mean of w(x) times the loss over the source rows, each by
    a fit that has not seen its fold [1]_. All candidates are scored with the same
    weights, whatever weights they are fitted with. If these are the true q(x)/p(x), the
    score's expectation is the target's loss of fits to the rows of all folds but one
    (theory page, 6.9): at every sample size, and for weights that a candidate flattens
    too. With estimated weights it is as wrong as they are. The score of the *chosen*
    one is the smallest of several, and so too small on average; and where the weights
    are worth few rows, all are noise, as their standard errors show.

    Weights are estimated once on all rows, each row's by a fit without it; no label has
    a part in them. A map of learnt features is learnt anew for each fold.

    References
    ----------
    .. [1] Sugiyama, Krauledat and Mueller (2007), "Covariate shift adaptation by
       importance weighted cross validation", JMLR 8.

    Examples
    --------
    The true curve has an intercept, which a temperature lacks:

    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> x, new = rng.normal(size=900), rng.normal(0.7, 1.0, 900)
    >>> labels = (rng.random(900) < 1 / (1 + np.exp(-x - 0.7))).astype(int)
    >>> choice = dfu.choose_calibration(
    ...     3 * x, labels, x, new, {
    ...         "temperature": {},
    ...         "Platt": {"calibrator": "platt"},
    ...         "Platt, flattened": {
    ...             "calibrator": "platt", "ratio_options": {"flatten": 0.5},
    ...         },
    ...     }, rng=0,
    ... )
    >>> choice.best != "temperature", choice.scores.round(3)
    (True, array([0.362, 0.314, 0.314]))
    """
    args = Arguments("choose_calibration")
    refuse_blocks(
        args,
        {"logits": logits, "labels": labels, "source": source, "target": target},
        _INSTEAD,
    )
    several = read_candidates(args, candidates, ratio)
    loss = args.choice(loss, "loss", ["brier", "nll"])
    progress = args.flag(progress, "progress")
    rows = read_shifted_rows(args, logits, labels, source, target, classes)
    n = rows.codes.size
    folds = args.count(n_folds, "n_folds", low=2)
    if folds > n:
        args.invalid("n_folds", f"at most the number of rows, {n}", str(folds))
    for candidate in several:
        if rows.logits is None and not candidate.learns_features:
            must = "given, unless all candidates learn features"
            args.invalid("logits", must, f"None, and candidate {candidate.name!r}")
    of_scores = weigh_rows(args, rows, ratio, ratio_options, rng)
    number = deal_rows(n, folds, rng, args.caller)
    bar = progress_bar(several, shown=progress, desc="candidates")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        columns = [
            _held_out_losses(args, rows, one, of_scores, number, loss, rng)
            for one in bar
        ]
    warn_once(listed_warnings(caught), "the folds' fits")
    losses = np.column_stack(columns)
    weights = np.ones(n) if of_scores.source is None else of_scores.source
    return _chosen(args, rows, several, of_scores, weights, losses, loss, folds, rng)


def _chosen(
    args: Arguments,
    rows: ShiftedRows,
    candidates: list[Candidate],
    of_scores: RowWeights,
    weights: FloatArray,
    losses: FloatMatrix,
    loss: str,
    n_folds: int,
    rng: RandomState,
) -> CalibrationChoiceResult:
    """Return the scores of losses (n, C), and the best candidate's fit."""
    n = weights.size
    counted = weights > 0.0  # of an infinite loss without weight nothing is left
    weighted = np.where(counted[:, None], losses, 0.0) * weights[:, None]
    scores = weighted.mean(axis=0)
    if not np.isfinite(scores).any():
        must = "at least one candidate of finite loss: take loss='brier'"
        args.invalid("candidates", must, "none")
    best = int(np.argmin(scores))
    with np.errstate(invalid="ignore"):
        less = weighted - weighted[:, [best]]
        errors = [np.std(v, axis=0, ddof=1) / np.sqrt(n) for v in (weighted, less)]
    chosen = candidates[best]
    fit = fit_weighted(*_prepare(args, rows, chosen, of_scores, rng), chosen.request)
    return CalibrationChoiceResult(
        names=tuple(one.name for one in candidates),
        scores=read_only(scores),
        std_err=read_only(errors[0]),
        differences=read_only(scores - scores[best]),
        difference_std_err=read_only(errors[1]),
        chosen=best,
        loss=loss,
        n=n,
        n_folds=n_folds,
        ess=effective_sample_size(weights),
        weights_from=of_scores.come_from,
        fit=fit,
        guarantee=NoGuarantee(_REASON),
    )


def _prepare(
    args: Arguments,
    rows: ShiftedRows,
    candidate: Candidate,
    of_scores: RowWeights | None,
    rng: RandomState,
) -> tuple[LearntFeatures, RowWeights]:
    """Return the rows that calibrate and their weights: those of the scores, or own."""
    learnt = learn_features(
        args,
        rows,
        candidate.feature_learning,
        candidate.ratio,
        candidate.map_share,
        rng,
        False,
    )
    if of_scores is not None and not candidate.has_own_weights:
        return learnt, of_scores
    options = candidate.ratio_options
    return learnt, weigh_rows(args, learnt.rows, candidate.ratio, options, rng)


def _held_out_losses(
    args: Arguments,
    rows: ShiftedRows,
    candidate: Candidate,
    of_scores: RowWeights,
    number: IntArray,
    loss: str,
    rng: RandomState,
) -> FloatArray:
    """Return each row's loss (n,) by a fit that has not seen its fold."""
    losses = np.empty(number.size)
    whole = None
    if not candidate.learns_features:
        whole = _prepare(args, rows, candidate, of_scores, rng)[1].source
    for fold in range(int(number.max()) + 1):
        seen, held = np.flatnonzero(number != fold), np.flatnonzero(number == fold)
        if candidate.learns_features:
            assert rows.source is not None
            some = _prepare(args, rows_of(rows, seen), candidate, None, rng)
            result = fit_weighted(*some, candidate.request)
            assert result.feature_map is not None
            fit = result.calibration
            logits = result.feature_map.network.logits(rows.source[held])
        else:
            assert rows.logits is not None
            fit = fit_map(
                candidate.request,
                rows.logits[seen],
                rows.codes[seen],
                _of_rows(args, whole, seen),
                rows.classes,
            )
            logits = rows.logits[held]
        probs = fit._predict(calibrator_input(fit, logits))
        losses[held] = _losses(probs, rows.codes[held], loss)
    return losses


def _of_rows(
    args: Arguments, weights: FloatArray | None, rows: IntArray
) -> FloatArray | None:
    """Return the weights of some rows, of which one at least must be positive."""
    if weights is None:
        return None
    if not weights[rows].any():
        must = "positive for rows of more than one fold"
        args.invalid("ratio", must, f"zero for all {rows.size} rows of the others")
    return weights[rows]


def _losses(probs: FloatMatrix, labels: IntArray, loss: str) -> FloatArray:
    """Return the Brier score or the negative log-likelihood of each row (n,)."""
    if loss == "nll":
        return nll_of(probs, labels)
    return squared_error(probs, labels)
