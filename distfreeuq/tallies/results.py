"""What rows add up to: a tally, and the sum of tallies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from distfreeuq._base import persistence
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import Classes
from distfreeuq._base.arrays import describe, listed
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    column_names,
    part,
    part_or_none,
    require,
)
from distfreeuq._base.tallied import Tallied, TallyPart
from distfreeuq.conformal.tallied_scores import ScoreTally
from distfreeuq.guarantees import NoGuarantee
from distfreeuq.label_shift.tallied_counts import CountTally
from distfreeuq.metrics.tallied_sums import SumTally
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@register("tally")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tally(Result, Tallied):
    """What fits need of rows, and no more: it adds up, exactly and in any order.

    ``a + b``, and ``sum`` of several, is to the last bit the tally of all their rows.
    Fits take it where they take rows.

    Attributes
    ----------
    classes : sequence
        Class names by column.
    counts : CountTally
        Rows by predicted class and, where they have labels, by label.
    scores : ScoreTally or None
        The labels' scores by class, where they were asked for.
    sums : SumTally or None
        Sums by predicted class and bin, where `n_bins` was given.
    guarantee : NoGuarantee

    Notes
    -----
    What a tally reveals of its rows: with scores, a number per row, the score of its
    label, in ascending order by class and so without the row that it belongs to; with
    ``score=None`` the counts alone. For a class of one row these are that row's. Rows,
    ids and the hashes of them are not in it; the key of the hash is, which is the
    seed's. Sums by bin are counts, mean confidences and mean scores of the rows of a
    predicted class and a bin: of one row, that row's.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> here = dfu.tally([[0.9, 0.1], [0.6, 0.4]] * 10, [0, 1] * 10, rng=0)
    >>> there = dfu.tally([[0.2, 0.8]] * 10, [1] * 10, rng=0)
    >>> here + there
    <Tally n=30 K=2 counts, aps scores>
    >>> dfu.split_conformal(here + there).rank
    28
    """

    classes: Classes
    counts: CountTally
    scores: ScoreTally | None
    sums: SumTally | None
    guarantee: NoGuarantee

    _state: ClassVar[State] = {
        "classes": column_names("K"),
        "counts": part(CountTally, same="K"),
        "scores": part_or_none(ScoreTally, same="K"),
        "sums": part_or_none(SumTally, same="K"),
        "guarantee": part(NoGuarantee),
    }

    @staticmethod
    def _added(fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the first files of format 2 lack."""
        return {"sums": None}

    def _validate_state(self) -> None:
        if self.sums is not None:
            same = np.array_equal(
                self.sums.counts.sum(axis=1), self.counts.by_prediction()
            )
            require(self.counts.labelled and same, "sums of all rows")
        if self.scores is not None:
            same = np.array_equal(self.scores.counts, self.counts.by_label())
            require(self.counts.labelled and same, "scores of all rows")

    def _why_rows(self) -> str | None:
        if self.scores is None or self.scores.per_unit is not None:
            return None
        return "which has a score of each row (with per_unit=, counts of scores)"

    def __repr__(self) -> str:
        """Return one line."""
        scores = "" if self.scores is None else f", {self.scores.score.name} scores"
        labels = "" if self.counts.labelled else " without labels"
        return f"<Tally n={self.n} K={len(self.classes)} counts{labels}{scores}>"

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.counts.n

    @property
    def parts(self) -> tuple[TallyPart, ...]:
        """What it holds for each family of procedures."""
        parts = (self.counts, self.scores, self.sums)
        return tuple(part for part in parts if part is not None)

    def __add__(self, other: Any) -> Tally:
        """Return the tally of the rows of both."""
        if not isinstance(other, Tally):
            return NotImplemented
        return add_up([self, other])

    def __radd__(self, other: Any) -> Tally:
        """Return the same tally for the 0 that `sum` begins with."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def to_json(self) -> str:
        """Return the tally as one JSON text, which `from_json` reads back exactly.

        It has what a file has, its version and digest among them, with every array as
        numbers that one can read before one sends them.

        Examples
        --------
        >>> import distfreeuq as dfu
        >>> here = dfu.tally([[0.9, 0.1], [0.6, 0.4]] * 10, [0, 1] * 10, score=None)
        >>> text = here.to_json()
        >>> text[:45]
        '{"format": "distfreeuq-result", "version": 2,'
        >>> dfu.Tally.from_json(text) + here
        <Tally n=40 K=2 counts>
        """
        return persistence.to_text(self)

    @classmethod
    def from_json(cls, text: str) -> Tally:
        """Return the tally that a text of `to_json` holds.

        Parameters
        ----------
        text : str

        Raises
        ------
        InputError
            If the text is another one, was changed, or was written by a newer version;
            or if its numbers cannot be those of rows.
        """
        args = Arguments("Tally.from_json")

        def refuse(why: str) -> NoReturn:
            must = "a text that Tally.to_json returned"
            args.invalid("text", must, f"{describe(text)}: {why}")

        found: Tally = persistence.from_text(text, cls, refuse)
        return found

    def to_frame(self) -> pd.DataFrame:
        """Return a row per class: rows predicted to be of it, and rows of it."""
        import pandas as pd

        names = name_array(self.classes)
        columns: dict[str, object] = {
            "class": pd.Series(names, dtype=names.dtype),
            "predicted": self.counts.by_prediction(),
        }
        if self.counts.labelled:
            columns["n"] = self.counts.by_label()
        return pd.DataFrame(columns)

    def summary(self) -> Summary:
        """Return rows by class, and what the tally reveals, as a ``Summary``."""
        from distfreeuq.tallies.summary import summarize_tally

        return summarize_tally(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rows by class."""
        from distfreeuq import plots

        return plots.tallied_rows(self, ax=ax)


def add_up(tallies: Sequence[Tally]) -> Tally:
    """Return the tally of all rows of these, at least one; refuse those unlike."""
    first = tallies[0]
    for other in tallies[1:]:
        _check_alike(first, other)
    scores = None
    if first.scores is not None:
        scores = ScoreTally.total([one.scores for one in tallies if one.scores])
    sums = None
    if first.sums is not None:
        sums = SumTally.total([one.sums for one in tallies if one.sums])
    return Tally(
        classes=first.classes,
        counts=CountTally.total([one.counts for one in tallies]),
        scores=scores,
        sums=sums,
        guarantee=first.guarantee,
    )


_WHAT: dict[type, str] = {ScoreTally: "scores", SumTally: "sums by bin"}


def _check_alike(one: Tally, other: Tally) -> None:
    """Raise an InputError that says why two tallies do not add."""
    args = Arguments("Tally.__add__")
    if tuple(one.classes) != tuple(other.classes):
        must = f"of the classes {listed(one.classes)}"
        args.invalid("other", must, f"a tally of {listed(other.classes)}")
    pairs: list[tuple[Any, Any]] = [
        (one.counts, other.counts),
        (one.scores, other.scores),
        (one.sums, other.sums),
    ]
    for mine, others in pairs:
        if mine is None or others is None:
            if mine is not others:
                with_or_without = "without" if mine is None else "with"
                must = f"a tally {with_or_without} {_WHAT[type(mine or others)]}"
                args.invalid("other", must, repr(other))
            continue
        found = mine.unlike(others)
        if found is not None:
            args.invalid("other", f"a tally with {found[0]}", found[1])
