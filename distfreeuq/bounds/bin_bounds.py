"""How far label frequencies in bins are from the truth.

Theorem 3 of Podkopaev and Ramdas (2021), and sharper bounds of the same kind.

All bounds hold for every bin at once with probability at least 1 - alpha, given how
many rows fall into each bin, if the rows of a bin are independent draws from it.
"""

import math
from functools import lru_cache

import numpy as np
from scipy import special

from distfreeuq._base.array_types import ArrayLike, FloatArray, IntArray

# Smallest probability of one binomial tail: below it the inverse beta function loses
# its digits.
SMALLEST_LEVEL = 1e-100

# Up to so many subsets of classes are enumerated.
_FEW_SUBSETS = 64
# Up to so many counts are bounded one by one, without looking for equal ones.
_FEW_COUNTS = 128
# In bins of up to so many rows the excess of every count is tabulated.
_FEW_ROWS = 512
# In bins of more rows than so many, the counts that subsets have take too long to list.
_MANY_ROWS = 2**24
# The search for the largest excess stops this close to it, relatively.
_RELATIVE_GAP = 2e-3


def log_subsets(n_classes: int) -> float:
    """Return ln(2^K - 2): that many subsets can tell two distributions apart."""
    return n_classes * math.log(2.0) + math.log1p(-(2.0 ** (1 - n_classes)))


def subset_level(n_bins: int, n_classes: int, alpha: float) -> float:
    """Return alpha / (M (2^K - 2)): the level of one bin and one subset of classes."""
    return math.exp(-log_quotient(n_bins, alpha) - log_subsets(n_classes))


def log_quotient(whole: float, part: float) -> float:
    """Return ln(whole / part), also where the quotient exceeds the largest double."""
    if part == 0.0:  # a level that was divided until nothing was left
        return math.inf
    quotient = whole / part
    if math.isfinite(quotient):
        return math.log(quotient)
    return math.log(whole) - math.log(part)


def binning_hoeffding(
    n: ArrayLike, n_bins: int, n_classes: int, alpha: float
) -> FloatArray:
    r"""L1 radius of Theorem 3 as printed: sqrt(2 ln(M 2^K / alpha) / N).

    Parameters
    ----------
    n : int or array_like
        Rows in each bin.
    n_bins : int
        Number M of bins that share alpha.
    n_classes : int
        Number K of classes.
    alpha : float
        Probability that some bin's error exceeds its radius.

    Returns
    -------
    ndarray
        One radius per entry of `n`; +inf for an empty bin, and not capped at the
        trivial 2.

    References
    ----------
    .. [1] Podkopaev and Ramdas (2021), UAI. Theorem 3.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> round(float(bounds.binning_hoeffding(100, 10, 2, 0.1)), 4)
    0.3462
    """
    exponent = log_quotient(n_bins, alpha) + n_classes * math.log(2.0)
    return _over_root(math.sqrt(2.0 * exponent), n)


def binning_weissman(
    n: ArrayLike, n_bins: int, n_classes: int, alpha: float
) -> FloatArray:
    r"""L1 radius with 2^K - 2 in place of 2^K: sqrt(2 ln(M (2^K - 2) / alpha) / N).

    The L1 distance is twice the largest excess of frequency over probability among the
    subsets of classes; the empty set and the whole have none.

    Parameters
    ----------
    n, n_bins, n_classes, alpha
        As in `binning_hoeffding`.

    References
    ----------
    Weissman, Ordentlich, Seroussi, Verdu and Weinberger (2003), "Inequalities for the
    L1 deviation of the empirical distribution".

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> bounds.binning_weissman([0, 100, 400], 10, 2, 0.1).round(4)
    array([   inf, 0.3255, 0.1628])
    """
    exponent = log_quotient(n_bins, alpha) + log_subsets(n_classes)
    return _over_root(math.sqrt(2.0 * exponent), n)


