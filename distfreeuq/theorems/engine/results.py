"""What a run of the checker found: a row per claim, a verdict per theorem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    count,
    flag,
    part,
    proportion,
    real,
    require,
    several,
    text,
)
from distfreeuq.guarantees import Guarantee
from distfreeuq.results import Result
from distfreeuq.theorems.engine.claims import Sense, Verdict, claim_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

_COLUMNS = [
    "theorem",
    "experiment",
    "control",
    "event",
    "sense",
    "bound",
    "tolerance",
    "estimate",
    "low",
    "high",
    "draws",
    "verdict",
    "seconds",
]

Outcome = Literal["holds", "violated", "undecided", "caught", "missed"]
"""Experiments hold or are violated; controls are caught or missed; or undecided."""


@register("theorem")
@dataclass(frozen=True, slots=True)
class TheoremRecord:
    """A theorem's words, as in `Theorem`, without its experiments."""

    name: str
    title: str
    reference: str
    statement: str
    assumptions: tuple[str, ...]
    family: str

    _state: ClassVar[State] = {
        "name": text(),
        "title": text(),
        "reference": text(),
        "statement": text(),
        "assumptions": several(text()),
        "family": text(),
    }


@register("claim")
@dataclass(frozen=True, slots=True)
class ClaimRecord:
    """What became of one claim.

    Attributes
    ----------
    theorem, experiment : str
    control : bool
        Whether the claim was made of a control, which must fail.
    event, sense, bound, tolerance, mean
        The claim, with the tolerance of this run.
    hits, draws : int
        At the look that decided, or at the last.
    low, high : float
        Interval of that look.
    verdict : {"holds", "violated", "undecided"}
    seconds : float
        Processor time that the draws of the whole experiment took.
    """

    theorem: str
    experiment: str
    control: bool
    event: str
    sense: Sense
    bound: float
    tolerance: float
    mean: bool
    hits: int
    draws: int
    low: float
    high: float
    verdict: Verdict
    seconds: float

    _state: ClassVar[State] = {
        "theorem": text(),
        "experiment": text(),
        "control": flag(),
        "event": text(),
        "sense": text(*get_args(Sense)),
        "bound": real(),
        "tolerance": real(),
        "mean": flag(),
        "hits": count(),
        "draws": count(low=1),
        "low": real(),
        "high": real(),
        "verdict": text(*get_args(Verdict)),
        "seconds": real(),
    }

    @property
    def estimate(self) -> float:
        """Share of the draws in which the event happened."""
        return self.hits / self.draws

    def __str__(self) -> str:
        """Return the claim as tables print it."""
        return claim_text(self.event, self.sense, self.bound, self.mean)


