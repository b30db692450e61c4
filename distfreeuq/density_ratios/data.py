"""Features of source and target rows, and the options of `density_ratio`, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from distfreeuq._base import class_labels
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._base.arrays import (
    AnyArray,
    describe,
    is_single,
    listed,
    shape_of,
)
from distfreeuq.density_ratios.design import Design, read_design
from distfreeuq.density_ratios.kernel_mean_matching import MOST_ROWS
from distfreeuq.density_ratios.rows.samples_in_blocks import SamplesInBlocks

_USED = {
    "logistic": {"ridge"},
    "mlp": {"n_hidden", "loss"},
    "knn": {"n_neighbors"},
    "ulsif": {"n_kernels", "bandwidth", "ridge"},
    "rulsif": {"n_kernels", "bandwidth", "ridge", "relative"},
    "kliep": {"n_kernels", "bandwidth"},
    "kmm": {"bandwidth", "ridge", "weight_bound", "slack"},
}
"""Options that each method has beside those that all have."""
LARGEST_LAYER = 1_000_000
"""Hidden units of one layer."""
_CLIP = 'a positive number, a quantile such as "99%", or a pair (smallest, largest)'


class Samples(NamedTuple):
    """Checked features of two samples.

    Attributes
    ----------
    source, target : ndarray (n_source, d), (n_target, d)
    features : sequence
        Names of the d columns.
    """

    source: FloatMatrix
    target: FloatMatrix
    features: Classes

    @property
    def n_source(self) -> int:
        """Number of source rows."""
        return len(self.source)

    @property
    def n_target(self) -> int:
        """Number of target rows."""
        return len(self.target)


def read_samples(args: Arguments, source: ArrayLike, target: ArrayLike) -> Samples:
    """Return source and target rows with the same columns."""
    source_rows = args.features(source, "source")
    target_rows = args.features(target, "target")
    d = source_rows.shape[1]
    if target_rows.shape[1] != d:
        must = f"of shape (n, {d}), with the columns of 'source'"
        args.invalid("target", must, shape_of(target_rows))
    for rows, parameter in ((source_rows, "source"), (target_rows, "target")):
        if rows.shape[0] < 2:
            args.invalid(parameter, "of at least two rows", shape_of(rows))
    columns = class_labels.column_names(args, source, "source")
    others = class_labels.column_names(args, target, "target")
    features = columns or others or range(d)
    if others is not None and class_labels.contradict(others, features):
        must = f"with the columns of 'source' in their order, {listed(features)}"
        args.invalid("target", must, listed(others))
    return Samples(source_rows, target_rows, features)


def read_frames(
    args: Arguments, source: Any, target: Any, formula: Any
) -> tuple[Samples, Design | None]:
    """Return the same of frames whose columns are texts, or of a formula; and how."""
    design = read_design(args, source, target, formula)
    if design is None:
        return read_samples(args, source, target), None
    matrices = (
        design.matrix(args, frame, parameter)
        for frame, parameter in ((source, "source"), (target, "target"))
    )
    samples = read_samples(args, *matrices)
    return samples._replace(features=design.features), design


def read_new_rows(
    args: Arguments,
    x: ArrayLike,
    parameter: str,
    features: Classes,
    design: Design | None = None,
) -> FloatMatrix:
    """Return a checked matrix with the columns of the fit."""
    if design is not None:
        return args.features(design.matrix(args, x, parameter), parameter)
    rows = args.features(x, parameter)
    if rows.shape[1] != len(features):
        must = f"of shape (n, {len(features)}), as in the fit"
        args.invalid(parameter, must, shape_of(rows))
    columns = class_labels.column_names(args, x, parameter)
    if columns is not None and class_labels.contradict(columns, features):
        must = f"with the fit's columns in the fit's order, {listed(features)}"
        args.invalid(parameter, must, listed(columns))
    return rows


# As many classes as there are numbers up to it: more would be no labels.
_LARGEST_LABEL = 999_999


def read_labels(
    args: Arguments, labels: ArrayLike, classes: Any, n: int
) -> tuple[Classes, IntArray]:
    """Return the classes, as many as are named or seen, and the labels' numbers."""
    if classes is not None:
        try:
            n_classes = len(classes)
        except TypeError:
            n_classes = 0
        names = args.classes(classes, None, n_classes)
    else:
        given = args.array(labels, "labels", "labels")
        whole = given.ndim == 1 and given.size > 0 and _are_integers(given)
        if not whole:
            must = "integers 0..K-1, or names that are listed in 'classes'"
            args.invalid(
                "labels", must, shape_of(given) if given.ndim != 1 else "others"
            )
        largest = int(given.max())
        if largest > _LARGEST_LABEL:
            must = f"integers 0..K-1 with K up to {_LARGEST_LABEL + 1}"
            args.invalid("labels", must, f"{largest}")
        names = range(max(2, largest + 1))
    if len(names) < 2:
        args.invalid("classes", "at least two names", f"{len(names)}")
    return names, args.labels(labels, names, n)