def binning_mcdiarmid(
    n: ArrayLike, n_bins: int, n_classes: int, alpha: float
) -> FloatArray:
    r"""L1 radius for many classes: sqrt((K - 1) / N) + sqrt(2 ln(M / alpha) / N).

    The first term bounds the mean of the L1 distance, the second its excess over the
    mean by bounded differences. Smaller than the others from some 200 classes on.

    Parameters
    ----------
    n, n_bins, n_classes, alpha
        As in `binning_hoeffding`.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> settings = (5000, 10, 1000, 0.1)
    >>> round(float(bounds.binning_mcdiarmid(*settings)), 4)
    0.4899
    >>> round(float(bounds.binning_weissman(*settings)), 4)
    0.5283
    """
    width = math.sqrt(n_classes - 1) + math.sqrt(2.0 * log_quotient(n_bins, alpha))
    return _over_root(width, n)


def binning_smallest(
    n: ArrayLike, n_bins: int, n_classes: int, alpha: float
) -> FloatArray:
    """Smallest of the three radii above and of the trivial 2.

    Which one it is depends on the numbers of bins, classes and alpha alone, so that the
    choice costs nothing.

    Parameters
    ----------
    n, n_bins, n_classes, alpha
        As in `binning_hoeffding`.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> bounds.binning_smallest([0, 1, 100], 10, 2, 0.1).round(4)
    array([2.    , 2.    , 0.3255])
    """
    settings = (n_bins, n_classes, alpha)
    smaller = np.minimum(
        binning_weissman(n, *settings), binning_mcdiarmid(n, *settings)
    )
    return np.minimum(smaller, 2.0)


def subset_clopper_pearson(counts: ArrayLike, n_bins: int, alpha: float) -> FloatArray:
    r"""L1 radius of each bin by an exact binomial bound for every subset of classes.

    Twice the largest excess of a subset's frequency over the lower Clopper-Pearson
    bound of its probability, one-sided at alpha / (M (2^K - 2)). Never larger than
    `binning_weissman`, and much smaller in bins where one class prevails.

    Parameters
    ----------
    counts : array_like (M, K)
        Rows by bin and label.
    n_bins : int
        Number of bins that share alpha; more than M if there are others.
    alpha : float
        Probability that some bin's error exceeds its radius.

    Returns
    -------
    ndarray (M,)
        +inf for an empty bin.

    Notes
    -----
    A subset's excess depends on its count alone, so that the maximum runs over the
    counts that subsets can have (subset sums) and not over 2^K subsets. In bins of
    many rows it is rounded up by at most 0.2 %. With so many classes that a level lies
    below 1e-100, or of more than six classes and 2^24 rows, the radius is that of
    `binning_weissman`.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> counts = [[95, 3, 2], [40, 35, 25]]
    >>> bounds.subset_clopper_pearson(counts, 2, 0.1).round(3)
    array([0.157, 0.249])
    >>> bounds.binning_weissman([100, 100], 2, 3, 0.1).round(3)
    array([0.309, 0.309])
    """
    table = np.asarray(counts, dtype=np.int64)
    n_classes = table.shape[1]
    totals = table.sum(axis=1)
    weissman = binning_weissman(totals, n_bins, n_classes, alpha)
    level = subset_level(n_bins, n_classes, alpha)
    if level < SMALLEST_LEVEL:
        return weissman
    if 2**n_classes - 2 <= _FEW_SUBSETS:
        excess = _excess(_all_subset_sums(table), totals[:, None], level).max(axis=1)
    else:
        pairs = zip(table, totals, strict=True)
        excess = np.array([_largest_excess(row, int(n), level) for row, n in pairs])
    # without rounding up the first would never be the larger
    return np.where(totals > 0, np.minimum(2.0 * excess, weissman), np.inf)


def clopper_pearson_lower(k: ArrayLike, n: ArrayLike, delta: float) -> FloatArray:
    """One-sided lower Clopper-Pearson bounds of binomial probabilities.

    Each exceeds its probability with probability at most delta.

    Parameters
    ----------
    k, n : int or array_like
        Hits and trials.
    delta : float

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> bounds.clopper_pearson_lower([0, 3, 10], 10, 0.05).round(4)
    array([0.    , 0.0873, 0.7411])
    """
    hits, trials = np.broadcast_arrays(
        np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64)
    )
    if hits.size <= _FEW_COUNTS:
        return _lower_of_each(hits, trials, delta)
    # bins of equal mass have few different counts of many classes
    pairs, place = np.unique(hits + 1j * trials, return_inverse=True)
    return _lower_of_each(pairs.real, pairs.imag, delta)[place].reshape(hits.shape)


