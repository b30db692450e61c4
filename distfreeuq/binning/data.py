"""Read the rows that bins are made of, and the weights of a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._base.arrays import describe, listed
from distfreeuq._base.intent.class_vectors import by_class
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._numerics.passes.row_parts import OnePart
from distfreeuq.binning.label_shift_bins import TargetWeights
from distfreeuq.exceptions import DistFreeWarning
from distfreeuq.label_shift.inference.regions import Box, Polytope


@dataclass(frozen=True, slots=True)
class BinningRows:
    """Checked calibration rows, and the rows that only choose the bins.

    Attributes
    ----------
    probs : ndarray (n, K)
        float32 or float64; every row is a probability vector.
    labels : ndarray (n,) of int64
        Column numbers.
    classes : sequence
        Class names by column.
    sample_weight : ndarray (n,) or None
    others : ndarray (n', K) or None
        Probabilities of the rows that only choose the bins.
    """

    probs: FloatMatrix
    labels: IntArray
    classes: Classes
    sample_weight: FloatArray | None = None
    others: FloatMatrix | None = None

    @property
    def parts(self) -> OnePart[BinningRows]:
        """What is summed over in a pass over the rows."""
        return OnePart(self)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.labels.size

    @property
    def n_chose(self) -> int:
        """Number of rows that only choose the bins."""
        return 0 if self.others is None else self.others.shape[0]

    def prior(self) -> FloatArray:
        """Return the (weighted) class frequencies of all rows, shape (K,)."""
        mass = np.bincount(
            self.labels, weights=self.sample_weight, minlength=len(self.classes)
        )
        return np.asarray(mass / mass.sum())


def read_rows(
    args: Arguments,
    probs: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None,
    classes: ArrayLike | None,
) -> BinningRows:
    """Return the calibration rows, checked."""
    matrix, names = args.probs(probs, classes=classes)
    n_rows = matrix.shape[0]
    codes = args.labels(labels, names, n_rows)
    if n_rows == 0:
        args.invalid("probs", "of at least one row", "no rows")
    weights = None
    if sample_weight is not None:
        weights = args.weights(sample_weight, "sample_weight", n_rows, squared=True)
    return BinningRows(matrix, codes, names, weights)


def read_target_weights(
    args: Arguments, given: Any, region: Any, delta: float, classes: Classes
) -> TargetWeights:
    """Return checked weights from numbers, an estimate, or a region."""
    from distfreeuq.label_shift.results import LabelShiftResult, identified_weights

    delta = args.probability(delta, "delta")
    n_classes = len(classes)
    if region is not None and not isinstance(region, Box | Polytope):
        args.invalid("region", "a Box, a Polytope or None", describe(region))
    source = "known" if region is None else "given, with a region"
    if isinstance(given, Box | Polytope):
        if region is not None:
            must = "None where label_weight is a region"
            args.invalid("region", must, repr(region))
        region, source = given, "given region"
        given = _center(args, region)
    elif isinstance(given, LabelShiftResult):
        if tuple(given.classes) != tuple(classes):
            must = f"for the classes {listed(classes)}"
            args.invalid("label_weight", must, f"weights for {listed(given.classes)}")
        source = given.method
        if region is None and not given.known:
            region = given.region(delta)
        given = identified_weights(args, given)
    given = by_class(args, given, classes, "label_weight")
    used = args.weights(given, "label_weight", n_classes, squared=True)
    if region is None:
        return TargetWeights(used, Box(used, used, True), None, source, 0.0)
    if region.n_classes != n_classes:
        args.invalid("region", f"of {n_classes} classes", f"{region.n_classes}")
    delta = delta if region.delta is None else region.delta
    box = region.ranges()
    if box.is_empty:
        warn_user(
            f"no weights are compatible with the data at delta={delta:g}: label shift "
            "is contradicted, and nothing is claimed.",
            DistFreeWarning,
        )
        box = Box(np.zeros(n_classes), np.full(n_classes, np.inf), False)
        return TargetWeights(used, box, None, source, delta, contradicted=True)
    polytope = region if isinstance(region, Polytope) else None
    return TargetWeights(used, box, polytope, source, delta)


def _center(args: Arguments, region: Box | Polytope) -> FloatArray:
    box = region.ranges()
    if box.is_empty or not np.isfinite(box.high).all():
        must = "a region with finite ends, or weights of your own with region="
        args.invalid("label_weight", must, repr(region))
    return np.asarray((box.low + box.high) / 2.0)