def _are_integers(labels: AnyArray) -> bool:
    """Say whether all are, be they NumPy's or Python's own."""
    if labels.dtype.kind == "O":
        return all(isinstance(label, int | np.integer) for label in labels)
    return labels.dtype.kind in "iub"


# --------------------------------------------------------------------------- options


@dataclass(frozen=True, slots=True)
class RatioOptions:
    """Checked options of `density_ratio`.

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
    n_hidden : tuple of int or None
        Units of each hidden layer.
    loss : str or None
    n_neighbors, n_kernels : int or None
    relative, weight_bound, slack : float or None
    normalize : bool
    flatten : float
    clip : pair of float or str, or None
        Smallest and largest weight; a text is a quantile.
    progress : bool
    """

    name: str
    estimator: Any
    calibrate: bool
    n_folds: int
    ridge: FloatArray | None
    bandwidth: FloatArray | None
    n_hidden: tuple[int, ...] | None
    loss: str | None
    n_neighbors: int | None
    n_kernels: int | None
    relative: float | None
    weight_bound: float | None
    slack: float | None
    normalize: bool
    flatten: float
    clip: tuple[float | str, float | str] | None
    progress: bool

    @property
    def held_out(self) -> str:
        """How rows are kept from fits that weight them; empty where they are not."""
        ways = {"knn": "leave-one-out", "kmm": ""}
        return ways.get(self.name, f"{self.n_folds} folds")


def read_ratio_options(
    args: Arguments,
    samples: Samples | SamplesInBlocks,
    *,
    method: Any,
    calibrate: bool,
    normalize: bool,
    flatten: float,
    clip: Any,
    n_folds: int,
    progress: bool,
    **given: Any,
) -> RatioOptions:
    """Check the options; one that the method does not have is an error."""
    calibrate = args.flag(calibrate, "calibrate")
    progress = args.flag(progress, "progress")
    name, estimator = _read_method(args, method)
    used = _USED.get(name, set())
    for option, value in given.items():
        if value is not None and option not in used:
            what = f"None: method {name!r} does not use it"
            args.invalid(option, what, describe(value))
    n_source, n_target = samples.n_source, samples.n_target
    discriminates = estimator is not None or name in ("logistic", "mlp")
    fewest = 3 if calibrate and discriminates else 2
    folds = args.count(n_folds, "n_folds", low=fewest)
    smaller = min(n_source, n_target)
    if folds > smaller and name not in ("knn", "kmm"):
        must = f"at most the number of rows of the smaller sample, {smaller}"
        args.invalid("n_folds", must, str(folds))
    neighbors = _read_count(args, given["n_neighbors"], "n_neighbors")
    if neighbors is not None and neighbors >= n_source:
        must = f"less than the number of source rows, {n_source}"
        args.invalid("n_neighbors", must, str(neighbors))
    if name == "kmm" and n_source > MOST_ROWS:
        must = f"of at most {MOST_ROWS} rows for 'kmm', whose matrix has a column each"
        args.invalid("source", must, f"{n_source} rows")
    relative, loss = given["relative"], given["loss"]
    only_one = name in ("logistic", "kmm")
    return RatioOptions(
        name=name,
        estimator=estimator,
        calibrate=calibrate,
        progress=progress,
        n_folds=folds,
        ridge=_read_grid(
            args, given["ridge"], "ridge", only_one=only_one, zero=name == "kmm"
        ),
        bandwidth=_read_grid(
            args, given["bandwidth"], "bandwidth", only_one=name == "kmm"
        ),
        n_hidden=read_layers(args, given["n_hidden"], "n_hidden"),
        loss=None if loss is None else args.choice(loss, "loss", ["nll", "brier"]),
        n_neighbors=neighbors,
        n_kernels=_read_count(args, given["n_kernels"], "n_kernels"),
        relative=None if relative is None else args.probability(relative, "relative"),
        weight_bound=_read_number(args, given["weight_bound"], "weight_bound", 1.0),
        slack=_read_number(args, given["slack"], "slack", 0.0),
        normalize=args.flag(normalize, "normalize"),
        flatten=args.number(
            flatten, "flatten", "a number from 0 to 1", low=0.0, high=1.0
        ),
        clip=_read_clip(args, clip),
    )


