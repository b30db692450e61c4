"""Calibration by binning: the public function, and the fit that it does."""

from __future__ import annotations

from typing import Any

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, RandomState, RowsLike
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._numerics.row_blocks import read_blocks
from distfreeuq.binning.canonical import fit_canonical
from distfreeuq.binning.classwise import fit_classwise
from distfreeuq.binning.data import read_rows
from distfreeuq.binning.results import BinningResult
from distfreeuq.binning.rows.binning_blocks import AnyBinningRows, rows_of_blocks
from distfreeuq.binning.scheme import PartitionFunction
from distfreeuq.binning.settings import BinningSettings, read_options
from distfreeuq.binning.top_label import fit_top_label
from distfreeuq.binning.uniform_mass import most_bins
from distfreeuq.exceptions import SmallCalibrationWarning


def histogram_binning(
    probs: RowsLike,
    labels: ArrayLike | None = None,
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
        A classifier's probabilities on rows that it was not fitted on. Or rows of Dask
        or in blocks, without weights and `split`; cells of the simplex are then those
        of a function.
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
        every subset of classes. "hoeffding": Podkopaev and Ramdas's. "weissman",
        "mcdiarmid": see `distfreeuq.bounds`. With sample weights "hoeffding", and for
        one probability per bin also "chernoff", "bernstein" and "betting", which is
        what "auto" takes.
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
    ([1]_, Theorem 3, with sharper radii by default). That needs the rows of a bin to be
    independent draws from it. Which rows may choose the bins:

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
    where many share it, they are i.i.d. given that score, and have a bin of their own:
    as many as make half a bin, or five where the rows on shared edges are more than a
    twentieth of all. New rows on one of the other edges get the probabilities of the
    bin below, for which nothing is claimed: `predict` warns of them, and the summary
    says how many calibration rows are there.

    Each bound holds by itself. `"auto"` chooses by the numbers of bins and classes and
    by alpha, never by the labels.

    References
    ----------
    .. [1] Podkopaev and Ramdas (2021), UAI. Section 3, Theorems 3 and 4.
    .. [2] Gupta and Ramdas (2021), "Distribution-free calibration guarantees for
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
    vectors: dict[str, Any] = {"labels": labels, "sample_weight": sample_weight}
    blocks = read_blocks(args, {"probs": probs, **vectors}, again=True)
    read: AnyBinningRows
    if blocks is None:
        matrix: Any = probs
        read = read_rows(args, matrix, classes=classes, **vectors)
    else:
        read = rows_of_blocks(args, blocks, blocks.classes(classes))
    rows, settings = read_options(
        args,
        read,
        n_bins=n_bins,
        scheme=scheme,
        mode=mode,
        split=split,
        partition_on=partition_on,
        coordinates=coordinates,
        alpha=alpha,
        bound=bound,
        weight_bound=weight_bound,
        renormalize=renormalize,
        rng=rng,
    )
    return fit_histogram(rows, settings)


def fit_histogram(rows: AnyBinningRows, settings: BinningSettings) -> BinningResult:
    """Count the labels of checked rows in bins and bound their frequencies."""
    scheme, of_scores = settings.scheme, settings.of_scores(len(rows.classes))
    if scheme.fixed is None:
        _warn_fewer(rows, scheme.n_bins, of_scores)
    if settings.mode == "canonical":
        return fit_canonical(rows, settings)
    if settings.mode == "top-label":
        return fit_top_label(rows, settings)
    return fit_classwise(rows, settings)


def _warn_fewer(rows: AnyBinningRows, n_bins: int, of_scores: bool) -> None:
    """Warn if there will be fewer bins than were asked for."""
    n_rows = rows.n
    possible = most_bins(n_rows, n_bins)
    if of_scores and rows.others is not None:
        n_rows = rows.n_chose
        possible = min(n_bins, n_rows + 1)
    if possible < n_bins:
        warn_user(
            f"{n_rows} rows cannot choose and fill {n_bins} bins: there will be "
            f"{possible}.",
            SmallCalibrationWarning,
        )
