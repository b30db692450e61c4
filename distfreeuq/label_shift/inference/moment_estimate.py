"""The target's class proportions by moments: label shift alone, no calibration.

For every fixed function h of a classifier's output, label shift says

    E_Q h = sum_j q_j E_P[h | Y = j] = A q,

which is solved for q. For BBSE h is the prediction. For MLLS it is the target posterior
r_k = w_k g_k / sum_j w_j g_j at the weights of maximum likelihood: as good as these in
the first order if g is calibrated, and consistent if it is not. That h was fitted is of
second order, since E_Q h = A q whatever h is (theory page, 4.6).

With B A = 1 and phi = B h, class k's mean of phi_k is 1, that of other classes is 0,
and q_k is the mean of phi_k over the target. All noise is that of phi.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    count,
    either,
    floats,
    masses,
    part,
    require,
)
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.gram_sums import gram
from distfreeuq._numerics.matrices.matrix_blocks import NO_MASS, Blocks
from distfreeuq._numerics.passes.class_rows import ClassRows
from distfreeuq._numerics.row_sums import class_sums, column_sums
from distfreeuq.label_shift.class_matrix import ClassMatrix, TakingPart
from distfreeuq.label_shift.data import SampleRows

# Each class's variance is mixed with what all rows show if predictions are taken at
# their word, as if that were so many rows more: twenty rows often show no error at all.
PSEUDO_ROWS = 10.0

# Rows' worth of the source's proportions, per class, in the proportions at which
# posteriors are taken: none of them is then constant.
_FLOOR = 1.0

# Class k is not told from others if its row of B A is further than this from a unit's.
_TOLD = 1e-6

# So many rows' phi are in memory at a time.
_BLOCK = 8192


# Weights are below the number of rows, and solutions of what is nearly singular not far
# beyond: a search for the end of an interval would not find that of larger ones.
_LARGEST = 1e100


@register("moment-estimate")
@dataclass(frozen=True, slots=True, eq=False)
class MomentEstimate:
    """The estimate q, and what its intervals need.

    Attributes
    ----------
    prior : ndarray (K,)
        q as solved; may be negative. 0 for classes without source rows.
    source_prior : ndarray (K,)
        Label frequencies p.
    class_variance : ndarray (K, K) or ClassMatrix
        Variance of phi_k in class j; +inf in the rows of classes that are not told from
        others. A `ClassMatrix` where few of many classes take part.
    target_variance : ndarray (K,)
        Variance of phi_k over the target rows.
    reach : ndarray (K, 2)
        Smallest and largest phi_k that any output can have.
    counts : ndarray (K,)
        Source rows by class.
    m : int
        Target rows.
    """

    prior: FloatArray
    source_prior: FloatArray
    class_variance: FloatMatrix | ClassMatrix
    target_variance: FloatArray
    reach: FloatMatrix
    counts: FloatArray
    m: int

    _state: ClassVar[State] = {
        "prior": floats("K", low=-_LARGEST, high=_LARGEST, nan=False),
        "source_prior": floats("K", low=0.0, high=1.0, nan=False),
        "class_variance": either(
            floats("K", "K", low=0.0), part(ClassMatrix, same="K")
        ),
        "target_variance": floats("K", low=0.0),
        "reach": floats("K", 2, nan=False),
        "counts": masses("K"),
        "m": count(low=1),
    }

    def _validate_state(self) -> None:
        require((self.counts == np.floor(self.counts)).all(), "counts of rows")
        nowhere = (self.reach[:, 0] > self.reach[:, 1]).any()
        require(not nowhere, "ranges that are not empty")
        variance = self.class_variance
        if isinstance(variance, ClassMatrix):
            require(np.array_equal(variance.rows, variance.columns), "a square")
            require(not (variance.block < 0.0).any(), "nothing below 0")
            left_out = np.delete(self.counts, variance.rows)
            require(not left_out.any(), "variances of all classes with source rows")

    @staticmethod
    def _added(fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return what early files of this format lack: no range was known then."""
        anywhere = np.tile([-np.inf, np.inf], (len(fields["prior"]), 1))
        return {"reach": read_only(anywhere)}

    @property
    def n(self) -> float:
        """Source rows."""
        return float(self.counts.sum())

    def among(self, taking_part: TakingPart) -> MomentEstimate:
        """Return the estimate of all classes, if this is that of those taking part."""
        assert not isinstance(self.class_variance, ClassMatrix)
        return MomentEstimate(
            read_only(taking_part.vector(self.prior)),
            read_only(taking_part.vector(self.source_prior)),
            taking_part.matrix(self.class_variance, np.inf),
            read_only(taking_part.vector(self.target_variance)),
            read_only(np.column_stack([*map(taking_part.vector, self.reach.T)])),
            read_only(taking_part.vector(self.counts)),
            self.m,
        )

    def of_those_that_take_part(self) -> tuple[MomentEstimate, TakingPart]:
        """Return the estimate of fewer classes that this one is made of."""
        variance = self.class_variance
        if not isinstance(variance, ClassMatrix):
            return self, TakingPart(self.prior.size, None)
        few = variance.rows
        vectors = (self.prior[few], self.source_prior[few])
        more = (self.target_variance[few], self.reach[few], self.counts[few])
        fewer = MomentEstimate(*vectors, variance.block, *more, self.m)
        return fewer, TakingPart(self.prior.size, few)

    @property
    def feasible_prior(self) -> FloatArray:
        """The point of the simplex nearest to `prior`."""
        return onto_simplex(self.prior)