@register("theorem-checks")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TheoremResult(Result):
    """Verdicts on theorems, and on the controls that show the checks have teeth.

    Attributes
    ----------
    theorems : tuple of TheoremRecord
    claims : tuple of ClaimRecord
        By theorem and experiment, controls after experiments.
    effort : str
        "fast" or "thorough".
    seed : int
        ``verify(..., rng=seed)`` gives the same table again.
    error : float
        Probability, at most, that any verdict of the run is wrong.
    guarantee : Guarantee

    Examples
    --------
    >>> from distfreeuq import theorems
    >>> result = theorems.verify("aps-uniform", rng=0)
    >>> result
    <TheoremResult aps-uniform: holds, controls caught>
    >>> result.ok, result.verdicts
    (True, {'aps-uniform': 'holds'})
    >>> sorted(set(result.to_frame()["verdict"]))
    ['holds', 'violated']
    """

    theorems: tuple[TheoremRecord, ...]
    claims: tuple[ClaimRecord, ...]
    effort: str
    seed: int
    error: float
    guarantee: Guarantee

    _state: ClassVar[State] = {
        "theorems": several(part(TheoremRecord)),
        "claims": several(part(ClaimRecord)),
        "effort": text(),
        "seed": count(high=None),
        "error": proportion(),
        "guarantee": part(Guarantee),
    }

    def _validate_state(self) -> None:
        names = [theorem.name for theorem in self.theorems]
        judged = {claim.theorem for claim in self.claims if not claim.control}
        require(len(set(names)) == len(names) > 0, "theorems of different names")
        require(judged == set(names), "claims of every theorem")

    def __repr__(self) -> str:
        """Return one line."""
        if len(self.theorems) == 1:
            name = self.theorems[0].name
            outcomes = self.outcomes(name, control=True).values()
            text = f"{name}: {self.verdicts[name]}"
            if outcomes:
                caught = all(outcome == "caught" for outcome in outcomes)
                text += f", controls {'' if caught else 'not '}caught"
        else:
            counts = _counted(self.verdicts.values())
            text = f"{len(self.theorems)} theorems: {counts}"
            controls = list(self._outcomes(control=True).values())
            if controls:
                text += f"; controls: {_counted(controls)}"
        return f"<TheoremResult {text}>"

    # --------------------------------------------------------------- verdicts

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdict on each theorem: the worst of its experiments'."""
        return {
            theorem.name: _worst(
                [
                    claim.verdict
                    for claim in self.claims
                    if claim.theorem == theorem.name and not claim.control
                ]
            )
            for theorem in self.theorems
        }

    def outcomes(self, name: str, *, control: bool = False) -> dict[str, Outcome]:
        """Return what became of each experiment, or of each control, of a theorem.

        Parameters
        ----------
        name : str
            Name of the theorem.
        control : bool, default False
            Whether to return the controls: "caught" if a claim was refuted, "missed" if
            all were found to hold, else "undecided".
        """
        known = [theorem.name for theorem in self.theorems]
        Arguments("TheoremResult.outcomes").choice(name, "name", known)
        control = Arguments("TheoremResult.outcomes").flag(control, "control")
        found = self._outcomes(control=control)
        return {which: found[owner, which] for owner, which in found if owner == name}

    def _outcomes(self, *, control: bool) -> dict[tuple[str, str], Outcome]:
        by_experiment: dict[tuple[str, str], list[Verdict]] = {}
        for claim in self.claims:
            if claim.control == control:
                key = claim.theorem, claim.experiment
                by_experiment.setdefault(key, []).append(claim.verdict)
        judge = _as_control if control else _worst
        return {key: judge(several) for key, several in by_experiment.items()}

    @property
    def ok(self) -> bool:
        """Whether every theorem holds and every control was caught."""
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """What the command line returns.

        0: every theorem holds and every control was caught. 1: a theorem is violated,
        or a control was not caught. 3: neither, but a theorem is undecided.
        """
        verdicts = set(self.verdicts.values())
        controls = set(self._outcomes(control=True).values())
        if "violated" in verdicts or controls - {"caught"}:
            return 1
        return 3 if "undecided" in verdicts else 0

    # -------------------------------------------------------------- protocol

    def to_frame(self) -> pd.DataFrame:
        """Return a row per claim.

        Columns: theorem, experiment, control, event, sense, bound, tolerance, estimate,
        low, high, draws, verdict, and the processor seconds of the experiment.
        With one seed, all but the last are the same in every run.
        """
        import pandas as pd

        rows = [[getattr(claim, name) for name in _COLUMNS] for claim in self.claims]
        return pd.DataFrame(rows, columns=_COLUMNS)

    def summary(self, *, seconds: bool = False) -> Summary:
        """Return the verdicts as a statsmodels ``Summary``.

        For one theorem a row per claim; for several a row per theorem, and in words
        what is not as it should be.

        Parameters
        ----------
        seconds : bool, default False
            Whether to print the processor time, which differs from run to run.
        """
        from distfreeuq.theorems.engine.summary import theorem_summary

        seconds = Arguments("TheoremResult.summary").flag(seconds, "seconds")
        return theorem_summary(self, seconds=seconds)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw estimates and intervals against the claims, controls marked.

        For one theorem a row per claim; for several a row per experiment, that of its
        claim nearest to violation, in units of its tolerance.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        """
        from distfreeuq import plots

        return plots.theorem_checks(self, ax=ax)


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    order: tuple[Verdict, ...] = ("violated", "undecided")
    for verdict in order:
        if verdict in verdicts:
            return verdict
    return "holds"


def _as_control(verdicts: Sequence[Verdict]) -> Outcome:
    if "violated" in verdicts:
        return "caught"
    return "undecided" if "undecided" in verdicts else "missed"


def _counted(outcomes: Any) -> str:
    """Return how many there are of each outcome."""
    outcomes = list(outcomes)
    kinds = dict.fromkeys(outcomes)
    return ", ".join(f"{outcomes.count(kind)} {kind}" for kind in kinds)
