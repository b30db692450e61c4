"""Matrices in blocks: rows and columns that no entry links have nothing in common.

Of thousands of classes, each is confused with a few. Rows and columns that entries
link, one by one, make a block, and singular values, inverses and solutions are those of
the blocks: time grows with the third power of the largest block, not of the matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray

# Matrices of up to so many rows and columns are one block: to look would take longer.
# The largest and smallest singular value of larger blocks are found by iteration.
FEW = 500

# The pseudo-inverse of a singular block of more rows would take minutes, and is taken
# with a ridge of so much of the largest diagonal element.
LARGEST = 3000
_RIDGE = 1e-9

# Relative accuracy of singular values by iteration.
_TOLERANCE = 1e-8

# A whole matrix below it counts as none: its inverse, squared, would exceed the largest
# double.
NO_MASS = 1e-100

# Singular values below this, relative to the largest, are zero.
RANK = 1e-12


@dataclass(frozen=True, slots=True)
class Blocks:
    """Rows and columns of a matrix by block.

    Attributes
    ----------
    shape : (int, int)
    single : (ndarray, ndarray)
        Rows and columns of blocks of one entry each.
    others : tuple of (ndarray, ndarray)
        Rows and columns of each larger block.
    balanced : bool
        Whether all blocks have as many rows as columns, and no row or column is without
        entries: otherwise the matrix is singular whatever its entries are.
    """

    shape: tuple[int, int]
    single: tuple[IntArray, IntArray]
    others: tuple[tuple[IntArray, IntArray], ...]
    balanced: bool

    @classmethod
    def whole(cls, shape: tuple[int, int]) -> Blocks:
        """Return one block of all rows and columns."""
        none = np.empty(0, dtype=np.int64)
        every = np.arange(shape[0]), np.arange(shape[1])
        return cls(shape, (none, none), (every,), shape[0] == shape[1])

    @classmethod
    def of(cls, matrix: Any) -> Blocks:
        """Return the blocks of a matrix, given as an array or as a sparse one."""
        from scipy import sparse
        from scipy.sparse.csgraph import connected_components

        n_rows, n_columns = matrix.shape
        full = isinstance(matrix, np.ndarray) and matrix[0].all() and matrix[:, 0].all()
        if full or max(matrix.shape) <= FEW:
            return cls.whole((n_rows, n_columns))
        rows, columns = matrix.nonzero()
        size = n_rows + n_columns
        links = sparse.coo_array(
            (np.ones(rows.size, dtype=np.int8), (rows, n_rows + columns)), (size, size)
        )
        _, block = connected_components(links, directed=False)
        height = np.bincount(block[:n_rows], minlength=block.max() + 1)
        width = np.bincount(block[n_rows:], minlength=block.max() + 1)
        alone = (height == 1) & (width == 1)
        by_row = np.flatnonzero(alone[block[:n_rows]])
        column_of = np.zeros(block.max() + 1, dtype=np.int64)
        column_of[block[n_rows:]] = np.arange(n_columns)
        by_column = column_of[block[by_row]]
        others = tuple(
            (members[members < n_rows], members[members >= n_rows] - n_rows)
            for members in _members(block, (height > 0) & (width > 0) & ~alone)
        )
        balanced = bool((height == width).all())
        return cls((n_rows, n_columns), (by_row, by_column), others, balanced)

    @property
    def is_whole(self) -> bool:
        """Whether there is one block, of all rows and columns."""
        first = self.others[0] if self.others else self.single
        return (first[0].size, first[1].size) == self.shape and bool(self.others)

    def inverse(self, matrix: Any, rank: float = RANK) -> FloatMatrix:
        """Return the inverse; of singular blocks the pseudo-inverse."""
        if self.is_whole:
            return inverse_matrix(_dense(matrix), rank)
        out = np.zeros(self.shape[::-1])
        rows, columns = self.single
        out[columns, rows] = 1.0 / _entries(matrix, rows, columns)
        for rows, columns in self.others:
            part = _part(matrix, rows, columns)
            out[np.ix_(columns, rows)] = inverse_matrix(part, rank)
        return out

    def solve(self, matrix: Any, right: FloatArray) -> FloatArray:
        """Return x with matrix @ x = right, for a regular matrix."""
        if self.is_whole:
            return np.linalg.solve(_dense(matrix)[None], right[None, :, None])[0, :, 0]
        out = np.zeros(self.shape[1])
        rows, columns = self.single
        out[columns] = right[rows] / _entries(matrix, rows, columns)
        for rows, columns in self.others:
            out[columns] = np.linalg.solve(_part(matrix, rows, columns), right[rows])
        return out

    def around(self, inverse: FloatMatrix, middle: Any) -> FloatMatrix:
        """Return inverse @ middle @ inverse.T, with a middle of the blocks' rows."""
        if self.is_whole:
            return np.asarray(inverse @ _dense(middle) @ inverse.T)
        out = np.zeros((self.shape[1], self.shape[1]))
        rows, columns = self.single
        factor = inverse[columns, rows] ** 2
        out[columns, columns] = factor * _entries(middle, rows, rows)
        for rows, columns in self.others:
            own = inverse[np.ix_(columns, rows)]
            part = own @ _part(middle, rows, rows) @ own.T
            out[np.ix_(columns, columns)] = part
        return out

    def extremes(self, matrix: Any) -> Extremes:
        """Return the largest and the smallest singular value, and vectors of this.

        For balanced blocks: others have a singular value of zero.
        """
        if self.is_whole:
            return _extremes(_dense(matrix))
        found = [
            (rows, columns, _extremes(_part(matrix, rows, columns)))
            for rows, columns in self.others
        ]
        rows, columns = self.single
        if rows.size:
            entries = _entries(matrix, rows, columns)
            values = np.abs(entries)
            weak = [int(values.argmin())]
            ends = Extremes(
                float(values.max()),
                float(values.min()),
                np.sign(entries[weak]),
                np.ones(1),
            )
            found.append((rows[weak], columns[weak], ends))
        weakest = min(found, key=lambda block: block[2].smallest)
        left, right = np.zeros(self.shape[0]), np.zeros(self.shape[1])
        left[weakest[0]], right[weakest[1]] = weakest[2].left, weakest[2].right
        largest = max(block[2].largest for block in found)
        return Extremes(largest, weakest[2].smallest, left, right)

    def coordinates(self, matrix: Any, right: FloatArray) -> Coordinates:
        """Return a vector in the singular value decomposition U S V'."""
        parts: list[_Part] = []
        used = np.zeros(right.size, dtype=bool)
        rows, columns = self.single
        if rows.size:
            used[rows] = True
            entries = _entries(matrix, rows, columns)
            signed = np.sign(entries) * right[rows]
            parts.append((columns, np.abs(entries), signed, None))
        outside = 0.0
        for rows, columns in self.others:
            used[rows] = True
            u, s, vt = np.linalg.svd(_part(matrix, rows, columns), full_matrices=False)
            beta = u.T @ right[rows]
            if rows.size > s.size:
                left = float(np.linalg.norm(right[rows] - u @ beta))
                outside = math.hypot(outside, left)
            parts.append((columns, s, beta, vt))
        if not used.all():
            outside = math.hypot(outside, float(np.linalg.norm(right[~used])))
        return Coordinates(self.shape[1], tuple(parts), outside)


