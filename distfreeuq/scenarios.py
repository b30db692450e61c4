"""Data generating processes with everything known: the papers' own, for simulations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from distfreeuq._random import stream
from distfreeuq._typing import ArrayLike, FloatArray, FloatMatrix, IntArray, RandomState
from distfreeuq._validate import Door
from distfreeuq.results import read_only

Domain = Literal["source", "target"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GaussianLabelShift:
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

    def __repr__(self) -> str:
        """Return one line."""
        return f"<GaussianLabelShift: {self.description}>"

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return int(self.means.shape[0])

    @property
    def label_weight(self) -> FloatArray:
        """The true weights q / p, shape (K,)."""
        weights: FloatArray = self.target_prior / self.source_prior
        return weights

    def prior(self, domain: Domain) -> FloatArray:
        """Return the class proportions of the source or the target, shape (K,)."""
        Door("prior").choice(domain, "domain", ["source", "target"])
        return self.source_prior if domain == "source" else self.target_prior

    def sample(
        self, n: int, domain: Domain = "source", *, rng: RandomState = None
    ) -> tuple[FloatMatrix, IntArray]:
        """Draw n rows: features (n, d) and labels (n,).

        Rows are i.i.d., so that many replicates can be drawn at once and reshaped.
        """
        generator = stream(rng, domain, "sample")
        labels = generator.choice(self.n_classes, size=n, p=self.prior(domain))
        root = np.linalg.cholesky(self.covariance)
        noise = generator.standard_normal((n, self.means.shape[1]))
        return self.means[labels] + noise @ root.T, labels.astype(np.int64)

    def posterior(self, x: ArrayLike, domain: Domain = "source") -> FloatMatrix:
        """Return the true class probabilities given x, shape (n, K): the Bayes rule."""
        features = Door("posterior").features(x, "x")
        precision = np.linalg.inv(self.covariance)
        centred = features[:, None, :] - self.means
        logits = -0.5 * np.einsum("nki,ij,nkj->nk", centred, precision, centred)
        logits += np.log(self.prior(domain))
        logits -= logits.max(axis=1, keepdims=True)
        probs = np.exp(logits)
        posterior: FloatMatrix = probs / probs.sum(axis=1, keepdims=True)
        return posterior


def three_gaussians() -> GaussianLabelShift:
    """Paper A, section 2.2: three Gaussian classes, p = (.1, .6, .3), q = (.3, .2, .5).

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> scenarios.three_gaussians()
    <GaussianLabelShift: three overlapping Gaussians in the plane (paper A, 2.2)>
    """
    return GaussianLabelShift(
        description="three overlapping Gaussians in the plane (paper A, 2.2)",
        means=read_only(np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 2.0 * np.sqrt(3.0)]])),
        covariance=read_only(4.0 * np.eye(2)),
        source_prior=read_only(np.array([0.1, 0.6, 0.3])),
        target_prior=read_only(np.array([0.3, 0.2, 0.5])),
    )


def binary_gaussians() -> GaussianLabelShift:
    """Paper A, section 3.2: two Gaussian classes, p = (.5, .5), q = (.2, .8).

    Examples
    --------
    >>> from distfreeuq import scenarios
    >>> scenarios.binary_gaussians().label_weight.tolist()
    [0.4, 1.6]
    """
    return GaussianLabelShift(
        description="two Gaussians in the plane (paper A, 3.2)",
        means=read_only(np.array([[-1.0, 0.0], [1.0, 0.0]])),
        covariance=read_only(np.array([[0.75, 0.25], [0.25, 0.75]])),
        source_prior=read_only(np.array([0.5, 0.5])),
        target_prior=read_only(np.array([0.2, 0.8])),
    )
