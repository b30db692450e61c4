"""Keep workers busy, watch them, and keep a journal so that a run can be continued."""

import json
import os
import re
import selectors
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.worker import BLOCK

HANG = 20.0
"""CPU seconds of one case after which its worker is ended."""

# Without /proc there is no CPU time of another process: so much longer by the clock.
_CLOCK = 15.0
_NUMBERS = re.compile(r"-?\d[\d.e+-]*")


@dataclass
class Tally:
    """What a run has found so far.

    Attributes
    ----------
    calls, returned, refused : int
    findings : Counter of (kind, text)
        Texts with other numbers are one.
    examples : dict
        The first case of each, as (text, function, seed).
    """

    calls: int = 0
    returned: int = 0
    refused: int = 0
    findings: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], tuple[str, str, int]] = field(default_factory=dict)

    def add(self, counts: list[int], found: list[list[Any]]) -> None:
        """Add counts, and findings as (kind, text, function, seed)."""
        self.calls += counts[0]
        self.returned += counts[1]
        self.refused += counts[2]
        for kind, text, name, seed in found:
            key = (kind, _NUMBERS.sub("#", text))
            self.findings[key] += 1
            self.examples.setdefault(key, (text, name, seed))

    def by_kind(self) -> Counter[str]:
        """Return how many findings there are of each kind."""
        total: Counter[str] = Counter()
        for (kind, _), count in self.findings.items():
            total[kind] += count
        return total


class Journal:
    """A file of finished blocks, a line each, after a header with the seed."""

    def __init__(self, path: Path | None, seed: int) -> None:
        self.path = path
        self.done: set[int] = set()
        self.tally = Tally()
        if path is None:
            return
        header = {"fuzz": 1, "seed": seed}
        if path.exists():
            lines = path.read_text().splitlines()
            if not lines or json.loads(lines[0]) != header:
                raise SystemExit(f"{path} is a journal of another run")
            for line in lines[1:]:
                self._read(line)
        else:
            path.write_text(json.dumps(header) + "\n")

    def _read(self, line: str) -> None:
        try:
            block = json.loads(line)
        except ValueError:  # torn by the end of the run before: it is run again
            return
        self.done.add(block["block"])
        self.tally.add(block["counts"], block["findings"])

    def add(self, block: int, counts: list[int], findings: list[list[Any]]) -> None:
        """Keep a finished block."""
        self.done.add(block)
        self.tally.add(counts, findings)
        if self.path is not None:
            line = {"block": block, "counts": counts, "findings": findings}
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")


class Worker:
    """A child process, the block it has, and the case it is at."""

    def __init__(self, seed: int, module: str) -> None:
        self.seed = seed
        self.module = module
        self.process = self._start()
        self.block: int | None = None
        self.counts = [0, 0, 0]
        self.findings: list[list[Any]] = []
        self.case: tuple[int, str, int] | None = None
        self.since = 0.0
        self.rest = b""

    def _start(self) -> "subprocess.Popen[bytes]":
        environment = {**os.environ, "PYTHONHASHSEED": "0", "MPLBACKEND": "agg"}
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            environment.setdefault(name, "1")
        return subprocess.Popen(
            [sys.executable, "-m", self.module, str(self.seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )

    def begin(self, block: int) -> None:
        """Hand over a block."""
        self.block, self.counts, self.findings = block, [0, 0, 0], []
        self._send(block * BLOCK)

    def _send(self, first: int) -> None:
        assert self.block is not None and self.process.stdin is not None
        self.case = None
        with suppress(BrokenPipeError):  # its end is seen when it is read from
            self.process.stdin.write(f"{first} {(self.block + 1) * BLOCK}\n".encode())
            self.process.stdin.flush()

    def read(self) -> bool:
        """Take in what the child says; return whether its block is finished."""
        assert self.process.stdout is not None
        chunk = os.read(self.process.stdout.fileno(), 1 << 16)
        if not chunk:
            code = self.process.wait()
            return self.replace("crash", f"ended with status {code}")
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "at" in message:
                self.case = message["at"], message["name"], message["seed"]
                self.since = self._cpu()
            elif "done" in message:
                self.counts = [
                    a + b for a, b in zip(self.counts, message["counts"], strict=True)
                ]
                assert self.case is not None
                self.findings += [
                    [*finding, *self.case[1:]] for finding in message["findings"]
                ]
            else:
                return True
        return False

    def hangs(self) -> bool:
        """Say whether the case has used too much CPU."""
        return self.case is not None and self._cpu() - self.since > HANG

    def _cpu(self) -> float:
        try:
            text = Path(f"/proc/{self.process.pid}/stat").read_text()
        except OSError:
            return time.monotonic() / _CLOCK
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def replace(self, kind: str, text: str) -> bool:
        """Begin anew after the case that ended the child; say if that was the last."""
        self.end()
        if self.case is None:
            raise SystemExit(f"A worker {text} before its first case.")
        number, name, seed = self.case
        self.counts[0] += 1
        self.findings.append([kind, f"{name}: {text}", name, seed])
        self.process, self.rest = self._start(), b""
        if self.block is None or number + 1 == (self.block + 1) * BLOCK:
            return True
        self._send(number + 1)
        return False

    def end(self) -> None:
        """End the child."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def run(
    n_calls: int,
    seed: int,
    jobs: int,
    path: Path | None,
    *,
    module: str = "tests.fuzz.worker",
) -> Iterator[Tally]:
    """Run blocks until there were so many calls; yield the tally after each block.

    Blocks are numbered and hold cases by number: which calls a run makes depends on its
    seed and on nothing else, but for the last few blocks, of which each job has one.
    """
    journal = Journal(path, seed)
    workers = [Worker(seed, module) for _ in range(jobs)]
    next_block = 0
    yield journal.tally
    try:
        while True:
            for worker in workers:
                if worker.block is None and journal.tally.calls < n_calls:
                    while next_block in journal.done:
                        next_block += 1
                    worker.begin(next_block)
                    next_block += 1
            busy = [worker for worker in workers if worker.block is not None]
            if not busy:
                return
            for worker in _with_news(busy):
                if worker.read():
                    assert worker.block is not None
                    journal.add(worker.block, worker.counts, worker.findings)
                    worker.block = None
                    yield journal.tally
            for worker in busy:
                if worker.block is None or not worker.hangs():
                    continue
                if worker.replace("hang", f"more than {HANG:g} s of CPU"):
                    journal.add(worker.block, worker.counts, worker.findings)
                    worker.block = None
                    yield journal.tally
    finally:
        for worker in workers:
            worker.end()


def _with_news(workers: list[Worker]) -> list[Worker]:
    """Return the workers that have said something, after at most half a second."""
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            assert worker.process.stdout is not None
            selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
        return [key.data for key, _ in selector.select(0.5)]
