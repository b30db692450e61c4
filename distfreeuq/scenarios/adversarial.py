"""Label shift where careless procedures break: ties, atoms, extreme weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq.scenarios import parameter_checks
from distfreeuq.scenarios.finite import FiniteScenario
from distfreeuq.scenarios.gaussian import GaussianLabelShift
from distfreeuq.scenarios.label_shift_scenario import LabelShiftScenario
from distfreeuq.scenarios.scenario import Domain, sample_labels

# Class means of the three-class scenarios: the triangle of Podkopaev & Ramdas (2021).
_TRIANGLE = ((-2.0, 0.0), (2.0, 0.0), (0.0, 2.0 * np.sqrt(3.0)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AtomicLabelShift(LabelShiftScenario):
    """Label shift between classes with unit normal features, some rows at zero exactly.

    Attributes
    ----------
    description : str
    means : ndarray (K, d)
        Class means of the rows that are not at zero.
    at_zero : ndarray (K,)
        Probability, by class, that a row is at zero.
    source_prior, target_prior : ndarray (K,)

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> toy = scenarios.atoms()
    >>> x, _ = toy.sample(10_000, rng=0)
    >>> round(float((x == 0.0).all(axis=1).mean()), 1)
    0.5
    """

    description: str
    means: FloatMatrix
    at_zero: FloatArray
    source_prior: FloatArray
    target_prior: FloatArray

    def __post_init__(self) -> None:
        """Check the parameters, and make them read-only."""
        args = Arguments(type(self).__name__)
        p = parameter_checks.proportions(args, self.source_prior, "source_prior")
        parameter_checks.store(
            self,
            description=parameter_checks.words(args, self.description),
            source_prior=p,
            target_prior=parameter_checks.proportions(
                args, self.target_prior, "target_prior", p.size
            ),
            means=parameter_checks.means(args, self.means, p.size),
            at_zero=args.vector(
                self.at_zero,
                "at_zero",
                "numbers from 0 to less than 1",
                length=p.size,
                low=0.0,
                high=float(np.nextafter(1.0, 0.0)),
            ),
        )

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return int(self.means.shape[1])

    def draw(
        self, n: int, domain: Domain, rng: np.random.Generator
    ) -> tuple[FloatMatrix, IntArray]:
        """Draw n i.i.d. rows: features (n, d) and labels (n,)."""
        labels = sample_labels(n, self.prior(domain), rng)
        x = self.means[labels] + rng.standard_normal((n, self.n_features))
        x[rng.random(n) < self.at_zero[labels]] = 0.0
        return x, labels

    def log_density_of(self, x: FloatMatrix) -> FloatMatrix:
        """Return ln p(x | y) up to a term common to a row, shape (n, K)."""
        offsets = 0.5 * (self.means**2).sum(axis=1)
        elsewhere = x @ self.means.T - offsets + np.log1p(-self.at_zero)
        zero = (x == 0.0).all(axis=1, keepdims=True) & self.at_zero.any()
        with np.errstate(divide="ignore"):  # a class without an atom: -inf
            atoms = np.log(self.at_zero)
        log_density: FloatMatrix = np.where(zero, atoms, elsewhere)
        return log_density


def ties_everywhere() -> FiniteScenario:
    """Four points whose posteriors tie, within a row and between rows.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> toy = scenarios.ties_everywhere()
    >>> toy.posterior(toy.points).round(3).tolist()[:2]
    [[0.333, 0.333, 0.333], [0.4, 0.4, 0.2]]
    """
    table = np.array([[3, 3, 3], [4, 4, 2], [2, 4, 4], [3, 0, 3]]) / 35
    weights = np.array([2.0, 0.5, 1.0])
    return FiniteScenario(
        description="four points, the classes tied within and between them",
        points=np.arange(4.0)[:, None],
        source=table,
        target=table * weights / (table @ weights).sum(),
    )


def atoms() -> AtomicLabelShift:
    """Three normal classes of which half of the rows are one and the same.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> scenarios.atoms().posterior([[0.0, 0.0]]).round(3).tolist()
    [[0.36, 0.48, 0.16]]
    """
    return AtomicLabelShift(
        description="three Gaussians, half of the rows at zero exactly",
        means=read_only(np.array(_TRIANGLE) / 2.0),
        at_zero=read_only(np.array([0.9, 0.4, 0.4])),
        source_prior=read_only(np.array([0.2, 0.6, 0.2])),
        target_prior=read_only(np.array([0.5, 0.2, 0.3])),
    )


def heavy_imbalance() -> GaussianLabelShift:
    """Classes of 98.5 %, 1 % and 0.5 % in the source, and less unequal in the target.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> scenarios.heavy_imbalance().label_weight.round(2).tolist()
    [0.71, 20.0, 20.0]
    """
    return _gaussians(
        "two rare classes beside a common one",
        source_prior=(0.985, 0.01, 0.005),
        target_prior=(0.7, 0.2, 0.1),
    )


def useless_classifier() -> GaussianLabelShift:
    """Features say nothing about the labels: every posterior is the prior.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> scenarios.useless_classifier().posterior([[7.0, -3.0]]).round(3).tolist()
    [[0.5, 0.3, 0.2]]
    """
    return _gaussians(
        "features that say nothing about the labels",
        means=np.zeros((3, 2)),
        source_prior=(0.5, 0.3, 0.2),
        target_prior=(0.2, 0.3, 0.5),
    )


def perfect_classifier() -> FiniteScenario:
    """Features that are the labels: every posterior is 0 or 1.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> scenarios.perfect_classifier().posterior([[2.0]]).tolist()
    [[0.0, 0.0, 1.0]]
    """
    return FiniteScenario(
        description="features that are the labels",
        points=np.arange(3.0)[:, None],
        source=np.diag([0.5, 0.3, 0.2]),
        target=np.diag([0.2, 0.3, 0.5]),
    )


def fifty_classes() -> GaussianLabelShift:
    """Fifty overlapping classes: equally frequent, then by Zipf's law.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> weights = scenarios.fifty_classes().label_weight
    >>> weights.size, float(weights.max().round(2)), float(weights.min().round(2))
    (50, 11.11, 0.22)
    """
    rows, columns = np.divmod(np.arange(50), 10)
    zipf = 1.0 / np.arange(1.0, 51.0)
    return _gaussians(
        "fifty overlapping classes on a grid, uniform to Zipf",
        means=2.0 * np.column_stack([columns, rows]),
        covariance=np.eye(2),
        source_prior=np.full(50, 0.02),
        target_prior=zipf / zipf.sum(),
    )


def wide_weights() -> GaussianLabelShift:
    """Weights from 0.005 to 50: the largest is ten thousand times the smallest.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> scenarios.wide_weights().label_weight.round(3).tolist()
    [50.0, 1.015, 0.005]
    """
    return _gaussians(
        "label weights that span a factor of 10^4",
        source_prior=(0.01, 0.49, 0.5),
        target_prior=(0.5, 0.4975, 0.0025),
    )


def absent_class() -> GaussianLabelShift:
    """Weight zero: a class that the target lacks.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> scenarios.absent_class().label_weight.tolist()
    [2.0, 2.0, 0.0]
    """
    return _gaussians(
        "a class that the target lacks",
        source_prior=(0.25, 0.25, 0.5),
        target_prior=(0.5, 0.5, 0.0),
    )


def _gaussians(
    description: str,
    *,
    means: ArrayLike = _TRIANGLE,
    covariance: ArrayLike = ((4.0, 0.0), (0.0, 4.0)),
    source_prior: ArrayLike,
    target_prior: ArrayLike,
) -> GaussianLabelShift:
    return GaussianLabelShift(
        description=description,
        means=read_only(np.asarray(means, dtype=np.float64)),
        covariance=read_only(np.asarray(covariance, dtype=np.float64)),
        source_prior=read_only(np.asarray(source_prior, dtype=np.float64)),
        target_prior=read_only(np.asarray(target_prior, dtype=np.float64)),
    )
