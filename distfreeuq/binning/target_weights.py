"""The weights of a target of other class proportions, and how well they are known."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import Classes, FloatArray, FloatMatrix
from distfreeuq._base.arrays import describe, listed
from distfreeuq._base.persistence import register
from distfreeuq.exceptions import DistFreeWarning
from distfreeuq.label_shift.inference.regions import Box, Polytope

_MOST_PROGRAMS = 200
"""Linear programs for one call; with more bins the intervals of the weights serve."""


@register("target-shift")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TargetShift:
    """What a label shift did to a table of bins.

    Attributes
    ----------
    label_weight : ndarray (K,)
        The weights used.
    weights_from : str
        "known", "given region", or the estimator.
    kappa : float
        Largest weight over the smallest that is not zero.
    low, high : ndarray (K,)
        Intervals of the true weights; the weights themselves if known.
    delta : float
        Probability that these miss; 0 for known weights.
    source_radius : ndarray
        Part of each bin's radius that comes from its frequencies on the source.
    weight_radius : ndarray
        Part that comes from the weights; 0 if these are known.
    """

    label_weight: FloatArray
    weights_from: str
    kappa: float
    low: FloatArray
    high: FloatArray
    delta: float
    source_radius: FloatArray
    weight_radius: FloatArray


@dataclass(frozen=True, slots=True)
class TargetWeights:
    """Weights, checked, and the region that holds the true ones.

    Attributes
    ----------
    used : ndarray (K,)
    box : Box
        Intervals of the true weights.
    region : Polytope or None
        A smaller region, where there is one.
    source : str
        "known", "given region", or the estimator.
    delta : float
        0 for known weights.
    contradicted : bool
        Whether no weights are compatible with the data.
    """

    used: FloatArray
    box: Box
    region: Polytope | None
    source: str
    delta: float
    contradicted: bool = False

    @property
    def known(self) -> bool:
        """True if there is no region, or a point."""
        return self.delta == 0.0

    @property
    def largest(self) -> float:
        """Largest weight that a class may have."""
        return float(self.box.high.max())

    def shift(
        self, source_radius: FloatArray, weight_radius: FloatArray
    ) -> TargetShift:
        """Return the record of what these weights did to the radii."""
        return TargetShift(
            label_weight=self.used,
            weights_from=self.source,
            kappa=bounds.condition_number(self.used),
            low=self.box.low,
            high=self.box.high,
            delta=self.delta,
            source_radius=source_radius,
            weight_radius=weight_radius,
        )

    def smallest_mass(self, frequencies: FloatMatrix) -> FloatArray:
        """Return the least sum_k w_k pi_hat_k over the region, for each bin.

        0 for bins without rows.
        """
        table = np.nan_to_num(frequencies, nan=0.0)
        rows = table.reshape(-1, table.shape[-1])
        by_intervals = rows @ np.maximum(self.box.low, 0.0)
        if self.region is not None and rows.shape[0] <= _MOST_PROGRAMS:
            by_program = np.array([-self.region.support(-row) for row in rows])
            by_intervals = np.maximum(by_intervals, by_program)
        return by_intervals.reshape(table.shape[:-1])

    def weight_radius(self, frequencies: FloatMatrix) -> FloatArray:
        """Return the L1 error of each bin that the weights' error leads to.

        Two bounds hold on the same event, so that the smaller one may be taken.
        """
        if self.known:
            return np.zeros(frequencies.shape[:-1])
        arguments = (
            np.nan_to_num(frequencies, nan=0.0),
            self.used,
            self.box.low,
            self.box.high,
        )
        return np.minimum(
            bounds.label_shift_weight_radius(*arguments),
            bounds.label_shift_tilt_radius(*arguments),
        )


def target_weights(
    args: Arguments, given: Any, region: Any, delta: float, classes: Classes
) -> TargetWeights:
    """Return checked weights from numbers, an estimate, or a region."""
    from distfreeuq.label_shift.results import LabelShiftResult

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
        given = given.label_weight
    used = args.weights(given, "label_weight", n_classes)
    if region is None:
        return TargetWeights(used, Box(used, used, True), None, source, 0.0)
    if region.n_classes != n_classes:
        args.invalid("region", f"of {n_classes} classes", f"{region.n_classes}")
    box = region.ranges()
    if box.is_empty:
        warnings.warn(
            f"no weights are compatible with the data at delta={delta:g}: label shift "
            "is contradicted, and nothing is claimed.",
            DistFreeWarning,
            stacklevel=4,
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
