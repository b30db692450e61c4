"""Maximum likelihood of the target's class frequencies, to the optimality conditions.

With f the source posterior, p the source prior and A = f / p, the log-likelihood of a
prior q is mean_i log sum_k q_k A_ik: that of a mixture of known components. Its
gradient is G_k = mean_i A_ik / sum_j q_j A_ij, and q is the maximum on the simplex
exactly if G_k <= 1 for every k, with equality where q_k > 0.

EM, q <- q G, takes thousands of steps where classes overlap. Here a few Newton steps
do: the constraint sum q = 1 has multiplier one, so that minimising -loglik + sum q over
q >= 0 is the same problem, and each step is a non-negative least-squares problem (the
sequential quadratic program of Kim, Carbonetto, Stephens and Anitescu, 2020). Its zeros
are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from distfreeuq._typing import FloatArray, FloatMatrix
from distfreeuq.label_shift.row_sums import gram, mixture_sums

TOLERANCE = 1e-9
"""Of the optimality conditions."""

_MAX_STEPS = 200
_MAX_HALVINGS = 30
_FEWER = 5
"""Every so many-th row makes the smaller problem that a large one starts from."""

_ROUGH = 0.5
"""Breach above which an EM step comes before the Newton step: it finds the scale of
classes that stand apart, which Newton only doubles its way to."""

_RIDGE = 1e-9
"""Relative; it keeps directions in which the likelihood is flat where they are."""


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
        Largest breach of the optimality conditions.
    n_steps : int
        Newton and EM steps on all rows.
    lost : float
        Weight of rows without mass on any class of the source; they say nothing.
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
    density: FloatArray = field(repr=False)

    @property
    def violation(self) -> float:
        breach = np.where(self.q > 0, np.abs(self.ratio - 1.0), self.ratio - 1.0)
        return float(breach.max(initial=0.0))


class _Likelihood:
    """The likelihood of a sample: rows, how often each counts, the source prior."""

    def __init__(
        self, probs: FloatMatrix, prior: FloatArray, row_weight: FloatArray
    ) -> None:
        self.probs, self.row_weight, self.full_prior = probs, row_weight, prior
        self.known = prior > 0
        self.prior = prior[self.known]
        self.start = self.prior / self.prior.sum()
        density, sums = self._sums(self.start)
        self.lost = float(sums[-1])
        self.total = float(row_weight.sum()) - self.lost
        if self.total > 0:
            self.at_start = self._point(self.start, density, sums)

    def _sums(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        class_weight = np.zeros(self.known.size)
        class_weight[self.known] = q / self.prior
        return mixture_sums(self.probs, self.row_weight, class_weight)

    def at(self, q: FloatArray) -> _Point:
        return self._point(q, *self._sums(q))

    def _point(self, q: FloatArray, density: FloatArray, sums: FloatArray) -> _Point:
        objective = float(q.sum()) - float(sums[-2]) / self.total
        if sums[-1] > self.lost:  # a row that some q could explain has probability zero
            objective = np.inf
        ratio = sums[:-2][self.known] / (self.prior * self.total)
        return _Point(q, ratio, objective, density)

    def curvature(self, point: _Point, *, single: bool) -> FloatMatrix:
        """Return the Hessian mean A A' / d^2 on the classes with p > 0."""
        scale = np.zeros_like(point.density)
        possible = point.density > 0
        np.divide(np.sqrt(self.row_weight), point.density, out=scale, where=possible)
        second_moment = gram(self.probs, scale, single=single)
        inside = second_moment[np.ix_(self.known, self.known)]
        with np.errstate(over="ignore"):  # far from the maximum; it is not used then
            return np.asarray(inside / (self.total * np.outer(self.prior, self.prior)))

    def fewer_rows(self) -> _Likelihood | None:
        """Return the problem with every few-th row, None if this one is small."""
        n, n_classes = self.probs.shape
        if n // _FEWER < max(2048, 20 * n_classes):
            return None
        problem = _Likelihood(
            np.ascontiguousarray(self.probs[::_FEWER]),
            self.full_prior,
            np.ascontiguousarray(self.row_weight[::_FEWER]),
        )
        return problem if problem.total > 0 else None


