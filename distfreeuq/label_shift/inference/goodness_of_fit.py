"""Is it label shift at all? Tests that the target is a mixture of the source's classes.

Under label shift the target's shares mu of any cells of the output are A q, with A the
shares in the source's classes and q unknown proportions. Two tests of it, both of the
likeliest A and q (theory page, 4.14):

- against everything: the likelihood ratio, chi-squared with as many degrees of freedom
  as there are cells less classes with a positive proportion in the fit. That the number
  depends on the fit is what makes it right where proportions are zero (Cox and Shi
  2023);
- against confidences that have risen or fallen in all predicted classes alike: the
  score of such a change, with few degrees of freedom, so that a change is seen that is
  lost among the many cells.

The p-value is twice the smaller one, at most 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq.label_shift.mixture_of_classes import (
    ClassMixture,
    fit_class_mixture,
)
from distfreeuq.label_shift.output_cells import N_LEVELS, OutputCells

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

# A class with fewer target rows than this in the fit counts as one that has none:
# degrees of freedom too many make p-values larger, and too few smaller.
_ONE_ROW = 1.0

# Variance of a score, relative to what it would be with A and q known, below which the
# direction cannot be told from a change of proportions.
_RANK = 1e-6


@dataclass(frozen=True, slots=True)
class GoodnessOfFitTest:
    """A test that the shift is a label shift, whatever the proportions.

    Attributes
    ----------
    p_value : float
        Twice the smaller of the two p-values below, at most 1. If it is small, the
        target's outputs are no mixture of those of the source's classes: another
        classifier, other inputs, or a class that the source lacks.
    cells_statistic, cells_df : float, int
        Likelihood ratio of all cells of predicted class and confidence, and its degrees
        of freedom; 0 if there are too few cells to test anything.
    confidence_statistic, confidence_df : float, int
        Score statistic of confidences that have changed in all predicted classes alike.
    n_cells : int
        Cells that rows are in.

    Notes
    -----
    Under label shift P(p_value <= a) is at most a in the limit of many rows of every
    class, be proportions zero or not. With few source rows of a class it is smaller: so
    few exclude little. A class without source rows is taken to have no target rows
    either. A large p-value does not show that the shift is a label shift.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> def classify(y, noise):
    ...     return 1 / (1 + np.exp(2 - 4 * rng.normal(y, noise)))
    >>> labels, later = rng.integers(2, size=2000), rng.integers(2, size=2000)
    >>> probs = classify(labels, 0.4)
    >>> dfu.bbse(probs, labels, classify(later, 0.4)).goodness_of_fit().p_value > 0.05
    True
    >>> dfu.bbse(probs, labels, classify(later, 0.6)).goodness_of_fit().p_value < 0.001
    True
    """

    p_value: float
    cells_statistic: float
    cells_df: int
    confidence_statistic: float
    confidence_df: int
    n_cells: int

    @property
    def testable(self) -> bool:
        """Whether there are cells enough to test anything."""
        return bool(self.cells_df or self.confidence_df)

    def summary(self) -> Summary:
        """Return both statistics and what they say, as a ``Summary``."""
        from distfreeuq._base import printing

        named = {
            "all cells": (self.cells_statistic, self.cells_df),
            "confidences, all classes alike": (
                self.confidence_statistic,
                self.confidence_df,
            ),
        }
        rows = [
            [name, printing.number(statistic, 3), str(df), _shown(_tail(statistic, df))]
            for name, (statistic, df) in named.items()
            if df
        ]
        headers = ["against", "chi-squared", "df", "p-value"]
        return printing.summarize(
            "Goodness of fit of label shift",
            [
                ("P-value, of both", _shown(self.p_value) if self.testable else "-"),
                ("Cells", str(self.n_cells)),
            ],
            [printing.Table(headers, rows)] if rows else [],
            [("Tests", _MIXTURE if self.testable else _TOO_FEW), ("By", _BY)],
        )

    def __str__(self) -> str:
        """Return the summary's text."""
        return str(self.summary().as_text())

    def _repr_html_(self) -> str:
        return str(self.summary().as_html())


