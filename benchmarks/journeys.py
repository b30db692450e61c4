"""How far a call travels through the package: ``python benchmarks/journeys.py``.

Six things that users do are traced with Python's profiler, which sees the calls of
Python functions and not those of kernels. A call is counted if the function is
written in the package. The *file switches* are the calls of a function in another file
than that of the function called before it; *folder switches* likewise; *depth* is the
largest number of such functions that wait for one another. Comprehensions and lambdas
are parts of the function around them. Every journey is the first thing that happens in
a process of its own.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

import distfreeuq as dfu

PACKAGE = os.path.dirname(os.path.abspath(dfu.__file__)) + os.sep
N = 300


class Trace(NamedTuple):
    """What one journey amounts to."""

    calls: int
    functions: int
    files: int
    file_switches: int
    folder_switches: int
    depth: int


class Recorder:
    """Takes the profiler's events, and keeps the package's own functions."""

    def __init__(self) -> None:
        self.calls: list[CodeType] = []
        self.depth = self.deepest = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note one event."""
        code = frame.f_code
        if event not in ("call", "return") or not is_ours(code):
            return
        if event == "return":
            self.depth -= 1
            return
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)
        self.calls.append(code)

    def trace(self) -> Trace:
        """Return the counts."""
        files = [code.co_filename for code in self.calls]
        folders = [os.path.dirname(file) for file in files]
        return Trace(
            len(files),
            len(set(self.calls)),
            len(set(files)),
            switches(files),
            switches(folders),
            self.deepest,
        )


def is_ours(code: CodeType) -> bool:
    """Say whether a function is written in the package."""
    return code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<")


def switches(places: list[str]) -> int:
    """Return how often the next place is another one."""
    return sum(a != b for a, b in pairwise(places))


def trace(journey: Callable[[], object]) -> Trace:
    """Run a journey and count."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        recorder = Recorder()
        sys.setprofile(recorder)
        try:
            journey()
        finally:
            sys.setprofile(None)
    return recorder.trace()


def journeys() -> dict[str, Callable[[], object]]:
    """Return what users do, by name."""
    rng = np.random.default_rng(0)
    labels, labels_target = rng.integers(0, 3, (2, N))
    logits, logits_target = (
        rng.normal(size=(N, 3)) + 2.0 * np.eye(3)[codes]
        for codes in (labels, labels_target)
    )
    probs, probs_target = (
        np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        for z in (logits, logits_target)
    )

    def split() -> str:
        fit = dfu.split_conformal(probs, labels, rng=0)
        sets = fit.predict(probs_target)
        return str(sets.evaluate(labels_target).summary())

    def robust() -> str:
        shift = dfu.bbse(probs, labels, probs_target)
        fit = dfu.label_shift_conformal(probs, labels, shift, robust=True, rng=0)
        return str(fit.summary())

    def binning() -> str:
        fit = dfu.histogram_binning(probs, labels)
        return str(fit.under_label_shift(np.array([0.5, 1.0, 1.5])).summary())

    def mlls() -> str:
        return str(dfu.mlls(probs, labels, probs_target).summary())

    def shifted(calibrator: str) -> str:
        fit = dfu.covariate_shift_calibration(
            logits, labels, logits, logits_target, calibrator=calibrator, rng=0
        )
        return str(fit.summary())

    def verify() -> int:
        from distfreeuq.__main__ import main

        return main(["verify", "aps-uniform"])

    return {
        "1 split_conformal -> predict -> evaluate -> summary": split,
        "2 bbse -> label_shift_conformal(robust) -> summary": robust,
        "3 histogram_binning -> under_label_shift -> summary": binning,
        "4 mlls -> summary": mlls,
        "5 covariate_shift_calibration -> summary": lambda: shifted("temperature"),
        "5b the same, calibrator='binning'": lambda: shifted("binning"),
        "6 verify aps-uniform": verify,
    }


def main() -> None:
    """Print a table, or one line of it if a journey is named."""
    if len(sys.argv) > 1:
        name = sys.argv[1]
        counts = trace(journeys()[name])
        print(f"{name:52}" + "".join(f"{number:>11}" for number in counts))
        return
    heads = ("calls", "functions", "files", "file sw.", "folder sw.", "depth")
    print(f"{'journey':52}" + "".join(f"{head:>11}" for head in heads), flush=True)
    for name in journeys():
        subprocess.run(
            [sys.executable, __file__, name], check=True, stderr=subprocess.DEVNULL
        )


if __name__ == "__main__":
    main()
