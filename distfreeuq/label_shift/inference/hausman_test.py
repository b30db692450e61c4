"""A test of calibration where maximum likelihood relies on it.

MLLS's estimate and the moment estimate differ by noise alone if the probabilities g are
calibrated in the source, and by more if they are not: Hausman's comparison. Calibrated,
the residual e_i = w_{y_i} - sum_j w_j g_ij of each row's weight has mean zero given
x_i, whatever w; the mean S of e_i r(x_i), r the target posteriors, is A q less what it
is under calibration, and -A^-1 S the difference of the estimates in the first order.
Its length is compared with what labels drawn from g give, the fit of BCTS to them
included in the first order (theory page, 4.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray, IntMatrix
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.random_streams import generator_of
from distfreeuq._base.stored_state import State, count, floats, real, require
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.gram_sums import gram
from distfreeuq._numerics.matrices.matrix_blocks import inverse_matrix
from distfreeuq._numerics.passes.class_rows import ClassRows
from distfreeuq._numerics.passes.row_parts import add_up
from distfreeuq.label_shift.class_matrix import TakingPart
from distfreeuq.label_shift.confusion import sum_columns
from distfreeuq.label_shift.data import SampleRows
from distfreeuq.label_shift.inference.scaling_noise import ScalingScores
from distfreeuq.label_shift.scalings import LogScaling, Scaling
from distfreeuq.label_shift.scalings.bcts import FLOOR
from distfreeuq.label_shift.scalings.log_scaling import centred_logs

# Sets of labels that are drawn, and from so many source rows on, fewer of them.
_N_DRAWS, _MANY_ROWS, _FEWER_DRAWS = 199, 20_000, 99

# Share of the source rows, beside the largest weight, below which their mass is none.
_NO_MASS = 1e-100

# Decimals of the sums of probabilities of which the draws' seed is made.
_DECIMALS = 6

# Draws that differ by less, relatively, count as equal.
_TIED = 1e-9

# Classes of a row that are tried one after the other when a label is drawn.
_ONE_BY_ONE = 8

# So many drawn labels are in memory at a time.
_AT_A_TIME = 1 << 20


@register("hausman-test")
@dataclass(frozen=True, slots=True, eq=False)
class HausmanTest:
    """A test of calibration in the directions in which a lack of it moves MLLS.

    Attributes
    ----------
    gap : ndarray (K,)
        Moment estimate of the target prior less that of maximum likelihood, in the
        first order.
    p_value : float
        (1 + draws with as long a gap) / (n_draws + 1). 1 if all weights are equal:
        nothing depends on the calibration then.
    n_draws : int
        Sets of labels drawn from the probabilities.

    Notes
    -----
    The level is asymptotic. A large p-value is no evidence of calibration: the power is
    low where the intervals of the likelihood are short already.
    """

    gap: FloatArray
    p_value: float
    n_draws: int

    _state: ClassVar[State] = {
        "gap": floats("K"),
        "p_value": real(above=0.0, high=1.0),
        "n_draws": count(),
    }

    def _validate_state(self) -> None:
        require(self.p_value * (self.n_draws + 1) > 0.99, "a share of the draws")

    @property
    def floor(self) -> float:
        """The smallest p-value that the draws allow."""
        return 1.0 / (self.n_draws + 1.0)


@on_one_blas_thread
def compare_estimates(
    calibrated: SampleRows, calibration: Scaling | None, weight: FloatArray
) -> HausmanTest:
    """Test whether the source's labels agree with the calibrated probabilities.

    Parameters
    ----------
    calibrated : SampleRows
        After the calibration, with the probabilities before it.
    calibration : BiasCorrectedTemperature, LogScaling or None
        None if nothing was fitted.
    weight : ndarray (K,)
        Those of maximum likelihood. They count as given: they come from the target, and
        their error does not matter in the first order.
    """
    n, n_classes = calibrated.source.n, calibrated.source.n_classes
    counts = calibrated.class_counts
    n_draws = _N_DRAWS if n <= _MANY_ROWS else _FEWER_DRAWS
    mean: FloatArray = calibrated.source.parts.total(sum_columns) / n
    norm = max(float(mean @ weight), _NO_MASS * float(weight.max()))
    w = weight / norm if norm > 0 else np.ones_like(weight)
    if not np.ptp(w[mean > 0]) > 1e-12:
        return HausmanTest(read_only(np.zeros(n_classes)), 1.0, n_draws)
    w = (n * w + n_classes) / (n + n_classes)  # so that no posterior is constant
    few = TakingPart.if_few((mean > 0) | (counts > 0))
    rows = calibrated.of_classes(few).source
    generator = generator_of(counts, np.round(n * mean, _DECIMALS))
    own_w, mean = few.of(w), few.of(mean)
    by_bcts = calibration is not None and not isinstance(calibration, LogScaling)
    own = calibration.of_classes(few) if isinstance(calibration, LogScaling) else None
    expected = rows.parts.total(_Moments(own_w, by_bcts))
    add = _DrawScores(own_w, generator.bit_generator.state, n_draws, by_bcts, own)
    drawn = rows.parts.total(add)
    scores = drawn.scores / n
    if by_bcts:
        gradient = drawn.gradient / n
        gradient[:-1] -= mean[:, None]
        scores -= expected.of_calibration(n, mean) @ gradient
    if own is not None:
        assert drawn.of_scaling is not None
        scores -= drawn.of_scaling.correction(own) / n
    mass = mean * n
    moments = own_w[:, None] * expected.moments / np.where(mass > 0, mass, 1.0)
    gaps = -inverse_matrix(moments, 1e-10) @ scores
    lengths = (gaps**2).sum(axis=0)
    above = int((lengths[1:] >= lengths[0] * (1.0 - _TIED)).sum())
    gap = few.vector(gaps[:, 0].copy())
    return HausmanTest(read_only(gap), (1.0 + above) / (n_draws + 1.0), n_draws)


class _Block:
    """Some rows: probabilities g, posteriors, expected weights and centred logs."""

    def __init__(
        self, rows: ClassRows, some: slice, w: FloatArray, with_logs: bool
    ) -> None:
        self.g = rows.probs[some].astype(np.float64, copy=False)
        self.expected = self.g @ w
        inverse = np.zeros(len(self.g))
        np.divide(1.0, self.expected, out=inverse, where=self.expected > 0)
        self.posterior = self.g * w * inverse[:, None]
        if with_logs:
            assert rows.before is not None
            logs = np.log(np.maximum(rows.before[some], FLOOR), dtype=np.float64)
            self.centred_logs = logs - (self.g * logs).sum(axis=1, keepdims=True)


class _Expected(NamedTuple):
    """Sums that the inputs determine: moments under calibration, and BCTS's scores."""

    moments: FloatMatrix
    by_bias: FloatMatrix
    by_slope: FloatArray
    information: FloatMatrix

    def of_calibration(self, n: int, mean: FloatArray) -> FloatMatrix:
        """Return what the fit of BCTS takes from S per unit of its gradient."""
        cross = np.column_stack([self.by_bias, self.by_slope]) / n
        information = self.information / n
        information[-1, :-1] = information[:-1, -1]
        information[:-1, :-1] += np.diag(mean)
        return np.asarray(np.linalg.lstsq(information, cross.T, rcond=1e-12)[0].T)


