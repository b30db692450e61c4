"""Have class proportions changed? Exact tests that predictions have the same law.

Under label shift, equal class proportions make the law of X the same in both samples,
so that the classifier's outputs of all rows together are exchangeable: which of them
are the source's is a random choice. P-values come from all such choices where they are
few, else from some that are drawn, and hold at every sample size; rare classes make
chi-squared limits useless (level 0.3 at a nominal 0.05 with 101 classes, 20 and 20000
rows).

Draws have a seed that is made of the outputs. One seed for all fits would give all of
them the same draws, whose error never averages out: a search for counterexamples found
0.25 of p-values below 0.2.

Only the classifier's own outputs are compared. A calibration fitted on the source would
make the samples distinguishable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.persistence import register
from distfreeuq._base.random_streams import generator_of
from distfreeuq._base.stored_state import State, count, proportion, real, text
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.gram_sums import gram
from distfreeuq._numerics.matrices.spd import factor_if_regular
from distfreeuq._numerics.passes.class_rows import AnyRows, ClassRows
from distfreeuq._numerics.row_sums import column_sums
from distfreeuq.label_shift.class_matrix import MANY_CLASSES

# Draws of the tests that fits print.
N_DRAWS = 199

# At most so many tables of counts are listed; of more, some are drawn.
_TABLES = 10_000

# Decimals of sums of probabilities that a seed is made of: sums in another order, or
# another machine's exponentials, give the same seed.
_DECIMALS = 6

# A direction whose variance is below this, relative to the predictions' mean square, is
# one in which they do not vary.
_RANK = 1e-13

# Statistics that differ by less, relatively, count as equal: against the shift.
_TIED = 1e-9

# The smaller sample is cut into at least so many blocks of rows that move together, and
# at most so many times as many of the larger one's take part.
_BLOCKS = 500
_PARTNERS = 8

_EXACT = "exact given the margins, predicted classes"
_BY_DRAWS = "Monte Carlo given the margins, predicted classes"

# So many choices of the source are one product of matrices.
_AT_A_TIME = 64


@register("shift-test")
@dataclass(frozen=True, slots=True)
class ShiftTest:
    """A test of equal class proportions, given that the shift is a label shift.

    Attributes
    ----------
    statistic : float
        Two-sample chi-squared statistic of the predictions.
    df : int
        In how many directions they vary: if many rows are of every class, the statistic
        of equal proportions is nearly chi-squared with so many degrees of freedom. 0 if
        they never vary.
    p_value : float
        The probability of as large a statistic or, by draws, (1 + draws with as large
        a one) / (n_draws + 1). If it is small, outputs have changed: by the class
        proportions, or by something else.
    method : str
    n_draws : int
        Drawn choices of the source rows; 0 where p is from all of them, or (in old
        files) from the limiting law.

    Notes
    -----
    If source and target rows come from one law, P(p_value <= a) <= a for every a and
    all sample sizes, over the rows and the draws. Drift that leaves the law of the
    (mean) predictions as it is has no power, and is not seen.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs, labels = [[0.8, 0.2], [0.3, 0.7]] * 30, [0, 1] * 30
    >>> test = dfu.bbse(probs, labels, probs[::2]).test()
    >>> test.df, test.n_draws, test.p_value < 1e-5
    (1, 0, True)
    """

    statistic: float
    df: int
    p_value: float
    method: str
    n_draws: int

    _state: ClassVar[State] = {
        "statistic": real(nan=True, finite=False),
        "df": count(),
        "p_value": proportion(),
        "method": text(),
        "n_draws": count(),
    }

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        """Return today's fields from those in files of format 1."""
        return {**fields, "n_draws": 0}

    @property
    def floor(self) -> float:
        """The smallest p-value that the draws allow."""
        return 1.0 / (self.n_draws + 1.0) if self.n_draws else 0.0


def compare_counts(
    source: FloatArray,
    target: FloatArray,
    generator: np.random.Generator | None = None,
    n_draws: int = N_DRAWS,
) -> ShiftTest:
    """Test of equal frequencies of the predicted classes, given those of all rows.

    The source's counts are then multivariate hypergeometric. If they can be listed, p
    is a sum of probabilities; otherwise it comes from draws.

    Parameters
    ----------
    source, target : ndarray (K,)
        Counts of the predicted classes.
    generator : numpy.random.Generator, optional
        By default one whose seed is made of the counts.
    n_draws : int

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.label_shift.inference.shift_test import compare_counts
    >>> test = compare_counts(np.array([30, 50, 20]), np.array([45, 30, 25]))
    >>> round(test.statistic, 4), test.df, test.p_value < 0.05
    (8.5556, 2, True)
    """
    seen = (source + target) > 0
    counts = source[seen].astype(np.int64)
    total = counts + target[seen].astype(np.int64)
    n, rows = int(counts.sum()), int(total.sum())
    if total.size < 2:
        return ShiftTest(0.0, 0, 1.0, _EXACT, 0)
    expected = total * (n / rows)
    factor = rows / (rows - n)

    def statistic(drawn: FloatArray) -> FloatArray:
        return np.asarray(factor * ((drawn - expected) ** 2 / expected).sum(axis=-1))

    observed, df = float(statistic(counts.astype(np.float64))), total.size - 1
    tables = _all_tables(total, n)
    if tables is not None:
        as_large = statistic(tables) >= observed * (1.0 - _TIED)
        p_value = min(float(_weights(tables, total)[as_large].sum()), 1.0)
        return ShiftTest(observed, df, p_value, _EXACT, 0)
    generator = generator_of(counts, total) if generator is None else generator
    drawn = generator.multivariate_hypergeometric(
        total, n, size=n_draws, method="marginals"
    )
    p_value = _p_value(statistic(drawn.astype(np.float64)), observed)
    return ShiftTest(observed, df, p_value, _BY_DRAWS, n_draws)