_Part: TypeAlias = tuple[IntArray, FloatArray, FloatArray, FloatMatrix | None]


@dataclass(frozen=True, slots=True)
class Coordinates:
    """A vector b in the singular value decomposition U S V' of a matrix.

    Attributes
    ----------
    n_columns : int
    parts : tuple
        Columns, singular values, those coordinates of U'b, and rows of V' by block;
        None for V' that is one.
    outside : float
        Length of the part of b that no combination of U's columns reaches.
    """

    n_columns: int
    parts: tuple[_Part, ...]
    outside: float

    @property
    def values(self) -> FloatArray:
        """All singular values, those of one block after those of another."""
        return np.concatenate([part[1] for part in self.parts] or [np.zeros(0)])

    @property
    def beta(self) -> FloatArray:
        """U'b in the same order."""
        return np.concatenate([part[2] for part in self.parts] or [np.zeros(0)])

    def back(self, x: FloatArray) -> FloatArray:
        """Return V x, x in the same order."""
        out, start = np.zeros(self.n_columns), 0
        for columns, values, _, vt in self.parts:
            own = x[start : start + values.size]
            out[columns] = own if vt is None else vt.T @ own
            start += values.size
        return out


@dataclass(frozen=True, slots=True)
class Extremes:
    """Singular values: the largest, the smallest, and the vectors of the latter."""

    largest: float
    smallest: float
    left: FloatArray
    right: FloatArray


