"""Confidence regions of the class weights: boxes, and the exact polytope of BBSE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.intent.class_vectors import by_number
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, flag, floats, masses, maybe, proportion

# Rounds in which limits of the weights tighten one another.
_ROUNDS = 8

# Bounds of frequencies and their products, beyond which sums are no numbers.
_LARGEST_BOUND = 1e100

# Membership leans towards the inside by this much, relatively.
_SLACK = 1e-12


@register("box")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Box:
    """A confidence region of the weights, one interval per class.

    Parameters
    ----------
    low, high : array_like (K,)
        Ends of the intervals; `high` may be +inf. A `low` above its `high` makes the
        region empty.
    finite_sample : bool
        True if the region's level holds at every sample size, False if in the limit.
    delta : float, optional
        The region misses the true weights with probability at most this; None if it is
        not known. `LabelShiftResult.region` fills it in.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> box = dfu.Box([0.5, 0.0], [2.0, 1.0], True)
    >>> box.support([1.0, -1.0]), box.contains([1.0, 0.5]), box.is_empty
    (2.0, True, False)
    """

    low: FloatArray
    high: FloatArray
    finite_sample: bool
    delta: float | None = None

    _state: ClassVar[State] = {
        "low": floats("K", nan=False),
        "high": floats("K", nan=False),
        "finite_sample": flag(),
        "delta": maybe(proportion()),
    }

    def __post_init__(self) -> None:
        """Check the ends and make them read-only."""
        args = Arguments("Box")
        must = "numbers, one per class"
        low, high = by_number(args, self.low, "low"), by_number(args, self.high, "high")
        low = args.vector(low, "low", must)
        high = args.vector(high, "high", must, length=low.size)
        _store(
            self,
            low=low,
            high=high,
            finite_sample=args.flag(self.finite_sample, "finite_sample"),
            delta=_level(args, self.delta),
        )

    @classmethod
    def _unchecked(
        cls,
        low: FloatArray,
        high: FloatArray,
        finite_sample: bool,
        delta: float | None = None,
    ) -> Box:
        """Return a box of arrays that are known to be valid."""
        box = object.__new__(cls)
        _store(box, low=low, high=high, finite_sample=finite_sample, delta=delta)
        return box

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        """Return today's fields from those in files of format 1: no level is known."""
        return {**fields, "delta": None}

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Box K={self.n_classes} {_kind(self)}>"

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return int(self.low.size)

    @property
    def is_empty(self) -> bool:
        """True if no weights lie in the region."""
        return bool((self.low > self.high).any())

    def contains(self, w: ArrayLike) -> bool:
        """Return whether the weights lie in the region.

        Parameters
        ----------
        w : array_like (K,)
        """
        point = _point(w, "Box.contains", "w", self.n_classes)
        slack = _SLACK * np.where(np.isinf(point), 0.0, np.abs(point))
        return bool(((self.low <= point + slack) & (point - slack <= self.high)).all())

    def support(self, direction: ArrayLike) -> float:
        """Return the largest value of ``direction @ w`` over the region.

        Parameters
        ----------
        direction : array_like (K,)

        Returns
        -------
        float
            +inf if unbounded, -inf if the region is empty.
        """
        return self._support(_direction(direction, "Box.support", self.n_classes))

    def _support(self, d: FloatArray) -> float:
        if self.is_empty:
            return -np.inf
        corner = np.where(d > 0, self.high, self.low)
        # a class of direction 0 adds nothing, even if its end is infinite
        with np.errstate(over="ignore", invalid="ignore"):
            reach = float(d[d != 0] @ corner[d != 0])
        return np.inf if np.isnan(reach) else reach  # inf - inf limits nothing

    def ranges(self) -> Box:
        """Return the interval of each coordinate: the box itself."""
        return self