@dataclass(frozen=True, slots=True)
class _Moments:
    """Sums these over some rows."""

    w: FloatArray
    by_bcts: bool

    def __call__(self, rows: ClassRows) -> _Expected:
        g, w, k = rows.probs, self.w, self.w.size
        expected = g @ w
        per_row = np.divide(1.0, expected, out=np.zeros(len(g)), where=expected > 0)
        out = _Expected(
            gram(g, np.sqrt(per_row)),
            np.zeros((k, k)),
            np.zeros(k),
            np.zeros((k + 1, k + 1)),
        )
        if not self.by_bcts:
            return out
        out.information[:-1, :-1] = -gram(g)
        step = max(1, _AT_A_TIME // k)
        for start in range(0, len(g), step):
            block = _Block(rows, slice(start, start + step), w, True)
            # covariance of e and the label's indicators, given x
            tilt = block.g * (w - block.expected[:, None])
            np.add(out.by_bias, block.posterior.T @ tilt, out=out.by_bias)
            logs = block.centred_logs
            by_slope = block.posterior.T @ (tilt * logs).sum(axis=1)
            np.add(out.by_slope, by_slope, out=out.by_slope)
            out.information[:-1, -1] += (block.g * logs).sum(axis=0)
            out.information[-1, -1] += float((block.g * logs**2).sum())
        return out


class _Drawn(NamedTuple):
    """Sums for the source's labels (first column) and for sets of drawn ones."""

    scores: FloatMatrix
    gradient: FloatMatrix
    of_scaling: ScalingScores | None


@dataclass(frozen=True, slots=True)
class _DrawScores:
    """Sums these over some rows, each of which has its place in the random stream."""

    w: FloatArray
    state: Any
    n_draws: int
    by_bcts: bool
    scaling: LogScaling | None

    def __call__(self, rows: ClassRows) -> _Drawn:
        w, k, n_sets = self.w, self.w.size, 1 + self.n_draws
        bits = np.random.PCG64()
        bits.state = self.state
        # a label of a row takes one number of the stream
        generator = np.random.Generator(bits.advance(rows.start * self.n_draws))
        scores, gradient = np.zeros((k, n_sets)), np.zeros((k + 1, n_sets))
        scaling: ScalingScores | None = None
        step = max(1, _AT_A_TIME // max(self.n_draws, k))
        for start in range(0, len(rows.probs), step):
            some = slice(start, start + step)
            block = _Block(rows, some, w, self.by_bcts)
            drawn = _draw(block.g, generator, self.n_draws)
            both = np.hstack([rows.labels[some, None], drawn])
            scores += block.posterior.T @ (w[both] - block.expected[:, None])
            if self.scaling is not None:
                assert rows.before is not None
                logs = centred_logs(rows.before[some], self.scaling.present)
                own = ScalingScores.of(logs, block.g, block.posterior, w, both)
                scaling = own if scaling is None else add_up([scaling, own])
            if self.by_bcts:
                for column in range(n_sets):
                    counts = np.bincount(both[:, column], minlength=k)
                    gradient[:-1, column] += counts
                logs = np.take_along_axis(block.centred_logs, both, axis=1)
                gradient[-1] += logs.sum(axis=0)
        return _Drawn(scores, gradient, scaling)


def _draw(g: FloatMatrix, generator: np.random.Generator, size: int) -> IntMatrix:
    """Return labels (rows, size) with the probabilities of each row."""
    order = np.argsort(-g, axis=1)  # the likeliest first: most draws end there
    upper = np.cumsum(np.take_along_axis(g, order, axis=1), axis=1)
    u = generator.random((len(g), size)) * upper[:, -1:]
    place: IntMatrix = np.zeros(u.shape, dtype=np.int64)
    row, column = np.nonzero(u > upper[:, :1])
    # the others are found one class at a time, and where many are likely by bisection
    level = 0
    while row.size and level < _ONE_BY_ONE:
        level += 1
        place[row, column] = level
        further = u[row, column] > upper[row, level]
        row, column = row[further], column[further]
    for i in np.unique(row):
        place[i] = upper[i].searchsorted(u[i])
    labels: IntArray = np.take_along_axis(order, place, axis=1)
    return labels
