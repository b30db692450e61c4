"""Rows beyond memory: time and memory of fits to rows on disk, and of tallies.

    python -m benchmarks.many_rows 1e8 [FOLDER]

writes so many rows of 10 classes in single precision into a temporary folder, removes
them in the end, and writes results/many-rows.csv. In a FOLDER of yours they are kept,
and those that are there are used. Each case runs in a process of its own, on one thread
but where two workers are named; memory is the peak of what the process has allocated
(RssAnon), which leaves out the file's pages. Times are those of the processor, which
other work on a machine disturbs least, the least of two runs; Dask's own modules are
imported before. "Pieces" is the sum of calls in memory on blocks of 100,000 rows.

    python -m benchmarks.many_rows grow 1e9

fits blocks that are made as they are read, none of which is stored: sets up to a tenth
of so many rows, and tallies on a grid of scores. It writes results/growing-rows.csv.

    python -m benchmarks.many_rows figure PATH

draws the second from what is stored.
"""

import csv
import json
import os
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
WEIGHTS = np.linspace(0.5, 1.5, N_CLASSES)
CASES = (
    "pieces, split",
    "pieces, label shift",
    "blocks, split",
    "blocks, label shift",
    "blocks, thresholds by selection",
    "blocks, tally on a grid",
    "Dask 1 worker, split",
    "Dask 2 workers, split",
    "Dask 1 worker, label shift",
    "Dask 1 worker, tally on a grid",
    "Dask 1 worker, BBSE",
    "Dask 1 worker, sets and coverage",
    "memory map, split",
)
GROWING = ("tally on a grid", "split")


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


def has_rows(folder, n):
    """Say whether so many rows are in a folder, to the last."""
    path = folder / "probs.npy"
    if not path.exists():
        return False
    probs = np.load(path, mmap_mode="r")
    return len(probs) == n and probs[-1].sum() > 0.5


class Blocks:
    """The rows in blocks; it counts how often they are read."""

    def __init__(self, probs, labels):
        self.probs, self.labels, self.n_read = probs, labels, 0

    def __call__(self):
        """Yield probabilities and labels of each block."""
        for start in range(0, len(self.probs), BLOCK):
            some = slice(start, start + BLOCK)
            self.n_read += len(self.probs[some])
            yield self.probs[some], self.labels[some]

    def scores(self):
        """Yield LAC scores and labels of each block."""
        for probs, labels in self():
            yield dfu.nested_scores(probs, labels, score="lac"), labels


def label_shift(*rows):
    """Fit sets under given weights."""
    return dfu.label_shift_conformal(*rows, label_weight=WEIGHTS, rng=0)


def prepare(case, probs, labels):
    """Return what is timed, and the blocks that count how often they are read."""
    blocks = Blocks(probs, labels)
    by_case = {
        "pieces, split": lambda: [dfu.split_conformal(*b, rng=0) for b in blocks()],
        "pieces, label shift": lambda: [label_shift(*b) for b in blocks()],
        "blocks, split": lambda: dfu.split_conformal(blocks, rng=0),
        "blocks, label shift": lambda: label_shift(blocks),
        "blocks, thresholds by selection": lambda: dfu.conformal_thresholds(
            blocks.scores, alpha=0.1, n_classes=N_CLASSES
        ),
        "blocks, tally on a grid": lambda: dfu.tally(blocks, rng=0, per_unit=1000),
        "memory map, split": lambda: dfu.split_conformal(probs, labels, rng=0),
    }
    if case in by_case:
        return by_case[case], blocks
    import dask
    import dask.array as da

    n_workers = 2 if "2 workers" in case else 1
    dask.config.set(scheduler="threads", num_workers=n_workers)
    dask.compute(da.zeros(1))  # imports what Dask needs of itself
    rows = da.from_array(probs, (BLOCK, N_CLASSES)), da.from_array(labels, BLOCK)
    fit = dfu.split_conformal(probs[:BLOCK], labels[:BLOCK], rng=0)
    return {
        "split": lambda: dfu.split_conformal(*rows, rng=0),
        "label shift": lambda: label_shift(*rows),
        "tally on a grid": lambda: dfu.tally(*rows, rng=0, per_unit=1000),
        "BBSE": lambda: dfu.bbse(*rows, rows[0]),
        "sets and coverage": lambda: fit.predict(rows[0]).evaluate(rows[1]),
    }[case.split(", ")[1]], None


