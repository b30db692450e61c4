"""Label shift between Gaussian classes: the scenarios of Podkopaev & Ramdas (2021)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq.references import PODKOPAEV_RAMDAS_2021
from distfreeuq.scenarios import parameter_checks
from distfreeuq.scenarios.label_shift_scenario import LabelShiftScenario
from distfreeuq.scenarios.scenario import Domain, sample_labels


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GaussianLabelShift(LabelShiftScenario):
    """Label shift between Gaussian classes with one covariance.

    Attributes
    ----------
    description : str
    means : ndarray (K, d)
    covariance : ndarray (d, d)
    source_prior, target_prior : ndarray (K,)

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> toy = scenarios.three_gaussians()
    >>> x, labels = toy.sample(1000, "target", rng=0)
    >>> toy.posterior(x).shape, toy.label_weight.round(3).tolist()
    ((1000, 3), [3.0, 0.333, 1.667])
    """

    description: str
    means: FloatMatrix
    covariance: FloatMatrix
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
            covariance=parameter_checks.covariance(args, self.covariance, "covariance"),
        )
        if self.covariance.shape[0] != self.means.shape[1]:
            must = f"of shape ({self.means.shape[1]}, {self.means.shape[1]})"
            args.invalid("covariance", must, f"shape {self.covariance.shape}")

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return int(self.means.shape[1])

    def draw(
        self, n: int, domain: Domain, rng: np.random.Generator
    ) -> tuple[FloatMatrix, IntArray]:
        """Draw n i.i.d. rows: features (n, d) and labels (n,)."""
        labels = sample_labels(n, self.prior(domain), rng)
        root = np.linalg.cholesky(self.covariance)
        noise = rng.standard_normal((n, self.n_features))
        return self.means[labels] + noise @ root.T, labels

    def log_density_of(self, x: FloatMatrix) -> FloatMatrix:
        """Return ln p(x | y) up to a term common to a row, shape (n, K)."""
        # -|x - mean|^2 / 2 in the precision's metric, but for x's own square
        directions = np.linalg.solve(self.covariance, self.means.T)
        offsets = 0.5 * np.einsum("kd,dk->k", self.means, directions)
        log_density: FloatMatrix = x @ directions - offsets
        return log_density


def three_gaussians() -> GaussianLabelShift:
    """Three Gaussian classes, p = (.1, .6, .3) and q = (.3, .2, .5).

    Podkopaev and Ramdas (2021), section 2.2.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> scenarios.three_gaussians()
    <GaussianLabelShift: three Gaussians in the plane, Podkopaev & Ramdas (2021), 2.2>
    """
    return GaussianLabelShift(
        description=f"three Gaussians in the plane, {PODKOPAEV_RAMDAS_2021}, 2.2",
        means=read_only(np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 2.0 * np.sqrt(3.0)]])),
        covariance=read_only(4.0 * np.eye(2)),
        source_prior=read_only(np.array([0.1, 0.6, 0.3])),
        target_prior=read_only(np.array([0.3, 0.2, 0.5])),
    )


def binary_gaussians() -> GaussianLabelShift:
    """Two Gaussian classes, p = (.5, .5) and q = (.2, .8).

    Podkopaev and Ramdas (2021), section 3.2.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> scenarios.binary_gaussians().label_weight.tolist()
    [0.4, 1.6]
    """
    return GaussianLabelShift(
        description=f"two Gaussians in the plane, {PODKOPAEV_RAMDAS_2021}, 3.2",
        means=read_only(np.array([[-1.0, 0.0], [1.0, 0.0]])),
        covariance=read_only(np.array([[0.75, 0.25], [0.25, 0.75]])),
        source_prior=read_only(np.array([0.5, 0.5])),
        target_prior=read_only(np.array([0.2, 0.8])),
    )
