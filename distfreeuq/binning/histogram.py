"""Calibration by binning: the one public function."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from distfreeuq._base.arguments import LARGEST, Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolArray,
    Classes,
    FloatArray,
    FloatMatrix,
    RandomState,
)
from distfreeuq._base.arrays import describe, is_single
from distfreeuq._base.random_streams import stream
from distfreeuq._numerics.unit_bins import Intervals, closed_intervals, equal_width
from distfreeuq.binning.canonical import fit_canonical
from distfreeuq.binning.classwise import fit_classwise
from distfreeuq.binning.radii import BOUNDS, WEIGHTED_BOUNDS
from distfreeuq.binning.results import BinningResult
from distfreeuq.binning.scheme import FunctionCells, PartitionFunction, Scheme
from distfreeuq.binning.settings import Calibration
from distfreeuq.binning.top_label import fit_top_label
from distfreeuq.binning.uniform_mass import most_bins
from distfreeuq.exceptions import SmallCalibrationWarning

_MODES = ("canonical", "classwise", "top-label")


def histogram_binning(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    n_bins: int = 10,
    scheme: str | ArrayLike | PartitionFunction = "uniform-mass",
    mode: str = "canonical",
    split: float | None = None,
    partition_on: ArrayLike | None = None,
    coordinates: ArrayLike | None = None,
    alpha: float = 0.1,
    bound: str = "auto",
    sample_weight: ArrayLike | None = None,
    weight_bound: float | None = None,
    renormalize: bool = False,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
) -> BinningResult:
    """Calibrate by the label frequencies in bins, with bounds that hold in all bins.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        A classifier's probabilities on rows that it was not fitted on.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`.
    n_bins : int, default 10
        Number of bins; class-wise, for each class. There are fewer if the rows are too
        few, which is warned of, and others where scores tie.
    scheme : str, array_like or callable
        "uniform-mass": as many rows in every bin. "equal-width": ((m-1)/M, m/M].
        Increasing edges in [0, 1], with or without these ends. A function from
        probabilities (n, K) to bin numbers 0 .. n_bins - 1, shape (n,). Canonical
        binning of more than two classes takes "uniform-mass" or a function.
    mode : str
        "canonical": the whole vector of probabilities; for two classes the bins are
        intervals of the probability of class 1, for more they are cells of the simplex.
        "classwise": each class in bins of its own probability. "top-label": the largest
        probability, and whether its label is right.
    split : float, optional
        Share of the rows, drawn at random, that only choose the bins.
    partition_on : array_like (n', K), optional
        Probabilities of other, independent rows, which need no labels: the target's are
        ideal. They choose the bins as those of `split` do.
    coordinates : array_like of int, optional
        For cells of the simplex: the class whose probability the j-th split looks at,
        level by level, begun again when the list ends. By default the classes take
        turns.
    alpha : float, default 0.1
        Probability that the bound fails in some bin.
    bound : str
        "auto": the smallest valid one. "clopper-pearson": exact binomial bounds, for
        every subset of classes. "hoeffding": the paper's. "weissman", "mcdiarmid": see
        `distfreeuq.bounds`. With sample weights "hoeffding", and for one probability
        per bin also "chernoff", "bernstein", or "auto", which spends half of alpha on
        each of these two.
    sample_weight : array_like (n,), optional
        w(x) = q(x)/p(x) of the rows, up to scale, for covariate shift.
    weight_bound : float, optional
        A number that no weight can exceed, on the weights' scale: with it, and weights
        that are the true ratio, the bounds hold in finite samples.
    renormalize : bool, default False
        Class-wise: let `predict` divide each row by its sum. No bound holds for that.
    classes : sequence, optional
        Class names by column.
    rng : seed, Generator or None
        Draws the rows of `split`.

    Returns
    -------
    BinningResult
        A `CanonicalBinning`, a `ClasswiseBinning` or a `TopLabelBinning`, by `mode`.

    Notes
    -----
    The frequencies in the bins are the calibrated probabilities. With probability at
    least 1 - alpha, in all bins at once, they are within the bin's radius of the truth
    (paper A, Theorem 3, with sharper radii by default). That needs the rows of a bin
    to be independent draws from it. Which rows may choose the bins:

    - Bins fixed in advance (equal width, your edges, your function): every row counts.
    - `split` or `partition_on`: bins of one score are at order statistics of those
      rows, and every remaining row counts.
    - Neither, "uniform-mass": edges at the calibration rows' own order statistics, of
      rank ceil(b (n+1) / M). The rows between two edges are i.i.d. from there; a row on
      an edge belongs to no bin. This spends M - 1 rows on the bins where a split would
      spend half of them; it is the default, because N_m is then larger for every n that
      can fill the bins, n + 1 >= 2 M: a choice by counts alone.

    Cells of the simplex are made by splits at order statistics, of one class's
    probability each, and again the rows inside a cell are i.i.d. from it, provided that
    the class and the rank of each split do not depend on them. Either the classes take
    turns (`coordinates`) and each split halves the rows; or the rows of `split` or
    `partition_on` choose, by where their own variance falls most. The latter is better
    by far where probabilities are near 0 and 1; `split=0.1` is mostly enough.

    All this holds for any scores, however discrete. Rows on an edge belong to no bin;
    where as many share it as make half a bin, they are i.i.d. given that score, and
    have a bin of their own. New rows on one of the other edges get the probabilities of
    the bin below, for which nothing is claimed.

    Each bound holds by itself. `"auto"` chooses by the numbers of bins and classes and
    by alpha, never by the labels.

    References
    ----------
    .. [A] Podkopaev and Ramdas (2021), UAI. Section 3, Theorems 3 and 4.
    .. [1] Gupta and Ramdas (2021), "Distribution-free calibration guarantees for
       histogram binning without sample splitting", ICML.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet([1, 1, 1], size=3000)
    >>> labels = [rng.choice(3, p=row) for row in probs]
    >>> fit = dfu.histogram_binning(probs, labels, n_bins=4)
    >>> fit.cells
    ['0 <= 0.2927, 1 <= 0.4107', '0 <= 0.2927, 1 > 0.4107', \
'0 > 0.2927, 2 <= 0.2191', '0 > 0.2927, 2 > 0.2191']
    >>> fit.bin_counts.tolist(), fit.n_boundary
    ([750, 749, 749, 749], 3)
    >>> fit.frequencies.round(2).tolist()[0]
    [0.15, 0.22, 0.64]
    >>> bool((fit.radius < 0.13).all()), fit.guarantee.confidence
    (True, 0.9)
    """
    args = Arguments("histogram_binning")
    matrix, names = args.probs(probs, classes=classes)
    n_rows, n_classes = matrix.shape
    codes = args.labels(labels, names, n_rows)
    if n_rows == 0:
        args.invalid("probs", "of at least one row", "no rows")
    mode = args.choice(mode, "mode", _MODES)
    n_bins = args.count(n_bins, "n_bins", low=1)
    level = args.alpha(alpha)
    renormalize = args.flag(renormalize, "renormalize")
    if renormalize and mode != "classwise":
        must = "False: only class-wise frequencies do not sum to one by themselves"
        args.invalid("renormalize", must, "True")
    weights, weight_bound = _weights(args, sample_weight, weight_bound, n_rows)
    of_scores = mode != "canonical" or n_classes == 2
    offered = BOUNDS
    if weights is not None:
        offered = WEIGHTED_BOUNDS if of_scores else ("auto", "hoeffding")
    bound = args.choice(bound, "bound", offered)
    name, fixed = _fixed_bins(args, scheme, mode, n_bins, of_scores)
    schedule = _schedule(args, coordinates, n_classes, fixed is None and not of_scores)

    others = None
    n_chose = 0
    if partition_on is not None:
        _invalid_both(args, split, fixed)
        others = _partition_rows(args, partition_on, names)
        n_chose = others.shape[0]
    elif split is not None:
        _invalid_both(args, None, fixed)
        chose = _drawn(args, split, n_rows, rng)
        others, n_chose = matrix[chose], int(chose.sum())
        matrix, codes = matrix[~chose], codes[~chose]
        weights = None if weights is None else weights[~chose]
        if weights is not None and weights.max() == 0.0:
            args.invalid("sample_weight", "positive for a row that counts", "all zero")
    if fixed is None:
        _warn_fewer(matrix.shape[0], others, n_bins, of_scores)

    calibration = Calibration(
        probs=matrix,
        labels=codes,
        sample_weight=weights,
        weight_bound=weight_bound,
        scheme=Scheme(name, n_bins, fixed, others, schedule),
        n_chose=n_chose,
        alpha=level,
        bound=bound,
        classes=names,
    )
    if mode == "canonical":
        return fit_canonical(calibration)
    if mode == "top-label":
        return fit_top_label(calibration)
    return fit_classwise(calibration, renormalize)


def _weights(
    args: Arguments, sample_weight: Any, weight_bound: Any, n_rows: int
) -> tuple[FloatArray | None, float | None]:
    if sample_weight is None:
        if weight_bound is not None:
            args.invalid("weight_bound", "None without weights", describe(weight_bound))
        return None, None
    weights = args.weights(sample_weight, "sample_weight", n_rows)
    if weight_bound is None:
        return weights, None
    must = "a positive number that no weight exceeds"
    limit = args.number(weight_bound, "weight_bound", must, low=0.0, high=LARGEST)
    if weights.max() > limit:
        got = f"{limit:g}, and a weight of {weights.max():g}"
        args.invalid("weight_bound", must, got)
    return weights, limit


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
        edges = args.vector(scheme, "scheme", must, low=0.0, high=1.0)
        if (np.diff(edges) <= 0.0).any():
            args.invalid("scheme", must, describe(edges))
        fixed = closed_intervals(edges[(edges > 0.0) & (edges < 1.0)])
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


def _invalid_both(args: Arguments, split: Any, fixed: object) -> None:
    if split is not None:
        must = "None with partition_on, whose rows choose the bins"
        args.invalid("split", must, describe(split))
    if fixed is not None:
        must = "'uniform-mass' for rows that choose the bins"
        args.invalid("scheme", must, "bins that are fixed")


def _partition_rows(args: Arguments, value: ArrayLike, classes: Classes) -> FloatMatrix:
    others = args.new_probs(value, classes, "partition_on")
    if others.shape[0] == 0:
        args.invalid("partition_on", "of at least one row", "no rows")
    return others


def _drawn(args: Arguments, split: Any, n_rows: int, rng: RandomState) -> BoolArray:
    """Return which rows choose the bins, shape (n,)."""
    share = args.probability(split, "split")
    n_chosen = round(share * n_rows)
    if not 0 < n_chosen < n_rows:
        must = "a share that leaves rows on both sides"
        args.invalid("split", must, f"{share:g} of {n_rows} rows")
    chose = np.zeros(n_rows, dtype=np.bool_)
    order = stream(rng, "split", args.caller).permutation(n_rows)
    chose[order[:n_chosen]] = True
    return chose


def _warn_fewer(
    n_rows: int, others: FloatMatrix | None, n_bins: int, of_scores: bool
) -> None:
    """Warn if there will be fewer bins than were asked for."""
    possible, rows = most_bins(n_rows, n_bins), n_rows
    if of_scores and others is not None:
        possible, rows = min(n_bins, others.shape[0] + 1), others.shape[0]
    if possible < n_bins:
        warnings.warn(
            f"{rows} rows cannot choose and fill {n_bins} bins: there will be "
            f"{possible}.",
            SmallCalibrationWarning,
            stacklevel=3,
        )
