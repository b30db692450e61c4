"""Processes that are killed while they save, or while they write replicates."""

import collections
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import distfreeuq as dfu
from distfreeuq.simulation.journal import Journal
from tests.unit.base.test_persistence import assert_same

Counts = collections.Counter[str]


def killed_after(seconds: float, work: Callable[[], Any]) -> bool:
    """Run something in a forked process for so long; say whether it was killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def kill_while_saving(n_kills: int, seed: int = 0) -> Counts:
    """Kill a process that saves over and over; the file is always one of the two."""
    moments, counts = random.Random(seed), Counts()
    one, other = (_large_sets(kind) for kind in range(2))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sets.npz")

        def save_for_ever() -> None:
            while True:
                one.save(path)
                other.save(path)

        one.save(path)
        while counts["killed"] < n_kills:
            counts["killed"] += killed_after(moments.uniform(0.0, 0.2), save_for_ever)
            counts["killed in mid-write"] += len(os.listdir(folder)) > 1
            found = dfu.load(path)
            try:
                assert_same(found, one if found.mask[0, 0] else other)
                counts["whole file"] += 1
            except AssertionError:
                counts["wrong file"] += 1
        one.save(path)
        counts["files left over"] = len(os.listdir(folder)) - 1
    return counts


def _large_sets(kind: int) -> Any:
    """Return prediction sets of some megabytes, which take a while to write."""
    fit = dfu.split_conformal([[0.8, 0.2]] * 30, [0] * 30, score="lac")
    probs = np.tile([[0.85, 0.15], [0.15, 0.85]][kind], (500_000, 1))
    return fit.predict(probs)


def _agrees(path: Path, expected: Any) -> bool:
    """Say whether all replicates on file are those of a run that nobody killed."""
    if not path.exists():
        return True
    with Journal(path) as journal:
        return all(
            list(found.values()) == expected[replicate].tolist()
            for replicate, found in journal.done.items()
        )


def one_number(draw: Any, rng: np.random.Generator) -> dict[str, float]:
    """Return what a replicate found, after a moment, with a long name."""
    time.sleep(0.0005)
    return {"u" * 2000: draw, "second": float(rng.normal())}


def draw_one(rng: np.random.Generator) -> float:
    """Return a number."""
    return float(rng.random())


def kill_while_simulating(n_kills: int, seed: int = 0, n_rep: int = 300) -> Counts:
    """Kill runs of a study until it is done, and begin anew, for so many kills."""
    moments, counts = random.Random(seed), Counts()
    expected = dfu.simulate(draw_one, one_number, n_rep, rng=7).values

    def run() -> Any:
        return dfu.simulate(draw_one, one_number, n_rep, rng=7, file=path)

    with tempfile.TemporaryDirectory() as folder:
        while counts["killed"] < n_kills:
            path = Path(folder, f"study{counts['studies']}.jsonl")
            killed = True
            while killed and counts["killed"] < n_kills:
                killed = killed_after(moments.uniform(0.0, 0.3), run)
                counts["killed"] += killed
                content = path.read_bytes() if path.exists() else b""
                counts["last line torn"] += (
                    not content.endswith(b"\n") and content != b""
                )
                counts["file right" if _agrees(path, expected) else "file wrong"] += 1
            right = np.array_equal(run().values, expected)
            counts["table right" if right else "table wrong"] += 1
            counts["studies"] += 1
    return counts