def _lower_of_each(hits: FloatArray, trials: FloatArray, delta: float) -> FloatArray:
    some = np.maximum(hits, 1.0)
    low = special.betaincinv(some, np.maximum(trials - hits, 0.0) + 1.0, delta)
    return np.where(hits > 0, np.nan_to_num(low, nan=0.0), 0.0)


def _excess(sums: IntArray, n: ArrayLike, level: float) -> FloatArray:
    """Return frequency less lower bound for subsets with these counts among n rows."""
    trials = np.maximum(np.asarray(n), 1)
    return np.asarray(sums / trials - clopper_pearson_lower(sums, trials, level))


def _all_subset_sums(table: IntArray) -> IntArray:
    """Return the counts of all subsets but the empty one and the whole (M, 2^K-2)."""
    n_classes = table.shape[1]
    codes = np.arange(1, 2**n_classes - 1)
    members = (codes[:, None] >> np.arange(n_classes)) & 1
    return np.asarray(table @ members.T)


def _largest_excess(row: IntArray, n: int, level: float) -> float:
    """Return the largest excess of a bin's subsets that lack some class.

    Bit c of an integer says whether c is the count of some subset: adding a class
    shifts the integer by its count. With many classes the count of the largest excess
    of all is mostly among them, and is known from another bin of as many rows.
    """
    if n == 0:
        return 0.0
    if n > _MANY_ROWS:
        return math.inf
    bits = 1
    for count in row[row > 0].tolist():
        bits |= bits << count
    if not (row == 0).any():  # all n rows belong to the whole alone
        bits ^= 1 << n
    if n > _FEW_ROWS:
        peak, excess = _peak_of_counts(n, level)
        if bits >> peak & 1:
            return excess
    bytes_ = np.frombuffer(bits.to_bytes(n // 8 + 1, "little"), dtype=np.uint8)
    sums = np.flatnonzero(np.unpackbits(bytes_, bitorder="little"))
    if n <= _FEW_ROWS:
        return float(_excess_of_counts(n, level)[sums].max(initial=0.0))
    return _search_excess(sums, n, level)[1]


@lru_cache(maxsize=1024)
def _excess_of_counts(n: int, level: float) -> FloatArray:
    """Return the excess of every count 0 .. n, shape (n + 1,)."""
    return _excess(np.arange(n + 1), n, level)


@lru_cache(maxsize=1024)
def _peak_of_counts(n: int, level: float) -> tuple[int, float]:
    """Return the count 0 .. n of the largest excess, and that excess, rounded up."""
    return _search_excess(np.arange(n + 1), n, level)


def _search_excess(sums: IntArray, n: int, level: float) -> tuple[int, float]:
    """Return which count has the largest excess, and that excess, rounded up.

    The lower bound increases in the count: from count a up to count b no excess is
    above b/n - lower(a). Stretches that cannot hold the maximum are dropped; others
    are halved.
    """
    ends = np.unique(np.linspace(0, sums.size - 1, 33).astype(np.int64))
    excess = _excess(sums[ends], n, level)
    best = int(np.argmax(excess))
    peak, largest = int(sums[ends[best]]), float(excess[best])
    ceiling = largest
    first, last, at_first = ends[:-1], ends[1:], excess[:-1]
    while True:
        bound = at_first + (sums[last] - sums[first]) / n
        wide = last - first > 1
        settled = bound <= largest * (1.0 + _RELATIVE_GAP)
        ceiling = max(ceiling, largest, float(bound[wide & settled].max(initial=0.0)))
        halved = wide & ~settled
        if not halved.any():
            return peak, ceiling
        first, last, at_first = first[halved], last[halved], at_first[halved]
        middle = (first + last) // 2
        at_middle = _excess(sums[middle], n, level)
        best = int(np.argmax(at_middle))
        if at_middle[best] > largest:
            peak, largest = int(sums[middle[best]]), float(at_middle[best])
        first, last = np.append(first, middle), np.append(middle, last)
        at_first = np.append(at_first, at_middle)


def _over_root(width: float, n: ArrayLike) -> FloatArray:
    rows = np.asarray(n, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(width / np.sqrt(rows))