@on_one_blas_thread
def moments_of_predictions(
    samples: SampleRows, target_gram: FloatMatrix | None
) -> MomentEstimate:
    """Return the estimate of soft BBSE: h are the probabilities.

    `target_gram` is the sum over the target rows of their outer products, if it is
    known and few classes lack source rows.
    """
    samples, taking_part = samples.of_labelled()
    if taking_part.classes is not None:
        target_gram = None
    present = (samples.class_counts > 0) * 1.0
    solved = _solve(samples, present, _AS_THEY_ARE, target_gram)
    return solved.estimate.among(taking_part)


@on_one_blas_thread
def moments_of_posteriors(
    samples: SampleRows, prior: FloatArray
) -> tuple[MomentEstimate, FloatMatrix | ClassMatrix]:
    """Return the estimate where h are target posteriors, and the covariance of q / p.

    Parameters
    ----------
    samples : SampleRows
        Their probabilities g.
    prior : ndarray (K,)
        Class proportions of the target at which posteriors are taken.
    """
    samples, taking_part = samples.of_labelled()
    if taking_part.classes is not None:
        prior = prior[taking_part.classes]
    n, m = samples.source.n, samples.target.n
    counts = samples.class_counts.astype(np.float64)
    here, p = counts > 0, counts / n
    rows, extra = min(n, m), _FLOOR * taking_part.n_classes
    total = float(prior[here].sum())
    start = rows * prior / (total if total > 0 else 1.0) + extra * p
    weight = np.zeros_like(p)
    np.divide(start / (rows + extra), p, out=weight, where=here)
    scale = _Scale(weight)
    solved = _solve(samples, weight, scale)
    covariance = _covariance(samples, solved, scale)
    return solved.estimate.among(taking_part), taking_part.matrix(covariance, np.inf)


@on_one_blas_thread
def covariance_of_predictions(samples: SampleRows) -> FloatMatrix | ClassMatrix:
    """Return the same where h are the probabilities."""
    samples, taking_part = samples.of_labelled()
    present = (samples.class_counts > 0) * 1.0
    solved = _solve(samples, present, _AS_THEY_ARE)
    covariance = _covariance(samples, solved, _AS_THEY_ARE)
    return taking_part.matrix(covariance, np.inf)


def _covariance(samples: SampleRows, solved: _Solved, scale: _Scale) -> FloatMatrix:
    """Return the covariance of q / p; infinite variances where a class is not told."""
    m = samples.target.n
    counts = samples.class_counts.astype(np.float64)
    here = counts > 0
    q = solved.estimate.feasible_prior
    per_row = q**2 / np.where(here, counts * (counts - 1.0 + PSEUDO_ROWS), 1.0)
    products = _SumProducts(scale, per_row, PSEUDO_ROWS * (per_row / solved.mass))
    of_source = samples.source.parts.total(products)
    of_source = solved.to_phi @ of_source @ solved.to_phi.T
    of_source -= (solved.mean * (per_row * counts)) @ solved.mean.T
    of_source -= PSEUDO_ROWS * (solved.as_said * per_row) @ solved.as_said.T
    spread = solved.of_target / max(m - 1.0, 1.0) + of_source
    return per_prior(spread, q, counts, solved.told & (m > 1))