def _all_tables(total: IntArray, n: int) -> FloatMatrix | None:
    """Return all counts (tables, K) of n rows out of these, None if they are many."""
    later = np.append(np.cumsum(total[::-1])[::-1][1:], 0)
    tables, left = np.zeros((1, 0), dtype=np.int64), np.array([n])
    for most, elsewhere in zip(total, later, strict=True):
        first = np.maximum(left - elsewhere, 0)
        choices = np.minimum(left, most) - first + 1
        size = int(choices.sum())
        if size > _TABLES:
            return None
        start = np.cumsum(choices) - choices
        own = np.arange(size) - np.repeat(start - first, choices)
        tables = np.column_stack([np.repeat(tables, choices, axis=0), own])
        left = np.repeat(left, choices) - own
    return tables.astype(np.float64)


def _weights(tables: FloatMatrix, total: IntArray) -> FloatArray:
    """Return the hypergeometric probabilities of all tables."""
    log_ways = (gammaln(tables + 1.0) + gammaln(total - tables + 1.0)).sum(axis=1)
    ways = np.exp(log_ways.min() - log_ways)
    return np.asarray(ways / ways.sum())


@on_one_blas_thread
def compare_means(
    source: AnyRows,
    target: AnyRows,
    generator: np.random.Generator | None = None,
    n_draws: int = N_DRAWS,
    *,
    grams: tuple[FloatMatrix | None, FloatMatrix | None] = (None, None),
) -> ShiftTest:
    """Permutation test of equal mean predictions.

    The statistic is Hotelling's with the pooled covariance, which no permutation
    changes. In large samples blocks of rows are permuted, and not all rows of a sample
    that is much the larger take part: a smaller group of permutations, as exact.

    Parameters
    ----------
    source, target : rows in memory or in blocks
        The classifier's own outputs: nothing that depends on which rows are the
        source's.
    generator : numpy.random.Generator, optional
        By default one whose seed is made of the sums of the outputs.
    n_draws : int
    grams : (ndarray (K, K) or None, ndarray (K, K) or None)
        Sums over the rows of f f' of both samples, where they are known.
    """
    n, m, n_classes = source.n, target.n, source.n_classes
    sums = source.parts.total(_sum_columns), target.parts.total(_sum_columns)
    if generator is None:
        generator = generator_of(np.array([n, m]), *np.round(sums, _DECIMALS))
    mean = (sums[0] + sums[1]) / (n + m)
    # predictions sum to one: the last class adds nothing
    if n_classes > max(MANY_CLASSES, n + m):
        few = source.every(1).rows.probs, target.every(1).rows.probs
        squares, df = _squared_lengths_by_rows(*few, mean)
    else:
        of_source = source.parts.total(_gram) if grams[0] is None else grams[0]
        of_target = target.parts.total(_gram) if grams[1] is None else grams[1]
        covariance = (of_source + of_target) / (n + m) - np.outer(mean, mean)
        floor = _RANK * float(np.trace(of_source) + np.trace(of_target)) / (n + m)
        squares, df = _squared_lengths(covariance[:-1, :-1], floor)
    method = "permutation, mean predictions"
    if df == 0:
        return ShiftTest(0.0, 0, 1.0, method, n_draws)
    smaller, larger = (source, target) if n <= m else (target, source)
    blocks, n_moving, resting = _moving_blocks(smaller, larger, mean, generator)
    # of the smaller sample's sum of centred rows
    factor = (n + m) / (n * m)
    first = np.zeros((1, blocks.shape[0]))
    first[0, :n_moving] = 1.0
    observed = float(factor * squares((first @ blocks + resting)[:, :-1].T)[0])
    drawn = np.empty(n_draws)
    for start in range(0, n_draws, _AT_A_TIME):
        size = min(_AT_A_TIME, n_draws - start)
        member = generator.permuted(np.repeat(first, size, axis=0), axis=1)
        gaps = (member @ blocks + resting)[:, :-1].T
        drawn[start : start + size] = factor * squares(gaps)
    return ShiftTest(observed, df, _p_value(drawn, observed), method, n_draws)


def _sum_columns(rows: ClassRows) -> FloatArray:
    return column_sums(rows.probs, None)


