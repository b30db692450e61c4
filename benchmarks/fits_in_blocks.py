"""Calibration maps of rows on disk: memory and time, beside the fits in memory.

``python -m benchmarks.fits_in_blocks [N] [FOLDER]`` writes N rows of ten classes as
float32 into an npy file (20 million by default: 800 MB), and fits to its blocks of
100 000 rows. Each fit is a process of its own. Memory is what the process has beyond
that of its start, without pages of the file: Linux counts these apart.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np

import distfreeuq as dfu

K, ROWS = 10, 100_000
FITS: dict[str, Callable[..., Any]] = {
    "temperature": dfu.temperature_scaling,
    "class-wise temperatures": dfu.classwise_temperature_scaling,
    "vector scaling": dfu.vector_scaling,
    "Platt scaling": dfu.platt_scaling,
    "isotonic": dfu.isotonic_calibration,
}
WAYS = ("in memory", "blocks", "Dask, threads")


def write(folder: Path, n: int) -> None:
    """Write logits, probabilities and labels."""
    files = {
        name: np.lib.format.open_memmap(
            folder / f"{name}.npy", "w+", np.float32, shape=(n, K)
        )
        for name in ("logits", "probs")
    }
    labels = np.lib.format.open_memmap(folder / "labels.npy", "w+", np.int64, (n,))
    generator = np.random.default_rng(0)
    for start in range(0, n, ROWS):
        logits = generator.normal(0.0, 2.0, (min(ROWS, n - start), K))
        noise = generator.gumbel(size=logits.shape)
        rows = slice(start, start + len(logits))
        labels[rows] = (logits / 1.7 + noise).argmax(axis=1)
        files["logits"][rows] = logits
        powers = np.exp(logits)
        files["probs"][rows] = powers / powers.sum(axis=1, keepdims=True)


def anonymous_memory() -> float:
    """Return the process's memory without pages of files, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    raise OSError("no RssAnon in /proc/self/status")


def measure(fit: Callable[[], Any]) -> tuple[float, float]:
    """Return seconds, and the peak of memory beyond that before, in MB."""
    before, peak, done = anonymous_memory(), [0.0], Event()

    def watch() -> None:
        while not done.wait(0.005):
            peak[0] = max(peak[0], anonymous_memory())

    watcher = Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    fit()
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    return seconds, peak[0] - before


def run(folder: Path, name: str, way: str) -> None:
    """Print what one fit takes."""
    of = "probs" if name == "isotonic" else "logits"
    x = np.load(folder / f"{of}.npy", mmap_mode="r")
    labels = np.load(folder / "labels.npy", mmap_mode="r")
    n_calls = 0

    def blocks() -> Iterator[tuple[Any, Any]]:
        nonlocal n_calls
        n_calls += 1
        for start in range(0, len(x), ROWS):
            rows = slice(start, start + ROWS)
            yield x[rows], labels[rows]

    fit = FITS[name]
    if way == "in memory":
        seconds, memory = measure(lambda: fit(np.array(x), np.array(labels)))
    elif way == "blocks":
        seconds, memory = measure(lambda: fit(blocks))
    else:
        import dask.array as da

        lazy = da.from_array(x, chunks=(ROWS, K)), da.from_array(labels, chunks=ROWS)
        seconds, memory = measure(lambda: fit(*lazy))
    passes = f"{n_calls - 1:4d} passes" if n_calls else ""
    print(f"{name:25s}{way:15s}{seconds:8.1f} s{memory:8.0f} MB  {passes}", flush=True)


def main() -> None:
    n = int(float(sys.argv[1])) if len(sys.argv) > 1 else 20_000_000
    with tempfile.TemporaryDirectory(dir=(sys.argv[2:] or [None])[0]) as name:
        write(Path(name), n)
        for fit in FITS:
            for way in WAYS:
                run_alone = [sys.executable, "-m", __spec__.name, "--run"]
                subprocess.run([*run_alone, name, fit, way], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(Path(sys.argv[2]), *sys.argv[3:])
    else:
        main()