def _read_grid(
    args: Arguments,
    value: Any,
    option: str,
    *,
    only_one: bool = False,
    zero: bool = False,
) -> FloatArray | None:
    if value is None:
        return None
    must = "a number from 1e-12 to 1e12" + ("" if only_one else ", or several")
    if zero and is_single(value) and value == 0.0:
        return np.zeros(1)
    numbers = args.numbers(value, option, must, low=1e-12, high=1e12)
    if numbers.size == 0 or (only_one and numbers.size > 1):
        args.invalid(option, must, f"{numbers.size} numbers")
    return numbers


def _read_number(args: Arguments, value: Any, option: str, low: float) -> float | None:
    if value is None:
        return None
    must = f"a number from {low:g} to 1e12, or None"
    return args.number(value, option, must, low=low, high=1e12)


_MOST_LAYERS = 8


def read_layers(args: Arguments, value: Any, option: str) -> tuple[int, ...] | None:
    """Return the units of each hidden layer, from a number or several."""
    if value is None:
        return None
    if not isinstance(value, tuple | list):
        return (args.count(value, option, low=1, high=LARGEST_LAYER),)
    if not 1 <= len(value) <= _MOST_LAYERS:
        must = f"an integer, or one for each of 1 to {_MOST_LAYERS} hidden layers"
        args.invalid(option, must, describe(value))
    return tuple(args.count(v, option, low=1, high=LARGEST_LAYER) for v in value)


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


def _read_clip(args: Arguments, clip: Any) -> tuple[float | str, float | str] | None:
    if clip is None:
        return None
    if isinstance(clip, tuple | list):
        if len(clip) != 2:
            args.invalid("clip", _CLIP, describe(clip))
        low, high = (
            _read_end(args, end, clip, zero=i == 0) for i, end in enumerate(clip)
        )
        if type(low) is type(high) and _size(low) >= _size(high):
            args.invalid("clip", _CLIP, describe(clip))
        return low, high
    return 0.0, _read_end(args, clip, clip, zero=False)


def _read_end(args: Arguments, end: Any, clip: Any, *, zero: bool) -> float | str:
    if isinstance(end, str):
        try:
            percent = float(end[:-1]) if end.endswith("%") else np.nan
        except ValueError:
            percent = np.nan
        if not 0.0 <= percent <= 100.0:
            args.invalid("clip", _CLIP, describe(clip))
        return end
    number = args.number(end, "clip", _CLIP, low=0.0)
    if number == 0.0 and not zero:
        args.invalid("clip", _CLIP, describe(clip))
    return number


def _size(end: float | str) -> float:
    return float(end.rstrip("%")) if isinstance(end, str) else end
