"""Ctrl-C in the midst of long work: how long until it is answered.

Each piece of work runs over and over in a process of its own, which gets the signal at
a random moment and says when it has left the work.
"""

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import distfreeuq as dfu
from distfreeuq import theorems
from tests.unit.simulation_study import study

# Largest seconds that pass as an answer.
LIMIT = 1.0


def work() -> dict[str, Callable[[], Any]]:
    """Return calls that last seconds, by name."""
    rng = np.random.default_rng(0)
    x, x_target = rng.normal(size=(20_000, 5)), rng.normal(0.3, 1.0, (20_000, 5))
    logits = rng.normal(0.0, 2.0, (200_000, 10))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)

    def ratio(method: str) -> Callable[[], Any]:
        return lambda: dfu.density_ratio(x, x_target, method=method, rng=0)

    return {
        **{f"density_ratio {m}": ratio(m) for m in ("kliep", "ulsif", "mlp", "knn")},
        "indistinguishable_features": lambda: dfu.indistinguishable_features(
            x, labels[:20_000], x_target, n_hidden=16, rng=0
        ),
        "covariate_shift_calibration": lambda: dfu.covariate_shift_calibration(
            logits[:20_000], labels[:20_000], x, x_target, rng=0
        ),
        "histogram_binning": lambda: dfu.histogram_binning(probs, labels, rng=0),
        "platt_scaling": lambda: dfu.platt_scaling(logits, labels),
        "mlls": lambda: dfu.mlls(probs, labels, probs[::-1]),
        "assess": lambda: dfu.assess(probs, labels, n_boot=200, rng=0),
        "simulate": lambda: study(n_rep=20_000),
        "verify": lambda: theorems.verify("split-coverage", rng=0),
        "search": lambda: theorems.search("split-coverage", n_designs=10_000, rng=0),
    }


def repeat(name: str) -> None:
    """Do one piece of work until a signal comes, and say when it was left."""
    call = work()[name]
    warnings.simplefilter("ignore")
    print("ready", flush=True)
    try:
        while True:
            call()
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
        os._exit(0)


def latency(name: str, delay: float) -> float:
    """Return the seconds from a signal to its answer; infinite beyond a minute."""
    command = [sys.executable, "-m", "tests.reliability.interrupts", "--repeat", name]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(delay)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        answer, _ = process.communicate(timeout=60.0)
    except subprocess.TimeoutExpired:
        process.kill()
        return float("inf")
    return float(answer.split()[-1]) - sent if answer.strip() else float("inf")


def main(n_signals: int = 3) -> int:
    """Print the slowest answer of each; return 1 if one is beyond the limit."""
    moments, slow = random.Random(0), 0
    for name in sys.argv[1:] or work():
        found = [latency(name, moments.uniform(0.2, 3.0)) for _ in range(n_signals)]
        print(f"{name:30} {max(found):.2f} s", flush=True)
        slow += max(found) > LIMIT
    return int(slow > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--repeat"]:
        repeat(sys.argv[2])
    sys.exit(main())
