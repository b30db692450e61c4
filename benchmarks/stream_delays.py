"""How soon martingales notice a change, and how fast a monitor is in the long run.

    python -m benchmarks.stream_delays
    python -m benchmarks.stream_delays long

The first writes results/stream-delays.csv: every martingale is given the same p-values,
those of rows that join the line of 1000 source rows, and the same level, 1/alpha = 100.
The second writes results/long-stream.csv: ten million rows in batches of 100,000, rows
a second and the process's peak of memory after the first and after the last million.
Peers that are not installed are left out.
"""

import csv
import math
import resource
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np

import distfreeuq as dfu
from distfreeuq.monitoring.streams.line_p_values import join_line
from distfreeuq.monitoring.streams.score_cells import N_CELLS, _number_cells
from distfreeuq.monitoring.streams.wealth import FAMILIES, first_wealth

RESULTS = Path(__file__).with_name("results")
ALPHA = 0.01
SOURCE, AFTER, STREAMS = 1000, 1500, 30
CHANGES = {
    # class proportions of three classes, and by how much the true one stands out
    "none": ((0.6, 0.3, 0.1), 2.0),
    "proportions .6 .3 .1 -> .3 .3 .4": ((0.3, 0.3, 0.4), 2.0),
    "proportions .6 .3 .1 -> .5 .3 .2": ((0.5, 0.3, 0.2), 2.0),
    "harder rows": ((0.6, 0.3, 0.1), 1.0),
}


def probabilities(generator, n, change):
    """Return rows (n, 3) of a classifier."""
    prior, margin = CHANGES[change]
    labels = generator.choice(3, size=n, p=prior)
    odds = np.exp(generator.normal(size=(n, 3)) + margin * np.eye(3)[labels])
    return odds / odds.sum(axis=1, keepdims=True)


def p_values(generator, quiet, change):
    """Return p and 1 - p of a stream that changes after `quiet` rows.

    Rows are sorted by predicted class, and by confidence within a class.
    """
    parts = (SOURCE, "none"), (quiet, "none"), (AFTER, change)
    probs = np.concatenate([probabilities(generator, n, kind) for n, kind in parts])
    cells = _number_cells(probs.argmax(axis=1) + probs.max(axis=1))
    line = np.bincount(cells[:SOURCE], minlength=N_CELLS)
    rest = cells[SOURCE:]
    return join_line(line, rest, generator.random(rest.size))[1:]


# ---------------------------------------------------------- martingales, by name


def ours(bets):
    """Return the logarithm of the capital after each p-value."""
    return lambda p, q: first_wealth(bets, 3).after(p, q, 0)[1]


def one_by_one(make, step, log_value):
    """Return the same of a peer that takes p-values one by one."""

    def run(p, _):
        martingale = make()
        found = np.empty(p.size)
        for i, value in enumerate(p):
            step(martingale, float(value))
            found[i] = log_value(martingale)
            if found[i] >= -math.log(ALPHA):
                found[i:] = found[i]
                break
        return found

    return run


def of_crepes(make):
    """Return the same of crepes, which takes all p-values at once."""

    def run(p, _):
        with np.errstate(all="ignore"):
            return np.log(make().apply(p))

    return run


def martingales():
    """Return those that are installed."""
    found = {
        "distfreeuq": ours(FAMILIES),
        "distfreeuq, power": ours(("power",)),
        "distfreeuq, histogram": ours(("histogram",)),
    }
    try:
        crepes = import_module("crepes.martingales")
        found |= {
            "crepes SimpleJumper": of_crepes(crepes.SimpleJumper),
            "crepes SleeperStayer": of_crepes(crepes.SleeperStayer),
        }
    except ImportError:
        pass
    try:
        online = import_module("online_cp.martingale")
        for name in ("SimpleJumper",):
            made = getattr(online, name)
            found[f"online-cp {name}"] = one_by_one(
                lambda made=made: made(store_p_values=False),
                lambda m, p: m.update(p),
                lambda m: m.logM,
            )
    except ImportError:
        pass
    try:
        mapie = import_module("mapie.exchangeability_testing.martingales")
        found["mapie jumper"] = one_by_one(
            lambda: mapie.OnlineMartingaleTest(task="classification", warn=False),
            lambda m, p: m.update_simple_jumper_martingale(p),
            lambda m: math.log(max(m.current_martingale_value, 1e-300)),
        )
    except ImportError:
        pass
    return found


def delays():
    """Write the table of delays."""
    rows = []
    for change in CHANGES:
        for quiet in (0, 1500):
            generator = np.random.default_rng([quiet, len(change)])
            streams = [p_values(generator, quiet, change) for _ in range(STREAMS)]
            for name, run in martingales().items():
                first = []
                for p, q in streams:
                    crossed = run(p, q) >= -math.log(ALPHA)
                    first.append(int(np.argmax(crossed)) if crossed.any() else -1)
                at = np.array(first)
                early = (at >= 0) & (at < quiet)
                late = np.where((at < 0) | early, AFTER, at - quiet + 1)[~early]
                seen = at[~early] >= 0
                row = {
                    "change": change,
                    "quiet_rows": quiet,
                    "martingale": name,
                    "streams": STREAMS,
                    "alarms_before": int(early.sum()),
                    "alarms_after": int(seen.sum()),
                    "median_delay": float(np.median(late)) if seen.any() else "",
                    "delay_90": float(np.quantile(late, 0.9)) if seen.any() else "",
                }
                rows.append(row)
                print(*row.values(), sep="\t", flush=True)
    write(RESULTS / "stream-delays.csv", rows)


# ------------------------------------------------------------------ the long run


def memory():
    """Return the process's peak so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def long_run():
    """Write rows a second and memory of ten million rows."""
    generator = np.random.default_rng(0)
    source = probabilities(generator, SOURCE, "none")
    labels = generator.integers(3, size=SOURCE)
    batch = probabilities(generator, 100_000, "none")
    later = generator.integers(3, size=100_000)
    jobs = {
        "shift_monitor": (
            dfu.shift_monitor(source, labels, score="class-confidence", rng=0),
            lambda monitor: monitor.update(batch),
        ),
        "risk_monitor": (
            dfu.risk_monitor(source, labels, tolerance=0.1),
            lambda monitor: monitor.update(batch).update_labels(later),
        ),
    }
    rows = []
    for name, (monitor, step) in jobs.items():
        start = time.process_time()
        for i in range(100):
            step(monitor)
            if i == 9:
                early = memory()
        row = {
            "monitor": name,
            "rows": 10_000_000,
            "rows_a_second": round(1e7 / (time.process_time() - start)),
            "peak_after_first_million": round(early, 1),
            "peak_after_all": round(memory(), 1),
        }
        rows.append(row)
        print(*row.values(), sep="\t", flush=True)
    write(RESULTS / "long-stream.csv", rows)


def write(path, rows):
    """Write rows of a table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    if sys.argv[1:] == ["long"]:
        long_run()
    else:
        delays()
