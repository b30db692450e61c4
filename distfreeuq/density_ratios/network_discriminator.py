"""A network that tells target rows from source rows."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import BoolArray, BoolMatrix, FloatMatrix
from distfreeuq._numerics.networks import Network, fit_network
from distfreeuq.density_ratios.discriminators import show


class NetworkLearner:
    """Networks fitted on chosen rows of one pooled sample.

    Epochs are compared on 15% of the rows that a network is fitted on, so that rows
    held out from it have no part in when it stops.

    Parameters
    ----------
    x : ndarray (n, d)
        Source rows, then target rows.
    is_target : ndarray (n,)
    n_hidden : tuple of int
        Units of each hidden layer.
    loss : {"nll", "brier"}
    rng : Generator
    progress : bool
        Show a progress bar.
    """

    def __init__(
        self,
        x: FloatMatrix,
        is_target: BoolArray,
        n_hidden: tuple[int, ...],
        loss: str,
        rng: np.random.Generator,
        progress: bool,
    ) -> None:
        self.x, self.labels = x, is_target.astype(np.int64)
        self.n_hidden, self.loss = n_hidden, loss
        self.rng, self.progress = rng, progress

    def fit_all(self) -> Network:
        """Return the fit on all rows."""
        return self._fit(np.ones(self.labels.size, dtype=bool))

    def held_out_log_odds(self, fits: BoolMatrix) -> FloatMatrix:
        """Return all rows' log-odds (n, r) by fits on the rows that r columns mark."""
        rounds = show(fits.T, self.progress)
        return np.column_stack([self._fit(f).log_odds(self.x) for f in rounds])

    def _fit(self, rows: BoolArray) -> Network:
        return fit_network(
            self.x[rows],
            self.labels[rows],
            n_outputs=2,
            n_hidden=self.n_hidden,
            rng=self.rng,
            loss=self.loss,
        ).network
