"""One job: the same arrays given to several implementations, checked, then timed.

Times are the best of several interleaved runs (first run of every implementation,
second run of every implementation, ...), so that a busy moment of the machine hits all
of them alike. Ratios are an implementation's time over ours: above 1 we are faster.
"""

from __future__ import annotations

import gc
import importlib.util
import math
import statistics
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import distfreeuq as dfu

OURS = "distfreeuq"

Run = Callable[[], Any]
"""An implementation with its arguments bound; what it returns is compared."""


@dataclass(frozen=True)
class Target:
    """What we want of one job: a ratio to an implementation, or a limit on our own.

    Parameters
    ----------
    against : str
        The implementation, or ours for a limit.
    ratio : float
        Its time over ours must be at least this: 10 is ten times faster, 0.5 is within
        twice its time.
    seconds : float
        Our own time must be below this.
    peak_bytes : float
        Our own peak memory must be below this.
    second_core : float
        Our own time on one thread over that on two must be at least this.
    if_missed : str
        What the page says if the target is missed: the reason.
    """

    against: str = OURS
    ratio: float = 0.0
    seconds: float = math.inf
    peak_bytes: float = math.inf
    second_core: float = 0.0
    if_missed: str = ""


def second_core(why_missed: str) -> Target:
    """Return the target for work that memory does not bound."""
    return Target(second_core=1.6, if_missed=why_missed)


def all_close(results: Mapping[str, Any]) -> None:
    """Refuse to time implementations that do not compute the same numbers."""
    expected = results[OURS]
    for name, got in results.items():
        np.testing.assert_allclose(
            got, expected, rtol=1e-6, atol=1e-9, err_msg=f"{name} differs from {OURS}"
        )


@dataclass(frozen=True)
class Job:
    """The same computation by several implementations.

    Parameters
    ----------
    name : str
        What is computed; jobs of one name and several sizes make a curve.
    size : mapping
        Lengths by name, such as ``{"n": 10_000, "K": 1000}``.
    ours : callable
        Run on every number of threads in `threads`.
    peers : mapping
        The other implementations; their results are checked against ours.
    yardsticks : mapping
        Timed but not compared, such as one read of the matrix.
    check : callable
        Raises if the results, by implementation, differ.
    variant : str
        Which kind of input, where the time depends on it.
    dtype : str
        Of the input.
    reads : int
        Bytes that any implementation must read, for the fraction of the bandwidth.
    exponentials : int
        Exponentials that any implementation must take, for the fraction of their rate.
    targets : tuple of Target
    threads : tuple of int
        Numbers of threads that ours is run on.
    effort : float
        Share of the usual time that the job is worth.
    resident : bool
        Measure memory as the system sees it, buffers inside kernels included: for large
        inputs, where its own grains do not matter.
    """

    name: str
    size: Mapping[str, int]
    ours: Run
    peers: Mapping[str, Run] = field(default_factory=dict)
    yardsticks: Mapping[str, Run] = field(default_factory=dict)
    check: Callable[[Mapping[str, Any]], None] = all_close
    variant: str = ""
    dtype: str = "float64"
    reads: int = 0
    exponentials: int = 0
    targets: tuple[Target, ...] = ()
    threads: tuple[int, ...] = (1, 2)
    effort: float = 1.0
    resident: bool = False


@dataclass(frozen=True)
class Timing:
    """One implementation of one job.

    Attributes
    ----------
    name : str
    threads : int
        That ours ran on; 0 for the others, who are left to themselves.
    seconds, median : float
        Best and middle of the runs.
    processor : float
        Least processor time of a run, summed over threads.
    waited : float
        Share of the best run that was spent without a processor. On a busy machine this
        hits long runs more than short ones, so that ratios are not to be trusted; those
        of processor times then say more.
    runs : int
    peak_bytes : int
        Largest memory that NumPy and Python held at once, results included, in the
        first run, under tracemalloc. Buffers inside kernels, a few rows per thread, are
        not in it.
    """

    name: str
    threads: int
    seconds: float
    median: float
    processor: float
    waited: float
    runs: int
    peak_bytes: int


@dataclass(frozen=True)
class Outcome:
    """A job that has been run."""

    family: str
    job: Job
    timings: tuple[Timing, ...]

    def ours(self, threads: int) -> Timing:
        """Return our own timing on that many threads."""
        return next(t for t in self.timings if t.threads == threads)

    def ratio(self, timing: Timing, threads: int) -> float:
        """Return its time over ours on that many threads."""
        return timing.seconds / self.ours(threads).seconds


class Sample(NamedTuple):
    """Seconds per call: on the clock, and of processors that worked on it."""

    seconds: float
    processor: float

    @property
    def used_threads(self) -> bool:
        """Whether more than one processor was at work."""
        return self.processor > 1.1 * self.seconds


_missing: set[str] = set()


