"""The printed table of a tally."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, class_name

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.tallies.results import Tally


def summarize_tally(result: Tally) -> Summary:
    """Return the rows by class, and what the tally holds of them."""
    frame = result.to_frame()
    table = Table(
        list(frame.columns),
        [
            [class_name(row[0]), *map(str, row[1:])]
            for row in frame.itertuples(index=False, name=None)
        ],
    )
    scores = result.scores
    facts = [
        ("Rows", str(result.n)),
        ("Classes", str(len(result.classes))),
        ("Labels", "yes" if result.counts.labelled else "no"),
        (
            "Scores",
            "none" if scores is None else scores.score.describe(scores.randomized),
        ),
    ]
    if scores is not None and scores.per_unit is not None:
        facts += [
            ("Scores rounded up to", f"1/{scores.per_unit}"),
            ("Ranks off by at most", f"{scores.largest_share:.4f} n"),
        ]
    reveals = "how often each class is predicted"
    if result.counts.labelled:
        reveals += ", and with which label"
    if scores is not None and scores.per_unit is not None:
        reveals += "; how many labels of each class have each score of the grid"
    elif scores is not None:
        reveals += "; the score of every row's label, in ascending order by class"
    if result.sums is not None:
        reveals += f"; counts and sums in {result.sums.n_bins} bins by predicted class"
    notes = [
        ("Reveals", f"{reveals}."),
        *printing.guarantee_notes(result.guarantee),
    ]
    return printing.summarize("Tally of rows", facts, [table], notes)
