"""The methods of `density_ratio`: which options each has, and who does the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._base.arguments import LARGEST, SMALLEST, Arguments
from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._base.arrays import describe
from distfreeuq.density_ratios.discriminators import Learner, UserLearner, cross_fit
from distfreeuq.density_ratios.estimate import RatioEstimate
from distfreeuq.density_ratios.folds import deal
from distfreeuq.density_ratios.gaussian_kernels import kernel_rows
from distfreeuq.density_ratios.kliep import fit_kliep
from distfreeuq.density_ratios.logistic_discriminator import LogisticLearner
from distfreeuq.density_ratios.nearest_neighbors import fit_neighbours
from distfreeuq.density_ratios.network_discriminator import NetworkLearner
from distfreeuq.density_ratios.ulsif import fit_least_squares

_USED = {
    "logistic": {"ridge"},
    "mlp": {"n_hidden"},
    "knn": {"n_neighbors"},
    "ulsif": {"n_kernels", "bandwidth", "ridge"},
    "rulsif": {"n_kernels", "bandwidth", "ridge", "relative"},
    "kliep": {"n_kernels", "bandwidth"},
}
_DEFAULT_RIDGE = 1.0
_DEFAULT_HIDDEN = 32
_DEFAULT_KERNELS = 100
_DEFAULT_RELATIVE = 0.1


@dataclass(frozen=True, slots=True)
class Options:
    """A method with everything it needs, checked.

    Attributes
    ----------
    name : str
        The method, or the class name of the user's estimator.
    estimator : object or None
        The user's.
    calibrate : bool
    n_folds : int
    ridge, bandwidth : ndarray or None
        Values to choose from; None for the method's own.
    n_hidden, n_neighbors, n_kernels : int or None
    relative : float or None
    progress : bool
    """

    name: str
    estimator: Any
    calibrate: bool
    n_folds: int
    ridge: FloatArray | None
    bandwidth: FloatArray | None
    n_hidden: int | None
    n_neighbors: int | None
    n_kernels: int | None
    relative: float | None
    progress: bool

    @property
    def held_out(self) -> str:
        """How rows are kept from the fits that weight them, for the summary."""
        return "leave-one-out" if self.name == "knn" else f"{self.n_folds} folds"


def read_options(
    args: Arguments,
    method: Any,
    *,
    calibrate: bool,
    progress: bool,
    n_source: int,
    n_target: int,
    n_folds: Any,
    **given: Any,
) -> Options:
    """Check the method and its options; an option it does not have is refused."""
    name, estimator = _read_method(args, method)
    used = _USED.get(name, set())
    for option, value in given.items():
        if value is not None and option not in used:
            what = f"None: method {name!r} does not use it"
            args.invalid(option, what, describe(value))
    discriminates = estimator is not None or name in ("logistic", "mlp")
    fewest = 3 if calibrate and discriminates else 2
    folds = args.count(n_folds, "n_folds", low=fewest)
    smaller = min(n_source, n_target)
    if folds > smaller and name != "knn":
        must = f"at most the number of rows of the smaller sample, {smaller}"
        args.invalid("n_folds", must, str(folds))
    neighbors = _read_count(args, given["n_neighbors"], "n_neighbors")
    if neighbors is not None and neighbors >= n_source:
        must = f"less than the number of source rows, {n_source}"
        args.invalid("n_neighbors", must, str(neighbors))
    relative = given["relative"]
    return Options(
        name=name,
        estimator=estimator,
        calibrate=calibrate,
        progress=progress,
        n_folds=folds,
        ridge=_read_grid(args, given["ridge"], "ridge", only_one=name == "logistic"),
        bandwidth=_read_grid(args, given["bandwidth"], "bandwidth"),
        n_hidden=_read_count(args, given["n_hidden"], "n_hidden"),
        n_neighbors=neighbors,
        n_kernels=_read_count(args, given["n_kernels"], "n_kernels"),
        relative=None if relative is None else args.probability(relative, "relative"),
    )


def _read_grid(
    args: Arguments, value: Any, option: str, *, only_one: bool = False
) -> FloatArray | None:
    if value is None:
        return None
    must = "a positive number" + ("" if only_one else ", or several")
    numbers = args.numbers(value, option, must, low=SMALLEST, high=LARGEST)
    if numbers.size == 0 or (only_one and numbers.size > 1):
        args.invalid(option, must, f"{numbers.size} numbers")
    return numbers


def _read_count(args: Arguments, value: Any, option: str) -> int | None:
    return None if value is None else args.count(value, option, low=1)


def _read_method(args: Arguments, method: Any) -> tuple[str, Any]:
    if isinstance(method, str) and method in _USED:
        return method, None
    complete = all(callable(getattr(method, f, None)) for f in ("fit", "predict_proba"))
    if complete and not isinstance(method, type):
        name = type(method).__name__
        return f"own {name}" if name in _USED else name, method
    names = ", ".join(repr(name) for name in _USED)
    must = f"one of {names}, or an object with fit and predict_proba"
    args.invalid("method", must, describe(method))


def estimate(
    options: Options,
    source: FloatMatrix,
    target: FloatMatrix,
    deal_rng: np.random.Generator,
    fit_rng: np.random.Generator,
) -> RatioEstimate:
    """Estimate the ratio by the method chosen."""
    if options.name == "knn":
        return fit_neighbours(source, target, options.n_neighbors)
    folds = deal(source.shape[0], target.shape[0], options.n_folds, deal_rng)
    if options.name in ("ulsif", "rulsif", "kliep"):
        n_kernels = options.n_kernels or _DEFAULT_KERNELS
        rows = kernel_rows(source, target, n_kernels, fit_rng)
        if options.name == "kliep":
            return fit_kliep(rows, folds, bandwidths=options.bandwidth)
        relative = _DEFAULT_RELATIVE if options.relative is None else options.relative
        return fit_least_squares(
            rows,
            folds,
            bandwidths=options.bandwidth,
            ridges=options.ridge,
            relative=relative if options.name == "rulsif" else 0.0,
            rng=fit_rng,
        )
    pooled = np.concatenate([source, target])
    is_target = np.arange(pooled.shape[0]) >= source.shape[0]
    learner: Learner
    if options.estimator is not None:
        learner = UserLearner(pooled, is_target, options.estimator, options.progress)
    elif options.name == "mlp":
        n_hidden = options.n_hidden or _DEFAULT_HIDDEN
        learner = NetworkLearner(pooled, is_target, n_hidden, fit_rng, options.progress)
    else:
        ridge = _DEFAULT_RIDGE if options.ridge is None else float(options.ridge[0])
        learner = LogisticLearner(pooled, is_target, ridge)
    return cross_fit(learner, is_target, folds, options.calibrate)
