"""Rows of both samples dealt into folds: who fits, who calibrates, who is weighted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Fold:
    """One round of cross-fitting, as masks over the pooled rows (n,).

    Attributes
    ----------
    fit : ndarray (n,)
        Rows that the model is fitted on.
    calibrate : ndarray (n,)
        Rows that its temperature is fitted on; none of them where there is none.
    held_out : ndarray (n,)
        Rows that it weights, and of which it has seen nothing.
    """

    fit: BoolArray
    calibrate: BoolArray
    held_out: BoolArray


@dataclass(frozen=True, slots=True)
class Folds:
    """A fold number for every pooled row, as many of each sample in each as can be."""

    number: IntArray
    n_folds: int

    def rounds(self, calibrate: bool) -> Iterator[Fold]:
        """Yield the rounds: each fold is held out once, the next one calibrates."""
        for k in range(self.n_folds):
            held_out = self.number == k
            following = self.number == (k + 1) % self.n_folds
            if not calibrate:
                following = np.zeros_like(held_out)
            yield Fold(~(held_out | following), following, held_out)


def deal(n_source: int, n_target: int, n_folds: int, rng: np.random.Generator) -> Folds:
    """Deal the rows of each sample into folds at random."""
    number = [rng.permutation(n) % n_folds for n in (n_source, n_target)]
    return Folds(np.concatenate(number), n_folds)
