"""Fresh discriminators that judge how alike source and target rows look.

A judge inherits nothing of the training that it judges: its own learning rate, no
dropout, and as many steps as it takes until it no longer improves on rows that it holds
out. What it says of x is then a property of x, however long the map was trained.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatMatrix
from distfreeuq._numerics.networks import Network, fit_network
from distfreeuq.density_ratios.cross_fitting import deal
from distfreeuq.density_ratios.diagnostics import Auc, auc_interval
from distfreeuq.feature_learning.adversarial_training import SOURCE, domain_rows

Units = int | tuple[int, ...]
_FOLDS = 3
_BATCH_SIZE = 128
_LEARNING_RATE = 0.005
_STEPS_WITHOUT_GAIN = 200
"""Steps of Adam without a smaller held-out loss after which the training ends."""
_SMALLEST_GAIN = 0.002
"""Of the mean NLL: what is less is not waited for."""
_MOST_STEPS = 2000


class Judgement(NamedTuple):
    """How well source and target rows are told apart by discriminators of their own.

    Attributes
    ----------
    network : Network
        The last fold's: class 1 is the source.
    accuracy : float
        Mean over source and target rows, each judged by a discriminator that has not
        seen it; 0.5 without difference.
    auc : Auc
        Of the same held-out log-odds.
    """

    network: Network
    accuracy: float
    auc: Auc


def judge(
    rows: FloatMatrix, n_source: int, n_hidden: Units, rng: np.random.Generator
) -> Judgement:
    """Train discriminators on all folds but one, and judge the one, in turn.

    Parameters
    ----------
    rows : ndarray (n, d)
        Source rows, then target rows.
    n_source : int
    n_hidden : int or tuple of int
        Hidden units of the discriminators, or of each of their layers.
    rng : Generator
        Deals the folds, and draws starting weights and minibatches.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.feature_learning.fresh_discriminators import judge
    >>> rng = np.random.default_rng(0)
    >>> rows = np.concatenate([rng.normal(0, 1, (150, 1)), rng.normal(2, 1, (150, 1))])
    >>> abs(judge(rows, 150, 4, rng).accuracy - 0.84) < 0.05
    True
    """
    domains, _ = domain_rows(n_source, rows.shape[0])
    is_source = domains == SOURCE
    smallest = min(n_source, rows.shape[0] - n_source)
    folds = deal(n_source, rows.shape[0] - n_source, min(_FOLDS, smallest), rng)
    log_odds = np.empty(rows.shape[0])
    for fold in folds.rounds(calibrate=False):
        network = _converged(rows[fold.fit], is_source[fold.fit], n_hidden, rng)
        log_odds[fold.held_out] = network.log_odds(rows[fold.held_out])
    right = (log_odds > 0.0) == is_source
    accuracy = 0.5 * float(right[is_source].mean() + right[~is_source].mean())
    area = auc_interval(-log_odds[is_source], -log_odds[~is_source], cross_fitted=True)
    return Judgement(network, accuracy, area)


def _converged(
    rows: FloatMatrix, is_source: BoolArray, n_hidden: Units, rng: np.random.Generator
) -> Network:
    """Return a discriminator of source rows, which come first, and target rows."""
    n = rows.shape[0]
    domains, balance = domain_rows(int(is_source.sum()), n)
    per_epoch = -(-n // _BATCH_SIZE)
    return fit_network(
        rows,
        domains,
        n_outputs=2,
        n_hidden=n_hidden,
        rng=rng,
        sample_weight=balance,
        batch_size=_BATCH_SIZE,
        learning_rate=_LEARNING_RATE,
        n_epochs=max(10, -(-_MOST_STEPS // per_epoch)),
        patience=max(3, -(-_STEPS_WITHOUT_GAIN // per_epoch)),
        tolerance=_SMALLEST_GAIN,
    ).network
