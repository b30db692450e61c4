"""What the intervals of a reliability table guarantee."""

from __future__ import annotations

from distfreeuq.guarantees import Guarantee, NoGuarantee, at_least
from distfreeuq.references import (
    ASSESSED_ELSEWHERE,
    CLOPPER_PEARSON_1934,
    DIMITRIADIS_2023,
    EDGES_CHOSEN_ELSEWHERE,
    IID,
    INDEPENDENT,
    WEIGHTS_BY_INPUTS,
)


def all_bins_accuracy(
    level: float,
    weighted: bool,
    fixed_bins: bool,
    event: str,
    *,
    given_edges: bool = False,
) -> Guarantee | NoGuarantee:
    """Return the claim about the intervals of all bins at once."""
    if not fixed_bins:
        return NoGuarantee("the bins were chosen by the rows that they count")
    what, by = "accuracy", CLOPPER_PEARSON_1934
    if "right" not in event:
        what = f"frequency of {event}"
    more: tuple[str, ...] = (IID,)
    if weighted:
        what, by = f"weighted mean {what} given the rows' inputs", "Hoeffding (1963)"
        more = (INDEPENDENT, WEIGHTS_BY_INPUTS)
    edges = (EDGES_CHOSEN_ELSEWHERE,) if given_edges else ()
    return Guarantee(
        statement=(
            f"with probability >= {at_least(level)}, the intervals of all bins hold "
            f"the bins' true {what} at once."
        ),
        kind="confidence interval",
        reference=f"{by}, with a union over the bins",
        assumptions=(*more, *edges, ASSESSED_ELSEWHERE),
        confidence=level,
    )


def monotone_curve(level: float) -> Guarantee:
    """Return the claim about a whole calibration curve that does not fall."""
    return Guarantee(
        statement=(
            f"with probability >= {at_least(level)}, the band holds the event's "
            "frequency at all confidences at once."
        ),
        kind="confidence interval",
        reference=DIMITRIADIS_2023,
        assumptions=(
            "outcomes independent given the confidences",
            "the event's frequency does not fall as its confidence grows",
            ASSESSED_ELSEWHERE,
        ),
        confidence=level,
    )


def squared_error(level: float, *, given_edges: bool) -> Guarantee:
    """Return the claim about the l2 calibration error of binned confidences."""
    edges = (EDGES_CHOSEN_ELSEWHERE,) if given_edges else ()
    return Guarantee(
        statement=(
            f"with probability >= {at_least(level)}, the interval holds the root mean "
            "squared gap, over the bins of these rows, of their mean confidence and "
            "the event's mean frequency at these confidences."
        ),
        kind="confidence interval",
        reference="Chernoff's bound, summed over the bins (theory page, 9.7)",
        assumptions=(
            "outcomes independent given the confidences",
            *edges,
            ASSESSED_ELSEWHERE,
        ),
        confidence=level,
    )
