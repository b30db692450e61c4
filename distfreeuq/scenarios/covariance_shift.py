"""Covariate shift of Gaussian features: the scenario of Pampari & Ermon (2020)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix, IntArray
from distfreeuq.references import PAMPARI_ERMON_2020
from distfreeuq.scenarios import parameter_checks
from distfreeuq.scenarios.scenario import Domain, Scenario, Shift, check_domain

_NODES = np.linspace(-9.0, 9.0, 1801)  # standard deviations of x_1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GaussianCovariateShift(Scenario):
    """Features centred Gaussian, of another covariance in the target; same p(y | x).

    P(Y = 1 | x) = sigmoid(slope x_1 + intercept) in both domains.

    Attributes
    ----------
    description : str
    source_covariance, target_covariance : ndarray (d, d)
    slope, intercept : float
    upper : float
        The largest density ratio q(x) / p(x), `inf` where it is unbounded.

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> toy = scenarios.covariance_shift_gaussians()
    >>> x, labels = toy.sample(1000, "source", rng=0)
    >>> ratio = toy.density_ratio(x)
    >>> bool((ratio <= toy.upper).all())
    True
    """

    description: str
    source_covariance: FloatMatrix
    target_covariance: FloatMatrix
    slope: float
    intercept: float

    def __post_init__(self) -> None:
        """Check the parameters, and make them read-only."""
        args = Arguments(type(self).__name__)
        source = parameter_checks.covariance(
            args, self.source_covariance, "source_covariance"
        )
        target = parameter_checks.covariance(
            args, self.target_covariance, "target_covariance"
        )
        if source.shape != target.shape:
            must = f"of shape {source.shape}, as the source's"
            args.invalid("target_covariance", must, f"shape {target.shape}")
        parameter_checks.store(
            self,
            description=parameter_checks.words(args, self.description),
            source_covariance=source,
            target_covariance=target,
            slope=parameter_checks.coefficient(args, self.slope, "slope"),
            intercept=parameter_checks.coefficient(args, self.intercept, "intercept"),
        )

    @property
    def shift(self) -> Shift:
        """What differs between the domains: p(x)."""
        return "covariate"

    @property
    def n_classes(self) -> int:
        """Number of classes, 2."""
        return 2

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return int(self.source_covariance.shape[0])

    @property
    def upper(self) -> float:
        """The largest density ratio q(x) / p(x), `inf` where it is unbounded."""
        if np.linalg.eigvalsh(self._contrast()).min() < 0.0:
            return np.inf
        with np.errstate(over="ignore"):
            return float(np.exp(self._log_ratio_at_zero()))

    def prior(self, domain: Domain) -> FloatArray:
        """Return the class proportions of the source or the target, shape (2,)."""
        check_domain(Arguments("prior"), domain)
        # the trapezoidal rule converges exponentially fast for such integrands
        weights = np.exp(-0.5 * _NODES**2)
        scale = np.sqrt(self.covariance(domain)[0, 0])
        of_one = special.expit(self.slope * scale * _NODES + self.intercept)
        one = float(weights @ of_one / weights.sum())
        return np.array([1.0 - one, one])

    def covariance(self, domain: Domain) -> FloatMatrix:
        """Return the covariance of the features, shape (d, d)."""
        check_domain(Arguments("covariance"), domain)
        source = domain == "source"
        return self.source_covariance if source else self.target_covariance

    def draw(
        self, n: int, domain: Domain, rng: np.random.Generator
    ) -> tuple[FloatMatrix, IntArray]:
        """Draw n i.i.d. rows: features (n, d) and labels (n,)."""
        root = np.linalg.cholesky(self.covariance(domain))
        x = rng.standard_normal((n, self.n_features)) @ root.T
        labels = (rng.random(n) < self.posterior_of(x, domain)[:, 1]).astype(np.int64)
        return x, labels

    def posterior_of(self, x: FloatMatrix, domain: Domain) -> FloatMatrix:
        """Return p(y | x) for checked rows (n, d), shape (n, 2)."""
        one = special.expit(self.slope * x[:, 0] + self.intercept)
        return np.column_stack([1.0 - one, one])

    def density_ratio_of(self, x: FloatMatrix) -> FloatArray:
        """Return q(x) / p(x) for checked rows (n, d), shape (n,)."""
        squares = np.einsum("nd,de,ne->n", x, self._contrast(), x)
        with np.errstate(over="ignore"):  # beyond the floats: inf
            ratio: FloatArray = np.exp(self._log_ratio_at_zero() - 0.5 * squares)
        return ratio

    def _contrast(self) -> FloatMatrix:
        """Return the difference of the precisions, shape (d, d)."""
        contrast: FloatMatrix = np.linalg.inv(self.target_covariance) - np.linalg.inv(
            self.source_covariance
        )
        return contrast

    def _log_ratio_at_zero(self) -> float:
        source = np.linalg.slogdet(self.source_covariance).logabsdet
        target = np.linalg.slogdet(self.target_covariance).logabsdet
        return float(0.5 * (source - target))


def covariance_shift_gaussians(
    *,
    source_covariance: ArrayLike = ((4.0, 0.0), (0.0, 1.0)),
    target_covariance: ArrayLike = ((0.8, 0.3), (0.3, 0.6)),
    slope: float = 2.0,
    intercept: float = 0.5,
) -> GaussianCovariateShift:
    """Gaussian features whose covariance changes, with the same p(y | x).

    Pampari and Ermon (2020, section 3) say no more than that two Gaussians differ in
    covariance, and that P(Y = 1 | x) is a function of the first coordinate. By default
    the target is the narrower one, and tilted: the density ratio is at most 3.21, and
    target rows lie where labels are less certain.

    Parameters
    ----------
    source_covariance, target_covariance : array-like (d, d)
        Positive definite.
    slope, intercept : float
        P(Y = 1 | x) = sigmoid(slope x_1 + intercept).

    Returns
    -------
    GaussianCovariateShift

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> toy = scenarios.covariance_shift_gaussians()
    >>> toy
    <GaussianCovariateShift: Gaussians of changed covariance, Pampari & Ermon (2020), 3>
    >>> round(toy.upper, 3), toy.prior("source").round(3).tolist()
    (3.203, [0.455, 0.545])
    """
    args = Arguments("covariance_shift_gaussians")
    source = parameter_checks.covariance(args, source_covariance, "source_covariance")
    target = parameter_checks.covariance(args, target_covariance, "target_covariance")
    if source.shape != target.shape:
        must = f"of shape {source.shape}, as the source's"
        args.invalid("target_covariance", must, f"shape {target.shape}")
    return GaussianCovariateShift(
        description=f"Gaussians of changed covariance, {PAMPARI_ERMON_2020}, 3",
        source_covariance=source,
        target_covariance=target,
        slope=parameter_checks.coefficient(args, slope, "slope"),
        intercept=parameter_checks.coefficient(args, intercept, "intercept"),
    )