@register("polytope")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Polytope:
    """The weights w >= 0 with ``lower @ w <= mu_high`` and ``upper @ w >= mu_low``.

    These are exactly the non-negative solutions of C w = mu for some confusion matrix C
    between `lower` and `upper` and some frequencies mu of the target's predictions
    between `mu_low` and `mu_high` (Oettli and Prager). No matrix is inverted, so the
    region is as good for a singular C.

    Parameters
    ----------
    lower, upper : array_like (R, K)
        Bounds of the confusion matrix, rows by predicted class; non-negative.
    mu_low, mu_high : array_like (R,)
        Bounds of the frequencies of the predictions in the target.
    finite_sample : bool
        True if the region's level holds at every sample size, False if in the limit.
    delta : float, optional
        The region misses the true weights with probability at most this; None if it is
        not known. `LabelShiftResult.region` fills it in.

    References
    ----------
    .. [1] Oettli and Prager (1964), "Compatibility of approximate solution of linear
       equations with given error bounds for coefficients and right-hand sides",
       Numerische Mathematik 6.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> region = dfu.Polytope(
    ...     [[0.35, 0.05], [0.05, 0.35]],
    ...     [[0.45, 0.15], [0.15, 0.45]],
    ...     [0.6, 0.2],
    ...     [0.7, 0.4],
    ...     True,
    ... )
    >>> region.contains([1.4, 0.6]), region.contains([1.0, 1.0])
    (True, True)
    >>> region.support([1.0, 0.0]) > 1.4
    True
    """

    lower: FloatMatrix
    upper: FloatMatrix
    mu_low: FloatArray
    mu_high: FloatArray
    finite_sample: bool
    delta: float | None = None

    _state: ClassVar[State] = {
        "lower": masses("R", "K"),
        "upper": masses("R", "K"),
        "mu_low": floats("R", nan=False),
        "mu_high": floats("R", nan=False),
        "finite_sample": flag(),
        "delta": maybe(proportion()),
    }

    def __post_init__(self) -> None:
        """Check the bounds and make them read-only."""
        args = Arguments("Polytope")
        lower = _bounds_matrix(args, self.lower, "lower")
        upper = _bounds_matrix(args, self.upper, "upper")
        if upper.shape != lower.shape:
            must = f"of the shape {lower.shape} of lower"
            args.invalid("upper", must, f"shape {upper.shape}")
        must, n_rows = "finite numbers, one per row of lower", lower.shape[0]
        most = _LARGEST_BOUND
        mu_low, mu_high = (
            args.vector(mu, name, must, length=n_rows, low=-most, high=most)
            for mu, name in ((self.mu_low, "mu_low"), (self.mu_high, "mu_high"))
        )
        _store(
            self,
            lower=lower,
            upper=upper,
            mu_low=mu_low,
            mu_high=mu_high,
            finite_sample=args.flag(self.finite_sample, "finite_sample"),
            delta=_level(args, self.delta),
        )

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        """Return today's fields from those in files of format 1: no level is known."""
        return {**fields, "delta": None}

    @classmethod
    def _unchecked(
        cls,
        lower: FloatMatrix,
        upper: FloatMatrix,
        mu_low: FloatArray,
        mu_high: FloatArray,
        finite_sample: bool,
        delta: float | None = None,
    ) -> Polytope:
        """Return a polytope of arrays that are known to be valid."""
        polytope = object.__new__(cls)
        _store(
            polytope,
            lower=lower,
            upper=upper,
            mu_low=mu_low,
            mu_high=mu_high,
            finite_sample=finite_sample,
            delta=delta,
        )
        return polytope

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Polytope K={self.n_classes} {_kind(self)}>"

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return int(self.lower.shape[1])

    @property
    def is_empty(self) -> bool:
        """True if no weights lie in the region: the samples contradict label shift."""
        if self._contains(self._middle()):  # usually so, and faster than an LP
            return False
        return self._support(np.zeros(self.n_classes)) == -np.inf

    def _middle(self) -> FloatArray:
        """Return the solution in the middle of the bounds, cut off at zero."""
        matrix, mu = self.lower + self.upper, self.mu_low + self.mu_high
        if not (np.isfinite(matrix).all() and np.isfinite(mu).all()):
            return np.ones(self.n_classes)
        return np.asarray(np.maximum(np.linalg.lstsq(matrix, mu, rcond=None)[0], 0.0))

    def contains(self, w: ArrayLike) -> bool:
        """Return whether the weights lie in the region; infinite ones never do.

        Parameters
        ----------
        w : array_like (K,)
        """
        return self._contains(_point(w, "Polytope.contains", "w", self.n_classes))

    def _contains(self, point: FloatArray) -> bool:
        if not np.isfinite(point).all() or (point < 0).any():
            return False
        below = self.lower @ point <= self.mu_high * (1 + _SLACK) + _SLACK
        above = self.upper @ point >= self.mu_low * (1 - _SLACK) - _SLACK
        return bool((below & above).all())

    def support(self, direction: ArrayLike) -> float:
        """Return the largest value of ``direction @ w`` over the region.

        Parameters
        ----------
        direction : array_like (K,)

        Returns
        -------
        float
            +inf if unbounded, -inf if the region is empty. Should the solver fail,
            +inf: a support too large errs on the safe side.
        """
        return self._support(_direction(direction, "Polytope.support", self.n_classes))

    def _support(self, d: FloatArray) -> float:
        return _largest(d, *self._inequalities())

    def ranges(self, *, progress: bool = False) -> Box:
        """Return the smallest box around the region, by two linear programs per class.

        Classes whose bounds are the same, such as all that have no rows, take two
        programs together. The box of an empty region is empty too.

        Parameters
        ----------
        progress : bool, default False
            Show a bar: with hundreds of classes this takes minutes.
        """
        from tqdm import tqdm

        progress = Arguments("Polytope.ranges").flag(progress, "progress")
        first, of_class, n_alike = _alike(np.vstack([self.lower, self.upper]))
        matrix, bound = self._inequalities()
        matrix = matrix[:, first]
        rows, *_ = _alike(np.column_stack([matrix, bound]).T)
        units = np.eye(first.size)
        directions = tqdm([*units, *-units], disable=not progress, desc="ranges")
        ends = np.array(
            [_largest(one, matrix[rows], bound[rows]) for one in directions]
        )
        high, low = ends[: first.size], -ends[first.size :]
        # what several classes have together, each of them may have alone, or none of it
        low[(n_alike > 1) & (low < np.inf)] = 0.0
        high, low = high[of_class], low[of_class]
        if np.isneginf(high).any() or np.isposinf(low).any():
            high, low = np.full_like(high, -np.inf), np.full_like(low, np.inf)
        # a failed LP returns +inf, and so a lower end of -inf: weights are at least 0
        return Box._unchecked(
            np.maximum(low, 0.0), high, self.finite_sample, self.delta
        )

    def enclosure(self) -> Box:
        """Return a box around the region without programs: not the smallest one.

        Every inequality limits each weight, given limits of the others; a few rounds of
        this take K^2 operations each.
        """
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            low, high = np.zeros(self.n_classes), np.full(self.n_classes, np.inf)
            for _ in range(_ROUNDS):
                room = self.mu_high - self.lower @ low
                ends = room[:, None] / self.lower + low
                ends[(self.lower <= 0.0) | np.isnan(ends)] = np.inf
                high = np.minimum(high, ends.min(axis=0, initial=np.inf))
                reach = self.upper * high
                reach[self.upper <= 0.0] = 0.0
                others = reach.sum(axis=1)[:, None] - reach
                others[np.isnan(others)] = np.inf
                ends = (self.mu_low[:, None] - others) / self.upper
                ends[(self.upper <= 0.0) | np.isnan(ends)] = -np.inf
                low = np.maximum(low, ends.max(axis=0, initial=0.0))
        return Box._unchecked(low, high, self.finite_sample, self.delta)

    def _inequalities(self) -> tuple[FloatMatrix, FloatArray]:
        """Return A, b of {w >= 0 : A w <= b}, without rows that every w >= 0 satisfies.

        Rows are scaled, so that the solver's tolerances become relative ones.
        """
        binding = self.mu_low > 0
        matrix = np.vstack([self.lower, -self.upper[binding]])
        bound = np.concatenate([self.mu_high, -self.mu_low[binding]])
        scale = np.maximum(np.abs(bound), np.abs(matrix).max(axis=1, initial=0.0))
        scale[scale == 0.0] = 1.0
        return matrix / scale[:, None], bound / scale