def _gram(rows: ClassRows) -> FloatMatrix:
    return gram(rows.probs)


def _moving_blocks(
    smaller: AnyRows,
    larger: AnyRows,
    mean: FloatArray,
    generator: np.random.Generator,
) -> tuple[FloatMatrix, int, FloatArray]:
    """Return sums (G, K) of centred blocks of rows that are permuted.

    Those of the smaller sample come first; then their number, and the sum of its rows
    that stay where they are.
    """
    rows = smaller.n
    size = max(1, rows // _BLOCKS)
    n_smaller, n_larger = rows // size, larger.n // size
    limit = _PARTNERS * n_smaller
    kept = np.arange(n_larger)
    if n_larger > limit:
        kept = np.sort(generator.choice(n_larger, limit, replace=False))
    everyone = np.arange(n_smaller)
    out = np.vstack(
        [_block_sums(smaller, size, everyone), _block_sums(larger, size, kept)]
    )
    out -= size * mean
    rest = smaller.parts.total(_SumFrom(n_smaller * size))
    return out, n_smaller, rest - (rows - n_smaller * size) * mean


def _block_sums(rows: AnyRows, size: int, blocks: IntArray) -> FloatMatrix:
    """Return the sums of some blocks (ascending numbers) of so many rows."""
    found = rows.parts.total(_SumBlocks(size, blocks), _join)
    if len(found) == 1:
        return found[0].sums
    out = np.zeros((blocks.size, rows.n_classes))
    for piece in sorted(found, key=lambda piece: piece.start):
        out[piece.first : piece.first + len(piece.sums)] += piece.sums
    return out


@dataclass(frozen=True, slots=True)
class _Piece:
    """What rows from `start` on add to the sums from the `first` wanted one on."""

    start: int
    first: int
    sums: FloatMatrix


@dataclass(frozen=True, slots=True)
class _SumBlocks:
    """Sums some rows by block, without a copy of them."""

    size: int
    blocks: IntArray

    def __call__(self, rows: ClassRows) -> list[_Piece]:
        n, size = len(rows.probs), self.size
        ends = rows.start // size, -(-(rows.start + n) // size)
        first, last = np.searchsorted(self.blocks, ends)
        begin = size * self.blocks[first:last] - rows.start
        out = np.zeros((begin.size, rows.probs.shape[1]))
        if size > begin.size:
            for own, at in zip(out, begin.tolist(), strict=True):
                block = rows.probs[max(at, 0) : at + size]
                own += block.sum(axis=0, dtype=np.float64)
            return [_Piece(rows.start, int(first), out)]
        for i in range(size):
            here = slice(*np.searchsorted(begin, (-i, n - i)))
            out[here] += rows.probs[begin[here] + i]
        return [_Piece(rows.start, int(first), out)]


def _join(found: Sequence[list[_Piece]]) -> list[_Piece]:
    return list(chain.from_iterable(found))


@dataclass(frozen=True, slots=True)
class _SumFrom:
    """Sums the rows from one on."""

    first: int

    def __call__(self, rows: ClassRows) -> FloatArray:
        own = rows.probs[max(self.first - rows.start, 0) :]
        return np.asarray(own.sum(axis=0, dtype=np.float64))


def _squared_lengths(
    covariance: FloatMatrix, floor: float
) -> tuple[Callable[[FloatMatrix], FloatArray], int]:
    """Return columns' squared lengths in the inverse covariance, and its rank."""
    regular = factor_if_regular(covariance, floor) if covariance.size else None
    if regular is not None:
        solve = regular.solve
        return lambda x: np.asarray((x * solve(x)).sum(axis=0)), covariance.shape[0]
    values, vectors = np.linalg.eigh(covariance)
    kept = values > floor
    white = (vectors[:, kept] / np.sqrt(values[kept])).T
    return lambda x: np.asarray(((white @ x) ** 2).sum(axis=0)), int(kept.sum())


def _squared_lengths_by_rows(
    probs: FloatMatrix, probs_target: FloatMatrix, mean: FloatArray
) -> tuple[Callable[[FloatMatrix], FloatArray], int]:
    """Return the same where there are more classes than rows.

    With Z the centred rows, Z'Z and Z Z' have the same eigenvalues but for zeros, and
    an eigenvector u of the smaller one makes Z'u of the larger.
    """
    rows = np.concatenate([probs, probs_target], dtype=np.float64)
    floor = _RANK * float((rows**2).sum()) / len(rows)
    rows -= mean
    rows = rows[:, :-1] / np.sqrt(len(rows))
    values, vectors = np.linalg.eigh(rows @ rows.T)
    kept = values > floor
    white = (vectors[:, kept] / values[kept]).T @ rows
    return lambda x: np.asarray(((white @ x) ** 2).sum(axis=0)), int(kept.sum())


def _p_value(drawn: FloatArray, observed: float) -> float:
    """Return (1 + draws as large) / (draws + 1); ties are as large."""
    above = int((drawn >= observed * (1.0 - _TIED)).sum())
    return (1.0 + above) / (drawn.size + 1.0)
