"""Watch a stream of predictions for any shift, with an alarm that is rarely false."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, IntMatrix, RandomState
from distfreeuq._base.arrays import describe, read_only
from distfreeuq._numerics.row_blocks import refuse_blocks
from distfreeuq._numerics.row_sums import count_pairs
from distfreeuq.monitoring.streams.data import (
    first_state,
    generator_at,
    read_source,
    state_of,
)
from distfreeuq.monitoring.streams.record import empty_record
from distfreeuq.monitoring.streams.results import ShiftMonitor
from distfreeuq.monitoring.streams.score_cells import N_CELLS
from distfreeuq.monitoring.streams.wealth import FAMILIES, first_wealth

_INSTEAD = "Give the source sample as an array, and each block of new rows to update."


def shift_monitor(
    probs: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    score: str | int | Callable[[FloatArray], ArrayLike] = "confidence",
    alpha: float = 0.01,
    features: ArrayLike | None = None,
    bets: str | Sequence[str] = FAMILIES,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
) -> ShiftMonitor:
    r"""Watch a stream of predictions for any shift from the source.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        Predictions of source rows that the classifier was not fitted on. Rows sum to
        one.
    labels : array_like (n,), optional
        The source's labels: with them the monitor also has class proportions of the
        stream, ``target_prior`` and ``confint()``.
    score : str, int or callable, default "confidence"
        What is watched of a row. "confidence": the predicted class's probability, which
        tells little of a change of class proportions if the classes are alike in it;
        "class": the predicted class; "class-confidence": rows sorted by predicted
        class, and by confidence within a class; "aps": the randomised APS score of the
        predicted class; an integer: that column of `features`; a callable: a function
        of `features` (of `probs` without them) that returns a number per row.
    alpha : float, default 0.01
        Probability with which there is ever a false alarm, at most.
    features : array_like (n, d), optional
        Anything else that is known of the rows.
    bets : str or sequence of str, default all
        Families of bets that are mixed: "power" and "slope" (many small or many large
        p-values), "histogram" (whatever has been seen before), "class" (a histogram
        with as many pieces as there are classes).
    classes : sequence, optional
        Class names by column.
    rng : int, Generator, SeedSequence or None
        For ties, which are broken at random.

    Returns
    -------
    ShiftMonitor
        With ``update(probs)``, ``alarm``, ``alarm_at``, ``e_value``, ``p_value``,
        ``change_at``, ``summary()``, ``plot()`` and ``save()``.

    Notes
    -----
    Source rows stand in a line, and each new row joins it. Its p-value is

    .. math:: p_t = (\#\{i < t: s_i > s_t\} + u_t \#\{i \le t: s_i = s_t\}) / t.

    As long as all rows are exchangeable the p-values of the stream are independent and
    uniform, exactly, with ties or without [1]_. Capital that is bet on them, each bet
    fixed by the p-values before it, is a martingale: it ever reaches 1/alpha times what
    it was with probability at most alpha [2]_. P-values against the source rows alone
    would not be independent, however many they are.

    Scores are kept as counts in 65,536 cells: memory is bounded, and rows of one cell
    are ties. Cells of a column or a function are a 512th of a number's size wide: what
    varies by less should have its mean subtracted, one that was taken from other rows.

    References
    ----------
    .. [1] Vovk, Nouretdinov and Gammerman (2003), "Testing exchangeability on-line",
       ICML.
    .. [2] Ville (1939), Gauthier-Villars, Paris.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> source = rng.dirichlet([4, 1, 1], size=500)
    >>> monitor = dfu.shift_monitor(source, rng=0)
    >>> for day in range(10):  # nothing moves
    ...     monitor = monitor.update(rng.dirichlet([4, 1, 1], size=100))
    >>> monitor.alarm
    False
    >>> monitor = monitor.update(rng.dirichlet([2, 2, 2], size=500))
    >>> monitor.alarm, 1000 < monitor.alarm_at < 1200, monitor.p_value < 0.01
    (True, True, True)
    """
    args = Arguments("shift_monitor")
    refuse_blocks(args, {"probs": probs, "labels": labels}, _INSTEAD)
    unchecked, names = args.unchecked_probs(probs, classes=classes)
    n, n_classes = unchecked.matrix.shape
    if n == 0:
        args.invalid("probs", "at least one row", "none")
    alpha = args.probability(alpha, "alpha")
    families = _read_bets(args, bets)
    generator = generator_at(first_state(rng, "shift_monitor"))
    rows, chosen = read_source(args, unchecked, score, features, generator)
    confusion: IntMatrix | None = None
    if labels is not None:
        codes = args.labels(labels, names, n)
        confusion = read_only(count_pairs(rows.predicted, codes, n_classes, n_classes))
    return ShiftMonitor(
        alpha=alpha,
        n_source=n,
        n_stream=0,
        alarm_at=None,
        change_at=None,
        classes=names,
        score=chosen,
        bets=families,
        line=read_only(np.bincount(rows.cells, minlength=N_CELLS)),
        wealth=first_wealth(families, n_classes),
        record=empty_record(),
        log_largest=0.0,
        confusion=confusion,
        class_counts=read_only(np.zeros(n_classes, dtype=np.int64)),
        rng_state=state_of(generator),
    )


def _read_bets(args: Arguments, bets: Any) -> tuple[str, ...]:
    """Return the families of bets, each once and in the order of all."""
    given = (bets,) if isinstance(bets, str) else bets
    must = "one or several of " + ", ".join(repr(name) for name in FAMILIES)
    if not isinstance(given, Sequence) or not len(given):
        args.invalid("bets", must, describe(bets))
    for name in given:
        if not isinstance(name, str) or name not in FAMILIES:
            args.invalid("bets", must, describe(name))
    return tuple(name for name in FAMILIES if name in given)