def inverse_matrix(matrix: FloatMatrix, rank: float = RANK) -> FloatMatrix:
    """Return the inverse; the pseudo-inverse, which costs more, if singular.

    `rank` is the share of the largest singular value below which others are none. Of a
    singular matrix of more than `LARGEST` rows it is the pseudo-inverse with a ridge.
    """
    if np.abs(matrix).max(initial=0.0) < NO_MASS:
        return np.zeros(matrix.shape[::-1])
    if matrix.shape[0] == matrix.shape[1]:
        try:
            inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            pass
        else:
            with np.errstate(over="ignore"):  # beyond the floats: as good as singular
                norms = (np.abs(x).sum(axis=0).max() for x in (matrix, inverse))
                if np.prod([*norms]) < 1.0 / rank:
                    return inverse
    if max(matrix.shape) > LARGEST:
        return _nearly_pseudo_inverse(matrix)
    return np.linalg.pinv(matrix, rcond=rank)


def _nearly_pseudo_inverse(matrix: FloatMatrix) -> FloatMatrix:
    """Return (A'A + e)^-1 A' with a small e: by Cholesky's method, without vectors."""
    from scipy.linalg import cho_factor, cho_solve

    gram = matrix.T @ matrix
    gram[np.diag_indices_from(gram)] += _RIDGE * float(gram.diagonal().max())
    return np.asarray(cho_solve(cho_factor(gram, overwrite_a=True), matrix.T))


def _extremes(part: FloatMatrix) -> Extremes:
    """Return the extremes of one block."""
    if part.shape[0] <= FEW:
        left, values, right = np.linalg.svd(part)
        return Extremes(float(values[0]), float(values[-1]), left[:, -1], right[-1])
    return _extremes_by_iteration(part)


def _extremes_by_iteration(part: FloatMatrix) -> Extremes:
    """Return the same of a large square block, from its factors."""
    from scipy.linalg import lapack
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = part.shape[0]
    start = np.ones(size)

    def largest_eigenvalue(times: Any) -> tuple[float, FloatArray]:
        operator = LinearOperator((size, size), matvec=times, dtype=np.float64)
        values, vectors = eigsh(operator, k=1, v0=start, tol=_TOLERANCE)
        return float(values[0]), vectors[:, 0]

    top = largest_eigenvalue(lambda x: part.T @ (part @ x))[0]
    factors, pivots, failed = lapack.dgetrf(part)
    if failed:  # an exact zero on the diagonal
        return Extremes(top**0.5, 0.0, np.zeros(size), np.zeros(size))

    def back(x: FloatArray) -> FloatArray:
        x = lapack.dgetrs(factors, pivots, x, trans=1)[0]
        return np.asarray(lapack.dgetrs(factors, pivots, x)[0])

    value, right = largest_eigenvalue(back)
    smallest = float(max(value, 0.0) ** -0.5)
    return Extremes(top**0.5, smallest, part @ right / smallest, right)


def _members(block: IntArray, wanted: Any) -> list[IntArray]:
    """Return the members of each wanted block, ascending."""
    order = np.argsort(block, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(block))[:-1])
    return [parts[k] for k in np.flatnonzero(wanted)]


def _dense(matrix: Any) -> FloatMatrix:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)


def _part(matrix: Any, rows: IntArray, columns: IntArray) -> FloatMatrix:
    if hasattr(matrix, "toarray"):
        return np.asarray(matrix[rows][:, columns].toarray())
    return np.asarray(matrix[np.ix_(rows, columns)])


def _entries(matrix: Any, rows: IntArray, columns: IntArray) -> FloatArray:
    entries = _dense(matrix[rows, columns])
    return np.asarray(entries, dtype=np.float64).ravel()