def peer(module: str, name: str, run: Run) -> dict[str, Run]:
    """Return the implementation by name, or nothing if its module is not installed."""
    if importlib.util.find_spec(module) is None:
        _missing.add(module)
        return {}
    return {name: run}


def missing_peers() -> list[str]:
    """Return the modules that jobs asked for in vain."""
    return sorted(_missing)


def measure(job: Job, family: str, *, budget: float, fewest: int) -> Outcome:
    """Run once for the results and the memory, check, then time round-robin.

    Parameters
    ----------
    job : Job
    family : str
    budget : float
        Seconds that each implementation may take.
    fewest : int
        Timed runs that each takes at least.
    """
    entries = [(OURS, threads, job.ours) for threads in job.threads]
    entries += [(name, 0, run) for name, run in {**job.peers, **job.yardsticks}.items()]
    default_threads = dfu.get_num_threads()
    weigh = _resident_bytes if job.resident else _peak_bytes
    results, peaks = {}, []
    try:
        for name, threads, run in entries:
            result, peak = weigh(threads, run)
            peaks.append(peak)
            if threads not in (0, job.threads[0]):
                name = f"{name}, {threads} threads"
            if name not in job.yardsticks:
                results[name] = result
        job.check(results)
        results.clear()
        samples = _interleave(entries, max(budget * job.effort, _FEW_SECONDS), fewest)
    finally:
        dfu.set_num_threads(default_threads)
    timings = [
        _timing(name, threads, taken, peak)
        for (name, threads, _), peak, taken in zip(entries, peaks, samples, strict=True)
    ]
    return Outcome(family, job, tuple(timings))


def _timing(name: str, threads: int, taken: list[Sample], peak: int) -> Timing:
    best = min(taken)
    return Timing(
        name=name,
        threads=threads,
        seconds=best.seconds,
        median=statistics.median(sample.seconds for sample in taken),
        processor=min(sample.processor for sample in taken),
        waited=max(0.0, 1.0 - best.processor / best.seconds),
        runs=len(taken),
        peak_bytes=peak,
    )


def _peak_bytes(threads: int, run: Run) -> tuple[Any, int]:
    """Return the result, and the most memory that NumPy and Python held."""
    dfu.set_num_threads(max(threads, 1))
    gc.collect()
    tracemalloc.start()
    try:
        result = run()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _resident_bytes(threads: int, run: Run) -> tuple[Any, int]:
    """Return the result, and by how much the process grew at most, as Linux counts."""
    dfu.set_num_threads(max(threads, 1))
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins anew
    before = _status_bytes("VmRSS")
    result = run()
    return result, max(_status_bytes("VmHWM") - before, 0)


def _status_bytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if field in line)


_SAMPLE_SECONDS = 5e-3
"""A timed sample repeats the call until it takes this long."""

_SLOW_SECONDS = 2.0
"""What takes this long is run twice, and no more."""

_FEW_SECONDS = 0.1
"""What every implementation may take at least: several runs, if they are short."""

_SETTLE_SECONDS = 0.05
"""After a run of another implementation on several threads: those of BLAS and OpenMP
wait actively for tens of milliseconds for more work, on the cores that are next."""


def _interleave(
    entries: list[tuple[str, int, Run]], budget: float, fewest: int
) -> list[list[Sample]]:
    """Return the samples of every entry, run after run.

    A first call tells how many make a sample; where one does, it counts as a sample.
    """
    samples: list[list[Sample]] = [[] for _ in entries]
    calls = [1] * len(entries)
    spent = [0.0] * len(entries)
    gc.disable()
    try:
        for i, (_, threads, run) in enumerate(entries):
            first = _sample(threads, run, 1)
            if first.seconds < _SAMPLE_SECONDS:
                calls[i] = math.ceil(_SAMPLE_SECONDS / first.seconds)
            else:
                samples[i].append(first)
                spent[i] = first.seconds
            _let_threads_sleep(threads, first)
        while waiting := [
            i
            for i in range(len(entries))
            if len(samples[i]) < (2 if spent[i] > _SLOW_SECONDS else fewest)
            or spent[i] < budget
        ]:
            for i in waiting:
                _, threads, run = entries[i]
                samples[i].append(_sample(threads, run, calls[i]))
                spent[i] += samples[i][-1].seconds * calls[i]
                _let_threads_sleep(threads, samples[i][-1])
    finally:
        gc.enable()
    return samples


def _let_threads_sleep(threads: int, last: Sample) -> None:
    if not threads and last.used_threads:  # not ours, which soon sleep
        time.sleep(_SETTLE_SECONDS)


def _sample(threads: int, run: Run, calls: int) -> Sample:
    dfu.set_num_threads(max(threads, 1))
    start, processor_start = time.perf_counter(), time.process_time()
    for _ in range(calls):
        run()
    processor = time.process_time() - processor_start
    return Sample((time.perf_counter() - start) / calls, processor / calls)
