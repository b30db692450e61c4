"""Vector, Platt and Dirichlet scaling of groups whose parameters are tied.

Algorithm 1 of Zhao, Chen and Oymak (2020) for maps with parameters: the mean loss over
all rows is minimised with every group's parameters within gamma of shared ones, in
Euclidean distance. Changes of the parameters that change no probability count nothing.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq.calibration.guarantees import no_theorem
from distfreeuq.calibration.logistic_fits import BinaryLoss
from distfreeuq.calibration.losses.linear_loss import LinearLoss, linear_outcome
from distfreeuq.calibration.losses.off_diagonal_loss import OffDiagonalLoss
from distfreeuq.calibration.losses.vector_loss import VectorLoss, affine_outcome
from distfreeuq.calibration.platt import PlattOptions, PlattResult, fit_platt
from distfreeuq.calibration.probability_maps.dirichlet_maps import (
    DirichletOptions,
    DirichletResult,
    fit_dirichlet,
    log_probabilities,
)
from distfreeuq.calibration.results import (
    CalibrationResult,
    change_fields,
)
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows
from distfreeuq.calibration.tied.tied_minima import SmoothLoss, minimize_tied
from distfreeuq.calibration.vector import VectorOptions, VectorResult, fit_vector

LinearOptions: TypeAlias = VectorOptions | PlattOptions | DirichletOptions

MOST_PARAMETERS = 1000
"""With more, no Hessian is made, and groups cannot be tied."""

# Share of gamma^2 that a group's distance leaves free, up to which the tie holds it.
_HELD = 1e-5


@dataclass(frozen=True, slots=True)
class TiedMaps:
    """Fits of the groups, the map that they share, and which the tie holds back."""

    fits: tuple[CalibrationResult, ...]
    shared: CalibrationResult
    limited: BoolArray


class _Family(ABC):
    """Maps of one kind: their losses, their parameters, and results made of these.

    Attributes
    ----------
    start : ndarray (p,)
        Parameters of the map fitted to all rows.
    basis : ndarray (p, r)
        Directions that change probabilities, orthonormal.
    """

    start: FloatArray
    basis: FloatMatrix

    @abstractmethod
    def fit(self, rows: CalibrationRows) -> CalibrationResult:
        """Return the fit to these rows alone."""

    @abstractmethod
    def loss(self, rows: CalibrationRows) -> SmoothLoss:
        """Return the mean loss of these rows."""

    @abstractmethod
    def theta(self, fit: CalibrationResult) -> FloatArray:
        """Return the parameters (p,) of a fit."""

    @abstractmethod
    def result(self, rows: CalibrationRows, theta: FloatArray) -> CalibrationResult:
        """Return these parameters as a fit, without standard errors."""


class _VectorLoss(VectorLoss):
    __slots__ = ()

    def hessian(self, theta: FloatArray) -> FloatMatrix:
        """Return the Hessian, the ridge's included."""
        found = self.derivatives(theta)[1]
        found[np.diag_indices_from(found)] += self.ridge
        return found


class _LinearLoss(LinearLoss):
    __slots__ = ()

    def hessian(self, theta: FloatArray) -> FloatMatrix:
        """Return the Hessian, the ridge's included."""
        return self.products(theta)[0]


class _OffDiagonalLoss(OffDiagonalLoss):
    __slots__ = ()

    def hessian(self, theta: FloatArray) -> FloatMatrix:
        """Return the Hessian, the ridges' included."""
        return self.products(theta)[0]


class _Vector(_Family):
    def __init__(self, rows: CalibrationRows, ridge: float, fit: VectorResult) -> None:
        self.ridge, k = ridge, rows.n_classes
        self.free = np.tile(_present(rows) | (ridge > 0.0), 2)
        level = np.repeat([0.0, 1.0], k)[self.free][:, None]
        self.basis = _orthogonal_to(level if ridge == 0.0 else level[:, :0])
        self.start = self.theta(fit)

    def fit(self, rows: CalibrationRows) -> CalibrationResult:
        return fit_vector(rows, VectorOptions(self.ridge))

    def loss(self, rows: CalibrationRows) -> SmoothLoss:
        return _VectorLoss(rows, self.free, self.ridge)

    def theta(self, fit: CalibrationResult) -> FloatArray:
        assert isinstance(fit, VectorResult)
        return np.concatenate([fit.scale, fit.bias])[self.free]

    def result(self, rows: CalibrationRows, theta: FloatArray) -> CalibrationResult:
        problem = VectorLoss(rows, self.free, self.ridge)
        scale, bias = problem.expand(problem.center(theta))
        return VectorResult(
            **change_fields(rows, partial(affine_outcome, scale=scale, bias=bias)),
            guarantee=no_theorem("vector scaling"),
            scale=read_only(scale),
            bias=read_only(bias),
            std_err=read_only(np.full((2, rows.n_classes), np.nan)),
            ridge=self.ridge,
        )