def per_prior(
    spread: FloatMatrix, q: FloatArray, counts: FloatArray, told: BoolArray
) -> FloatMatrix:
    """Return the covariance of q / p from that of q: p is noisy too."""
    n = float(counts.sum())
    here, p = counts > 0, counts / n
    of_labels = (np.diag(_ratio(q, p) * q) - np.outer(q, q)) / n
    divisor = np.where(here, p, 1.0)
    covariance: FloatMatrix = (spread + of_labels) / np.outer(divisor, divisor)
    covariance[~told] = 0.0
    covariance[:, ~told] = 0.0
    covariance[~told, ~told] = np.inf
    return covariance


@dataclass(frozen=True, slots=True)
class _Solved:
    """The solution, its influence functions phi = to_phi (scale g), and their moments.

    `mean` (k, j) is the mean of phi_k in class j, `as_said` what it would be by the
    probabilities, `of_target` the covariance over the target rows, `mass` the sums of
    the probabilities.
    """

    estimate: MomentEstimate
    told: BoolArray
    to_phi: FloatMatrix
    mean: FloatMatrix
    as_said: FloatMatrix
    of_target: FloatMatrix
    mass: FloatArray


def _solve(
    samples: SampleRows,
    weight: FloatArray,
    scale: _Scale,
    target_gram: FloatMatrix | None = None,
) -> _Solved:
    """Solve A q = mean h for h = weight * g * scale, which is never written down.

    `target_gram` is the sum of g g' over the target, if it is known and `scale` is 1.
    """
    source, m = samples.source, samples.target.n
    counts = samples.class_counts.astype(np.float64)
    here, p = counts > 0, counts / source.n
    by_class, mass = source.parts.total(_SumByClass(scale))
    by_class = weight[:, None] * by_class
    conditional = by_class / np.where(here, counts, 1.0)
    inverse, told = invert(conditional, here)
    mean, to_phi = inverse @ conditional, inverse * weight
    in_classes, first, second = source.parts.total(_SumPhi(scale, to_phi))
    mass = np.maximum(mass, 1e-300)
    said = first / mass
    of_columns, products = samples.target.parts.total(
        _SumTarget(scale, target_gram is None)
    )
    if target_gram is None:
        target_gram = products
    prior = to_phi @ of_columns / m
    of_target = to_phi @ target_gram @ to_phi.T / m - np.outer(prior, prior)
    estimate = moments_from(
        prior,
        p,
        in_classes - counts * mean**2,
        second / mass - said**2,
        np.diag(of_target),
        reach_of(inverse),
        counts,
        m,
        told,
    )
    return _Solved(estimate, told, to_phi, mean, said, of_target, mass)


def moments_from(
    prior: FloatArray,
    source_prior: FloatArray,
    squares: FloatMatrix,
    as_said: FloatMatrix,
    spread: FloatArray,
    reach: FloatMatrix,
    counts: FloatArray,
    m: int,
    told: BoolArray,
) -> MomentEstimate:
    """Return the estimate.

    `squares` (k, j) are sums over class j of squares around its mean, `as_said` the
    variance that all rows show if predictions are taken at their word; over-confident
    ones do not make it smaller than what class j itself shows.
    """
    free = np.maximum(counts - 1.0, 0.0)
    squares = np.maximum(squares, 0.0)
    own = squares / np.maximum(free, 1.0)
    more = np.maximum(np.maximum(as_said, own), 0.0)
    variance = (squares + PSEUDO_ROWS * more) / (free + PSEUDO_ROWS)
    variance[~told] = np.inf
    variance[:, counts == 0] = 0.0
    of_target = np.maximum(spread, 0.0) * m / max(m - 1, 1)
    return MomentEstimate(
        read_only(prior),
        read_only(source_prior),
        read_only(variance),
        read_only(of_target),
        read_only(reach),
        read_only(counts),
        m,
    )


def reach_of(inverse: FloatMatrix) -> FloatMatrix:
    """Return the range (K, 2) of phi = B h: h >= 0 sums to one, or is zero."""
    low, high = inverse.min(axis=1), inverse.max(axis=1)
    return np.column_stack([np.minimum(low, 0.0), np.maximum(high, 0.0)])


