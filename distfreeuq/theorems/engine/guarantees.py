"""The guarantee of a run: how likely it is that any verdict is wrong."""

from __future__ import annotations

from distfreeuq.guarantees import Guarantee
from distfreeuq.references import CLOPPER_PEARSON_1934


def error_statement(error: float, n_claims: int) -> Guarantee:
    """Return the probability, at most, that any of the verdicts is wrong, in words."""
    return Guarantee(
        statement=(
            f"the probability that any of the {n_claims} verdicts is wrong is at most "
            f"{error:g}: exact binomial intervals at every planned look, Bonferroni "
            "over looks and claims."
        ),
        kind="confidence interval",
        confidence=1.0 - error,
        reference=f"{CLOPPER_PEARSON_1934}; Bonferroni",
        assumptions=("the generator's numbers are as good as random",),
    )


def search_statement(error: float, n_designs: int, n_drawn: int) -> Guarantee:
    """Return how a search can be wrong: one way only."""
    how = "sums without simulation"
    if n_drawn:
        how = (
            "fresh draws and exact binomial intervals, Bonferroni over "
            f"{n_drawn} finalists, or {how}"
        )
    return Guarantee(
        statement=(
            f"if all of the {n_designs} designs keep the claim, one is called violated "
            f"with probability at most {error:g}: {how}. "
            "That none is found proves nothing."
        ),
        kind="confidence interval",
        confidence=1.0 - error,
        reference=f"{CLOPPER_PEARSON_1934}; Bonferroni",
        assumptions=("the generator's numbers are as good as random",),
    )