class _Platt(_Family):
    """A linear map of more than two logits."""

    def __init__(
        self, rows: CalibrationRows, options: PlattOptions, fit: PlattResult
    ) -> None:
        self.options = options
        self.free = _present(rows) | (options.ridge > 0.0)
        n_free, n_features = int(self.free.sum()), rows.n_classes + 1
        level = np.kron(np.full((n_free, 1), 1.0), np.eye(n_features))
        self.basis = _orthogonal_to(level if options.ridge == 0.0 else level[:, :0])
        self.start = self.theta(fit)

    def fit(self, rows: CalibrationRows) -> CalibrationResult:
        return fit_platt(rows, self.options)

    def loss(self, rows: CalibrationRows) -> SmoothLoss:
        return _LinearLoss(rows, self.free, self.options.ridge)

    def theta(self, fit: CalibrationResult) -> FloatArray:
        assert isinstance(fit, PlattResult)
        change = np.column_stack([fit.coef, fit.bias]) - np.eye(*_shape(fit))
        return np.asarray(change[self.free].ravel())

    def result(self, rows: CalibrationRows, theta: FloatArray) -> CalibrationResult:
        coef, bias = LinearLoss(rows, self.free, self.options.ridge).expand(theta)
        return _platt_result(rows, self.options, coef, bias, (*_size(coef),))


class _BinaryPlatt(_Family):
    """A slope and an intercept of the difference of two logits."""

    def __init__(self, options: PlattOptions, fit: PlattResult) -> None:
        self.options, self.basis = options, np.eye(2)
        self.start = self.theta(fit)

    def fit(self, rows: CalibrationRows) -> CalibrationResult:
        return fit_platt(rows, self.options)

    def loss(self, rows: CalibrationRows) -> SmoothLoss:
        return BinaryLoss(rows, self.options.ridge, self.options.smoothing)

    def theta(self, fit: CalibrationResult) -> FloatArray:
        assert isinstance(fit, PlattResult)
        return np.array([fit.coef[1, 1] - fit.coef[0, 1], 2.0 * fit.bias[1]])

    def result(self, rows: CalibrationRows, theta: FloatArray) -> CalibrationResult:
        slope, intercept = theta
        coef = 0.5 * np.array([[1 + slope, 1 - slope], [1 - slope, 1 + slope]])
        bias = np.array([-0.5 * intercept, 0.5 * intercept])
        return _platt_result(rows, self.options, coef, bias, (2,))


class _Dirichlet(_Family):
    def __init__(self, options: DirichletOptions, fit: DirichletResult) -> None:
        self.options = options
        self.basis = np.eye(fit.coef.size + fit.bias.size)
        self.start = self.theta(fit)

    def fit(self, rows: CalibrationRows) -> CalibrationResult:
        return fit_dirichlet(rows, self.options)

    def loss(self, rows: CalibrationRows) -> SmoothLoss:
        return _OffDiagonalLoss(
            _of_logs(rows), self.options.ridge, self.options.ridge_bias
        )

    def theta(self, fit: CalibrationResult) -> FloatArray:
        assert isinstance(fit, DirichletResult)
        change = np.column_stack([fit.coef, fit.bias]) - np.eye(*_shape(fit))
        return np.asarray(change.ravel())

    def result(self, rows: CalibrationRows, theta: FloatArray) -> CalibrationResult:
        logs = _of_logs(rows)
        ridges = self.options.ridge, self.options.ridge_bias
        coef, bias = OffDiagonalLoss(logs, *ridges).expand(theta)
        return DirichletResult(
            **change_fields(logs, partial(linear_outcome, coef=coef, bias=bias)),
            guarantee=no_theorem("Dirichlet scaling"),
            coef=read_only(coef),
            bias=read_only(bias),
            std_err=read_only(np.full(_size(coef), np.nan)),
            ridge=self.options.ridge,
            ridge_bias=self.options.ridge_bias,
        )