def invert(
    conditional: Any, here: BoolArray, blocks: Blocks | None = None
) -> tuple[FloatMatrix, BoolArray]:
    """Return B (K, K) with B A = 1 as far as can be, and the classes where it is.

    A class without source rows has zeros in B. `blocks` are those of A's rows and
    columns of the other classes; else these are taken to be one.
    """
    inverse, told = np.zeros(conditional.shape), np.zeros_like(here)
    present = np.flatnonzero(here)
    part = conditional[present][:, present]
    if blocks is None:
        blocks = Blocks.whole(part.shape)
    square = np.ix_(present, present)
    inverse[square] = own = blocks.inverse(part)
    gap = own @ part
    gap[np.diag_indices(present.size)] -= 1.0
    told[present] = np.abs(gap, out=gap).max(axis=1) < _TOLD
    return inverse, told


@dataclass(frozen=True, slots=True)
class _Scale:
    """What multiplies g of each row in h: 1 / (weight . g), or 1 without weights."""

    weight: FloatArray | None

    def of(self, g: FloatMatrix) -> FloatArray:
        """Return it for each row, shape (n,)."""
        if self.weight is None:
            return np.ones(len(g))
        return _inverse_of(g @ self.weight)


_AS_THEY_ARE = _Scale(None)


@dataclass(frozen=True, slots=True)
class _SumByClass:
    """Sums scaled rows of the source by class (K, K), and g itself (K,)."""

    scale: _Scale

    def __call__(self, rows: ClassRows) -> tuple[FloatMatrix, FloatArray]:
        g = rows.probs
        by_class = class_sums(g, rows.labels, self.scale.of(g))
        return by_class, column_sums(g, None)


@dataclass(frozen=True, slots=True)
class _SumTarget:
    """Sums scaled rows of the target (K,), and their products (K, K) if wanted."""

    scale: _Scale
    products: bool

    def __call__(self, rows: ClassRows) -> tuple[FloatArray, FloatMatrix]:
        g, scale = rows.probs, self.scale.of(rows.probs)
        nothing = np.zeros((0, 0))
        return column_sums(g, scale), gram(g, scale) if self.products else nothing


@dataclass(frozen=True, slots=True)
class _SumPhi:
    """Sums (k, j) of phi_k^2 over class j, of phi_k g_j and of phi_k^2 g_j."""

    scale: _Scale
    to_phi: FloatMatrix

    def __call__(self, rows: ClassRows) -> tuple[FloatMatrix, FloatMatrix, FloatMatrix]:
        g, labels, to_phi = rows.probs, rows.labels, self.to_phi
        scale, k = self.scale.of(g), g.shape[1]
        in_classes, second = np.zeros((2, k, k))
        first = to_phi @ gram(g, np.sqrt(scale))
        for start in range(0, g.shape[0], _BLOCK):
            some = slice(start, start + _BLOCK)
            block = g[some].astype(np.float64, copy=False)
            phi = (block * scale[some, None]) @ to_phi.T
            phi *= phi
            second += phi.T @ block
            in_classes += class_sums(phi, np.ascontiguousarray(labels[some]), None)
        return in_classes, first, second


@dataclass(frozen=True, slots=True)
class _SumProducts:
    """Sums products of h, weighted by the class and by the probabilities of it."""

    scale: _Scale
    by_label: FloatArray
    by_probs: FloatArray

    def __call__(self, rows: ClassRows) -> FloatMatrix:
        g = rows.probs
        row_weight = self.by_label[rows.labels] + g @ self.by_probs
        return gram(g, self.scale.of(g) * np.sqrt(row_weight))


def _ratio(q: FloatArray, p: FloatArray) -> FloatArray:
    """Return q / p, 0 where p is."""
    return np.divide(q, p, out=np.zeros_like(p), where=p > 0)


def _inverse_of(density: FloatArray) -> FloatArray:
    """Return 1 / density, 0 where there is no mass to speak of."""
    out = np.zeros(density.shape)
    np.divide(1.0, density, out=out, where=density > NO_MASS)
    return out


def onto_simplex(x: FloatArray) -> FloatArray:
    """Return the nearest point of the simplex."""
    x = x - x.max()  # which changes nothing, but for digits of large numbers
    down = np.sort(x)[::-1]
    excess = (np.cumsum(down) - 1.0) / np.arange(1, x.size + 1)
    last = int(np.flatnonzero(down > excess)[-1])
    return np.asarray(np.maximum(x - excess[last], 0.0))
