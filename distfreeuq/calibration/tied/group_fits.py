"""The maps of all groups: each by itself, or tied to one that they share."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import describe, is_single, read_only
from distfreeuq.calibration.calibrators import AnyCalibrator, Calibrator, fit_calibrator
from distfreeuq.calibration.groupwise_results import POOLED, apply_maps
from distfreeuq.calibration.guarantees import tied_groups
from distfreeuq.calibration.inverse_temperature import (
    LossInAlpha,
    Minimum,
    in_groups,
    together,
)
from distfreeuq.calibration.losses.temperature_loss import LOSS_NAMES
from distfreeuq.calibration.platt import PlattOptions
from distfreeuq.calibration.probability_maps.dirichlet_maps import DirichletOptions
from distfreeuq.calibration.results import CalibrationResult, nll_of, weighted_sum
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows, weigh
from distfreeuq.calibration.rows.rows_in_blocks import FitRows, RowsInBlocks
from distfreeuq.calibration.shared_temperature import AT_BOUND, LIMITED, fit_limited
from distfreeuq.calibration.temperature import (
    FittedGroups,
    TemperatureOptions,
    TemperatureResult,
)
from distfreeuq.calibration.tied.linear_maps import (
    MOST_PARAMETERS,
    fit_tied_maps,
    n_parameters,
)
from distfreeuq.calibration.vector import VectorOptions

TIED_PARAMETERS = TemperatureOptions | VectorOptions | PlattOptions | DirichletOptions
"""Options of the calibrators whose parameters gamma ties; of others, probabilities."""

GAMMAS = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, np.inf)
"""What cross-validation chooses among, unless it is given."""
GAMMAS_OF_PROBABILITIES = (0.0, 0.01, 0.03, 0.1, 0.3, np.inf)
N_FOLDS = 5


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be fitted, checked.

    Attributes
    ----------
    args : Arguments
    calibrator : Calibrator or OwnCalibrator
    options : object
        Checked options of a calibrator of the package, else as the user gave them.
    n_groups : int
    min_rows : int
    """

    args: Arguments
    calibrator: AnyCalibrator
    options: Any
    n_groups: int
    min_rows: int

    @property
    def ties_parameters(self) -> bool:
        """Whether gamma ties parameters, or else probabilities."""
        return isinstance(self.options, TIED_PARAMETERS)

    def fit(self, rows: FitRows, code: int | None = None) -> CalibrationResult:
        """Return the fit of some rows, or of a group of them, by themselves."""
        if code is not None:
            rows = rows.of_group(code)
        if isinstance(rows, RowsInBlocks):
            if not isinstance(self.calibrator, Calibrator):
                must = "a name where rows are in blocks"
                self.args.invalid("calibrator", must, "a function, which takes arrays")
            return self.calibrator.fit(rows, self.options)
        return fit_calibrator(
            self.args, self.calibrator, rows, self.options, rows.weights
        )


@dataclass(frozen=True, slots=True)
class GroupFits:
    """The maps of all groups.

    Attributes
    ----------
    which : ndarray (G,)
        Position of each group's map in `fits`, or -1.
    fits : tuple of CalibrationResult
    pooled : CalibrationResult
        The map of all rows, or the one that the groups are tied to.
    limited : ndarray (G,)
        Which groups gamma keeps from their own best parameters.
    n_candidates : int
        Groups of enough rows.
    """

    which: IntArray
    fits: tuple[CalibrationResult, ...]
    pooled: CalibrationResult
    limited: BoolArray
    n_candidates: int


