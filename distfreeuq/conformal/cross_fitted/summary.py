"""The printed table of cross-conformal sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, class_name, lower

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.conformal.cross_fitted.results import CrossConformalResult


def summarize_cross(result: CrossConformalResult) -> Summary:
    """Return a row per class: its rows, the rank, and what coverage is at least."""
    frame = result.to_frame()
    by_class = result.method == "label-conditional"
    columns = ["class", "n", "rank", *(["coverage >="] if by_class else [])]
    rows = [
        [class_name(name), str(n), str(rank), *([lower(share)] if by_class else [])]
        for name, n, rank, share in zip(
            frame["class"],
            frame["n"],
            frame["rank"],
            frame["coverage >="],
            strict=True,
        )
    ]
    key = result.row_key
    drawn = "drawn" if key is None else f"hash of each {'id' if key.by_id else 'row'}"
    few, many = int(result.fold_counts.min()), int(result.fold_counts.max())
    facts = [
        ("Score", result.score.describe(result.randomized)),
        *([("Uniforms", drawn)] if result.randomized else []),
        ("Miscoverage alpha", f"{result.alpha:g}"),
        ("Compared with", "rows of the class" if by_class else "all rows"),
        ("Calibration rows", str(result.n)),
        ("Classes", str(len(result.classes))),
        ("Folds", str(len(result.folds))),
        ("Rows in a fold", str(few) if few == many else f"{few} to {many}"),
    ]
    return printing.summarize(
        result.title,
        facts,
        [Table(columns, rows)],
        printing.guarantee_notes(result.guarantee),
    )
