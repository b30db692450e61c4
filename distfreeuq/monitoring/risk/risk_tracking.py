"""Track the risk of a stream whose labels come late."""

from __future__ import annotations

from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray
from distfreeuq._numerics.row_blocks import refuse_blocks
from distfreeuq.bounds import unchecked
from distfreeuq.monitoring.risk.losses import BINARY, Loss, read_loss, read_predictions
from distfreeuq.monitoring.risk.results import ORDERS, RiskMonitor
from distfreeuq.monitoring.risk.risk_record import no_record
from distfreeuq.monitoring.risk.waiting_rows import no_rows

_INSTEAD = "Give the source sample as an array, and each block of new rows to update."


def risk_monitor(
    predictions: Any,
    labels: ArrayLike,
    *,
    loss: str | Loss | None = None,
    tolerance: float = 0.0,
    limit: float | None = None,
    alpha: float = 0.05,
    order: str = "row",
    classes: ArrayLike | None = None,
) -> RiskMonitor:
    r"""Watch the risk of a stream, or the coverage of its sets, as labels come in.

    Parameters
    ----------
    predictions : array_like (n, K), (n,) for two classes, or PredictionSets
        Of source rows that nothing was fitted or calibrated on: probabilities, or
        prediction sets (also as a matrix of bools).
    labels : array_like (n,)
        The source's labels.
    loss : str or callable, optional
        Of probabilities "error" (the default), "brier" (half of the squared distance,
        so that it is at most 1) or a function of probs (m, K) and labels (m,) that
        returns numbers in [0, 1]; of sets "miscoverage".
    tolerance : float, default 0
        By how much the stream's risk may exceed the source's without an alarm.
    limit : float, optional
        The largest risk that is allowed, in place of the source's and a tolerance: 0.1
        for sets that promise coverage of 0.9.
    alpha : float, default 0.05
        Probability with which there is ever a false alarm, at most.
    order : {"row", "arrival"}
        In which order rows are counted. "row": that of the rows, each after the labels
        of all rows before it have come; labels may then be late for any reason.
        "arrival": that of the labels; nothing waits, but whether a label comes early
        must not depend on the loss.
    classes : sequence, optional
        Class names by column.

    Returns
    -------
    RiskMonitor
        With ``update(predictions, ids=)``, ``update_labels(labels, ids=)``,
        ``drop(ids)``, ``alarm``, ``risk``, ``confint()``, ``summary()``, ``plot()`` and
        ``save()``.

    Notes
    -----
    The running risk is the average, over the labelled rows so far, of the expected
    losses :math:`m_i` given the rows before. A lower bound :math:`L_t` of it, and an
    upper bound :math:`U` of the source's risk, give an alarm at

    .. math:: L_t > U + \text{tolerance}.

    All :math:`L_t` hold at once with probability 1 - alpha/2, however the risk drifts,
    and U with probability 1 - alpha/2 [1]_. L comes from mixtures of exponential
    supermartingales for binary losses and, where losses vary less than binary ones, of
    empirical-Bernstein ones [2]_; U is Clopper and Pearson's bound, or that of betting
    for other losses.

    References
    ----------
    .. [1] Podkopaev and Ramdas (2022), "Tracking the risk of a deployed model and
       detecting harmful distribution shifts", ICLR.
    .. [2] Howard, Ramdas, McAuliffe and Sekhon (2021), "Time-uniform, nonparametric,
       nonasymptotic confidence sequences", Annals of Statistics 49.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> def rows(n, accuracy):  # predictions of two classes, and labels
    ...     labels = rng.integers(2, size=n)
    ...     right = rng.random(n) < accuracy
    ...     return np.where(right == labels, 0.9, 0.1), labels
    >>> monitor = dfu.risk_monitor(*rows(2000, 0.9), tolerance=0.03)
    >>> for day in range(20):
    ...     probs, labels = rows(100, 0.9 if day < 5 else 0.7)
    ...     monitor = monitor.update(probs).update_labels(labels)
    >>> monitor.alarm, 500 < monitor.alarm_at < 1200, round(monitor.risk, 2)
    (True, True, 0.25)
    """
    args = Arguments("risk_monitor")
    refuse_blocks(args, {"predictions": predictions, "labels": labels}, _INSTEAD)
    chosen = read_loss(args, loss, predictions)
    losses, names = read_predictions(args, predictions, chosen, None, classes)
    n = losses.shape[0]
    if n == 0:
        args.invalid("predictions", "at least one row", "none")
    codes = args.labels(labels, names, n)
    alpha = args.alpha(alpha)
    must = "a number from 0 to 1"
    slack = args.number(tolerance, "tolerance", must, low=0.0, high=1.0)
    most = None
    if limit is not None:
        most = args.number(limit, "limit", must, low=0.0, high=1.0)
        if slack:
            args.invalid("tolerance", "0 where limit= is given", f"{slack:g}")
    of_rows = losses[np.arange(n), codes]
    binary = isinstance(chosen, str) and chosen in BINARY
    return RiskMonitor(
        alpha=alpha,
        loss=chosen,
        order=args.choice(order, "order", ORDERS),
        tolerance=slack,
        given_limit=most,
        n_source=n,
        source_risk=float(of_rows.mean()),
        source_high=source_bound(of_rows, 0.5 * alpha, binary),
        classes=names,
        n_rows=0,
        n_labelled=0,
        n_dropped=0,
        total=0.0,
        spread=0.0,
        alarm_at=None,
        waiting=no_rows(len(names)),
        record=no_record(),
    )


def source_bound(losses: FloatArray, delta: float, binary: bool) -> float:
    """Return what the mean is at most, with probability 1 - delta."""
    if binary:
        # two ends at 2 delta are one end at delta each
        ends = unchecked.clopper_pearson(float(losses.sum()), losses.size, 2.0 * delta)
        return float(ends[1])
    high = unchecked.betting_interval(losses, delta, side="upper")[1]
    return max(float(high), float(losses.mean()))
