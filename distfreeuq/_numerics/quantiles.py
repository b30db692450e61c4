"""Weighted quantiles with an atom at +inf: the one rule behind every threshold."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from distfreeuq._base.arguments import LARGEST, SMALLEST, Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, IntArray
from distfreeuq._base.arrays import is_single
from distfreeuq._kernels import _quantile
from distfreeuq._kernels.threads import threads_for

LabelArray = npt.NDArray[np.integer[Any]]

SLACK = 1e-12
"""Mass counts as enough from ``level * total - SLACK * total`` on."""
_VALUES_OF_CELL, _MOST_CELLS = 1 << 14, 1 << 12
"""Values that are sorted at once, in the cache. (At 2^17: 27 -> 33 ns each.)"""


def normal_margin(alpha: float) -> float:
    """Return z with P(|N(0, 1)| > z) = alpha; positive and finite at every alpha.

    Examples
    --------
    >>> from distfreeuq._numerics.quantiles import normal_margin
    >>> round(normal_margin(0.05), 4), round(normal_margin(0.0), 4)
    (1.96, 38.4674)
    """
    if alpha > 1e-6:  # to the bit what old files were printed with
        return max(float(special.ndtri(1.0 - alpha / 2.0)), 1e-16)
    return -float(special.ndtri(max(alpha / 2.0, SMALLEST)))


def conformal_rank(n: int, alpha: float) -> int:
    """Return the rank of the threshold among n scores: ceil((1 - alpha)(n + 1)).

    It is the weighted quantile's rule with unit weights, so that 0.1, 1 - 0.9 and 1/3
    all give the rank a person means, which plain ``ceil`` in floating point does not. A
    rank of n + 1 stands for an infinite threshold.

    Examples
    --------
    >>> from distfreeuq._numerics.quantiles import conformal_rank
    >>> conformal_rank(9, 0.1), conformal_rank(8, 0.1), conformal_rank(149, 0.18)
    (9, 9, 123)
    """
    total = n + 1.0
    needed = (1.0 - alpha) * total - SLACK * total
    return max(1, math.ceil(needed))


def smallest_sample(alpha: float) -> int:
    """Return the smallest n whose rank is at most n: enough for a finite threshold.

    Examples
    --------
    >>> from distfreeuq._numerics.quantiles import smallest_sample
    >>> smallest_sample(0.1), smallest_sample(0.05), smallest_sample(0.999)
    (9, 19, 1)
    """
    n = max(1, math.ceil(1.0 / (alpha + SLACK)) - 3)
    while conformal_rank(n, alpha) > n:
        n += 1
    return n


def in_order(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the values in ascending order, and where each stood."""
    out, order = np.empty(values.size), np.empty(values.size, dtype=np.int64)
    _quantile._sort_scores(values, out, order)
    return out, order


