"""Maximum likelihood of the target's class frequencies, to the optimality conditions.

With f the source posterior, p the source prior and A = f / p, the log-likelihood of a
prior q is mean_i log sum_k q_k A_ik: that of a mixture of known components. Its
gradient is G_k = mean_i A_ik / sum_j q_j A_ij, and q is the maximum on the simplex
exactly if G_k <= 1 for every k, with equality where q_k > 0.

EM, q <- q G, takes thousands of steps where classes overlap. Here a few Newton steps
suffice: the constraint sum q = 1 has multiplier one, so that minimising -loglik + sum q
over q >= 0 is the same problem, and each step is a non-negative least-squares problem
(the sequential quadratic program of Kim, Carbonetto, Stephens and Anitescu, 2020). Its
zeros are exact.

With many rows and classes a Hessian costs as much as several steps. Every few-th row
then gives a start and a Hessian, which the gradients of all rows correct on the way;
the optimality conditions of all rows decide when the fit ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._numerics.gram_sums import gram
from distfreeuq._numerics.passes.class_rows import AnyRows, ClassRows, RowsInMemory
from distfreeuq._numerics.row_sums import mixture_sums

# Largest violation of the optimality conditions at which the fit stops.
TOLERANCE = 1e-9

_MAX_STEPS, _MAX_TRIALS, _MAX_EXCHANGES = 200, 30, 12

# Trials of a step with the Hessian of another point: if the step must be short, that
# Hessian is bad.
_FEW_TRIALS = 2

# Every so many-th row makes the smaller problem that a large one starts from, and fewer
# where it would have more than so many numbers.
_FEWER, _NUMBERS_OF_FEWER = 5, 1 << 22

# Violation at which the smaller problem is left.
_NEAR = 0.02

# Violation above which EM steps come before the Newton step: they find the scale of
# classes that stand apart, which Newton's method reaches only by doubling.
_ROUGH = 0.5

# EM steps at the start of the smallest problem, whatever its violation, and at most
# where the violation is above `_ROUGH`.
_FIRST_EM_STEPS, _MAX_EM_STEPS = 5, 8

# Ridge, relative to the Hessian, that keeps q where the likelihood is flat.
_RIDGE = 1e-9

# Products in a Hessian that cost no more than the step itself.
_CHEAP = 1 << 22

# Violation above which the Hessian of fewer rows is not used: they lack rare classes.
_FAR = 0.1

# Beyond these many classes, columns without prior are left out if they are the most.
_MANY = 500

# The Hessian is computed anew if, after `_PATIENCE` steps, the violation is still above
# `_STALLED` times its earlier value.
_PATIENCE, _STALLED = 3, 0.3


@dataclass(frozen=True, slots=True)
class MixtureFit:
    """A maximum of the likelihood.

    Attributes
    ----------
    prior : ndarray (K,)
        The maximiser q.
    log_likelihood : float
        Mean over the rows that are possible under some q.
    violation : float
        Largest violation of the optimality conditions.
    n_steps : int
        Newton and EM steps on all rows.
    lost : float
        Weight of rows without mass on any class of the source, which are left out.
    """

    prior: FloatArray
    log_likelihood: float
    violation: float
    n_steps: int
    lost: float


@dataclass(frozen=True, slots=True)
class _Point:
    """The objective -loglik + sum q and its gradient at a q, on classes with p > 0."""

    q: FloatArray
    ratio: FloatArray  # G
    objective: float
    violation: float


class _Likelihood:
    """The likelihood of a sample: rows, how often each counts, the source prior."""

    def __init__(self, rows: AnyRows, prior: FloatArray) -> None:
        self.rows, self.full_prior = rows, prior
        self.known = np.flatnonzero(prior > 0)
        self.prior = prior[self.known]
        self.cheap = rows.n * rows.n_classes * self.prior.size < _CHEAP
        self.start = self.prior / self.prior.sum()
        self.lost = 0.0
        self.total = rows.total_weight

    def first(self, q: FloatArray) -> _Point:
        """Return the point at a q without zeros: there rows to leave out have d = 0."""
        sums = self._sums(q)
        self.lost = float(sums[-1])
        self.total -= self.lost
        if self.total <= 0.0:
            return _Point(q, np.ones_like(q), 1.0, 0.0)
        return self._point(q, sums)

    def at(self, q: FloatArray) -> _Point:
        return self._point(q, self._sums(q))

    def _sums(self, q: FloatArray) -> FloatArray:
        return self.rows.parts.total(MixtureSums(self._class_weight(q)))

    def _class_weight(self, q: FloatArray) -> FloatArray:
        class_weight = q / self.prior
        if self.known.size == self.full_prior.size:
            return class_weight
        of_all = np.zeros(self.full_prior.size)
        of_all[self.known] = class_weight
        return of_all

    def _point(self, q: FloatArray, sums: FloatArray) -> _Point:
        objective = float(q.sum()) - float(sums[-2]) / self.total
        if sums[-1] > self.lost:  # a row that some q could explain has probability zero
            objective = np.inf
        ratio = sums[self.known] / (self.prior * self.total)
        excess = ratio - 1.0
        violation = np.maximum(excess, np.where(q > 0, -excess, 0.0))
        return _Point(q, ratio, objective, float(violation.max(initial=0.0)))

    def hessian(self, point: _Point, *, single: bool) -> FloatMatrix:
        """Return the Hessian mean A A' / d^2 on the classes with p > 0."""
        products = PosteriorProducts(self._class_weight(point.q), single)
        second_moment = self.rows.parts.total(products)
        if self.known.size < self.full_prior.size:
            second_moment = second_moment[np.ix_(self.known, self.known)]
        with np.errstate(over="ignore"):  # far from the maximum; it is not used then
            return second_moment / (self.total * np.outer(self.prior, self.prior))

    def fewer_rows(self) -> _Likelihood | None:
        """Return the problem with every few-th row, None if this one is small.

        Single precision is enough for a start.
        """
        n, n_classes = self.rows.n, self.rows.n_classes
        fewest = max(2048, 20 * n_classes)
        if self.cheap or n // _FEWER < fewest:
            return None
        most = max(fewest, _NUMBERS_OF_FEWER // n_classes)
        few = self.rows.every(max(_FEWER, -(-n // most)))
        return _Likelihood(few.mapped(_in_single_precision), self.full_prior)


@dataclass(frozen=True, slots=True)
class MixtureSums:
    """Sums over some rows at weights of the classes, as `mixture_sums` has them."""

    class_weight: FloatArray

    def __call__(self, rows: ClassRows) -> FloatArray:
        """Return them, shape (K + 2,)."""
        return mixture_sums(rows.probs, rows.weight, self.class_weight)[1]


@dataclass(frozen=True, slots=True)
class PosteriorProducts:
    """The sum over some rows of f f' / d^2, d their density at weights of classes."""

    class_weight: FloatArray
    single: bool = False

    def __call__(self, rows: ClassRows) -> FloatMatrix:
        """Return it, shape (K, K)."""
        density, _ = mixture_sums(rows.probs, rows.weight, self.class_weight)
        scale = np.zeros_like(density)
        root = 1.0 if rows.weight is None else np.sqrt(rows.weight)
        np.divide(root, density, out=scale, where=density > 0)
        return gram(rows.probs, scale, single=self.single)


def _in_single_precision(rows: ClassRows) -> ClassRows:
    probs = np.ascontiguousarray(rows.probs, dtype=np.float32)
    return rows._replace(probs=probs)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Takes some columns of rows."""

    columns: IntArray

    def __call__(self, rows: ClassRows) -> ClassRows:
        return rows._replace(probs=np.ascontiguousarray(rows.probs[:, self.columns]))


@dataclass(frozen=True, slots=True)
class _CarriedHessian:
    """A Hessian that is carried along from point to point.

    Attributes
    ----------
    matrix : ndarray (K, K)
    q : ndarray (K,)
        Where it belongs.
    apart : ndarray (K,)
        How far a class stands apart from the others, from 0 to 1: the share of its mass
        in rows that are its own, squared.
    """

    matrix: FloatMatrix
    q: FloatArray
    apart: FloatArray

    @classmethod
    def of(
        cls, problem: _Likelihood, point: _Point, *, single: bool
    ) -> _CarriedHessian:
        """Compute it from all rows."""
        matrix = problem.hessian(point, single=single)
        if problem.cheap:  # it will not be carried along
            return cls(matrix, point.q, np.zeros_like(point.q))
        # with r the posterior under q: H_kk = mean r_k^2 / q_k^2, G_k = mean r_k / q_k
        mass = np.maximum(point.ratio, np.finfo(np.float64).tiny)
        with np.errstate(over="ignore", invalid="ignore"):
            share = np.clip(point.q * np.diag(matrix) / mass, 0.0, 1.0)
        return cls(matrix, point.q, share**2)

    def moved(self, q: FloatArray) -> _CarriedHessian:
        """Return an estimate at another point.

        For a class that stands apart, r does not depend on q: H_kk goes as 1 / q_k^2.
        """
        both = (self.q > 0) & (q > 0)
        shrunk = np.divide(self.q, q, out=np.ones_like(q), where=both) ** self.apart
        return _CarriedHessian(shrunk[:, None] * self.matrix * shrunk, q, self.apart)

    def corrected(self, old: _Point, new: _Point) -> _CarriedHessian:
        """Return the nearest that maps the last step to its change of the gradient.

        The update of Broyden, Fletcher, Goldfarb and Shanno.
        """
        step, change = new.q - old.q, old.ratio - new.ratio
        along, image = float(step @ change), self.matrix @ step
        length = float(step @ image)
        if not (along > 0.0 and length > 0.0):
            return self
        matrix = self.matrix + np.outer(change / along, change)
        matrix -= np.outer(image / length, image)
        return _CarriedHessian(matrix, self.q, self.apart)


def maximize_likelihood(
    probs: FloatMatrix, prior: FloatArray, row_weight: FloatArray | None = None
) -> MixtureFit:
    """Return the class frequencies under which the target's rows are most likely.

    Parameters
    ----------
    probs : ndarray (m, K)
        Calibrated source posteriors of the target's rows.
    prior : ndarray (K,)
        Source prior; classes with prior zero get frequency zero.
    row_weight : ndarray (m,), optional
        How often each row counts.

    Returns
    -------
    MixtureFit
        Started from q = p: where the likelihood is flat, q stays there.
    """
    return likeliest_prior(RowsInMemory.of(probs, weight=row_weight), prior)


def likeliest_prior(rows: AnyRows, prior: FloatArray) -> MixtureFit:
    """Return the same for rows that may be in blocks: some passes over them."""
    known = np.flatnonzero(prior > 0)
    if 2 * known.size <= prior.size > _MANY:
        fit = likeliest_prior(rows.mapped(_Columns(known), known.size), prior[known])
        q = np.zeros(prior.size)
        q[known] = fit.prior
        return replace(fit, prior=q)
    problem = _Likelihood(rows, prior)
    point, n_steps = _minimize(problem, TOLERANCE)
    q, total = np.zeros(prior.size), float(point.q.sum())
    q[problem.known] = point.q / total
    return MixtureFit(
        prior=q,
        log_likelihood=total - point.objective - math.log(total),
        violation=point.violation,
        n_steps=n_steps,
        lost=problem.lost,
    )


def _minimize(problem: _Likelihood, tolerance: float) -> tuple[_Point, int]:
    """Return the minimum of -loglik + sum q over q >= 0, and the number of steps."""
    point, hessian = _start(problem)
    single = True  # six digits of the Hessian suffice, unless it is nearly singular
    violations: list[float] = []
    for step in range(_MAX_STEPS):
        if point.violation <= tolerance:
            return point, step
        if point.violation > _ROUGH:
            point = _em_steps(problem, point)
        violations.append(point.violation)
        if problem.cheap or _has_stalled(violations):
            hessian = None
        fresh = hessian is None
        if hessian is None:
            hessian = _CarriedHessian.of(problem, point, single=single)
            violations = [point.violation]
        else:
            hessian = hessian.moved(point.q)
        trials = _MAX_TRIALS if fresh else _FEW_TRIALS
        new = _newton_step(problem, point, hessian.matrix, trials)
        if new is None:
            hessian = None
            if single or not fresh:
                single = single and not fresh
                continue
            # an EM step never lowers the likelihood
            new = problem.at(point.q * point.ratio)
        elif not problem.cheap:
            hessian = hessian.corrected(point, new)
        point = new
    return point, _MAX_STEPS


def _em_steps(problem: _Likelihood, point: _Point) -> _Point:
    """Take EM steps as long as each halves the violation and it is large."""
    for _ in range(_MAX_EM_STEPS):
        before, point = point.violation, problem.at(point.q * point.ratio)
        if point.violation < _ROUGH or point.violation > 0.5 * before:
            break
    return point


def _has_stalled(violations: list[float]) -> bool:
    before = violations[:-_PATIENCE]
    return bool(before) and violations[-1] > _STALLED * before[-1]


def _start(problem: _Likelihood) -> tuple[_Point, _CarriedHessian | None]:
    """Return where to start: q = p, or near the optimum of fewer rows."""
    fewer = problem.fewer_rows()
    if fewer is None:
        point = problem.first(problem.start)
        # an expensive Hessian is only worth computing nearer the optimum
        if not problem.cheap and problem.total > 0.0:
            for _ in range(_FIRST_EM_STEPS):
                point = problem.at(point.q * point.ratio)
        return point, None
    near, _ = _minimize(fewer, _NEAR)
    if fewer.total <= 0.0:
        return problem.first(problem.start), None
    # classes that the few rows leave out must be able to return
    share = 1.0 / max(fewer.total, 1.0)
    q = (1.0 - share) * near.q / near.q.sum() + share * problem.start
    point = problem.first(q)
    if point.violation > _ROUGH:
        point = _em_steps(problem, point)
    if point.violation > _FAR:
        return point, None
    return point, _CarriedHessian.of(fewer, near, single=True)


def _newton_step(
    problem: _Likelihood, point: _Point, hessian: FloatMatrix, trials: int
) -> _Point | None:
    """Return a better point, None if the quadratic model shows none soon.

    The equations G_k = 1 are solved as 1 / G_k = 1 if that leads downhill: for a class
    that stands apart G_k = c / q_k, so that its reciprocal is linear. The gradient
    1 - G then becomes (1 - G) G, which is the same at the solution.
    """
    gradient = 1.0 - point.ratio
    for model in (gradient * point.ratio, gradient):
        target = _quadratic_minimum(point.q, model, hessian)
        if target is not None and gradient @ (target - point.q) < 0.0:
            new = _line_search(problem, point, target, trials)
            if new is not None or trials < _MAX_TRIALS:
                return new
    return None


def _quadratic_minimum(
    q: FloatArray, gradient: FloatArray, hessian: FloatMatrix
) -> FloatArray | None:
    """Return the y >= 0 that minimises the quadratic model around q, None if none."""
    from scipy.linalg import LinAlgError, cholesky, solve_triangular
    from scipy.optimize import nnls

    if not np.isfinite(hessian).all():
        return None
    model = hessian.copy()
    model.flat[:: q.size + 1] += _RIDGE * float(np.trace(hessian)) / q.size
    # 1/2 y'Hy - c'y with c = H q - gradient
    linear = model @ q - gradient
    y = _exchange(model, linear, q > 0)
    if y is None:
        try:  # which is 1/2 |R y - R^-T c|^2 for H = R'R
            root = cholesky(model)
            y, _ = nnls(root, solve_triangular(root, linear, trans="T"))
        except (LinAlgError, RuntimeError):  # singular, or slow
            return None
    return np.asarray(y) if np.isfinite(y).all() and y.any() else None


def _exchange(
    model: FloatMatrix, linear: FloatArray, free: BoolArray
) -> FloatArray | None:
    """Return the y >= 0 that minimises 1/2 y'Hy - c'y, None if it is not soon found.

    Block principal pivoting (Kim and Park, 2011): solve for the free entries, exchange
    those on the wrong side. The zeros of the last step are nearly always the right
    ones, and then it is one solution.
    """
    from scipy.linalg import lapack

    slack = -1e-13 * float(np.abs(linear).max())
    fewest = linear.size + 1
    for _ in range(_MAX_EXCHANGES):
        if free.all():
            _, y, failed = lapack.dposv(model, linear)
        else:
            inside, y = np.flatnonzero(free), np.zeros(linear.size)
            _, y[inside], failed = lapack.dposv(
                model[np.ix_(inside, inside)], linear[inside]
            )
        wrong = np.where(free, y < 0.0, model @ y - linear < slack)
        n_wrong = int(np.count_nonzero(wrong))
        if failed or n_wrong > 2 * fewest:
            return None
        if n_wrong == 0:
            return np.asarray(y)
        fewest = min(fewest, n_wrong)
        free = free ^ wrong
    return None


def _line_search(
    problem: _Likelihood, point: _Point, target: FloatArray, trials: int
) -> _Point | None:
    """Return the first point from the target backwards that is lower enough."""
    direction = target - point.q
    slope = float((1.0 - point.ratio) @ direction)
    rounding = 1e-14 * (1.0 + abs(point.objective))
    size = 1.0
    for _ in range(trials):
        new = problem.at(target if size == 1.0 else point.q + size * direction)
        excess = new.objective - point.objective - size * slope
        if excess <= (1e-4 - 1.0) * size * slope + rounding:
            return new
        # the minimum of the parabola through what is known, within limits
        size *= min(0.5, max(0.02, -0.5 * size * slope / excess))
    return None
