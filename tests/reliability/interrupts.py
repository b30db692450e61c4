"""Ctrl-C in the midst of long work: how long until it is answered.

Each piece of work runs over and over in a process of its own, which gets the signal at
a random moment and says when it has left the work: by the clock, and by the processor
time that the busiest of its threads has had since, which is the same on a machine that
does nothing else.
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import distfreeuq as dfu
from distfreeuq import theorems
from tests.unit.simulation_study import study

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]
Work = Callable[[], Call]

# Largest seconds that pass as an answer.
LIMIT = 1.0


def work(n: int = 200_000, n_stream: int = 10_000_000) -> dict[str, Work]:
    """Return what makes rows and then returns a call that lasts seconds, by name."""

    def features(n: int = 20_000) -> tuple[Array, Array]:
        rng = np.random.default_rng(0)
        return rng.normal(size=(n, 5)), rng.normal(0.3, 1.0, (n, 5))

    def rows(n: int, k: int = 10) -> tuple[Array, Array, Array]:
        rng = np.random.default_rng(1)
        logits = rng.normal(0.0, 2.0, (n, k)).astype(np.float32)
        powers = np.exp(logits)
        probs = powers / powers.sum(axis=1, keepdims=True)
        ends = probs.cumsum(axis=1)
        return logits, (ends < rng.random((n, 1))).sum(axis=1).clip(max=k - 1), probs

    def ratio(method: str, n: int = 20_000) -> Call:
        return partial(dfu.density_ratio, *features(n), method=method, rng=0)

    def fit(function: Callable[..., Any]) -> Call:
        return partial(function, *rows(n)[:2])

    def chosen() -> Call:
        logits, labels, _ = rows(20_000)
        both = logits, labels, *features()
        candidates = ["temperature", "isotonic"]
        return partial(dfu.choose_calibration, *both, candidates, rng=0)

    def grouped() -> Call:
        fits = partial(dfu.groupwise_calibration, "temperature", gamma="cv")
        return partial(fits, *rows(n)[:2])

    def of_pairs(function: Callable[..., Any], **options: Any) -> Call:
        _, labels, probs = rows(n)
        correct = probs.argmax(axis=1) == labels
        return partial(function, probs.max(axis=1), correct, **options)

    def robust() -> Call:
        _, labels, probs = rows(20_000, 100)
        region = dfu.bbse(probs, labels, probs[::-1])
        given = probs, labels, region
        return partial(dfu.label_shift_conformal, *given, robust="directional", rng=0)

    def in_pieces() -> Call:
        _, labels, probs = rows(n)
        pieces = [
            (probs[i : i + 10_000], labels[i : i + 10_000]) for i in range(0, n, 10_000)
        ]
        return lambda: dfu.split_conformal(iter(pieces), rng=0)

    def in_blocks(function: Callable[..., Any], *also: str, **options: Any) -> Call:
        """Return a fit to blocks, each of logits or probs, labels and what else."""
        logits, labels, probs = rows(n)
        made = {"logits": logits, "probs": probs, "labels": labels}
        made |= {"scores": 1.0 - probs.max(axis=1)}
        taken = [made[name] for name in also]

        def blocks() -> Iterator[Any]:
            for i in range(0, n, 10_000):
                block = tuple(each[i : i + 10_000] for each in taken)
                yield block if len(block) > 1 else block[0]

        return partial(function, blocks, **options)

    def ratio_of_blocks() -> Call:
        x, x_target = features(n)

        def blocks(all_rows: Array) -> Iterator[Array]:
            return (all_rows[i : i + 10_000] for i in range(0, n, 10_000))

        both = partial(blocks, x), partial(blocks, x_target)
        return partial(dfu.density_ratio, *both, rng=0)

    def likelihood_of_blocks() -> Call:
        probs = rows(n)[2]

        def blocks() -> Iterator[Array]:
            return (probs[i : i + 10_000] for i in range(0, n, 10_000))

        return in_blocks(dfu.mlls, "probs", "labels", probs_target=blocks)

    def reported() -> Call:
        _, labels, probs = rows(20_000)
        return partial(dfu.report, probs, labels, probs[::-1], rng=0)

    def evaluated() -> Call:
        _, labels, probs = rows(n)
        sets = dfu.split_conformal(probs, labels, rng=0).predict(probs, rng=0)
        groups, blocks = labels % 3, np.arange(n) // 50
        return partial(sets.evaluate, labels, groups=groups, blocks=blocks)

    def many_sets(function: Callable[..., Any]) -> Call:
        _, labels, probs = rows(n // 40, 1_000)
        fitted = function(probs, labels, rng=0)
        return partial(fitted.predict, probs, rng=0)

    def judged() -> Call:
        ones = np.random.default_rng(2).random(n_stream)
        stream = np.column_stack([ones, 1.0 - ones])
        labels = (np.random.default_rng(3).random(n_stream) < stream[:, 1]).astype(int)
        few = stream[:1000], labels[:1000]

        def watch() -> None:
            monitor = dfu.risk_monitor(*few, tolerance=0.1).update(stream)
            monitor.update_labels(labels)

        return watch

    def of_probs(function: Callable[..., Any], **options: Any) -> Call:
        _, labels, probs = rows(n)
        return partial(function, probs, labels, **options)

    def of_both(function: Callable[..., Any], n: int = n, k: int = 10) -> Call:
        _, labels, probs = rows(n, k)
        return partial(function, probs, labels, probs[::-1])

    def learnt() -> Call:
        x, x_target = features()
        labels, how = rows(20_000)[1], {"n_hidden": 16, "rng": 0}
        return partial(dfu.indistinguishable_features, x, labels, x_target, **how)

    def carried() -> Call:
        logits, labels, _ = rows(20_000)
        both = logits, labels, *features()
        return partial(dfu.covariate_shift_calibration, *both, rng=0)

    def watched() -> Call:
        ones = np.random.default_rng(2).random(n_stream)
        stream = np.column_stack([ones, 1.0 - ones])
        return lambda: dfu.shift_monitor(stream[:1000], rng=0).update(stream)

    def searched() -> Call:
        return partial(theorems.search, "split-coverage", n_designs=10_000, rng=0)

    return {
        **{
            f"density_ratio {method}": partial(ratio, method)
            for method in ("kliep", "ulsif", "mlp", "knn", "logistic")
        },
        "density_ratio kmm": partial(ratio, "kmm", 3_000),
        "indistinguishable_features": learnt,
        "covariate_shift_calibration": carried,
        "temperature_scaling": partial(fit, dfu.temperature_scaling),
        "classwise_temperature": partial(fit, dfu.classwise_temperature_scaling),
        "vector_scaling": partial(fit, dfu.vector_scaling),
        "platt_scaling": partial(fit, dfu.platt_scaling),
        "dirichlet_scaling": partial(fit, dfu.dirichlet_scaling),
        "beta_calibration": partial(of_probs, dfu.beta_calibration),
        "venn_abers": partial(of_probs, dfu.venn_abers),
        "decision_calibration": partial(fit, dfu.decision_calibration),
        "choose_calibration": chosen,
        "groupwise_calibration": grouped,
        "class_bundles": partial(of_probs, dfu.class_bundles),
        "smooth_ece": partial(of_probs, dfu.metrics.smooth_ece),
        "isotonic_band": partial(of_pairs, dfu.metrics.isotonic_band),
        "l2_ece_interval": partial(of_probs, dfu.metrics.l2_ece_interval),
        "isotonic_calibration": partial(of_probs, dfu.isotonic_calibration),
        "histogram_binning": partial(of_probs, dfu.histogram_binning, rng=0),
        "split_conformal": partial(of_probs, dfu.split_conformal, rng=0),
        "split_conformal, rows in pieces": in_pieces,
        "conformal_thresholds of blocks": partial(
            in_blocks,
            dfu.conformal_thresholds,
            *("scores", "labels"),
            alpha=0.1,
            n_classes=10,
            method="label-conditional",
        ),
        "temperature_scaling of blocks": partial(
            in_blocks, dfu.temperature_scaling, "logits", "labels"
        ),
        "isotonic_calibration of blocks": partial(
            in_blocks, dfu.isotonic_calibration, "probs", "labels"
        ),
        "assess, rows in blocks": partial(
            in_blocks, dfu.assess, "probs", "labels", n_boot=200, rng=0
        ),
        "mlls of blocks": likelihood_of_blocks,
        "density_ratio of blocks": ratio_of_blocks,
        "report": reported,
        "evaluate": evaluated,
        "clustered_conformal": partial(of_probs, dfu.clustered_conformal, rng=0),
        "interpolated_conformal": partial(of_probs, dfu.interpolated_conformal, rng=0),
        "label_shift_conformal, robust": robust,
        "label-conditional sets": partial(many_sets, dfu.label_conditional_conformal),
        "rank-calibrated sets": partial(many_sets, dfu.rank_calibrated_conformal),
        "tally": partial(of_probs, dfu.tally, rng=0),
        "assess": partial(of_probs, dfu.assess, n_boot=200, rng=0),
        "bbse": partial(of_both, dfu.bbse),
        "mlls": partial(of_both, dfu.mlls),
        "mlls, many classes": partial(of_both, dfu.mlls, 5_000, 1_000),
        "target_performance": partial(of_both, dfu.target_performance),
        "rlls": partial(of_both, dfu.rlls),
        "rlls, many classes": partial(of_both, dfu.rlls, 5_000, 1_000),
        "shift_monitor.update": watched,
        "risk_monitor.update": judged,
        "simulate": lambda: partial(study, n_rep=20_000),
        "verify": lambda: partial(theorems.verify, "split-coverage", rng=0),
        "search": searched,
    }


def repeat(name: str, n: int) -> None:
    """Do one piece of work until a signal comes, and say when it was left."""
    # What a shell starts in the background ignores the signal, and so would we.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    call = work(n)[name]()
    warnings.simplefilter("ignore")
    print("ready", flush=True)
    try:
        while True:
            call()
    except KeyboardInterrupt:
        now = time.monotonic()
        print(now, *(f"{t}={s}" for t, s in processor_times("self").items()))
        sys.stdout.flush()
        os._exit(0)


def processor_times(process: int | str) -> dict[str, float]:
    """Return the seconds that each thread of a process has had (Linux)."""
    found = {}
    for thread in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # a thread that has just ended
            found[thread.parent.name] = int(thread.read_text().split()[0]) * 1e-9
    return found


def latency(name: str, n: int, delay: float) -> tuple[float, float]:
    """Return the seconds from a signal to its answer; infinite beyond a minute.

    By the clock, and by processor time, which is the former where it is not known.
    """
    command = [sys.executable, "-m", "tests.reliability.interrupts", "--repeat", name]
    process = subprocess.Popen(
        [*command, "--rows", str(n)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(delay)
    sent, before = time.monotonic(), processor_times(process.pid)
    process.send_signal(signal.SIGINT)
    try:
        answer, _ = process.communicate(timeout=60.0)
    except subprocess.TimeoutExpired:
        process.kill()
        return float("inf"), float("inf")
    if not answer.strip():
        return float("inf"), float("inf")
    clock, *threads = answer.split()
    waited = float(clock) - sent
    spent = [
        float(seconds) - before.get(thread, 0.0)
        for thread, seconds in (text.split("=") for text in threads)
    ]
    return waited, max(spent, default=waited)


def main() -> int:
    """Print the slowest answer of each; return 1 if one is beyond the limit."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.interrupts")
    parser.add_argument("names", nargs="*", help="which work; all by default")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--signals", type=int, default=3)
    parser.add_argument("--longest", type=float, default=3.0, help="before a signal")
    parser.add_argument("--repeat", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.repeat:
        repeat(asked.repeat, asked.rows)
    moments, slow = random.Random(0), 0
    for name in asked.names or work():
        delays = [moments.uniform(0.2, asked.longest) for _ in range(asked.signals)]
        found = [latency(name, asked.rows, delay) for delay in delays]
        clock, processor = (max(each) for each in zip(*found, strict=True))
        print(f"{name:30} {clock:5.2f} s, processor {processor:.2f} s", flush=True)
        slow += processor > LIMIT
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