def n_parameters(rows: CalibrationRows, options: LinearOptions) -> int:
    """Return how many parameters a map has."""
    k = rows.n_classes
    if isinstance(options, VectorOptions):
        return 2 * k
    return 2 if isinstance(options, PlattOptions) and k == 2 else k * (k + 1)


def fit_tied_maps(
    rows: CalibrationRows,
    codes: IntArray,
    groups: IntArray,
    gamma: float,
    options: LinearOptions,
    pooled: CalibrationResult,
) -> TiedMaps:
    """Fit maps to these groups with parameters within gamma of shared ones.

    Where every group's own optimum is within gamma of the map of all rows, these are
    the fits; else the tied problem is solved, and groups that it does not hold back
    have their own fits.
    """
    family = _family_of(rows, options, pooled)
    parts = [rows.some(codes == g) for g in groups]
    with warnings.catch_warnings():  # of groups without an optimum of their own
        warnings.simplefilter("ignore")
        alone = [family.fit(part) for part in parts]
    if not groups.size or all(
        _distance(family, fit, family.start) <= gamma for fit in alone
    ):
        return TiedMaps(tuple(alone), pooled, np.zeros(groups.size, dtype=np.bool_))
    mass = np.bincount(codes, rows.weights)[groups]
    found = minimize_tied(
        [family.loss(part) for part in parts],
        mass / mass.sum(),
        family.start,
        gamma,
        family.basis,
    )
    limited = found.slack < _HELD
    fits = []
    for g, (part, fit) in enumerate(zip(parts, alone, strict=True)):
        reachable = _distance(family, fit, found.shared) <= gamma * (1.0 + 1e-9)
        limited[g] |= not reachable
        fits.append(family.result(part, found.own[g]) if limited[g] else fit)
    return TiedMaps(tuple(fits), family.result(rows, found.shared), limited)


def _family_of(
    rows: CalibrationRows, options: LinearOptions, pooled: CalibrationResult
) -> _Family:
    if isinstance(options, VectorOptions):
        assert isinstance(pooled, VectorResult)
        return _Vector(rows, options.ridge, pooled)
    if isinstance(options, PlattOptions):
        assert isinstance(pooled, PlattResult)
        if rows.n_classes == 2:
            return _BinaryPlatt(options, pooled)
        return _Platt(rows, options, pooled)
    assert isinstance(pooled, DirichletResult)
    return _Dirichlet(options, pooled)


def _distance(family: _Family, fit: CalibrationResult, other: FloatArray) -> float:
    """Return the distance of a fit's parameters, but for changes of no effect."""
    away = (family.theta(fit) - other) @ family.basis
    return float(np.sqrt(away @ away))


def _platt_result(
    rows: CalibrationRows,
    options: PlattOptions,
    coef: FloatMatrix,
    bias: FloatArray,
    shape: tuple[int, ...],
) -> PlattResult:
    return PlattResult(
        **change_fields(rows, partial(linear_outcome, coef=coef, bias=bias)),
        guarantee=no_theorem("Platt scaling"),
        coef=read_only(coef),
        bias=read_only(bias),
        std_err=read_only(np.full(shape, np.nan)),
        ridge=options.ridge,
        smoothing=options.smoothing,
    )


def _present(rows: CalibrationRows) -> BoolArray:
    return np.asarray(np.bincount(rows.labels, rows.weights, rows.n_classes) > 0.0)


def _of_logs(rows: CalibrationRows) -> CalibrationRows:
    return replace(rows, logits=log_probabilities(rows.logits))


def _shape(fit: Any) -> tuple[int, int]:
    return _size(fit.coef)


def _size(coef: FloatMatrix) -> tuple[int, int]:
    return coef.shape[0], coef.shape[1] + 1


def _orthogonal_to(columns: FloatMatrix) -> FloatMatrix:
    """Return an orthonormal basis (p, r) of what is orthogonal to the columns."""
    if columns.shape[1] == 0:
        return np.eye(columns.shape[0])
    full = np.linalg.qr(columns, mode="complete")[0]
    return np.ascontiguousarray(full[:, columns.shape[1] :])
