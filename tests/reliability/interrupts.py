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
from collections.abc import Callable
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

    def features() -> tuple[Array, Array]:
        rng = np.random.default_rng(0)
        return rng.normal(size=(20_000, 5)), rng.normal(0.3, 1.0, (20_000, 5))

    def rows(n: int, k: int = 10) -> tuple[Array, Array, Array]:
        rng = np.random.default_rng(1)
        logits = rng.normal(0.0, 2.0, (n, k)).astype(np.float32)
        powers = np.exp(logits)
        probs = powers / powers.sum(axis=1, keepdims=True)
        ends = probs.cumsum(axis=1)
        return logits, (ends < rng.random((n, 1))).sum(axis=1).clip(max=k - 1), probs

    def ratio(method: str) -> Call:
        return partial(dfu.density_ratio, *features(), method=method, rng=0)

    def fit(function: Callable[..., Any]) -> Call:
        return partial(function, *rows(n)[:2])

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
            for method in ("kliep", "ulsif", "mlp", "knn")
        },
        "indistinguishable_features": learnt,
        "covariate_shift_calibration": carried,
        "temperature_scaling": partial(fit, dfu.temperature_scaling),
        "classwise_temperature": partial(fit, dfu.classwise_temperature_scaling),
        "vector_scaling": partial(fit, dfu.vector_scaling),
        "platt_scaling": partial(fit, dfu.platt_scaling),
        "isotonic_calibration": partial(of_probs, dfu.isotonic_calibration),
        "histogram_binning": partial(of_probs, dfu.histogram_binning, rng=0),
        "split_conformal": partial(of_probs, dfu.split_conformal, rng=0),
        "assess": partial(of_probs, dfu.assess, n_boot=200, rng=0),
        "bbse": partial(of_both, dfu.bbse),
        "mlls": partial(of_both, dfu.mlls),
        "mlls, many classes": partial(of_both, dfu.mlls, 5_000, 1_000),
        "target_performance": partial(of_both, dfu.target_performance),
        "shift_monitor.update": watched,
        "simulate": lambda: partial(study, n_rep=20_000),
        "verify": lambda: partial(theorems.verify, "split-coverage", rng=0),
        "search": searched,
    }


def repeat(name: str, n: int) -> None:
    """Do one piece of work until a signal comes, and say when it was left."""
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