def fit_all(
    task: Task, rows: CalibrationRows, codes: IntArray, counts: IntArray, gamma: float
) -> GroupFits:
    """Fit the maps of all groups, `counts` (G,) being their rows of some weight."""
    pooled = task.fit(rows)
    which = np.full(task.n_groups, POOLED, dtype=np.int64)
    limited = np.zeros(task.n_groups, dtype=np.bool_)
    own = np.flatnonzero(counts >= task.min_rows)
    n_candidates = own.size
    if gamma == 0.0:
        return GroupFits(which, (), pooled, limited, n_candidates)
    fits: tuple[CalibrationResult, ...]
    if task.ties_parameters and np.isfinite(gamma):
        own = np.flatnonzero(counts > 0)
        if isinstance(task.options, TemperatureOptions):
            fits, pooled, limited[own] = _tie_temperatures(
                task.options, rows, codes, own, task.n_groups, gamma
            )
        else:
            if n_parameters(rows, task.options) > MOST_PARAMETERS:
                must = f"0 or inf for maps of more than {MOST_PARAMETERS} parameters"
                task.args.invalid("gamma", must, f"{gamma:g}")
            tied = fit_tied_maps(rows, codes, own, gamma, task.options, pooled)
            fits, pooled, limited[own] = tied.fits, tied.shared, tied.limited
    else:
        if isinstance(task.options, TemperatureOptions):
            own = own[_has_errors(rows, codes, task.n_groups)[own]]
        fits = tuple(task.fit(rows.some(codes == code)) for code in own)
    which[own] = np.arange(own.size)
    return GroupFits(which, fits, pooled, limited, n_candidates)


def fit_in_blocks(
    task: Task, rows: RowsInBlocks, counts: IntArray, wrong: FloatArray
) -> GroupFits:
    """Fit all groups of rows in blocks by themselves, in passes that they share.

    `wrong` (G,) are the weights of the groups' rows with errors.
    """
    own = np.flatnonzero(counts >= task.min_rows)
    n_candidates = own.size
    if isinstance(task.options, TemperatureOptions):
        own = own[_have_errors(wrong)[own]]
    everyone: list[int | None] = [None]
    codes = everyone + own.tolist()
    pooled, *fits = rows.in_step([partial(task.fit, code=code) for code in codes])
    which = np.full(task.n_groups, POOLED, dtype=np.int64)
    which[own] = np.arange(own.size)
    limited = np.zeros(task.n_groups, dtype=np.bool_)
    return GroupFits(which, tuple(fits), pooled, limited, n_candidates)


def predict_all(
    task: Task, matrix: FloatMatrix, codes: IntArray, found: GroupFits, gamma: float
) -> FloatMatrix:
    """Return each row's probabilities by its group's map."""
    maps = found.which[codes]
    reach = reach_of(task, gamma)
    return apply_maps(matrix, maps, found.fits, found.pooled, reach)


def reach_of(task: Task, gamma: float) -> float:
    """Return how far probabilities may be from those by the pooled map."""
    return np.inf if task.ties_parameters else gamma


def read_gamma(
    args: Arguments, value: Any, *, ties_parameters: bool
) -> tuple[float, ...]:
    """Return gamma, or several that cross-validation chooses among."""
    must = "a non-negative number, 'cv', or several numbers that are compared"
    if isinstance(value, str):
        args.choice(value, "gamma", ["cv"])
        return GAMMAS if ties_parameters else GAMMAS_OF_PROBABILITIES
    if is_single(value):
        return (args.number(value, "gamma", must, low=0.0),)
    given = np.asarray(args.array(value, "gamma", "numbers"))
    if given.ndim != 1 or not given.size or given.dtype.kind not in "fiu":
        args.invalid("gamma", must, describe(value))
    if np.isnan(given).any() or (given < 0).any():
        args.invalid("gamma", must, describe(value))
    return tuple(float(gamma) for gamma in np.unique(given))