def maximise_likelihood(
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
    weight = np.ones(probs.shape[0]) if row_weight is None else row_weight
    problem = _Likelihood(probs, prior, weight)
    if problem.total > 0:
        point, n_steps = _minimise(problem, problem.at_start, TOLERANCE)
    else:  # no row says anything
        nothing = np.ones_like(problem.start)
        point, n_steps = _Point(problem.start, nothing, 1.0, np.empty(0)), 0
    q, total = np.zeros(prior.size), float(point.q.sum())
    q[problem.known] = point.q / total
    return MixtureFit(
        prior=q,
        log_likelihood=total - point.objective - math.log(total),
        violation=point.violation,
        n_steps=n_steps,
        lost=problem.lost,
    )


def _minimise(
    problem: _Likelihood, point: _Point, tolerance: float
) -> tuple[_Point, int]:
    """Return the minimum of -loglik + sum q over q >= 0, and the number of steps."""
    if point.violation <= tolerance:
        return point, 0
    point = _start_from_fewer_rows(problem, point)
    curvature: FloatMatrix | None = None
    single = True  # six digits of the curvature will do, unless it is nearly singular
    for step in range(_MAX_STEPS):
        if point.violation <= tolerance:
            return point, step
        if point.violation > _ROUGH:
            point = problem.at(point.q * point.ratio)
        fresh = curvature is None
        if curvature is None:
            curvature = problem.curvature(point, single=single)
        new = _newton_step(problem, point, curvature)
        if new is None:
            curvature = None
            if single or not fresh:
                single = single and not fresh
                continue
            new = problem.at(point.q * point.ratio)  # an EM step never does harm
        elif new.violation > 0.1 * point.violation:
            curvature = None  # too old to gain a digit per step
        point = new
    return point, _MAX_STEPS


def _start_from_fewer_rows(problem: _Likelihood, point: _Point) -> _Point:
    """Solve for every few-th row first: most of the way at a fraction of the cost."""
    fewer = problem.fewer_rows()
    if fewer is None:
        return point
    near, _ = _minimise(fewer, fewer.at_start, 0.1)
    # classes that the few rows leave out must be able to return
    share = 1.0 / fewer.total
    new = problem.at((1.0 - share) * near.q / near.q.sum() + share * point.q)
    return new if new.objective < point.objective else point


def _newton_step(
    problem: _Likelihood, point: _Point, curvature: FloatMatrix
) -> _Point | None:
    """Return a better point, None if the quadratic model shows none.

    The equations G_k = 1 are solved as 1 / G_k = 1 if that leads downhill: for a class
    that stands apart G_k = c / q_k, so that its reciprocal is linear. The gradient
    1 - G then becomes (1 - G) G, which is the same at the solution.
    """
    gradient = 1.0 - point.ratio
    for model in (gradient * point.ratio, gradient):
        target = _quadratic_minimum(point.q, model, curvature)
        if target is not None and gradient @ (target - point.q) < 0.0:
            new = _line_search(problem, point, target)
            if new is not None:
                return new
    return None


def _quadratic_minimum(
    q: FloatArray, gradient: FloatArray, curvature: FloatMatrix
) -> FloatArray | None:
    """Return the y >= 0 that minimises the quadratic model around q, None if none."""
    from scipy.linalg import LinAlgError, cholesky, solve_triangular
    from scipy.optimize import nnls

    if not np.isfinite(curvature).all():
        return None
    model = curvature + _RIDGE * float(np.trace(curvature)) / q.size * np.eye(q.size)
    try:
        # 1/2 y'Hy - c'y with c = H q - gradient is 1/2 |R y - R^-T c|^2 for H = R'R
        root = cholesky(model)
        y, _ = nnls(root, solve_triangular(root, model @ q - gradient, trans="T"))
    except (LinAlgError, RuntimeError):  # singular, or slow
        return None
    return np.asarray(y) if np.isfinite(y).all() and y.any() else None


def _line_search(
    problem: _Likelihood, point: _Point, target: FloatArray
) -> _Point | None:
    """Return the first of the steps 1, 1/2, 1/4, ... that decreases the objective."""
    direction = target - point.q
    slope = float((1.0 - point.ratio) @ direction)
    rounding = 1e-14 * (1.0 + abs(point.objective))
    size = 1.0
    for _ in range(_MAX_HALVINGS):
        new = problem.at(target if size == 1.0 else point.q + size * direction)
        if new.objective <= point.objective + 1e-4 * size * slope + rounding:
            return new
        size *= 0.5
    return None
