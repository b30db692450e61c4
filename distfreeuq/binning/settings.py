"""How bins are chosen and bounded: the arguments of `histogram_binning`, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from distfreeuq._base.arguments import LARGEST, Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    FloatArray,
    IntArray,
    RandomState,
)
from distfreeuq._base.arrays import describe, is_single, read_only
from distfreeuq._numerics.unit_bins import Intervals, equal_width, given_intervals
from distfreeuq.binning import guarantees
from distfreeuq.binning.radii import BOUNDS, WEIGHTED_BOUNDS, Radii, extremes
from distfreeuq.binning.rows.binning_blocks import AnyBinningRows
from distfreeuq.binning.rows.rows_set_apart import set_apart
from distfreeuq.binning.scheme import FunctionCells, PartitionFunction, Scheme

MODES = ("canonical", "classwise", "top-label")


@dataclass(frozen=True, slots=True)
class BinningSettings:
    """Checked arguments of `histogram_binning` other than its rows.

    Attributes
    ----------
    scheme : Scheme
    mode : str
    alpha : float
    bound : str
    weight_bound : float or None
    renormalize : bool
    """

    scheme: Scheme
    mode: str
    alpha: float
    bound: str
    weight_bound: float | None
    renormalize: bool

    def of_scores(self, n_classes: int) -> bool:
        """Return whether bins are intervals of one score, not cells of the simplex."""
        return self.mode != "canonical" or (n_classes == 2 and self.scheme.takes_scores)

    def fields(
        self, rows: AnyBinningRows, radii: Radii, bin_counts: IntArray, n_bins: int
    ) -> dict[str, Any]:
        """Return the fields of the result that all modes have."""
        return {
            "radius": read_only(radii.radius),
            "low": read_only(radii.low),
            "high": read_only(radii.high),
            "n": rows.n,
            "n_chose": rows.n_chose,
            "alpha": self.alpha,
            "bound": radii.bound,
            "scheme": self.scheme.name,
            "classes": rows.classes,
            "shift": None,
            "guarantee": guarantees.on_source(
                self.mode,
                self.alpha,
                n_bins,
                extremes(radii.radius, bin_counts, self.mode),
                radii.bound,
                self.scheme.choice(
                    self.of_scores(len(rows.classes)), rows.others is not None
                ),
                weighted=rows.sample_weight is not None,
                bounded=self.weight_bound is not None,
                renormalized=self.renormalize,
            ),
        }


def read_options(
    args: Arguments,
    rows: AnyBinningRows,
    *,
    n_bins: int = 10,
    scheme: str | ArrayLike | PartitionFunction = "uniform-mass",
    mode: str = "canonical",
    split: float | None = None,
    partition_on: ArrayLike | None = None,
    coordinates: ArrayLike | None = None,
    alpha: float = 0.1,
    bound: str = "auto",
    weight_bound: float | None = None,
    renormalize: bool = False,
    rng: RandomState = None,
) -> tuple[AnyBinningRows, BinningSettings]:
    """Check the options of `histogram_binning`, for rows that are read already.

    Parameters
    ----------
    args : Arguments
        Words the errors.
    rows : BinningRows
        Checked rows, ``BinningRows(probs, labels, classes, sample_weight)``.
    n_bins, scheme, mode, split, partition_on, coordinates, alpha, bound, weight_bound
        As in `histogram_binning`.
    renormalize, rng
        Likewise.

    Returns
    -------
    BinningRows
        The rows with those set apart that only choose the bins.
    BinningSettings
    """
    mode = args.choice(mode, "mode", MODES)
    n_classes = len(rows.classes)
    of_scores = mode != "canonical" or n_classes == 2
    n_bins = args.count(n_bins, "n_bins", low=1)
    alpha = args.alpha(alpha)
    renormalize = args.flag(renormalize, "renormalize")
    if renormalize and mode != "classwise":
        must = "False: only class-wise frequencies do not sum to one by themselves"
        args.invalid("renormalize", must, "True")
    limit = _weight_bound(args, weight_bound, rows.sample_weight)
    offered = BOUNDS
    if rows.sample_weight is not None:
        offered = WEIGHTED_BOUNDS if of_scores else ("auto", "hoeffding")
    bound = args.choice(bound, "bound", offered)
    name, fixed = _fixed_bins(args, scheme, mode, n_bins, of_scores)
    schedule = _schedule(args, coordinates, n_classes, fixed is None and not of_scores)
    if fixed is not None and not (split is None and partition_on is None):
        must = "'uniform-mass' for rows that choose the bins"
        args.invalid("scheme", must, "bins that are fixed")
    settings = BinningSettings(
        scheme=Scheme(name, n_bins, fixed, schedule),
        mode=mode,
        alpha=alpha,
        bound=bound,
        weight_bound=limit,
        renormalize=renormalize,
    )
    return set_apart(args, rows, split, partition_on, rng), settings


def _weight_bound(
    args: Arguments, value: Any, weights: FloatArray | None
) -> float | None:
    if value is None:
        return None
    if weights is None:
        args.invalid("weight_bound", "None without weights", describe(value))
    must = "a positive number that no weight exceeds"
    limit = args.number(value, "weight_bound", must, low=0.0, high=LARGEST)
    if weights.max() > limit:
        got = f"{limit:g}, and a weight of {weights.max():g}"
        args.invalid("weight_bound", must, got)
    return limit


def _fixed_bins(
    args: Arguments, scheme: Any, mode: str, n_bins: int, of_scores: bool
) -> tuple[str, Intervals | FunctionCells | None]:
    """Return the scheme's name, and its bins if they are fixed in advance."""
    if callable(scheme):
        if mode != "canonical":
            must = "a name or edges, unless the mode is canonical"
            args.invalid("scheme", must, "a function")
        return "given function", FunctionCells(scheme, n_bins)
    if is_single(scheme):
        name = args.choice(scheme, "scheme", ["uniform-mass", "equal-width"])
        if name == "uniform-mass":
            return name, None
        fixed = equal_width(n_bins)
    else:
        name = "given edges"
        must = "increasing edges in [0, 1], a name or a function"
        fixed = given_intervals(args, scheme, must)
    if not of_scores:
        must = "'uniform-mass' or a function for cells of the simplex"
        args.invalid("scheme", must, f"{name!r} with more than two classes")
    return name, fixed


def _schedule(
    args: Arguments, coordinates: Any, n_classes: int, in_use: bool
) -> tuple[int, ...]:
    if coordinates is None:
        return tuple(range(n_classes))
    must = f"columns 0..{n_classes - 1}, for uniform-mass cells of the simplex"
    if not in_use:
        args.invalid("coordinates", must, describe(coordinates))
    given = args.array(coordinates, "coordinates", "column numbers")
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
        args.invalid("coordinates", must, describe(given))
    if given.min() < 0 or given.max() >= n_classes:
        args.invalid("coordinates", must, describe(given))
    return tuple(int(k) for k in given)
