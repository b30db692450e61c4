"""Finitely many points: joint probabilities are tables, and everything is exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import describe, read_only
from distfreeuq.scenarios import parameter_checks
from distfreeuq.scenarios.scenario import Domain, Scenario, Shift, check_domain

_SAME = 1e-12


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FiniteScenario(Scenario):
    """Rows at finitely many points, by tables of joint probabilities.

    Attributes
    ----------
    description : str
    points : ndarray (A, d)
        Distinct points; no row is elsewhere.
    source, target : ndarray (A, K)
        P(X = point, Y = class); each sums to one.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> noisy = scenarios.label_noise(0.3, 0.1, 0.05)
    >>> noisy.points.ravel().tolist(), noisy.source.tolist()
    ([1.0, -1.0], [[0.15, 0.35], [0.45, 0.05]])
    >>> noisy.shift, noisy.posterior([[1.0], [-1.0]], "target").tolist()
    ('concept', [[0.05, 0.95], [0.95, 0.05]])
    """

    description: str
    points: FloatMatrix
    source: FloatMatrix
    target: FloatMatrix

    def __post_init__(self) -> None:
        """Raise for tables that are no distributions, or that no shift relates."""
        args = Arguments(type(self).__name__)
        parameter_checks.words(args, self.description)
        for name in ("points", "source", "target"):
            matrix = parameter_checks.bounded(args, getattr(self, name), name)
            object.__setattr__(self, name, read_only(matrix))
        if len(self.points) == 0:
            args.invalid("points", "at least one", "none")
        if len(np.unique(self.points, axis=0)) < len(self.points):
            args.invalid("points", "distinct", "a point twice")
        for name in ("source", "target"):
            table = getattr(self, name)
            must = f"probabilities of shape ({len(self.points)}, K) that sum to one"
            if table.shape != self.source.shape or len(table) != len(self.points):
                args.invalid(name, must, f"shape {table.shape}")
            if table.min() < 0.0 or abs(table.sum() - 1.0) > _SAME:
                args.invalid(name, must, describe(table.tolist()))
        if (self.source.sum(axis=1) == 0.0).any():
            args.invalid("source", "positive somewhere in every row", "a row of zeros")
        if self._kind() is None:
            must = "the source's p(x | y), its p(y | x) or its p(x) with another factor"
            args.invalid("target", must, "none of them")

    @property
    def shift(self) -> Shift:
        """What differs between the domains."""
        kind = self._kind()
        assert kind is not None
        return kind

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return int(self.source.shape[1])

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return int(self.points.shape[1])

    def joint(self, domain: Domain) -> FloatMatrix:
        """Return P(X = point, Y = class), shape (A, K)."""
        check_domain(Arguments("joint"), domain)
        return self.source if domain == "source" else self.target

    def prior(self, domain: Domain) -> FloatArray:
        """Return the class proportions of the source or the target, shape (K,)."""
        check_domain(Arguments("prior"), domain)
        proportions: FloatArray = self.joint(domain).sum(axis=0)
        return proportions

    def draw(
        self, n: int, domain: Domain, rng: np.random.Generator
    ) -> tuple[FloatMatrix, IntArray]:
        """Draw n i.i.d. rows: features (n, d) and labels (n,)."""
        joint = self.joint(domain)
        cells = rng.choice(joint.size, size=n, p=joint.ravel() / joint.sum())
        point, label = np.divmod(cells, self.n_classes)
        return self.points[point], label.astype(np.int64)

    def posterior_of(self, x: FloatMatrix, domain: Domain) -> FloatMatrix:
        """Return p(y | x) for checked rows (n, d), shape (n, K)."""
        joint = self.joint(domain)
        share = joint.sum(axis=1, keepdims=True)
        # where the target has no rows, the source's posterior stands in
        table = np.where(share > 0.0, joint, self.source)
        table = table / table.sum(axis=1, keepdims=True)
        posterior: FloatMatrix = table[self._point_of(x, "posterior")]
        return posterior

    def density_ratio_of(self, x: FloatMatrix) -> FloatArray:
        """Return q(x) / p(x) for checked rows (n, d), shape (n,)."""
        with np.errstate(over="ignore"):  # beyond the floats: inf
            ratio = self.target.sum(axis=1) / self.source.sum(axis=1)
        of_rows: FloatArray = ratio[self._point_of(x, "density_ratio")]
        return of_rows

    def _point_of(self, x: FloatMatrix, caller: str) -> IntArray:
        """Return the number of the point at which each row is, shape (n,)."""
        number = np.full(len(x), -1, dtype=np.int64)
        for a, point in enumerate(self.points):
            number[(x == point).all(axis=1)] = a
        if len(x) and number.min() < 0:
            row = int(number.argmin())
            must = f"at one of the {len(self.points)} points of the scenario"
            Arguments(caller).invalid("x", must, f"{x[row].tolist()} at row {row}")
        return number

    def _kind(self) -> Shift | None:
        """Return what differs, by the first factor that the tables share."""
        source, target = self.source, self.target
        p, q = source.sum(axis=0), target.sum(axis=0)
        at_source, at_target = source.sum(axis=1), target.sum(axis=1)
        if _close(source, target):
            return "none"
        if _close(source * q, target * p):
            return "label"
        if _close(source * at_target[:, None], target * at_source[:, None]):
            return "covariate"
        return "concept" if _close(at_source, at_target) else None


def _close(a: FloatMatrix, b: FloatMatrix) -> bool:
    return bool(np.abs(a - b).max() <= _SAME)
