"""What `shift_monitor` returns: the one object of the package that changes."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
    IntMatrix,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    column_names,
    count,
    integers,
    maybe,
    pair,
    part,
    rate,
    real,
    require,
    several,
    text,
)
from distfreeuq.guarantees import Guarantee
from distfreeuq.monitoring.streams.class_proportions import (
    confidence_sequence,
    proportions,
)
from distfreeuq.monitoring.streams.data import (
    StreamRows,
    generator_at,
    read_rows,
    state_of,
)
from distfreeuq.monitoring.streams.guarantees import no_false_alarm
from distfreeuq.monitoring.streams.line_p_values import blocks, join_line
from distfreeuq.monitoring.streams.record import StreamRecord
from distfreeuq.monitoring.streams.score_cells import N_CELLS, StreamScore
from distfreeuq.monitoring.streams.wealth import FAMILIES, Wealth
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

_WORD = 1 << 128
_ROWS_AT_ONCE = 1 << 20
"""Of a batch: so that no step of NumPy's lasts, and memory does not grow with it."""


@register("shift-monitor")
@dataclass(slots=True, eq=False, repr=False)
class ShiftMonitor(Result):
    """A stream of predictions that is watched for any shift.

    `update` is the one method of the package that changes an object. It does so at
    once and at the end: if rows are refused, or the call is interrupted, the monitor is
    as it was before. `save` keeps the state of its random numbers too: a monitor that
    was saved and loaded, in another process say, gives the same e-values as one that
    never stopped.

    Attributes
    ----------
    alpha : float
        Probability with which there is ever a false alarm, at most.
    n_source, n_stream : int
        Rows of the source, and rows that were watched.
    alarm_at : int or None
        Rows that had been watched at the first alarm, that row included.
    change_at : int or None
        Estimate, made at the alarm, of how many rows came before the change.
    classes : sequence
    score : StreamScore
        What is watched of a row.
    bets : tuple of str
        Families of bets that are mixed.
    line : ndarray (65536,)
        Rows of source and stream by cell of the score.
    wealth, record : Wealth, StreamRecord
        The capital on each bet, and its past.
    log_largest : float
        Logarithm of the largest e-value until now.
    confusion : ndarray (K, K) or None
        Source rows by predicted class (row) and label (column).
    class_counts : ndarray (K,)
        Rows of the stream by predicted class: all, or those after the alarm.
    rng_state : tuple of int
        Where the monitor's own random numbers go on.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> source = rng.dirichlet([4, 1, 1], size=500)
    >>> monitor = dfu.shift_monitor(source, rng=0)
    >>> monitor
    <ShiftMonitor confidence alpha=0.01 n=500 t=0 e=1>
    >>> monitor.update(rng.dirichlet([4, 1, 1], size=1000)).alarm
    False
    >>> monitor.update(rng.dirichlet([2, 1, 1], size=1000)).alarm
    True
    """

    alpha: float
    n_source: int
    n_stream: int
    alarm_at: int | None
    change_at: int | None
    classes: Classes
    score: StreamScore
    bets: tuple[str, ...]
    line: IntArray
    wealth: Wealth
    record: StreamRecord
    log_largest: float
    confusion: IntMatrix | None
    class_counts: IntArray
    rng_state: tuple[int, int]

    _state: ClassVar[State] = {
        "classes": column_names("K"),
        "alpha": rate(),
        "n_source": count(low=1),
        "n_stream": count(),
        "alarm_at": maybe(count(low=1)),
        "change_at": maybe(count()),
        "score": part(StreamScore),
        "bets": several(text(*FAMILIES)),
        "line": integers(N_CELLS),
        "wealth": part(Wealth),
        "record": part(StreamRecord),
        "log_largest": real(low=0.0),
        "confusion": maybe(integers("K", "K")),
        "class_counts": integers("K"),
        "rng_state": pair(
            count(high=_WORD - 1),
            count(low=1, high=_WORD - 1),
        ),
    }

    def _validate_state(self) -> None:
        whole = self.line.sum() == self.n_source + self.n_stream
        require(whole, "as many rows in the line as in source and stream")
        counted = self.n_stream - (self.alarm_at or 0)
        require(self.class_counts.sum() == counted, "a class for each row")
        require((self.alarm_at is None) == (self.change_at is None), "both of an alarm")
        if self.alarm_at is not None and self.change_at is not None:
            before = self.change_at < self.alarm_at <= self.n_stream
            require(before, "a change before the alarm")
        if self.confusion is not None:
            require(self.confusion.sum() == self.n_source, "the source's rows")
        crossed = self.log_largest >= -math.log(self.alpha)
        require(crossed == self.alarm, "an alarm if the largest e-value raised one")
        recorded = self.n_stream // self.record.stride
        require(self.record.rows.size == recorded, "a record of all rows")
        require(self.wealth.log_wealth <= self.log_largest + 1e-6, "a largest e-value")
        last = int(self.wealth.best_start.max())
        require(last <= max(self.n_stream - 1, 0), "bets on rows that there were")
        require(self.rng_state[1] % 2 == 1, "an odd increment")

    # ---------------------------------------------------------------- watching

    def update(
        self, probs: ArrayLike, *, features: ArrayLike | None = None
    ) -> ShiftMonitor:
        """Watch further rows of the stream, in the order in which they came.

        Parameters
        ----------
        probs : array_like (m, K), or (m,) for the probability of class 1
            A batch of rows, or a single one as (1, K). Batches of any size give the
            same e-values for the same rows.
        features : array_like (m, d), optional
            Where the score is a column of them, or a function of them.

        Returns
        -------
        ShiftMonitor
            The monitor itself.

        Notes
        -----
        Within a batch rows may stand in any order that was not chosen by looking at
        them. Each new row joins the line, so that a monitor that was not watched for a
        while must be given all rows, or a part of them that was chosen blindly. Not for
        several threads at once.
        """
        args = Arguments("update")
        unchecked = args.unchecked_new_probs(probs, self.classes)
        generator = generator_at(self.rng_state)
        rows = read_rows(args, unchecked, self.score, features, generator)
        later = replace(self, rng_state=state_of(generator))
        for some in blocks(rows.cells.size, _ROWS_AT_ONCE):
            later._join(rows.take(some))
        # everything has been computed: now the monitor changes
        for field in fields(self):
            setattr(self, field.name, getattr(later, field.name))
        return self

    def _join(self, rows: StreamRows) -> None:
        """Let rows join the line."""
        n, before = rows.cells.size, self.n_stream
        line, p, q = join_line(self.line, rows.cells, rows.uniforms)
        wealth, log_wealth = self.wealth.after(p, q, before)
        largest = np.maximum.accumulate(np.append(self.log_largest, log_wealth))
        record = self.record.extended(before, log_wealth, largest[1:])
        alarm_at, change_at, first = self.alarm_at, self.change_at, 0
        if alarm_at is None and largest[-1] >= -math.log(self.alpha):
            first = int(np.argmax(largest >= -math.log(self.alpha)))
            alarm_at = before + first
            at_alarm, _ = self.wealth.after(p[:first], q[:first], before)
            change_at = at_alarm.change_at
        counts = np.bincount(rows.predicted[first:], minlength=len(self.classes))
        if not first:
            counts += self.class_counts
        self.line, self.wealth, self.record = read_only(line), wealth, record
        self.log_largest = float(largest[-1])
        self.alarm_at, self.change_at = alarm_at, change_at
        self.class_counts, self.n_stream = read_only(counts), before + n

    # ------------------------------------------------------------------- evidence

    @property
    def e_value(self) -> float:
        """Evidence against "nothing has moved", now: its mean is 1 while nothing has.

        inf beyond the largest double; ``to_frame()`` has its logarithm.
        """
        log_wealth = self.wealth.log_wealth
        return math.exp(log_wealth) if log_wealth < 709.0 else math.inf

    @property
    def p_value(self) -> float:
        """One over the largest e-value until now, at most 1.

        While nothing has moved, P(it is ever <= a) <= a for all a.
        """
        return math.exp(-self.log_largest)

    @property
    def alarm(self) -> bool:
        """Whether the e-value has reached 1/alpha."""
        return self.alarm_at is not None

    @property
    def guarantee(self) -> Guarantee:
        """What an alarm means."""
        return no_false_alarm(self.alpha)

    # ----------------------------------------------------------- class proportions

    @property
    def target_prior(self) -> FloatArray:
        """Estimated class proportions of the stream, or of its rows after the alarm.

        Shape (K,). InputError without the source's labels, and where there is nothing
        to estimate from: no row, or only predictions that no row of the source has.
        """
        confusion = self._labelled("target_prior")
        found = proportions(confusion, self.class_counts)
        if found is None:
            rows = int(self.class_counts.sum())
            must = "a monitor of rows that are predicted as some of the source are"
            got = f"{rows} of other classes" if rows else "no rows"
            Arguments("target_prior").invalid("self", must, got)
        return found

    def confint(self, alpha: float = 0.05) -> FloatMatrix:
        """Return a confidence sequence of the class proportions, shape (K, 2).

        Parameters
        ----------
        alpha : float, default 0.05
            P(a proportion is ever outside, after any update) <= alpha, for all classes
            together.

        Notes
        -----
        Of the average proportions, which may drift: until an alarm those of all rows of
        the stream, after it those of the rows that came after it. It needs label shift
        and a classifier that was fitted on other rows. NaN where no proportions fit:
        there is more than label shift. InputError without the source's labels.
        Two linear programs for each class that has rows: minutes with hundreds of them.
        """
        level = Arguments("confint").alpha(alpha)
        confusion = self._labelled("confint")
        return confidence_sequence(confusion, self.class_counts, level)

    def _labelled(self, caller: str) -> IntMatrix:
        if self.confusion is None:
            must = "a monitor that was given labels of the source"
            Arguments(caller).invalid("self", must, "one without labels")
        return self.confusion

    # ------------------------------------------------------------------ presentation

    def _why_rows(self) -> str:
        return "which goes on from the rows before"

    def __repr__(self) -> str:
        """Return one line."""
        alarm = "" if self.alarm_at is None else f" alarm_at={self.alarm_at}"
        return (
            f"<ShiftMonitor {self.score.name} alpha={self.alpha:g} n={self.n_source} "
            f"t={self.n_stream} e={self.e_value:.4g}{alarm}>"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the e-value after some of the rows, the last one included.

        Columns: row (how many had been watched), log10_e_value, p_value (until then)
        and alarm. At most 2049 rows, at equal distances.
        """
        import pandas as pd

        rows, now = self.record.rows, self.record.log_wealth
        largest = self.record.log_largest
        if self.n_stream and (not rows.size or rows[-1] < self.n_stream):
            rows = np.append(rows, self.n_stream)
            now = np.append(now, self.wealth.log_wealth)
            largest = np.append(largest, self.log_largest)
        return pd.DataFrame(
            {
                "row": rows,
                "log10_e_value": now / math.log(10.0),
                "p_value": np.exp(-largest),
                "alarm": largest >= -math.log(self.alpha),
            }
        )

    def summary(self) -> Summary:
        """Return what was watched, the evidence, and what an alarm means."""
        from distfreeuq.monitoring.streams.summary import summarize_monitor

        return summarize_monitor(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the e-value against the rows, and the line at which it is an alarm."""
        from distfreeuq import plots

        return plots.monitor_wealth(self, ax=ax)
