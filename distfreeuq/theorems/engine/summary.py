"""The printed verdicts: a row per claim of one theorem, or a row per theorem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from distfreeuq._base import printing
from distfreeuq._base.printing import Table
from distfreeuq.theorems.engine.results import ClaimRecord, TheoremRecord, TheoremResult
from distfreeuq.theorems.engine.search_results import DesignRecord, SearchResult

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq._base.layout import Note
    from distfreeuq.theorems.engine.experiment import Theorem


def theorem_summary(result: TheoremResult, *, seconds: bool) -> Summary:
    """Return the verdicts as a statsmodels ``Summary``, with processor time if asked.

    Processor time differs from run to run; everything else depends on the seed alone.
    """
    facts = [
        ("Effort", result.effort),
        ("Seed", str(result.seed)),
        ("Claims", str(len(result.claims))),
        ("Draws", str(_n_draws(result))),
    ]
    if len(result.theorems) == 1:
        one = result.theorems[0]
        title = one.title
        facts = [("Theorem", one.name), ("Verdict", _verdict(result, one.name)), *facts]
        tables = _claim_tables(result, seconds)
        notes = _words(one)
    else:
        title = "Theorems checked by simulation"
        tables, notes = _theorem_tables(result, seconds), _shortcomings(result)
    notes.append(("Verdicts", _reading(result.claims)))
    notes.append(("Error", result.guarantee.statement))
    return printing.summarize(title, facts, tables, notes)


def words(theorem: Theorem) -> str:
    """Return a theorem's words as a table, without verdicts."""
    facts = [
        ("Theorem", theorem.name),
        ("Family", theorem.family),
        ("Experiments", str(len(theorem.experiments))),
        ("Controls", str(len(theorem.controls))),
    ]
    return printing.summarize(theorem.title, facts, [], _words(theorem)).as_text()


def _words(theorem: Theorem | TheoremRecord) -> list[Note]:
    """Return what a theorem states, needs and cites."""
    return [
        ("States", theorem.statement),
        ("Needs", "; ".join(theorem.assumptions) + "."),
        ("By", theorem.reference + "."),
    ]


def search_summary(result: SearchResult) -> Summary:
    """Return the worst designs, and their parameters in words."""
    facts = [
        ("Theorem", result.theorem.name),
        ("Found", "violated" if result.violated else "no counterexample"),
        ("Designs tried", str(result.n_designs)),
        ("Without simulation", str(result.n_exact)),
        ("Seed", str(result.seed)),
        ("Draws of the screening", str(result.n_draws)),
    ]
    rows = [
        [
            str(one.number),
            str(one),
            f"{one.estimate:.6f}" if one.exact else f"{one.estimate:.4f}",
            "exact" if one.exact else f"[{one.low:.4f}, {one.high:.4f}]",
            "none" if one.exact else str(one.draws),
            "violated" if one.violated else "not violated",
        ]
        for one in result.worst
    ]
    headers = ["design", "claim", "probability", "interval", "fresh draws", "verdict"]
    notes = [(f"Design {one.number}", _parameters(one)) for one in result.worst]
    notes.append(("States", result.theorem.statement))
    notes.append(("Error", result.guarantee.statement))
    title = f"Search for a counterexample: {result.theorem.title}"
    return printing.summarize(title, facts, [Table(headers, rows)], notes)


def _parameters(one: DesignRecord) -> str:
    return one.parameters + "."


def _n_draws(result: TheoremResult) -> int:
    """Return the draws of all experiments: claims of one may end at different looks."""
    draws: dict[tuple[str, str], int] = {}
    for claim in result.claims:
        key = claim.theorem, claim.experiment
        draws[key] = max(claim.draws, draws.get(key, 0))
    return sum(draws.values())


def _verdict(result: TheoremResult, name: str) -> str:
    controls = result.outcomes(name, control=True).values()
    caught = all(outcome == "caught" for outcome in controls)
    return result.verdicts[name] + ("" if caught else ", a control not caught")


def _claim_tables(result: TheoremResult, seconds: bool) -> list[Table]:
    """Return the claims that must hold, and those of the controls."""
    tables = []
    for control, heading in ((False, "must hold"), (True, "control, must fail")):
        rows = [
            [
                claim.experiment,
                str(claim),
                f"{claim.estimate:.4f}",
                f"[{claim.low:.4f}, {claim.high:.4f}]",
                str(claim.draws),
                claim.verdict,
                *([f"{claim.seconds:.1f}"] if seconds else []),
            ]
            for claim in result.claims
            if claim.control == control
        ]
        headers = [heading, "claim", "estimate", "interval", "draws", "verdict"]
        tables.append(Table(headers + ["seconds"] * seconds, rows))
    return tables


def _theorem_tables(result: TheoremResult, seconds: bool) -> list[Table]:
    """Return one table per family: what holds and what was caught."""
    verdicts = result.verdicts
    rows: dict[str, list[list[str]]] = {}
    for theorem in result.theorems:
        held = result.outcomes(theorem.name).values()
        caught = result.outcomes(theorem.name, control=True).values()
        took = {
            claim.experiment: claim.seconds
            for claim in result.claims
            if claim.theorem == theorem.name
        }
        rows.setdefault(theorem.family, []).append(
            [
                theorem.name,
                theorem.reference.split(";")[0],
                f"{sum(x == 'holds' for x in held)} of {len(held)}",
                f"{sum(x == 'caught' for x in caught)} of {len(caught)}",
                verdicts[theorem.name],
                *([f"{sum(took.values()):.1f}"] if seconds else []),
            ]
        )
    headers = ["by", "hold", "controls caught", "verdict"] + ["seconds"] * seconds
    return [Table([family, *headers], body) for family, body in rows.items()]


def _shortcomings(result: TheoremResult) -> list[Note]:
    """Return in words what is violated, not caught, or undecided."""
    notes = [
        (claim.verdict.capitalize(), _in_words(claim))
        for claim in result.claims
        if not claim.control and claim.verdict != "holds"
    ]
    for theorem in result.theorems:
        for control, outcome in result.outcomes(theorem.name, control=True).items():
            if outcome != "caught":
                notes.append(("Not caught", f"{theorem.name}, control {control!r}."))
    return notes


def _in_words(claim: ClaimRecord) -> str:
    return (
        f"{claim.theorem}, {claim.experiment}: {claim}, estimate {claim.estimate:.4f} "
        f"in [{claim.low:.4f}, {claim.high:.4f}] after {claim.draws} draws."
    )


def _reading(claims: Sequence[ClaimRecord]) -> str:
    """Return how the verdicts are to be read."""
    tolerances = sorted({claim.tolerance for claim in claims})
    within = f"{tolerances[0]:.2g}"
    if len(tolerances) > 1:
        within += f" to {tolerances[-1]:.2g}, by claim"
    return (
        "violated: the interval lies on the wrong side of the claim; holds: it leaves "
        f"the claim by no more than the tolerance ({within}); undecided: neither. A "
        "control is caught if a claim of it is violated."
    )
