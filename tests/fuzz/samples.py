"""A small situation: sizes, probabilities, labels, weights, names, all of one seed."""

from random import Random
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

VALID, EDGE, HOSTILE = "valid", "edge", "hostile"

NUMBERS_OF_ROWS = (0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 12, 15, 20, 24, 40)
LARGEST_NUMBER_OF_CLASSES = 3000


class Sample:
    """What the arguments of one case have in common.

    Parameters
    ----------
    r : random.Random
        All choices are its.
    heavy : bool
        Whether the function's work grows so fast that many classes are left out.
    """

    def __init__(self, r: Random, *, heavy: bool = False) -> None:
        self.r = r
        self.np = np.random.Generator(np.random.PCG64(r.getrandbits(64)))
        u = r.random()
        self.spirit = VALID if u < 0.4 else EDGE if u < 0.7 else HOSTILE
        self.K = self._number_of_classes(heavy)
        self.n = self._number_of_rows()
        self.m = self._number_of_rows()
        self.d = r.choice((1, 1, 2, 2, 3, 8))
        self.classes = self._class_names()
        self.shared_label = self.spirit == EDGE and r.random() < 0.15

    def _number_of_classes(self, heavy: bool) -> int:
        u = self.r.random()
        if u < 0.0005 and not heavy:
            return self.r.choice((1000, LARGEST_NUMBER_OF_CLASSES))
        if u < 0.005 and not heavy:
            return self.r.choice((50, 100, 300))
        if u < 0.1:
            return self.r.randint(5, 12)
        return self.r.choice((2, 2, 3, 3, 3, 4))

    def _number_of_rows(self) -> int:
        if self.spirit == VALID:
            return self.r.choice((12, 15, 20, 24, 30, 40))
        if self.r.random() < 0.005:
            return 500
        return self.r.choice(NUMBERS_OF_ROWS)

    # ------------------------------------------------------------------ names

    def _class_names(self) -> list[Any] | None:
        u = self.r.random()
        if u < 0.65:
            return None
        if u < 0.8:
            return [f"class {k}" for k in range(self.K)]
        names: list[Any] = self.r.choice(_NAMINGS)(self.K)
        return names

    # ---------------------------------------------------------- probabilities

    def probs(self, n: int) -> Array:
        """Return valid rows (n, K), extreme ones if the case is not an easy one."""
        K, r = self.K, self.r
        if self.spirit == VALID:
            return self.np.dirichlet(np.full(K, r.choice((0.3, 1.0, 3.0))), n)
        style = r.randrange(9)
        if style == 0:
            return np.eye(K)[self.np.integers(0, K, n)]
        if style == 1:
            return np.full((n, K), 1.0 / K)
        if style == 2:  # many ties; sums are exact
            return self.np.multinomial(16, np.full(K, 1 / K), n) / 16
        if style == 3:  # a softmax that underflows
            return _softmax(self.np.normal(0.0, 400.0, (n, K)))
        if style == 4:  # subnormal numbers
            rows = np.eye(K)[self.np.integers(0, K, n)]
            tiny = self.np.choice([5e-324, 1e-310, 2e-308, 1e-300], (n, K))
            return np.where(rows == 0.0, tiny, rows)
        if style == 5:  # the same row again and again
            row = self.np.dirichlet(np.ones(K))
            return np.tile(row, (n, 1))
        if style == 6:
            rows = self.np.dirichlet(np.full(K, 0.02), n)
            rows[~np.isfinite(rows).all(axis=1)] = 1.0 / K
            return rows
        if style == 7:  # a class without any mass
            rows = self.np.dirichlet(np.ones(K), n)
            rows[:, r.randrange(K)] = 0.0
            return np.asarray(rows / rows.sum(axis=1, keepdims=True))
        return self.np.dirichlet(np.ones(K), n)

    def logits(self, n: int) -> Array:
        """Return logits (n, K): finite, or some -inf if the case is not an easy one."""
        scale = 3.0
        if self.spirit != VALID:
            scale = self.r.choice((0.0, 1e-300, 1e-3, 1.0, 1.0, 3.0, 30.0, 1e3, 1e8))
        rows = self.np.normal(0.0, scale, (n, self.K))
        if self.spirit != VALID and self.r.random() < 0.2:
            return np.round(rows)
        if self.spirit != VALID and self.r.random() < 0.05:
            rows *= self.r.choice((1e20, 1e100, 1e150, 1e200, 1e300))
        if self.spirit != VALID and self.r.random() < 0.15:  # classes are masked
            rows[self.np.random((n, self.K)) < self.r.choice((0.02, 0.3))] = -np.inf
        return rows

    def labels(self, n: int) -> Array:
        """Return column numbers (n,)."""
        if self.shared_label:
            return np.full(n, self.r.randrange(self.K))
        if self.spirit != VALID and self.r.random() < 0.15:  # a class is absent
            return np.minimum(self.np.integers(0, self.K, n), self.K - 2)
        return self.np.integers(0, self.K, n)

    def features(self, n: int, shift: float = 0.0) -> Array:
        """Return finite features (n, d)."""
        rows = self.np.normal(shift, 1.0, (n, self.d))
        if self.spirit == VALID:
            return rows
        style = self.r.randrange(8)
        if style == 0:
            return np.zeros((n, self.d))
        if style == 1:
            return np.round(rows)
        if style == 2:
            scales = (1e-300, 1e-30, 1e6, 1e30, 1e150, 1e300)
            return np.asarray(rows * self.r.choice(scales))
        if style == 3:
            rows[:, 0] = 5.0
        if style == 4 and n:
            rows[self.r.randrange(n)] *= 1e6
        return rows

    def weights(self, n: int) -> Array:
        """Return finite non-negative weights (n,)."""
        weights = self.np.exponential(1.0, n)
        if self.spirit == VALID:
            return weights
        style = self.r.randrange(10)
        if style == 0:
            return np.ones(n)
        if style == 1:
            weights[self.np.random(n) < 0.5] = 0.0
        if style == 2:
            weights *= self.r.choice((1e-300, 1e-320, 1e-20, 1e20, 1e150, 1e300))
        if style == 3:
            weights = self.np.choice([0.0, 5e-324, 1e-300, 1.0, 1e150, 1e300], n)
        if style == 4 and n:
            weights[:] = 0.0
            weights[self.r.randrange(n)] = 1.0
        if style == 5:
            weights = np.zeros(n)
        return weights

    def prior(self) -> Array:
        """Return class proportions (K,)."""
        prior = self.np.dirichlet(np.ones(self.K))
        if self.spirit != VALID and self.r.random() < 0.3:
            prior[self.r.randrange(self.K)] = self.r.choice((0.0, 5e-324, 1e-300))
            prior /= prior.sum()
        return prior


