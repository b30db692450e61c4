"""Read what performance is estimated from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolMatrix,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._base.arrays import describe, listed
from distfreeuq.conformal.by_group.results import GroupedConformalResult
from distfreeuq.conformal.chosen_sets import ChosenConformalResult
from distfreeuq.conformal.results import ConformalResult
from distfreeuq.conformal.sets import PredictionSets
from distfreeuq.conformal.under_covariate_shift.covariate_shift_fits import (
    CovariateShiftConformalResult,
)
from distfreeuq.density_ratios.results import DensityRatioResult
from distfreeuq.label_shift.data import Samples, read_and_predict
from distfreeuq.label_shift.results import LabelShiftResult

METRICS = (
    "accuracy",
    "balanced_accuracy",
    "recall",
    "precision",
    "confusion",
    "brier",
    "nll",
    "ece",
)

Loss = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """Both samples, and what the classifier predicts in them.

    Attributes
    ----------
    samples : Samples
    predicted, predicted_target : ndarray (n,) and (m,)
    sets, sets_target : ndarray of bool (n, K) and (m, K), or None
        Prediction sets.
    weight : ndarray (n,) or None
        A weight per source row.
    labels_target : ndarray (m,) or None
        Labels of target rows; -1 where they are not known.
    """

    samples: Samples
    predicted: IntArray
    predicted_target: IntArray
    sets: BoolMatrix | None
    sets_target: BoolMatrix | None
    weight: FloatArray | None
    labels_target: IntArray | None = None

    @property
    def labelled(self) -> IntArray:
        """Target rows whose labels are known."""
        if self.labels_target is None:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(self.labels_target >= 0)

    def of_labelled(self) -> Rows:
        """Return the labelled target rows in place of the source's."""
        some, of, sets = self.labelled, self.samples, self.sets_target
        assert self.labels_target is not None
        return Rows(
            Samples(of.probs_target[some], self.labels_target[some], of.probs_target),
            self.predicted_target[some],
            self.predicted_target,
            None if sets is None else sets[some],
            sets,
            None,
        )

    def take(self, source: IntArray, target: IntArray) -> Rows:
        """Return some of the rows."""
        of, by = self.samples, self.weight
        return Rows(
            Samples(of.probs[source], of.labels[source], of.probs_target[target]),
            self.predicted[source],
            self.predicted_target[target],
            None if self.sets is None else self.sets[source],
            None if self.sets_target is None else self.sets_target[target],
            None if by is None else by[source],
            None if self.labels_target is None else self.labels_target[target],
        )


def read_rows(
    args: Arguments,
    probs: ArrayLike,
    labels: ArrayLike,
    probs_target: ArrayLike,
    classes: ArrayLike | None,
) -> tuple[Rows, Classes]:
    """Return both samples, without sets and weights, and the classes."""
    samples, names, found = read_and_predict(args, probs, labels, probs_target, classes)
    return Rows(samples, found.of_source, found.of_target, None, None, None), names


def read_metrics(args: Arguments, metrics: Any) -> tuple[str | Loss, ...]:
    """Return names of metrics, and the user's own losses."""
    must = f"names among {', '.join(METRICS)}, or functions of probs and labels"
    if isinstance(metrics, str) or callable(metrics):
        metrics = (metrics,)
    if not isinstance(metrics, Sequence) or not metrics:
        args.invalid("metrics", must, describe(metrics))
    for metric in metrics:
        if not callable(metric) and metric not in METRICS:
            args.invalid("metrics", must, describe(metric))
    names = [metric_name(metric) for metric in metrics]
    if len(set(names)) < len(names):
        args.invalid("metrics", "metrics of different names", ", ".join(names))
    return tuple(metrics)


def metric_name(metric: str | Loss) -> str:
    """Return a metric's name, that of the function for a loss of the user."""
    if isinstance(metric, str):
        return metric
    return str(getattr(metric, "__name__", type(metric).__name__))


