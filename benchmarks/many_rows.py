"""Rows beyond memory: time and memory of fits to rows on disk, and of tallies.

    python -m benchmarks.many_rows 10000000

writes so many rows of 10 classes in single precision to a temporary folder, removes
them in the end, and writes results/many-rows.csv. Each case runs in a process of its
own; memory is the peak of what the process has allocated (RssAnon), which leaves out
the file's pages. Times are those of the processor, which other work on a machine
disturbs least; "pieces" is the sum of calls in memory on blocks of 100,000 rows, on
one thread.

    python -m benchmarks.many_rows grow 100000000

tallies so many rows in blocks that are made as they are read, on a grid of scores, and
writes results/growing-rows.csv.
"""

import csv
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import distfreeuq as dfu

RESULTS = Path(__file__).with_name("results")
N_CLASSES, BLOCK = 10, 100_000
CASES = (
    "pieces",
    "memory map, split",
    "memory map, tally",
    "memory map, tally on a grid",
    "blocks, split",
    "Dask 1 worker, split",
    "Dask 2 workers, split",
    "Dask 1 worker, tally on a grid",
    "Dask 1 worker, BBSE",
    "Dask 1 worker, sets and coverage",
)


class PeakOfMemory:
    """The largest RssAnon while it is open, in MB, beyond that at the beginning."""

    def __enter__(self):
        """Begin to watch."""
        self.first = self.peak = self._now()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *error):
        """End."""
        self._ended.set()
        self._thread.join()

    def _watch(self):
        while not self._ended.wait(0.02):
            self.peak = max(self.peak, self._now())

    @staticmethod
    def _now():
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return int(line.split()[1]) / 1024
        return float("nan")

    @property
    def used(self):
        """Memory beyond that at the beginning."""
        return self.peak - self.first


def make_block(generator, n):
    """Return probabilities and labels of a classifier that is calibrated."""
    logits = 2.0 * generator.standard_normal((n, N_CLASSES), dtype=np.float32)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    below = logits.cumsum(axis=1) < generator.random((n, 1), dtype=np.float32)
    return logits, np.minimum(below.sum(axis=1), N_CLASSES - 1).astype(np.int8)


def write_rows(folder, n):
    """Write rows block by block."""
    generator = np.random.default_rng(0)
    shapes = {"probs": ((n, N_CLASSES), np.float32), "labels": ((n,), np.int8)}
    files = [
        np.lib.format.open_memmap(folder / f"{name}.npy", "w+", dtype, shape)
        for name, (shape, dtype) in shapes.items()
    ]
    for start in range(0, n, BLOCK):
        made = make_block(generator, min(BLOCK, n - start))
        for file, rows in zip(files, made, strict=True):
            file[start : start + BLOCK] = rows


def prepare(case, probs, labels):
    """Return what is timed."""

    def blocks():
        for start in range(0, len(probs), BLOCK):
            some = slice(start, start + BLOCK)
            yield probs[some], labels[some]

    if case == "pieces":
        return lambda: [dfu.split_conformal(*block, rng=0) for block in blocks()]
    if case == "blocks, split":
        return lambda: dfu.split_conformal(blocks, rng=0)
    if case == "memory map, split":
        return lambda: dfu.split_conformal(probs, labels, rng=0)
    if case == "memory map, tally":
        return lambda: dfu.tally(probs, labels, rng=0)
    if case == "memory map, tally on a grid":
        return lambda: dfu.tally(probs, labels, rng=0, per_unit=1000)
    import dask
    import dask.array as da

    n_workers = 2 if "2 workers" in case else 1
    dask.config.set(scheduler="threads", num_workers=n_workers)
    rows = da.from_array(probs, (BLOCK, N_CLASSES)), da.from_array(labels, BLOCK)
    fit = dfu.split_conformal(probs[:BLOCK], labels[:BLOCK], rng=0)
    return {
        "split": lambda: dfu.split_conformal(*rows, rng=0),
        "tally on a grid": lambda: dfu.tally(*rows, rng=0, per_unit=1000),
        "BBSE": lambda: dfu.bbse(*rows, rows[0]),
        "sets and coverage": lambda: fit.predict(rows[0]).evaluate(rows[1]),
    }[case.split(", ")[1]]


def measure(case, folder):
    """Return time and memory of a case."""
    probs, labels = (
        np.load(Path(folder) / f"{name}.npy", mmap_mode="r")
        for name in ("probs", "labels")
    )
    if case == "pieces" or "Dask" in case:
        dfu.set_num_threads(1)
    run = prepare(case, probs, labels)
    wall, processor = time.perf_counter(), time.process_time()
    with PeakOfMemory() as memory:
        run()
    return {
        "rows": len(probs),
        "case": case,
        "CPU s": round(time.process_time() - processor, 2),
        "wall s": round(time.perf_counter() - wall, 2),
        "memory, MB": round(memory.used),
    }


def grow(most):
    """Yield time and memory of tallies of ever more rows, none of which is kept."""
    generator = np.random.default_rng(1)
    made = make_block(generator, 10 * BLOCK)
    n = 10 * BLOCK
    while n <= most:

        def blocks(n=n):
            for start in range(0, n, 10 * BLOCK):
                turn = start // (10 * BLOCK) % N_CLASSES  # other rows each time
                probs = np.roll(made[0], turn, axis=1)
                yield probs, ((made[1] + turn) % N_CLASSES).astype(np.int8)

        processor = time.process_time()
        with PeakOfMemory() as memory:
            tally = dfu.tally(iter(blocks()), rng=0, per_unit=1000)
        yield {
            "rows": tally.n,
            "CPU s": round(time.process_time() - processor, 2),
            "memory, MB": round(memory.used),
            "scores kept": tally.scores.scores.size,
        }
        n *= 10


def write(name, found):
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


def main(n):
    found = []
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder), n)
        for case in CASES:
            command = [sys.executable, "-m", "benchmarks.many_rows", "case", case]
            done = subprocess.run(
                [*command, folder], capture_output=True, text=True, check=True
            )
            found.append(json.loads(done.stdout))
            print(found[-1], flush=True)
    pieces = found[0]["CPU s"]
    for one in found:
        one["times pieces"] = round(one["CPU s"] / pieces, 2)
    write("many-rows", found)


if __name__ == "__main__":
    if sys.argv[1] == "case":
        print(json.dumps(measure(*sys.argv[2:])))
    elif sys.argv[1] == "grow":
        sizes = []
        for one in grow(int(float(sys.argv[2]))):
            print(one, flush=True)
            sizes.append(one)
        write("growing-rows", sizes)
    else:
        main(int(float(sys.argv[1])))