def _alike(matrix: FloatMatrix) -> tuple[IntArray, IntArray, IntArray]:
    """Return the first of each set of equal columns, each column's set, and sizes.

    Sets are in the order of their first columns.
    """
    sets: dict[bytes, int] = {}
    columns = np.ascontiguousarray(matrix.T)
    of_column = np.array(
        [sets.setdefault(column.tobytes(), len(sets)) for column in columns],
        dtype=np.int64,
    )
    _, first, sizes = np.unique(of_column, return_index=True, return_counts=True)
    return first.astype(np.int64), of_column, sizes.astype(np.int64)


def _largest(direction: FloatArray, matrix: FloatMatrix, bound: FloatArray) -> float:
    """Return max direction @ w over {w >= 0 : matrix @ w <= bound} by HiGHS."""
    from scipy.optimize import linprog

    scale = float(np.abs(direction).max(initial=0.0)) or 1.0
    for options in ({}, {"presolve": False}):
        solution = linprog(
            -direction / scale, A_ub=matrix, b_ub=bound, method="highs", options=options
        )
        if solution.status == 0:
            return float(-solution.fun * scale)
        if solution.status == 2:
            return -np.inf
        if solution.status == 3:
            return np.inf
        # presolve may only find "infeasible or unbounded": solve again without it
    return np.inf


def _bounds_matrix(args: Arguments, value: Any, parameter: str) -> FloatMatrix:
    matrix = args.features(value, parameter).astype(np.float64, copy=False)
    outside = (matrix < 0) | (matrix > _LARGEST_BOUND)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        got = f"{matrix[row, column]} at row {row}, column {column}"
        must = f"non-negative numbers up to {_LARGEST_BOUND:g}"
        args.invalid(parameter, must, got)
    return matrix


def _direction(value: ArrayLike, caller: str, n_classes: int) -> FloatArray:
    must, most = "finite numbers, one per class", _LARGEST_BOUND
    args = Arguments(caller)
    value = by_number(args, value, "direction")
    return args.vector(value, "direction", must, length=n_classes, low=-most, high=most)


def _point(value: ArrayLike, caller: str, parameter: str, n_classes: int) -> FloatArray:
    args = Arguments(caller)
    value = by_number(args, value, parameter)
    return args.vector(value, parameter, "numbers, one per class", length=n_classes)


def _store(region: Box | Polytope, **fields: Any) -> None:
    """Set fields of a frozen instance; arrays as read-only."""
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            value = read_only(value)
        object.__setattr__(region, name, value)


def _level(args: Arguments, delta: Any) -> float | None:
    return None if delta is None else args.probability(delta, "delta")


def _kind(region: Box | Polytope) -> str:
    kind = "finite-sample" if region.finite_sample else "asymptotic"
    return kind if region.delta is None else f"{kind} delta={region.delta:g}"
