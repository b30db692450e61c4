"""What a search for a counterexample found: the worst designs, judged afresh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, get_args

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    count,
    flag,
    part,
    proportion,
    real,
    several,
    text,
)
from distfreeuq.guarantees import Guarantee
from distfreeuq.results import Result
from distfreeuq.theorems.engine.claims import Sense, claim_text
from distfreeuq.theorems.engine.designs import Design
from distfreeuq.theorems.engine.results import TheoremRecord

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

_COLUMNS = [
    "number",
    "parameters",
    "event",
    "sense",
    "bound",
    "exact",
    "estimate",
    "low",
    "high",
    "draws",
    "violated",
]


@register("searched-design")
@dataclass(frozen=True, slots=True)
class DesignRecord:
    """What became of one of the worst designs.

    Attributes
    ----------
    number : int
        ``SearchResult.design(number)`` makes it again.
    parameters : str
        As printed.
    event, sense, bound, mean
        The claim.
    exact : bool
        Whether `estimate` is the probability itself, without simulation.
    estimate, low, high : float
        The probability; or the share of the fresh draws, and the ends of its interval.
    hits, draws : int
        Of the fresh draws; 0 where the probability is exact.
    violated : bool
        Whether the probability, or the whole interval, contradicts the claim.
    """

    number: int
    parameters: str
    event: str
    sense: Sense
    bound: float
    mean: bool
    exact: bool
    estimate: float
    low: float
    high: float
    hits: int
    draws: int
    violated: bool

    _state: ClassVar[State] = {
        "number": count(),
        "parameters": text(),
        "event": text(),
        "sense": text(*get_args(Sense)),
        "bound": real(),
        "mean": flag(),
        "exact": flag(),
        "estimate": real(),
        "low": real(),
        "high": real(),
        "hits": count(),
        "draws": count(),
        "violated": flag(),
    }

    def __str__(self) -> str:
        """Return the claim as tables print it."""
        return claim_text(self.event, self.sense, self.bound, self.mean)


@register("theorem-search")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SearchResult(Result):
    """The designs that came nearest to violating a theorem, or do violate it.

    Attributes
    ----------
    theorem : TheoremRecord
    worst : tuple of DesignRecord
        Exact ones first, each kind with the worst in front.
    n_designs, n_exact : int
        Designs tried, and how many of them were evaluated without simulation.
    n_draws : int
        Draws of the screening; those of the verdicts come on top.
    seed : int
        With a design's number it gives the design again.
    error : float
        Probability, at most, of a "violated" though no design violates its claim.
    guarantee : Guarantee

    Examples
    --------
    >>> from distfreeuq import theorems
    >>> result = theorems.search("split-coverage", n_designs=20, rng=0)
    >>> result
    <SearchResult split-coverage: no counterexample among 20 designs>
    >>> result.violated, result.n_exact
    (False, 20)
    >>> sorted(result.design(result.worst[0].number).parameters)[:2]
    ['alpha', 'labels']
    """

    theorem: TheoremRecord
    worst: tuple[DesignRecord, ...]
    n_designs: int
    n_exact: int
    n_draws: int
    seed: int
    error: float
    guarantee: Guarantee

    _state: ClassVar[State] = {
        "theorem": part(TheoremRecord),
        "worst": several(part(DesignRecord)),
        "n_designs": count(),
        "n_exact": count(),
        "n_draws": count(),
        "seed": count(high=None),
        "error": proportion(),
        "guarantee": part(Guarantee),
    }

    def __repr__(self) -> str:
        """Return one line."""
        found = "violated" if self.violated else "no counterexample"
        return (
            f"<SearchResult {self.theorem.name}: {found} among {self.n_designs} "
            "designs>"
        )

    @property
    def violated(self) -> bool:
        """Whether a design was found that contradicts the theorem."""
        return any(one.violated for one in self.worst)

    def design(self, number: int) -> Design:
        """Return a design of the search again, by its number.

        Parameters
        ----------
        number : int
            As in ``worst`` or in the table.
        """
        from distfreeuq.theorems.engine import registry
        from distfreeuq.theorems.engine.searching import design_of

        args = Arguments("SearchResult.design")
        number = args.count(number, "number", low=0)
        return design_of(registry.get(self.theorem.name), self.seed, number)

    # -------------------------------------------------------------- protocol

    def to_frame(self) -> pd.DataFrame:
        """Return a row per design of `worst`.

        Columns: number, parameters, event, sense, bound, exact, estimate, low, high,
        draws, violated.
        """
        import pandas as pd

        rows = [[getattr(one, name) for name in _COLUMNS] for one in self.worst]
        return pd.DataFrame(rows, columns=_COLUMNS)

    def summary(self) -> Summary:
        """Return the worst designs as a statsmodels ``Summary``, with parameters."""
        from distfreeuq.theorems.engine.summary import search_summary

        return search_summary(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the worst designs' probabilities less what is claimed.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        """
        from distfreeuq import plots

        return plots.search_designs(self, ax=ax)
