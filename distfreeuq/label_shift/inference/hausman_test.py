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
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray, IntMatrix
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.random_streams import generator_of
from distfreeuq._base.stored_state import State, count, floats, real, require
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.gram_sums import gram
from distfreeuq._numerics.row_sums import column_sums
from distfreeuq.label_shift.class_matrix import TakingPart
from distfreeuq.label_shift.data import Samples
from distfreeuq.label_shift.inference.moment_estimate import inverse_matrix
from distfreeuq.label_shift.inference.scaling_noise import ScalingScores
from distfreeuq.label_shift.scalings import LogScaling, Scaling
from distfreeuq.label_shift.scalings.bcts import FLOOR

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
    samples: Samples,
    calibrated: Samples,
    calibration: Scaling | None,
    weight: FloatArray,
) -> HausmanTest:
    """Test whether the source's labels agree with the calibrated probabilities.

    Parameters
    ----------
    samples, calibrated : Samples
        Before and after the calibration.
    calibration : BiasCorrectedTemperature, LogScaling or None
        None if nothing was fitted.
    weight : ndarray (K,)
        Those of maximum likelihood. They count as given: they come from the target, and
        their error does not matter in the first order.
    """
    n, n_classes = calibrated.probs.shape
    n_draws = _N_DRAWS if n <= _MANY_ROWS else _FEWER_DRAWS
    mean = column_sums(calibrated.probs, None) / n
    norm = max(float(mean @ weight), _NO_MASS * float(weight.max()))
    w = weight / norm if norm > 0 else np.ones(n_classes)
    if not np.ptp(w[mean > 0]) > 1e-12:
        return HausmanTest(read_only(np.zeros(n_classes)), 1.0, n_draws)
    w = (n * w + n_classes) / (n + n_classes)  # so that no posterior is constant
    few = TakingPart.if_few((mean > 0) | (calibrated.class_counts > 0))
    g, labels = few.columns(calibrated.probs), few.codes(calibrated.labels)
    before = None if calibration is None else few.columns(samples.probs)
    raw, scaling = before, None
    if isinstance(calibration, LogScaling):
        before = None  # its scores are kept apart
        scaling = ScalingScores(calibration.of_classes(few), 1 + n_draws)
    w, mean, k = few.of(w), few.of(mean), few.size
    sums = _Sums(g, before, w, mean)
    generator = generator_of(samples.class_counts, np.round(n * mean, _DECIMALS))
    observed, drawn = np.zeros((k, 1)), np.zeros((k, n_draws))
    counts, of_slope = np.zeros((k, 1 + n_draws)), np.zeros(1 + n_draws)
    step = max(1, _AT_A_TIME // max(n_draws, k))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        block = _Block(sums, rows)
        both = np.hstack([labels[rows, None], _draw(block.g, generator, n_draws)])
        score = block.posterior.T @ (w[both] - block.expected[:, None])
        if scaling is not None and raw is not None:
            scaling.add(raw[rows], block.g, block.posterior, w, both)
        observed += score[:, :1]
        drawn += score[:, 1:]
        if before is not None:
            for column in range(1 + n_draws):
                counts[:, column] += np.bincount(both[:, column], minlength=k)
            of_slope += np.take_along_axis(block.centred_logs, both, axis=1).sum(axis=0)
    scores = np.hstack([observed, drawn]) / n
    if before is not None:
        gradient = np.vstack([counts / n - mean[:, None], of_slope / n])
        scores -= sums.of_calibration() @ gradient
    if scaling is not None:
        scores -= scaling.correction() / n
    gaps = -inverse_matrix(sums.moment_matrix(), 1e-10) @ scores
    lengths = (gaps**2).sum(axis=0)
    above = int((lengths[1:] >= lengths[0] * (1.0 - _TIED)).sum())
    gap = few.vector(gaps[:, 0].copy())
    return HausmanTest(read_only(gap), (1.0 + above) / (n_draws + 1.0), n_draws)


class _Block:
    """Some rows: probabilities g, posteriors, expected weights and centred logs."""

    def __init__(self, sums: _Sums, rows: slice) -> None:
        self.g = sums.g[rows].astype(np.float64, copy=False)
        self.expected = self.g @ sums.w
        inverse = np.zeros(len(self.g))
        np.divide(1.0, self.expected, out=inverse, where=self.expected > 0)
        self.posterior = self.g * sums.w * inverse[:, None]
        if sums.before is not None:
            logs = np.log(np.maximum(sums.before[rows], FLOOR), dtype=np.float64)
            self.centred_logs = logs - (self.g * logs).sum(axis=1, keepdims=True)


class _Sums:
    """What is known given the inputs: moments under calibration, and BCTS's scores."""

    def __init__(
        self,
        g: FloatMatrix,
        before: FloatMatrix | None,
        w: FloatArray,
        mean: FloatArray,
    ) -> None:
        self.g, self.before, self.w, self.mean = g, before, w, mean
        n = len(g)
        expected = g @ w
        per_row = np.divide(1.0, expected, out=np.zeros(n), where=expected > 0)
        self._moments = w[:, None] * gram(g, np.sqrt(per_row))
        if before is not None:
            self._add_scores_of_calibration()

    def _add_scores_of_calibration(self) -> None:
        n, k = self.g.shape
        self._by_bias, self._by_slope = np.zeros((k, k)), np.zeros(k)
        self._information = np.zeros((k + 1, k + 1))
        self._information[:-1, :-1] = -gram(self.g)
        step = max(1, _AT_A_TIME // k)
        for start in range(0, n, step):
            block = _Block(self, slice(start, start + step))
            # covariance of e and the label's indicators, given x
            tilt = block.g * (self.w - block.expected[:, None])
            self._by_bias += block.posterior.T @ tilt
            logs = block.centred_logs
            self._by_slope += block.posterior.T @ (tilt * logs).sum(axis=1)
            self._information[:-1, -1] += (block.g * logs).sum(axis=0)
            self._information[-1, -1] += float((block.g * logs**2).sum())

    def moment_matrix(self) -> FloatMatrix:
        """Return A under calibration."""
        mass = self.mean * len(self.g)
        return self._moments / np.where(mass > 0, mass, 1.0)

    def of_calibration(self) -> FloatMatrix:
        """Return what the fit of BCTS takes from S per unit of its gradient."""
        n = len(self.g)
        cross = np.column_stack([self._by_bias, self._by_slope]) / n
        information = self._information / n
        information[-1, :-1] = information[:-1, -1]
        information[:-1, :-1] += np.diag(self.mean)
        return np.asarray(np.linalg.lstsq(information, cross.T, rcond=1e-12)[0].T)


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
