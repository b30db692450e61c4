"""What `risk_monitor` returns: it changes as rows come, and as their labels do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, Classes, FloatArray
from distfreeuq._base.arrays import describe
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    column_names,
    count,
    maybe,
    part,
    proportion,
    rate,
    real,
    require,
    text,
)
from distfreeuq.guarantees import Guarantee
from distfreeuq.monitoring.risk.guarantees import no_false_risk_alarm
from distfreeuq.monitoring.risk.losses import (
    BINARY,
    LOSSES,
    Loss,
    loss_name,
    read_predictions,
)
from distfreeuq.monitoring.risk.risk_record import RiskRecord
from distfreeuq.monitoring.risk.waiting_rows import WaitingRows, new_ids
from distfreeuq.monitoring.running_means import (
    first_above,
    log_evidence_above,
    lower_ends,
    running_sums,
    upper_ends,
)
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

ORDERS = ("row", "arrival")


@register("risk-monitor")
@dataclass(slots=True, eq=False, repr=False)
class RiskMonitor(Result):
    """The risk of a stream whose labels come late, beside that of the source.

    `update` takes predictions, `update_labels` what their labels turned out to be, and
    `drop` those that will never have one. These three change the monitor, each at once
    and at the end: rows that are refused leave it as it was. Only rows that wait for a
    label are kept, and what `save` wrote goes on in another process.

    Attributes
    ----------
    alpha : float
        Probability with which there is ever a false alarm, at most.
    loss : str or callable
    order : str
        "row": rows count in the order in which they came, and each waits for the labels
        of those before it. "arrival": in the order of their labels.
    tolerance : float
        By how much the risk may exceed the source's.
    given_limit : float or None
        Where the user gave the limit itself.
    n_source : int
    source_risk, source_high : float
        Mean loss in the source, and what its risk is at most (with probability
        1 - alpha/2).
    classes : sequence
    n_rows, n_labelled, n_dropped : int
        Rows that came, rows whose losses are counted, rows that will have no label.
    total, spread : float
        Sums of the losses that are counted, and of their squared distances from the
        mean before.
    alarm_at : int or None
        Rows that were counted at the first alarm.
    waiting : WaitingRows
    record : RiskRecord

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs = [[0.9, 0.1], [0.2, 0.8]] * 50
    >>> monitor = dfu.risk_monitor(probs, [0, 1] * 50, tolerance=0.05)
    >>> monitor.update(probs[:4], ids=["a", "b", "c", "d"])
    <RiskMonitor error alpha=0.05 n=100 t=0 waiting=4>
    >>> monitor.update_labels([1, 0], ids=["b", "a"])  # late, and in any order
    <RiskMonitor error alpha=0.05 n=100 t=2 risk=0 waiting=2>
    """

    alpha: float
    loss: str | Loss
    order: str
    tolerance: float
    given_limit: float | None
    n_source: int
    source_risk: float
    source_high: float
    classes: Classes
    n_rows: int
    n_labelled: int
    n_dropped: int
    total: float
    spread: float
    alarm_at: int | None
    waiting: WaitingRows
    record: RiskRecord

    _state: ClassVar[State] = {
        "classes": column_names("K"),
        "alpha": rate(),
        "loss": text(*LOSSES),
        "order": text(*ORDERS),
        "tolerance": real(low=0.0, high=1.0),
        "given_limit": maybe(proportion()),
        "n_source": count(low=1),
        "source_risk": proportion(),
        "source_high": proportion(),
        "n_rows": count(),
        "n_labelled": count(),
        "n_dropped": count(),
        "total": real(low=0.0),
        "spread": real(low=0.0),
        "alarm_at": maybe(count(low=1)),
        "waiting": part(WaitingRows, same="K"),
        "record": part(RiskRecord),
    }

    def _why_rows(self) -> str:
        return "which goes on from the rows before"

    def _check_savable(self) -> None:
        if not isinstance(self.loss, str):
            must = "one of the package's: a file holds no code"
            Arguments("save").invalid("loss", must, describe(self.loss))

    def _validate_state(self) -> None:
        counted = self.n_labelled + self.n_dropped + len(self.waiting.ids)
        require(counted == self.n_rows, "as many rows as came")
        require(self.total <= self.n_labelled + 1e-6, "losses that are at most one")
        require(self.spread <= self.n_labelled + 1e-6, "squares that are at most one")
        require(self.source_risk <= self.source_high, "an upper bound of the risk")
        if self.alarm_at is not None:
            require(self.alarm_at <= self.n_labelled, "an alarm at a row that came")
        recorded = self.n_labelled // self.record.stride
        require(self.record.rows.size == recorded, "a record of all rows")
        known = ~np.isnan(self.waiting.found)
        behind = known.any() and (self.order == "arrival" or known[0])
        require(not behind, "rows that wait for a label")

    # ---------------------------------------------------------------- rows and labels

    def update(self, predictions: Any, *, ids: ArrayLike | None = None) -> RiskMonitor:
        """Take further rows of the stream, in the order in which they came.

        Parameters
        ----------
        predictions : array_like (m, K), or PredictionSets
            What was predicted for them, of the kind that `risk_monitor` had.
        ids : array_like (m,) of int or str, optional
            By which labels will find their rows. By default rows are numbered from 0,
            through all batches.

        Returns
        -------
        RiskMonitor
            The monitor itself.
        """
        args = Arguments("update")
        losses, _ = read_predictions(args, predictions, self.loss, self.classes)
        n = losses.shape[0]
        names = new_ids(args, ids, n, self.n_rows, self.waiting.ids)
        self.waiting = self.waiting.with_rows(losses, names)
        self.n_rows += n
        return self

    def update_labels(
        self, labels: ArrayLike, *, ids: ArrayLike | None = None
    ) -> RiskMonitor:
        """Take labels that have become known.

        Parameters
        ----------
        labels : array_like (m,)
        ids : array_like (m,) of int or str, optional
            Of the rows that they belong to. By default they are those of the rows that
            have waited longest.

        Returns
        -------
        RiskMonitor
            The monitor itself.
        """
        args = Arguments("update_labels")
        if ids is None:
            given = args.array(labels, "labels", "labels")
            n = given.shape[0] if given.ndim else 0
            at = self.waiting.unlabelled()
            if n > at.size:
                must = f"at most {at.size} labels, one for each row that waits"
                args.invalid("labels", must, f"{n} labels")
            at = at[:n]
        else:
            at = self.waiting.places(args, ids)
        codes = args.labels(labels, self.classes, at.size)
        waiting = self.waiting.with_labels(at, codes)
        if self.order == "arrival":
            values, keep = (
                waiting.found[at],
                np.ones(waiting.found.size, dtype=np.bool_),
            )
            keep[at] = False
            self._count(values, waiting.kept(keep), 0)
        else:
            self._count_known(waiting, 0)
        return self

    def drop(self, ids: ArrayLike) -> RiskMonitor:
        """Give up rows whose labels will never come, so that others need not wait.

        Parameters
        ----------
        ids : array_like (m,) of int or str
            Chosen without regard to what their losses may be.

        Returns
        -------
        RiskMonitor
            The monitor itself.
        """
        args = Arguments("drop")
        keep = np.ones(len(self.waiting.ids), dtype=np.bool_)
        keep[self.waiting.places(args, ids)] = False
        self._count_known(self.waiting.kept(keep), int((~keep).sum()))
        return self

    def _count_known(self, waiting: WaitingRows, dropped: int) -> None:
        """Count the rows whose labels, and those of all rows before, are known."""
        missing = waiting.unlabelled()
        first = int(missing[0]) if missing.size else waiting.found.size
        rest = np.arange(waiting.found.size) >= first
        self._count(waiting.found[:first], waiting.kept(rest), dropped)

    def _count(self, values: FloatArray, waiting: WaitingRows, dropped: int) -> None:
        before, n = self.n_labelled, values.size
        totals, spreads = running_sums(values, self.total, self.spread, before)
        rows = np.arange(before + 1, before + n + 1)
        alarm_at = self.alarm_at
        if alarm_at is None:
            first = first_above(
                totals, spreads, rows, self.limit, self._stream_alpha, self._binary
            )
            alarm_at = None if first is None else before + 1 + first
        record = self.record.extended(before, totals, spreads)
        # everything has been computed: now the monitor changes
        self.waiting, self.record, self.alarm_at = waiting, record, alarm_at
        self.n_labelled, self.n_dropped = before + n, self.n_dropped + dropped
        if n:
            self.total, self.spread = float(totals[-1]), float(spreads[-1])

    # ------------------------------------------------------------------- evidence

    @property
    def _binary(self) -> bool:
        return isinstance(self.loss, str) and self.loss in BINARY

    @property
    def _stream_alpha(self) -> float:
        """What of alpha is left for the stream: the source's bound takes half."""
        return self.alpha if self.given_limit is not None else 0.5 * self.alpha

    @property
    def limit(self) -> float:
        """What the running risk must be shown to exceed for an alarm."""
        if self.given_limit is not None:
            return self.given_limit
        return min(self.source_high + self.tolerance, 1.0)

    @property
    def risk(self) -> float:
        """Mean loss of the rows that are counted; NaN before the first."""
        return self.total / self.n_labelled if self.n_labelled else math.nan

    @property
    def risk_low(self) -> float:
        """What the running risk is at least, at all times at once.

        It holds with probability 1 - alpha/2, or 1 - alpha where the limit was given.
        """
        low = lower_ends(
            self.total, self.spread, self.n_labelled, self._stream_alpha, self._binary
        )
        return float(low)

    @property
    def e_value(self) -> float:
        """Evidence, now, that the running risk exceeds the limit."""
        log_evidence = log_evidence_above(
            self.total, self.spread, self.n_labelled, self.limit, self._binary
        )
        return math.exp(log_evidence) if log_evidence < 709.0 else math.inf

    @property
    def alarm(self) -> bool:
        """Whether the running risk was ever shown to exceed the limit."""
        return self.alarm_at is not None

    @property
    def guarantee(self) -> Guarantee:
        """What an alarm means."""
        return no_false_risk_alarm(
            self.alpha,
            self.given_limit,
            self.tolerance,
            self.order,
            self.n_dropped > 0,
        )

    def confint(self, alpha: float = 0.05) -> FloatArray:
        """Return an interval of the running risk, shape (2,), that holds at all times.

        Parameters
        ----------
        alpha : float, default 0.05
            P(the running risk is ever outside, after any update) <= alpha.
        """
        level = Arguments("confint").alpha(alpha)
        now = self.total, self.spread, self.n_labelled, 0.5 * level, self._binary
        return np.array([float(lower_ends(*now)), float(upper_ends(*now))])

    # ------------------------------------------------------------------ presentation

    def __repr__(self) -> str:
        """Return one line."""
        risk = f" risk={self.risk:.4g}" if self.n_labelled else ""
        alarm = "" if self.alarm_at is None else f" alarm_at={self.alarm_at}"
        return (
            f"<RiskMonitor {loss_name(self.loss)} alpha={self.alpha:g} "
            f"n={self.n_source} t={self.n_labelled}{risk} "
            f"waiting={len(self.waiting.ids)}{alarm}>"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the running risk after some of the labelled rows, the last included.

        Columns: row (how many were counted), risk, low and high (each bound holds at
        all times with the probability that an alarm needs, `risk_low`), limit and
        alarm. At most 513 rows, at equal distances.
        """
        import pandas as pd

        rows, totals = self.record.rows, self.record.totals
        spreads = self.record.spreads
        if self.n_labelled and (not rows.size or rows[-1] < self.n_labelled):
            rows = np.append(rows, self.n_labelled)
            totals, spreads = (
                np.append(totals, self.total),
                np.append(spreads, self.spread),
            )
        sums = totals, spreads, rows, self._stream_alpha, self._binary
        return pd.DataFrame(
            {
                "row": rows,
                "risk": totals / rows,
                "low": lower_ends(*sums),
                "high": upper_ends(*sums),
                "limit": np.full(rows.size, self.limit),
                "alarm": rows >= (self.alarm_at or math.inf),
            }
        )

    def summary(self) -> Summary:
        """Return both risks, their bounds, and what an alarm means."""
        from distfreeuq.monitoring.risk.summary import summarize_risk

        return summarize_risk(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the running risk with its bounds, and the limit."""
        from distfreeuq import plots

        return plots.running_risk(self, ax=ax)
