"""Label shift: one density per class, shared by the domains, and two priors."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy import special

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq.scenarios.scenario import Domain, Scenario, Shift, check_domain


class LabelShiftScenario(Scenario):
    """A scenario given by p(x | y) and the class proportions of the two domains.

    Subclasses hold `source_prior` and `target_prior`, and give `draw` and
    `log_density_of`; posteriors and density ratios follow by Bayes' formula.
    """

    __slots__ = ()

    source_prior: FloatArray
    target_prior: FloatArray

    @abstractmethod
    def log_density_of(self, x: FloatMatrix) -> FloatMatrix:
        """Return ln p(x | y) up to a term common to a row, shape (n, K)."""

    @property
    def shift(self) -> Shift:
        """What differs between the domains: p(y)."""
        return "label"

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return int(self.source_prior.size)

    def prior(self, domain: Domain) -> FloatArray:
        """Return the class proportions of the source or the target, shape (K,)."""
        check_domain(Arguments("prior"), domain)
        return self.source_prior if domain == "source" else self.target_prior

    def posterior_of(self, x: FloatMatrix, domain: Domain) -> FloatMatrix:
        """Return p(y | x) for checked rows (n, d), shape (n, K)."""
        logits = self._log_joint(x, domain)
        peaks = logits.max(axis=1, keepdims=True)
        # where the domain has no rows nothing is known but the class proportions
        probs = np.where(
            np.isfinite(peaks),
            np.exp(logits - np.where(np.isfinite(peaks), peaks, 0.0)),
            self.prior(domain),
        )
        posterior: FloatMatrix = probs / probs.sum(axis=1, keepdims=True)
        return posterior

    def density_ratio_of(self, x: FloatMatrix) -> FloatArray:
        """Return q(x) / p(x) for checked rows (n, d), shape (n,)."""
        source = special.logsumexp(self._log_joint(x, "source"), axis=1)
        target = special.logsumexp(self._log_joint(x, "target"), axis=1)
        difference = np.full_like(target, -np.inf)
        np.subtract(target, source, out=difference, where=np.isfinite(target))
        with np.errstate(over="ignore"):  # beyond the floats: inf
            ratio: FloatArray = np.exp(difference)
        return ratio

    def _log_joint(self, x: FloatMatrix, domain: Domain) -> FloatMatrix:
        """Return ln p(x, y) up to a term common to a row, shape (n, K)."""
        with np.errstate(divide="ignore"):  # a class that the domain lacks: -inf
            log_prior = np.log(self.prior(domain))
        joint: FloatMatrix = self.log_density_of(x) + log_prior
        return joint
