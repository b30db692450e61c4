"""What holds of outputs that are means of a scaling map in bins."""

from __future__ import annotations

from dataclasses import replace

from distfreeuq.binning.radii import Extremes
from distfreeuq.binning.results import BinningResult
from distfreeuq.guarantees import Guarantee, NoGuarantee, at_least, at_most
from distfreeuq.references import KUMAR_2019

REFERENCE = f"{KUMAR_2019}, in finite samples (theory page, 8.8)"

_WHAT = {
    "canonical": "|P(Y = 1 | bin) - output|",
    "classwise": "|P(Y = k | bin of class k) - output|",
    "top-label": "|P(top label is right | bin) - output|",
}


def outputs_guarantee(
    binning: BinningResult, radii: Extremes
) -> Guarantee | NoGuarantee:
    """Return that outputs are near the frequencies of labels, in all bins at once.

    The bins' guarantee says that the labels' frequencies are in their intervals;
    where they are, an output is no farther from them than from the farther end.
    """
    source = binning.guarantee
    if isinstance(source, NoGuarantee):
        return source
    assert source.confidence is not None
    target = " for target rows" if binning.effective_counts is not None else ""
    edges = "for rows not on an edge, " if binning.n_chose == 0 else ""
    size = f"at most {at_most(radii.largest)} in bins that have rows"
    if radii.is_vacuous:
        size = "vacuous: the radius is the trivial 1 in every bin"
    return replace(
        source,
        statement=(
            f"with probability >= {at_least(source.confidence)} over the calibration "
            f"rows, {_WHAT[binning.mode]} <= radius{target}, {edges}in all "
            f"{binning.n_bins} bins at once ({size})."
        ),
        upper=radii.largest,
        reference=f"{REFERENCE}; {source.reference}",
    )


def cost_of_bins(cost: float, alpha: float) -> str:
    """Return what bins add to the calibration error of the map that they average."""
    return (
        f"with probability >= {at_least(1.0 - alpha)}, the calibration error of the "
        f"outputs (l1, l2 or largest) is at most that of the map plus {at_most(cost)}, "
        "under the same needs."
    )