def timed(run):
    """Return times and memory of a call, and what it returned."""
    wall, processor = time.perf_counter(), time.process_time()
    with PeakOfMemory() as memory:
        found = run()
    return {
        "CPU s": round(time.process_time() - processor, 2),
        "wall s": round(time.perf_counter() - wall, 2),
        "memory, MB": round(memory.used),
    }, found


def measure(case, folder):
    """Return time and memory of a case."""
    probs, labels = (
        np.load(Path(folder) / f"{name}.npy", mmap_mode="r")
        for name in ("probs", "labels")
    )
    dfu.set_num_threads(2 if "2 workers" in case else 1)
    run, blocks = prepare(case, probs, labels)
    numbers, _ = timed(run)
    passes = round(blocks.n_read / len(probs), 2) if blocks and blocks.n_read else ""
    load = round(os.getloadavg()[0], 1)
    return {"rows": len(probs), "case": case, **numbers, "passes": passes, "load": load}


def measure_growing(case, n):
    """Return time and memory of a fit to rows that are made as they are read."""
    n = int(float(n))
    dfu.set_num_threads(1)
    size = min(n, 10 * BLOCK)
    made = make_block(np.random.default_rng(1), size)

    def blocks():
        for start in range(0, n, size):
            turn = start // size % N_CLASSES  # other rows each time
            probs = np.roll(made[0], turn, axis=1)
            yield probs, ((made[1] + turn) % N_CLASSES).astype(np.int8)

    if case == "split":
        numbers, fit = timed(lambda: dfu.split_conformal(blocks(), rng=0))
        kept = fit.scores.size
    else:
        numbers, fit = timed(lambda: dfu.tally(blocks(), rng=0, per_unit=1000))
        kept = fit.scores.scores.size
    load = round(os.getloadavg()[0], 1)
    return {"rows": fit.n, "case": case, **numbers, "scores kept": kept, "load": load}


def alone(*arguments):
    """Return what a process of its own measures."""
    command = [sys.executable, "-m", "benchmarks.many_rows", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def grow(most):
    """Measure ever more rows."""
    found = []
    for case, largest in zip(GROWING, (most, most // 10), strict=True):
        n = BLOCK
        while n <= largest:
            found.append(alone("growing", case, str(n)))
            print(found[-1], flush=True)
            n *= 10
    write("growing-rows", found)


def write(name, found):
    """Write a table."""
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


def main(n, folder=None):
    """Measure all cases, twice in turns."""
    with tempfile.TemporaryDirectory() as there:
        there = Path(folder or there)
        if not has_rows(there, n):
            write_rows(there, n)
        rounds = []
        for _ in range(2):
            rounds.append([])
            for case in CASES:
                rounds[-1].append(alone("case", case, str(there)))
                print(rounds[-1][-1], flush=True)
    found = [
        min(runs, key=lambda run: run["CPU s"]) for runs in zip(*rounds, strict=True)
    ]
    for one in found:
        what = "label shift" if "label shift" in one["case"] else "split"
        pieces = next(x for x in found if x["case"] == f"pieces, {what}")
        one["times pieces"] = round(one["CPU s"] / pieces["CPU s"], 2)
    write("many-rows", found)


def draw(path):
    """Draw time and memory against the number of rows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with (RESULTS / "growing-rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 2)
    for axes, column, unit in zip(
        panels, ("CPU s", "memory, MB"), ("seconds of the processor", "MB"), strict=True
    ):
        for case, color in zip(GROWING, ("#b2182b", "#2166ac"), strict=True):
            own = [row for row in rows if row["case"] == case]
            n, numbers = ([float(row[of]) for row in own] for of in ("rows", column))
            axes.loglog(n, numbers, "o-", color=color, label=case)
        axes.set(xlabel="rows", ylabel=unit)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.3)
    panels[0].legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    if sys.argv[1] == "case":
        print(json.dumps(measure(*sys.argv[2:])))
    elif sys.argv[1] == "growing":
        print(json.dumps(measure_growing(*sys.argv[2:])))
    elif sys.argv[1] == "grow":
        grow(int(float(sys.argv[2])))
    elif sys.argv[1] == "figure":
        draw(Path(sys.argv[2]))
    else:
        main(int(float(sys.argv[1])), *sys.argv[2:])
