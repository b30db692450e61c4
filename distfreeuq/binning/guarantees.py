"""What a table of bins guarantees, by how its bins were chosen and how rows count."""

from __future__ import annotations

from dataclasses import dataclass

from distfreeuq.binning.label_shift_bins import TargetWeights
from distfreeuq.binning.radii import Extremes
from distfreeuq.guarantees import Guarantee, NoGuarantee, at_least, at_most
from distfreeuq.references import (
    CALIBRATION_IID,
    COVARIATE_SHIFT,
    FITTED_ELSEWHERE,
    LABEL_SHIFT,
    PODKOPAEV_RAMDAS_2021,
    TRUE_BOUNDED_RATIO,
    TRUE_LABEL_WEIGHT,
)

_WHAT = {
    "canonical": "sum_k |P(Y = k | bin) - frequency_k|",
    "classwise": "|P(Y = k | bin of class k) - frequency|",
    "top-label": "|P(top label is right | bin) - frequency|",
}

_PROVED_BY = {
    "clopper-pearson": "exact: Clopper-Pearson for every subset (theory page, 2.1)",
    "hoeffding": "",
    "weissman": "with 2^K - 2 (Weissman et al., 2003)",
    "mcdiarmid": "by bounded differences (theory page, 2.1)",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """How the bins were chosen: what a bound then needs, and where that is proved."""

    needs: tuple[str, ...]
    reference: str = ""
    excepted: bool = False


_NOT_ON_AN_EDGE = (
    "new rows exactly on an edge that calibration rows are on are excepted (there are "
    "none if scores are continuous)"
)
FIXED = Choice(("the bins were chosen without looking at these rows",))
OTHERS = Choice(("the rows that chose the bins are independent of the rows counted",))
OWN_EDGES = Choice(
    (_NOT_ON_AN_EDGE,), "; edges at order statistics: Gupta & Ramdas (2021)", True
)
OWN_CELLS = Choice(
    (_NOT_ON_AN_EDGE,), "; statistically equivalent blocks (theory page, 2.2)", True
)
OWN_CELLS_BY_OTHERS = Choice(
    (
        _NOT_ON_AN_EDGE,
        "the rows that chose the coordinates are independent of the rows counted",
    ),
    OWN_CELLS.reference,
    True,
)


def choice_of(name: str, of_scores: bool, by_others: bool) -> Choice:
    """Return what the bounds need, by the scheme's name.

    Parameters
    ----------
    name : str
        "uniform-mass", or that of bins fixed in advance.
    of_scores : bool
        Whether there are bins of one score, or cells of the simplex.
    by_others : bool
        Whether rows other than the calibration rows choose them.
    """
    if name != "uniform-mass":
        return FIXED
    if of_scores:
        return OTHERS if by_others else OWN_EDGES
    return OWN_CELLS_BY_OTHERS if by_others else OWN_CELLS


def _everywhere(choice: Choice, n_bins: int, radii: Extremes) -> str:
    rows = "for rows not on an edge, " if choice.excepted else ""
    size = f"at most {at_most(radii.largest)} in bins that have rows"
    if radii.is_vacuous:
        size = f"vacuous: the radius is the trivial {radii.trivial:g} in every bin"
    return f"{rows}in all {n_bins} bins at once ({size})"


def on_source(
    mode: str,
    alpha: float,
    n_bins: int,
    radii: Extremes,
    bound: str,
    choice: Choice,
    *,
    weighted: bool,
    bounded: bool,
    renormalized: bool,
) -> Guarantee | NoGuarantee:
    """Return what a fit claims, by how its rows count and what `predict` gives out."""
    if renormalized:
        return RENORMALIZED
    if not weighted:
        return all_bins(mode, alpha, n_bins, radii, bound, choice)
    if not bounded:
        return UNBOUNDED_WEIGHTS
    return weighted_rows(mode, alpha, n_bins, radii, bound, choice)


def all_bins(
    mode: str,
    alpha: float,
    n_bins: int,
    radii: Extremes,
    bound: str,
    choice: Choice,
) -> Guarantee:
    """Return the claim of Podkopaev and Ramdas's Theorem 3: every bin at once."""
    proved_by = _PROVED_BY[bound]
    return Guarantee(
        statement=(
            f"with probability >= {at_least(1.0 - alpha)} over the calibration rows, "
            f"{_WHAT[mode]} <= radius "
            f"{_everywhere(choice, n_bins, radii)}."
        ),
        kind="calibration",
        upper=radii.largest,
        confidence=1.0 - alpha,
        reference=f"{PODKOPAEV_RAMDAS_2021}, Thm 3"
        + (proved_by and f", {proved_by}")
        + choice.reference,
        assumptions=(CALIBRATION_IID, FITTED_ELSEWHERE, *choice.needs),
    )


def weighted_rows(
    mode: str,
    alpha: float,
    n_bins: int,
    radii: Extremes,
    bound: str,
    choice: Choice,
) -> Guarantee:
    """Return the claim for known, bounded weights w(x)."""
    return Guarantee(
        statement=(
            f"with probability >= {at_least(1.0 - alpha)} over the calibration rows, "
            f"{_WHAT[mode]} <= radius for target rows, "
            f"{_everywhere(choice, n_bins, radii)}."
        ),
        kind="calibration",
        upper=radii.largest,
        confidence=1.0 - alpha,
        reference=_for_weighted_rows(bound) + choice.reference,
        assumptions=(
            CALIBRATION_IID,
            FITTED_ELSEWHERE,
            *choice.needs,
            COVARIATE_SHIFT,
            TRUE_BOUNDED_RATIO,
        ),
    )


_BY_WEIGHTED_BOUND = {
    "hoeffding": "Hoeffding (1963)",
    "chernoff": "Hoeffding (1963), Thm 1",
    "bernstein": "Maurer & Pontil (2009)",
    "betting": "Waudby-Smith & Ramdas (2024), with bets fixed in advance",
    # of files that were written when it was what "auto" stood for
    "chernoff and bernstein": "Hoeffding (1963), Thm 1, and Maurer & Pontil (2009)",
}


def _for_weighted_rows(bound: str) -> str:
    """Return who proved the bound used: "hoeffding, weighted", for example."""
    by = _BY_WEIGHTED_BOUND[bound.removesuffix(", weighted")]
    return f"{by}, for weighted rows (theory page, 2.4)"


UNBOUNDED_WEIGHTS = NoGuarantee(
    "sample weights come without a bound (weight_bound=); the radii are those of as "
    "many unweighted rows as the effective counts, an indication only"
)

RENORMALIZED = NoGuarantee(
    "the class-wise frequencies are renormalised to sum to one; the radii hold for "
    "them before that"
)


def on_target(
    source: Guarantee | NoGuarantee,
    weights: TargetWeights,
    mode: str,
    n_bins: int,
    radii: Extremes,
    bound: str,
    choice: Choice,
) -> Guarantee | NoGuarantee:
    """Return the claim after a label shift: their Theorem 4, repaired.

    `bound` is the one that the target's radii come from, which is not the source's
    where one probability per bin is reweighted.
    """
    if isinstance(source, NoGuarantee):
        return source
    if weights.contradicted:
        return NoGuarantee("no weights are compatible with the data")
    assert source.confidence is not None
    confidence = max(0.0, source.confidence - weights.delta)
    on_its_source = source.reference
    if bound.endswith("weighted"):
        on_its_source = _for_weighted_rows(bound) + choice.reference
    how = "known weights"
    if not weights.known:
        how = f"weights from a {at_least(100.0 * (1.0 - weights.delta))}% region"
    about = (
        "" if weights.known or weights.box.finite_sample else " (region in the limit)"
    )
    return Guarantee(
        statement=(
            f"with probability >= {at_least(confidence)} over the data, {_WHAT[mode]} "
            f"<= radius on the target, {_everywhere(choice, n_bins, radii)}, with "
            f"{how}{about}" + ("." if weights.box.finite_sample else "")
        ),
        kind="calibration",
        upper=radii.largest,
        confidence=confidence,
        reference=f"{PODKOPAEV_RAMDAS_2021}, Prop. 1 and Thm 4, repaired (theory page, "
        "2.3); source: " + on_its_source,
        assumptions=(
            *source.assumptions,
            LABEL_SHIFT,
            TRUE_LABEL_WEIGHT
            if weights.known
            else "the region holds the true weights at its level",
        ),
        finite_sample=weights.box.finite_sample,
    )