def choose_gamma(
    task: Task,
    rows: CalibrationRows,
    codes: IntArray,
    gammas: tuple[float, ...],
) -> tuple[float, FloatMatrix]:
    """Return the gamma of least cross-validated loss, and the losses (J, 2).

    The rows of every group are dealt to the folds in turn. Of equal losses the smallest
    gamma is taken.
    """
    if len(gammas) == 1:
        return gammas[0], read_only(np.empty((0, 2)))
    order = np.argsort(codes, kind="stable")
    rank = np.arange(rows.n) - np.searchsorted(codes[order], codes[order])
    fold = np.empty(rows.n, dtype=np.int64)
    fold[order] = rank % N_FOLDS
    losses = np.zeros((len(gammas), rows.n))
    some = rows.weights > 0.0
    for k in range(N_FOLDS):
        held = fold == k
        rest = ~held & some
        if not held.any() or not rest.any():
            continue
        part, own = rows.some(rest), codes[rest]
        counts = np.bincount(own, minlength=task.n_groups)
        with warnings.catch_warnings():  # the final fit gives its own
            warnings.simplefilter("ignore")
            for j, gamma in enumerate(gammas):
                found = fit_all(task, part, own, counts, gamma)
                probs = predict_all(task, rows.logits[held], codes[held], found, gamma)
                losses[j, held] = _losses(task, probs, rows.labels[held])
    means = [weighted_sum(one, rows.weights) / rows.total_weight for one in losses]
    rounded = np.round(np.nan_to_num(means, nan=np.inf), 12)
    return gammas[int(np.argmin(rounded))], read_only(np.column_stack([gammas, means]))


def loss_of(task: Task) -> str:
    """Return the loss that cross-validation compares."""
    if not task.ties_parameters:
        return "brier"  # the likelihood of new rows may be zero
    return task.options.loss if isinstance(task.options, TemperatureOptions) else "nll"


def _losses(task: Task, probs: FloatMatrix, labels: IntArray) -> FloatArray:
    if loss_of(task) == "nll":
        return nll_of(probs, labels)
    residual = probs.astype(np.float64)
    residual[np.arange(labels.size), labels] -= 1.0
    return np.asarray((residual**2).sum(axis=1))


def _has_errors(rows: CalibrationRows, codes: IntArray, n_groups: int) -> BoolArray:
    """Return which groups have a best temperature: those with an error in their rows.

    All of them, where there is no error in any.
    """
    return _have_errors(
        weigh(codes, rows.weights * (rows.tops != rows.labels), n_groups)
    )


def _have_errors(wrong: FloatArray) -> BoolArray:
    """Return the same from the weights of rows with errors, by group."""
    return np.asarray((wrong > 0.0) | (wrong.sum() == 0.0))


def _tie_temperatures(
    options: TemperatureOptions,
    rows: CalibrationRows,
    codes: IntArray,
    own: IntArray,
    n_groups: int,
    gamma: float,
) -> tuple[tuple[CalibrationResult, ...], CalibrationResult, BoolArray]:
    """Return fits of the groups, the shared one, and which groups gamma limits."""
    marks = np.zeros(n_groups, dtype=np.bool_)
    marks[own] = True
    group = partial(in_groups, codes=codes)
    found = fit_limited(rows, group, marks, gamma, options.bounds, options.loss)
    alphas = found.groups.minimum.alphas
    fits = []
    for g in own:
        at = found.status[g] == AT_BOUND
        std_err = float(found.std_err[g])
        part = rows.some(codes == g)
        fits.append(_at(options, part, float(alphas[g]), std_err, bool(at)))
    shared = _at(options, rows, found.shared_alpha, np.nan, False)
    return tuple(fits), shared, found.status[own] == LIMITED


def _at(
    options: TemperatureOptions,
    rows: CalibrationRows,
    alpha: float,
    std_err: float,
    at_bound: bool,
) -> TemperatureResult:
    """Return this inverse temperature as a fit to the rows."""
    losses = LossInAlpha(rows, together, 1, options.loss)
    before, bins_before = losses.with_bins(np.ones(1))
    here = np.array([alpha])
    minimum = Minimum(here, losses(here), np.zeros(1, dtype=np.int64))
    fitted = FittedGroups(minimum, before, bins_before, losses.bins())
    which = "low" if alpha <= options.bounds[0] else "high"
    return TemperatureResult(
        **fitted.common(rows, options.loss),
        guarantee=tied_groups(LOSS_NAMES[options.loss]),
        temperature=1.0 / alpha,
        inverse_temperature=alpha,
        std_err=std_err,
        at_bound=which if at_bound else None,
        bounds=options.bounds,
    )
