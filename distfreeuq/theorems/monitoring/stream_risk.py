"""The theorem behind `risk_monitor`: few false alarms, whenever the labels come."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.bounds import unchecked
from distfreeuq.monitoring.risk.risk_tracking import risk_monitor
from distfreeuq.references import (
    PODKOPAEV_RAMDAS_2022,
    PREDICTED_FIRST,
    SOURCE_IID_ELSEWHERE,
)
from distfreeuq.theorems.draws import stream_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

ALPHA = 0.2
SOURCE, STREAM, BATCH = 100, 200, 100
RISK = 0.2


def rows(
    generator: np.random.Generator, risks: FloatArray
) -> tuple[FloatMatrix, IntArray, BoolArray]:
    """Return predictions, labels, and whether they differ."""
    labels = generator.integers(2, size=risks.size)
    wrong = generator.random(risks.size) < risks
    sure = generator.uniform(0.6, 1.0, size=risks.size)
    top = np.where(wrong, 1 - labels, labels)
    return np.where(top == 1, sure, 1.0 - sure), labels, wrong


def alarmed(
    generator: np.random.Generator,
    n_draws: int,
    *,
    loss: str = "error",
    drift: bool = False,
    order: str = "row",
    delay: str = "blind",
) -> dict[str, BoolArray]:
    """Return whether there is ever an alarm while the running risk keeps its limit.

    With `drift` risks go down first, and then up until their average is the source's.
    Labels of a batch come in the next one, half of them later still: which, is decided
    blindly, or by the loss (the labels of wrong predictions come first).
    """
    alarms = np.empty(n_draws, dtype=np.bool_)
    half = STREAM // 2
    risks = np.full(STREAM, RISK)
    if drift:
        risks = np.repeat([0.5 * RISK, 1.5 * RISK], half)
    for i in range(n_draws):
        probs, labels, _ = rows(generator, np.full(SOURCE, RISK))
        monitor = risk_monitor(probs, labels, loss=loss, alpha=ALPHA, order=order)
        probs, labels, wrong = rows(generator, risks)
        late = generator.random(STREAM) < 0.5 if delay == "blind" else ~wrong
        for start in range(0, STREAM, BATCH):
            batch = np.arange(start, start + BATCH)
            monitor.update(probs[batch], ids=batch)
            soon = generator.permutation(batch[~late[batch]])
            monitor.update_labels(labels[soon], ids=soon)
            if start:
                old = generator.permutation((batch - BATCH)[late[batch - BATCH]])
                monitor.update_labels(labels[old], ids=old)
        alarms[i] = monitor.alarm
    return {"alarm": alarms}


def one_look(generator: np.random.Generator, n_draws: int) -> dict[str, BoolArray]:
    """Return whether Clopper and Pearson's bound, looked at often, ever exceeds it."""
    n = np.arange(1, STREAM + 1)
    totals = np.cumsum(generator.random((n_draws, STREAM)) < RISK, axis=1)
    every = np.broadcast_to(n, totals.shape)
    low, _ = unchecked.clopper_pearson(totals, every, 2.0 * ALPHA)
    return {"alarm": np.asarray((low > RISK).any(axis=1))}


FEW = (Claim("alarm", at_most=ALPHA, tolerance=0.05),)

RISKS = Theorem(
    name="stream-risk",
    title="A risk monitor ever raises a false alarm with probability at most alpha",
    reference=f"{PODKOPAEV_RAMDAS_2022}: risk of a stream (theory page, 11.4)",
    statement=(
        "P(the lower bound of the running risk ever exceeds the upper bound of the "
        "source's risk + tolerance) <= alpha if the running risk never exceeds the "
        "source's by more than the tolerance; labels may come late for any reason."
    ),
    assumptions=(SOURCE_IID_ELSEWHERE, PREDICTED_FIRST),
    family="streams",
    designs=stream_designs.risk_designs,
    experiments=(
        Experiment("errors", alarmed, FEW, 500),
        Experiment("Brier scores", partial(alarmed, loss="brier"), FEW, 300),
        Experiment("a risk that drifts", partial(alarmed, drift=True), FEW, 300),
        Experiment(
            "labels that come early if the prediction is wrong",
            partial(alarmed, delay="wrong"),
            FEW,
            500,
        ),
        Experiment(
            "in the order of the labels", partial(alarmed, order="arrival"), FEW, 300
        ),
    ),
    controls=(
        Experiment("bounds meant for one look", one_look, FEW, 500),
        Experiment(
            "order of the labels, where wrong predictions have theirs early",
            partial(alarmed, order="arrival", delay="wrong"),
            FEW,
            300,
        ),
    ),
)

THEOREMS = (RISKS,)