_MIXTURE = (
    "that the target's predicted classes and confidences are a mixture of those of "
    "the source's classes, whatever the proportions; asymptotic. A small p-value "
    "refutes label shift; a large one does not show it."
)
_TOO_FEW = "nothing: there are too few cells of predicted class and confidence."
_BY = (
    "Cox and Shi (2023), for degrees of freedom that the fit decides (theory page, "
    "4.14)."
)


def _tail(statistic: float, df: int) -> float:
    return float(chdtrc(df, statistic)) if df else 1.0


def _shown(p_value: float) -> str:
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


@on_one_blas_thread
def compare_with_mixtures(cells: OutputCells) -> GoodnessOfFitTest:
    """Return the test of these counts."""
    source = cells.source.astype(np.float64)
    target = cells.target.astype(np.float64)
    fit = fit_class_mixture(source, target)
    ratio = _likelihood_ratio(fit, source, target)
    taking_part = int((fit.prior * target.sum() >= _ONE_ROW).sum())
    df = max(target.size - taking_part, 0)
    score, score_df = _confidence_score(fit, source, target, cells)
    p_values = [_tail(ratio, df), _tail(score, score_df)]
    return GoodnessOfFitTest(
        min(2.0 * min(p_values), 1.0),
        ratio if df else 0.0,
        df,
        score,
        score_df,
        target.size,
    )


def _likelihood_ratio(
    fit: ClassMixture, source: FloatMatrix, target: FloatArray
) -> float:
    """Return twice the log-likelihood that the mixture loses."""
    loss = _divergence(source, source.sum(axis=0) * fit.shares)
    loss += _divergence(target, target.sum() * fit.target)
    return max(2.0 * loss, 0.0)


def _divergence(counts: FloatArray, expected: FloatArray) -> float:
    seen = counts > 0
    ratio = counts[seen] / np.maximum(expected[seen], 1e-300)
    return float(counts[seen] @ np.log(ratio))


def _confidence_score(
    fit: ClassMixture, source: FloatMatrix, target: FloatArray, cells: OutputCells
) -> tuple[float, int]:
    """Return the statistic of a change of confidence in all groups, and its df.

    The gap mean(target) - A q is freed of what other proportions would change, in its
    own covariance V, which both samples' noise makes, and its products V^-1 with the
    directions of change are compared with their covariance.
    """
    mu, shares, m = fit.target, fit.shares, target.sum()
    counts = source.sum(axis=0)
    directions = _directions(mu, cells)
    # outer(mu, mu) is left out once: gaps sum to zero, and V is then regular
    per_row = np.square(fit.prior) / counts
    noise = np.diag(mu / m + shares @ per_row) - (shares * per_row) @ shares.T
    scale = np.sqrt(np.maximum(np.diag(noise), 1e-300))
    white = np.linalg.pinv(noise / np.outer(scale, scale), 1e-12, hermitian=True)
    inverse = white / np.outer(scale, scale)
    gap = target / m - (source / counts) @ fit.prior
    by_class = inverse @ shares
    to_prior = np.linalg.pinv(shares.T @ by_class, 1e-10, hermitian=True)
    gap = gap - shares @ (to_prior @ (by_class.T @ gap))
    pulls = inverse @ directions
    known = directions.T @ pulls
    lost = directions.T @ by_class
    covariance = known - lost @ to_prior @ lost.T
    size = np.sqrt(np.maximum(np.diag(known), 1e-300))
    values, vectors = np.linalg.eigh(covariance / np.outer(size, size))
    kept = values > _RANK
    turned = vectors[:, kept].T @ (pulls.T @ gap / size)
    return float((turned**2 / values[kept]).sum()), int(kept.sum())


def _directions(mu: FloatArray, cells: OutputCells) -> FloatMatrix:
    """Return changes (D, levels - 1) of shares that leave each group's as it is."""
    out = np.zeros((mu.size, N_LEVELS - 1))
    of_group = np.maximum(np.bincount(cells.group, weights=mu), 1e-300)
    for level in range(1, N_LEVELS):
        above = (cells.rank > level / N_LEVELS) * 1.0
        share = np.bincount(cells.group, weights=mu * above) / of_group
        out[:, level - 1] = mu * (above - share[cells.group])
    return out
