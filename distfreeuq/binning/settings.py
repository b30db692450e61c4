"""The rows that a table of bins is made of, and what all modes make of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._base.array_types import Classes, FloatArray, FloatMatrix, IntArray
from distfreeuq.binning import guarantees
from distfreeuq.binning.radii import Radii, largest_radius
from distfreeuq.binning.scheme import Scheme
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.results import read_only


@dataclass(frozen=True, slots=True)
class Calibration:
    """Checked arguments of `histogram_binning`.

    Attributes
    ----------
    probs : ndarray (n, K)
    labels : ndarray (n,)
    sample_weight : ndarray (n,) or None
    weight_bound : float or None
    scheme : Scheme
    n_chose : int
        Rows that only choose the bins.
    alpha : float
    bound : str
    classes : sequence
    """

    probs: FloatMatrix
    labels: IntArray
    sample_weight: FloatArray | None
    weight_bound: float | None
    scheme: Scheme
    n_chose: int
    alpha: float
    bound: str
    classes: Classes

    def prior(self) -> FloatArray:
        """Return the (weighted) class frequencies of all rows, shape (K,)."""
        mass = np.bincount(
            self.labels, weights=self.sample_weight, minlength=len(self.classes)
        )
        return np.asarray(mass / mass.sum())

    def fields(
        self, mode: str, radii: Radii, bin_counts: IntArray, n_bins: int
    ) -> dict[str, Any]:
        """Return the fields of the result that all modes have."""
        largest = largest_radius(radii.radius, bin_counts)
        of_scores = mode != "canonical" or (
            len(self.classes) == 2 and self.scheme.takes_scores
        )
        choice = self.scheme.choice(of_scores)
        guarantee: Guarantee | NoGuarantee
        if self.sample_weight is None:
            guarantee = guarantees.all_bins(
                mode, self.alpha, n_bins, largest, radii.bound, choice
            )
        elif self.weight_bound is None:
            guarantee = guarantees.UNBOUNDED_WEIGHTS
        else:
            guarantee = guarantees.weighted_rows(
                mode, self.alpha, n_bins, largest, choice
            )
        return {
            "radius": read_only(radii.radius),
            "low": read_only(radii.low),
            "high": read_only(radii.high),
            "n": self.labels.size,
            "n_chose": self.n_chose,
            "alpha": self.alpha,
            "bound": radii.bound,
            "scheme": self.scheme.name,
            "classes": self.classes,
            "shift": None,
            "guarantee": guarantee,
        }