def own_losses(
    args: Arguments, loss: Loss, samples: Samples, classes: Classes
) -> FloatArray:
    """Return the user's loss in every source row."""
    labels = samples.labels
    if not isinstance(classes, range):
        labels = np.fromiter((classes[k] for k in labels), object, labels.size)
    try:
        values = loss(samples.probs, labels)
    except Exception as error:
        must = "functions of probs (n, K) and labels (n,) that return n numbers"
        got = f"{metric_name(loss)}, which raised {type(error).__name__}: {error}"
        args.invalid("metrics", must, got)
    must = f"functions that return finite numbers, one for each of {labels.size} rows"
    largest = float(np.finfo(np.float64).max) ** 0.25
    return args.vector(
        values, "metrics", must, length=labels.size, low=-largest, high=largest
    )


def read_bounds(args: Arguments, bounds: Any) -> tuple[float, float] | None:
    """Return the ends that the user's losses keep to."""
    if bounds is None:
        return None
    must = "two finite numbers, the smaller one first"
    ends = args.vector(bounds, "loss_bounds", must, length=2, low=-1e100, high=1e100)
    if not ends[0] < ends[1]:
        args.invalid("loss_bounds", must, f"({ends[0]:g}, {ends[1]:g})")
    return float(ends[0]), float(ends[1])


def read_sets(
    args: Arguments,
    conformal: Any,
    samples: Samples,
    classes: Classes,
    groups: tuple[Any, Any],
    rng: RandomState,
) -> tuple[BoolMatrix, BoolMatrix]:
    """Return the sets of both samples, from a fit or from two `PredictionSets`."""
    must = (
        "a fit of prediction sets for rows alone, or a pair of PredictionSets, of the "
        "source rows and of the target rows"
    )
    pair = conformal
    whole = (ConformalResult, ChosenConformalResult)
    if isinstance(conformal, GroupedConformalResult):
        if groups[0] is None:
            args.invalid("groups", "given with sets that have groups", "None")
        pair = (
            conformal.predict(samples.probs, groups[0], rng=rng),
            conformal.predict(samples.probs_target, groups[1], rng=rng),
        )
    elif isinstance(conformal, whole) and not isinstance(
        conformal, CovariateShiftConformalResult
    ):
        pair = (
            conformal.predict(samples.probs, rng=rng),
            conformal.predict(samples.probs_target, rng=rng),
        )
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        args.invalid("conformal", must, describe(conformal))
    masks = []
    for sets, rows in zip(pair, (samples.probs, samples.probs_target), strict=True):
        if not isinstance(sets, PredictionSets):
            args.invalid("conformal", must, describe(conformal))
        if sets.mask.shape != rows.shape or tuple(sets.classes) != tuple(classes):
            args.invalid("conformal", f"sets of shape {rows.shape}", repr(sets))
        masks.append(sets.mask)
    return masks[0], masks[1]


def read_shift(
    args: Arguments, shift: Any, rows: Rows, classes: Classes
) -> LabelShiftResult | FloatArray | DensityRatioResult | None:
    """Return the shift as it was given, checked against the rows."""
    samples = rows.samples
    n = samples.probs.shape[0]
    if shift is None:
        return None
    if isinstance(shift, LabelShiftResult):
        if tuple(shift.classes) != tuple(classes):
            must = f"for the classes {listed(classes)}"
            args.invalid("shift", must, f"weights for {listed(shift.classes)}")
        m = samples.probs_target.shape[0]
        same = (shift.n, shift.m) == (n, m) and np.array_equal(
            shift.source_counts, samples.class_counts
        )
        if not (shift.known or same):
            args.invalid("shift", "estimated from these rows, or known", repr(shift))
        return shift
    if isinstance(shift, DensityRatioResult):
        if shift.n_source != n:
            args.invalid("shift", f"of the {n} source rows", repr(shift))
        return shift
    return args.label_weights(shift, classes, samples.labels, "shift")


def read_weight(
    args: Arguments, weight: Any, bound: Any, n: int
) -> tuple[FloatArray | None, float | None]:
    """Return a weight per source row and the number that none can exceed."""
    if weight is None:
        if bound is not None:
            args.invalid(
                "weight_bound", "given with sample_weight only", describe(bound)
            )
        return None, None
    vector = args.weights(weight, "sample_weight", n, squared=True)
    if bound is None:
        return vector, None
    must = "a positive number that no weight exceeds"
    number = args.number(
        bound, "weight_bound", must, low=float(vector.max()), high=1e100
    )
    return vector, number


def float_rows(matrix: FloatMatrix) -> FloatMatrix:
    """Return the rows in double precision."""
    return np.asarray(matrix, dtype=np.float64)