def _softmax(rows: Array) -> Array:
    rows = np.exp(rows - rows.max(axis=1, keepdims=True)) if rows.size else rows
    return np.asarray(rows / rows.sum(axis=1, keepdims=True)) if rows.size else rows


def _mixed(K: int) -> list[Any]:
    names: list[Any] = ["a", None, 2.5, ("pair", 1), b"bytes", True, "\n", 10**30]
    return names[:K] + list(range(10, 10 + K - len(names)))


_NAMINGS = (
    lambda K: list(range(K)),
    lambda K: list(range(K, 0, -1)),
    lambda K: [k / 4 for k in range(K)],
    lambda K: [f"日本語 {k}" for k in range(K)],
    lambda K: [f"é\u0301\u200d{chr(0x1F600 + k % 60)}{k}" for k in range(K)],
    lambda K: [f"line\nbreak\t{k}" for k in range(K)],
    lambda K: [f"nul\0{k}" for k in range(K)],
    lambda K: ["", " ", "  "][:K] + [f"{k}" for k in range(K - 3)],
    lambda K: [f"{'long name ' * 30}{k}" for k in range(K)],
    lambda K: [f"$\\frac{{{k}" for k in range(K)],
    lambda K: [f"<b>&amp;{k}</b>_%#~^\\" for k in range(K)],
    _mixed,
)