def in_order_with_labels(
    values: FloatArray, labels: LabelArray
) -> tuple[FloatArray, LabelArray]:
    """Return the values in ascending order, and their labels; equal ones as they stood.

    It is `in_order` without the places, for very many values: their labels take the
    bytes that they have, and the room is what comes in and what goes out.
    """
    n = values.size
    values, labels = np.ascontiguousarray(values), np.ascontiguousarray(labels)
    n_cells = min(max(n // _VALUES_OF_CELL, 1), _MOST_CELLS)
    out, sorted_labels = np.empty(n), np.empty_like(labels)
    _quantile._sort_labelled(
        values,
        labels.view(np.uint8),
        np.empty(2 * n_cells, dtype=np.int64),
        out,
        sorted_labels.view(np.uint8),
        threads_for(n),
    )
    return out, sorted_labels


def smallest_order_statistic(values: FloatArray, rank: int) -> float:
    """Return the rank-th smallest value, +inf beyond the last."""
    if rank > values.size:
        return math.inf
    return float(np.partition(values, rank - 1)[rank - 1])


def order_statistics_by_label(
    values: FloatArray, labels: IntArray, ranks: IntArray
) -> FloatArray:
    """Return the ranks[k]-th smallest of label k's values, +inf beyond their last.

    Of values that ascend they are counted off, without any room.
    """
    values, labels = np.ascontiguousarray(values), np.ascontiguousarray(labels)
    if _quantile._is_ascending(values):
        out, scratch = np.full(ranks.size, np.inf), np.empty_like(ranks)
        _quantile._ascending_ranks(values, labels, ranks, scratch, out)
        return out
    out = np.empty(ranks.size)
    _quantile._select_by_label(values, labels, ranks, out)
    return out


def quantiles_with_atoms(
    values: FloatArray, weights: FloatArray, levels: FloatArray, atoms: FloatArray
) -> FloatArray:
    """Return one quantile per level and atom, all by one selection.

    The weights and atoms are divided by the largest weight, so their scale is gone, and
    equal ones become exactly 1; one quantile does not depend on the others' atoms.
    Values of weight zero count for nothing.
    """
    largest = float(weights.max(initial=0.0))
    out = np.full(levels.shape, np.inf)
    if largest == 0.0:
        return out
    values, weights = np.ascontiguousarray(values), np.ascontiguousarray(weights)
    mass = _quantile._scaled_mass(weights, largest)
    reached, needed = needed_masses(levels, atoms, mass, largest)
    found = np.empty(reached.size)
    _quantile._select_quantiles(values, weights, largest, mass, needed, found)
    out[reached] = found
    return out


def quantiles_by_label(
    values: FloatArray, labels: IntArray, label_weights: FloatArray, level: float
) -> FloatArray:
    """Return a quantile for each label, whose weight its values and its atom have.

    It is `quantiles_with_atoms`; of values that ascend without a weight for each.
    """
    levels = np.full(label_weights.shape, level)
    values, labels = np.ascontiguousarray(values), np.ascontiguousarray(labels)
    if not _quantile._is_ascending(values):
        weights = label_weights[labels]
        return quantiles_with_atoms(values, weights, levels, label_weights)
    counts = np.bincount(labels, minlength=label_weights.size)
    largest = float(label_weights[counts > 0].max(initial=0.0))
    out = np.full(levels.shape, np.inf)
    if largest == 0.0:
        return out
    masses = np.where(counts > 0, label_weights, 0.0) / largest
    mass = _quantile._mass_of_counts(counts, masses)
    reached, needed = needed_masses(levels, label_weights, mass, largest)
    found = np.empty(reached.size)
    _quantile._ascending_quantiles(values, labels, masses, mass, needed, counts, found)
    out[reached] = found
    return out


def needed_masses(
    levels: FloatArray, atoms: FloatArray, mass: float, largest: float
) -> tuple[IntArray, FloatArray]:
    """Return which quantiles are finite, and what mass they need, in ascending order.

    `mass` is that of all values, over the largest weight.
    """
    # an atom beyond all proportion needs more mass than there is
    with np.errstate(over="ignore", invalid="ignore"):
        total = mass + np.divide(atoms, largest)
        needed = levels * total - SLACK * total
    reached = np.flatnonzero(mass >= needed)
    reached = reached[np.argsort(needed[reached])]
    return reached, needed[reached]


def weighted_quantile(
    values: ArrayLike, weights: ArrayLike, level: Any, *, atom: Any = 0.0
) -> Any:
    """Weighted quantile inf{z : F(z) >= level} with extra mass at +inf.

    Parameters
    ----------
    values : array_like (n,)
        Real numbers; +inf and -inf are allowed.
    weights : array_like (n,)
        Non-negative. Only their ratios, and their ratio to the atom, matter.
    level : float or array_like (J,)
        In (0, 1].
    atom : float or array_like (J,), default 0
        Mass at +inf: the test point's own weight in conformal prediction.

    Returns
    -------
    float or ndarray (J,)
        A number of `values`, or +inf where the values' mass falls short of the level.

    Notes
    -----
    Mass counts as enough from ``level * total - 1e-12 * total`` on, with the total
    including the atom. Equal values pool their mass; values of weight zero are never
    returned; total mass zero gives +inf.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> dfu.weighted_quantile([1, 2, 3, 4], [1, 1, 1, 1], 0.5)
    2.0
    >>> dfu.weighted_quantile([1, 2, 3, 4], [1, 1, 1, 1], 0.9, atom=1)
    inf
    >>> dfu.weighted_quantile([1, 2, 3], [1, 1, 2], [0.25, 0.5, 0.75]).tolist()
    [1.0, 2.0, 3.0]
    """
    args = Arguments("weighted_quantile")
    value_array = args.vector(values, "values", "numbers without NaN, shape (n,)")
    must = "non-negative finite numbers, one per value"
    weight_array = args.vector(
        weights, "weights", must, length=value_array.size, low=0.0, high=LARGEST
    )
    must = "a number in (0, 1], or several"
    levels = args.numbers(level, "level", must, low=SMALLEST, high=1.0)
    must = "a non-negative finite number, or several"
    atoms = args.numbers(atom, "atom", must, low=0.0, high=LARGEST)
    try:
        levels, atoms = np.broadcast_arrays(levels, atoms)
    except ValueError:
        args.invalid("atom", f"one number, or {levels.size} as levels", f"{atoms.size}")
    out = quantiles_with_atoms(
        value_array, weight_array, np.ascontiguousarray(levels), atoms
    )
    return float(out[0]) if is_single(level) and is_single(atom) else out
