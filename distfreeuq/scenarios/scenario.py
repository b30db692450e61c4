"""What every data generating process knows about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import prod
from typing import Any, Literal

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolArray,
    FloatArray,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._base.random_streams import stream
from distfreeuq.scenarios import parameter_checks

Domain = Literal["source", "target"]
Shift = Literal["none", "label", "covariate", "concept"]
Size = int | tuple[int, ...]


class Scenario(ABC):
    """A source and a target distribution of rows (x, y), both of them fully known.

    Subclasses give `description`, `shift`, `prior`, `draw`, `posterior_of` and
    `density_ratio_of`; the public methods are made from these, and check what they are
    given.

    Attributes
    ----------
    description : str
        One line.
    shift : {"none", "label", "covariate", "concept"}
        What differs between the domains: nothing; p(y), with p(x | y) the same; p(x),
        with p(y | x) the same; or p(y | x), with p(x) the same.
    n_classes : int
        K. Labels are 0..K-1.
    n_features : int
        d.

    Examples
    --------
    A scenario of one's own: x is uniform on [0, 1] in the source and has density 2x in
    the target, and P(Y = 1 | x) = x in both.

    >>> import numpy as np
    >>> from distfreeuq import scenarios
    >>> class Ramp(scenarios.Scenario):
    ...     description = "P(Y = 1 | x) = x, more of large x in the target"
    ...     shift, n_classes, n_features = "covariate", 2, 1
    ...     def prior(self, domain):
    ...         one = 1 / 2 if domain == "source" else 2 / 3
    ...         return np.array([1 - one, one])
    ...     def draw(self, n, domain, rng):
    ...         x = rng.random(n) if domain == "source" else np.sqrt(rng.random(n))
    ...         return x[:, None], rng.binomial(1, x)
    ...     def posterior_of(self, x, domain):
    ...         return np.column_stack([1 - x[:, 0], x[:, 0]])
    ...     def density_ratio_of(self, x):
    ...         return 2 * x[:, 0]
    >>> ramp = Ramp()
    >>> x, labels = ramp.sample((500, 100), "target", rng=0)  # 500 replicates at once
    >>> x.shape, labels.shape, ramp.posterior(x).shape
    ((500, 100, 1), (500, 100), (500, 100, 2))
    >>> ramp.bayes_rule([[0.2], [0.9]]).tolist(), ramp.label_weight.round(3).tolist()
    ([0, 1], [0.667, 1.333])
    """

    __slots__ = ()

    description: str

    @property
    @abstractmethod
    def shift(self) -> Shift:
        """What differs between the domains."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """Number of classes K."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of features d."""

    @abstractmethod
    def prior(self, domain: Domain) -> FloatArray:
        """Return the class proportions of the source or the target, shape (K,)."""

    @abstractmethod
    def draw(
        self, n: int, domain: Domain, rng: np.random.Generator
    ) -> tuple[FloatMatrix, IntArray]:
        """Draw n i.i.d. rows: features (n, d) and labels (n,)."""

    @abstractmethod
    def posterior_of(self, x: FloatMatrix, domain: Domain) -> FloatMatrix:
        """Return p(y | x) for checked rows (n, d), shape (n, K)."""

    @abstractmethod
    def density_ratio_of(self, x: FloatMatrix) -> FloatArray:
        """Return q(x) / p(x) for checked rows (n, d), shape (n,)."""

    def __repr__(self) -> str:
        """Return one line."""
        return f"<{type(self).__name__}: {self.description}>"

    @property
    def label_weight(self) -> FloatArray:
        """The true ratios q(y) / p(y), shape (K,).

        They turn the source into the target under label shift, and only there.
        """
        source, target = self.prior("source"), self.prior("target")
        present = source > 0.0
        weights: FloatArray = np.where(target > 0.0, np.inf, 0.0)
        with np.errstate(over="ignore"):  # beyond the floats: inf, as without rows
            weights[present] = target[present] / source[present]
        return weights

    def sample(
        self, n: Size, domain: Domain = "source", *, rng: RandomState = None
    ) -> tuple[FloatMatrix, IntArray]:
        """Draw i.i.d. rows.

        Parameters
        ----------
        n : int or tuple of int
            Number of rows, or a shape: ``(1000, 50)`` is 1000 replicates of 50 rows,
            and stands in place of n below.
        domain : {"source", "target"}
        rng : int, Generator, SeedSequence or None
            One integer gives source and target different streams.

        Returns
        -------
        x : ndarray (n, d)
        labels : ndarray (n,)
        """
        args = Arguments("sample")
        check_domain(args, domain)
        shape = (n,) if not isinstance(n, tuple) else n
        shape = tuple(args.count(length, "n", low=0) for length in shape)
        generator = stream(rng, domain, "sample")
        x, labels = self.draw(prod(shape), domain, generator)
        return x.reshape(*shape, self.n_features), labels.reshape(shape)

    def posterior(self, x: ArrayLike, domain: Domain = "source") -> FloatMatrix:
        """Return the true class probabilities given x.

        Parameters
        ----------
        x : array-like (..., d), or (n,) where there is one feature
        domain : {"source", "target"}

        Returns
        -------
        ndarray (..., K)
        """
        args = Arguments("posterior")
        check_domain(args, domain)
        rows, shape = self._rows(args, x)
        return self.posterior_of(rows, domain).reshape(*shape, self.n_classes)

    def density_ratio(self, x: ArrayLike) -> FloatArray:
        """Return how much more likely x is in the target, q(x) / p(x).

        Parameters
        ----------
        x : array-like (..., d), or (n,) where there is one feature

        Returns
        -------
        ndarray (...)
        """
        rows, shape = self._rows(Arguments("density_ratio"), x)
        return self.density_ratio_of(rows).reshape(shape)

    def bayes_rule(self, x: ArrayLike, domain: Domain = "source") -> IntArray:
        """Return the most likely label given x, the first of equals.

        Parameters
        ----------
        x : array-like (..., d), or (n,) where there is one feature
        domain : {"source", "target"}

        Returns
        -------
        ndarray (...)
        """
        best: IntArray = self.posterior(x, domain).argmax(axis=-1)
        return best

    def oracle_sets(
        self,
        x: ArrayLike,
        alpha: float = 0.1,
        domain: Domain = "source",
        *,
        randomized: bool = True,
        uniforms: ArrayLike | None = None,
        rng: RandomState = None,
    ) -> BoolArray:
        """Return the sets that one would predict if p(y | x) were known.

        Parameters
        ----------
        x : array-like (..., d), or (n,) where there is one feature
        alpha : float, default 0.1
        domain : {"source", "target"}
            Whose posterior.
        randomized : bool, default True
            Labels y with rho_y + u pi_y <= 1 - alpha, rho_y the mass of labels that
            are more likely, which cover with probability 1 - alpha given every x.
            Otherwise those with rho_y < 1 - alpha, which cover at least as often and
            are never empty.
        uniforms : array-like (...), optional
            u of each row, for sets that are to be compared with others.
        rng : int, Generator, SeedSequence or None
            Draws them where they are not given.

        Returns
        -------
        ndarray (..., K) of bool
            Whether the label is in the set.

        Notes
        -----
        Eq. (3) and (4) of Podkopaev and Ramdas (2021). With APS scores of the true
        posterior, conformal sets come to the randomised ones as the calibration rows
        become many (theorem ``oracle-sets``).

        Examples
        --------
        >>> from distfreeuq import scenarios
        >>> toy = scenarios.three_gaussians()
        >>> toy.posterior([[2.0, 0.0]]).round(2).tolist()
        [[0.02, 0.92, 0.06]]
        >>> toy.oracle_sets([[2.0, 0.0]], 0.05, randomized=False).tolist()
        [[False, True, True]]
        >>> toy.oracle_sets([[2.0, 0.0]], 0.05, uniforms=[0.9]).tolist()
        [[False, True, False]]
        """
        args = Arguments("oracle_sets")
        check_domain(args, domain)
        alpha = args.alpha(alpha)
        randomized = args.flag(randomized, "randomized")
        rows, shape = self._rows(args, x)
        probs = self.posterior_of(rows, domain)
        mass = np.stack(
            [np.where(probs > own[:, None], probs, 0.0).sum(axis=1) for own in probs.T],
            axis=1,
        )
        if not randomized:
            # a sum of likelier labels at 1 - alpha, up to rounding, is not below it
            inside = mass < 1.0 - alpha - 1e-12
            return inside.reshape(*shape, self.n_classes)
        if uniforms is None:
            u: FloatArray = stream(rng, domain, "oracle_sets").random(len(rows))
        else:
            given = args.array(uniforms, "uniforms", "numbers in [0, 1]")
            u = args.uniforms(given.reshape(-1), len(rows))
        inside = mass + u[:, None] * probs <= 1.0 - alpha
        return inside.reshape(*shape, self.n_classes)

    def _rows(
        self, args: Arguments, x: ArrayLike
    ) -> tuple[FloatMatrix, tuple[int, ...]]:
        """Return checked rows (n, d), and the shape that they had."""
        array = args.array(x, "x", "features")
        many = array.ndim > 2
        rows = array.reshape(prod(array.shape[:-1]), array.shape[-1]) if many else x
        rows = parameter_checks.bounded(args, rows, "x")
        if rows.shape[1] != self.n_features:
            args.invalid("x", f"of shape (..., {self.n_features})", shape_text(array))
        return rows, array.shape[:-1] if many else rows.shape[:1]


def check_domain(args: Arguments, domain: str) -> None:
    """Raise unless the domain is the source or the target."""
    args.choice(domain, "domain", ["source", "target"])


def shape_text(array: np.ndarray[Any, Any]) -> str:
    """Return a shape as error messages give it."""
    return f"shape {array.shape}"


def sample_labels(
    n: int, prior: FloatArray, generator: np.random.Generator
) -> IntArray:
    """Return n labels drawn by their proportions."""
    return generator.choice(prior.size, size=n, p=prior).astype(np.int64)
