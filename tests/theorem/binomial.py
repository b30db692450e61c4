"""Judges simulated counts by exact tails, at one false-alarm rate for a whole file.

A coverage test draws one test point per calibration draw, so that its hits are exactly
binomial. Each claim is judged at ``false_alarm / claims`` (Bonferroni): if the theorems
hold and the code is right, a whole file raises with probability at most `false_alarm`,
however its claims depend on each other.
"""

import numpy as np
from scipy import stats


class RefutedError(AssertionError):
    """The counts are all but impossible if the claim is true."""


class Judge:
    """Makes at most `claims` claims, all true ones upheld but at rate `false_alarm`."""

    def __init__(self, *, claims: int, false_alarm: float = 1e-6) -> None:
        self.claims = claims
        self.level = false_alarm / claims
        self.made = 0

    def at_least(self, hits: int, trials: int, probability: float) -> None:
        """Claim that every trial hits with at least this probability."""
        self._judge(
            stats.binom.cdf(hits, trials, probability),
            f"{hits} of {trials} ({hits / trials:.5f}) for at least {probability:.5f}",
        )

    def at_most(self, hits: int, trials: int, probability: float) -> None:
        """Claim that every trial hits with at most this probability."""
        self._judge(
            stats.binom.sf(hits - 1, trials, probability),
            f"{hits} of {trials} ({hits / trials:.5f}) for at most {probability:.5f}",
        )

    def exactly(self, hits: int, trials: int, probability: float) -> None:
        """Claim that trials hit with this probability: half the level per side."""
        smaller_tail = min(
            stats.binom.cdf(hits, trials, probability),
            stats.binom.sf(hits - 1, trials, probability),
        )
        self._judge(
            2.0 * smaller_tail,
            f"{hits} of {trials} ({hits / trials:.5f}) for exactly {probability:.5f}",
        )

    def follows(self, sample: np.ndarray, law: stats.rv_continuous) -> None:
        """Claim that independent numbers have this continuous law (Kolmogorov)."""
        test = stats.ks_1samp(sample, law.cdf)
        self._judge(
            test.pvalue, f"{sample.size} numbers at distance {test.statistic:.5f}"
        )

    def _judge(self, p_value: float, what: str) -> None:
        self.made += 1
        if self.made > self.claims:
            raise RuntimeError(f"more than the {self.claims} claims announced")
        if p_value < self.level:
            raise RefutedError(f"{what}: p-value {p_value:.2g} < {self.level:.2g}")
