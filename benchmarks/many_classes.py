"""Sets with estimated weights where classes are many: time, memory, sizes.

Each method runs in a process of its own, whose peak of memory is set back to what is in
use once the rows are drawn (on Linux), so that it is the method's own:

    python -m benchmarks.many_classes

writes results/many-classes.csv. Rows are drawn from a classifier of which the labels'
log-odds stand out by 6 among normal numbers, in single precision; source classes have
equal proportions (or numbers of rows), target ones are in proportion to an exponential
variable each. Times are those of the processor on one thread, which other work on a
machine hardly disturbs.
"""

import csv
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import distfreeuq as dfu

RESULTS = Path(__file__).with_name("results") / "many-classes.csv"
# Classes, rows of each sample, and whether all source classes have as many rows.
SIZES = ((1000, 20_000, False), (10_000, 5000, False), (10_000, 30_000, True))
METHODS = (
    "split",
    "label-conditional",
    "clustered",
    "interpolated",
    "rank-calibrated",
    "known weights",
    "BBSE, plug-in",
    "BBSE, directional",
    "BBSE, robust",
    "BBSE, confidence",
    "RLLS, plug-in",
    "MLLS, plug-in",
    "MLLS, directional",
    "MLLS, robust",
    "MLLS, confidence",
)
OPTIONS = {
    "plug-in": {},
    "directional": {"robust": "directional"},
    "robust": {"robust": True},
    "confidence": {"confidence": 0.95},
}


def rows(generator, labels, n_classes):
    """Return probabilities (n, K), the true label's log-odds 6 above the others'."""
    logits = np.empty((labels.size, n_classes), dtype=np.float32)
    for start in range(0, labels.size, 1000):
        part = logits[start : start + 1000]
        part[...] = generator.normal(size=part.shape)
    logits[np.arange(labels.size), labels] += 6.0
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits


def fit(method, probs, labels, new_probs, weight):
    """Return the sets' result of a method."""
    plain = {
        "split": dfu.split_conformal,
        "label-conditional": dfu.label_conditional_conformal,
        "clustered": dfu.clustered_conformal,
        "interpolated": dfu.interpolated_conformal,
        "rank-calibrated": dfu.rank_calibrated_conformal,
    }
    if method in plain:
        return plain[method](probs, labels, alpha=0.1, rng=0)
    if method == "known weights":
        return dfu.label_shift_conformal(probs, labels, weight, alpha=0.1, rng=0)
    estimator, how = method.split(", ")
    if estimator != "MLLS":
        estimate = {"BBSE": dfu.bbse, "RLLS": dfu.rlls}[estimator]
        shift = estimate(probs, labels, new_probs)
    else:
        shift = dfu.mlls(probs, labels, new_probs, calibrate=None)
    return dfu.label_shift_conformal(
        probs, labels, shift, alpha=0.1, rng=0, **OPTIONS[how]
    )


def set_peak_back():
    """Forget what the process had in use at most, where the system can."""
    path = Path("/proc/self/clear_refs")
    if path.exists():
        path.write_text("5")


def memory(name):
    """Return "VmRSS", in use now, or "VmHWM", at most since it was set back, in kB."""
    status = Path("/proc/self/status")
    if not status.exists():  # not Linux: the largest ever
        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return largest / 1024 if sys.platform == "darwin" else largest
    for line in status.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise RuntimeError(f"{status} has no {name}")


def measure(method, n_classes, n, equal):
    """Return time, peak of memory beyond the rows, coverage and size of a method."""
    generator = np.random.default_rng(n_classes)
    labels = generator.integers(0, n_classes, n)
    if equal:
        labels = generator.permutation(np.arange(n) % n_classes)
    target = generator.exponential(size=n_classes)
    target /= target.sum()
    new_labels = generator.choice(n_classes, n, p=target)
    probs = rows(generator, labels, n_classes)
    new_probs = rows(generator, new_labels, n_classes)
    set_peak_back()
    before = memory("VmRSS")
    warnings.simplefilter("ignore", dfu.DistFreeWarning)
    dfu.set_num_threads(1)
    start = time.process_time()
    result = fit(method, probs, labels, new_probs, target * n_classes)
    fitted = time.process_time()
    sets = result.predict(new_probs, rng=0)
    ended = time.process_time()
    peak = memory("VmHWM")
    covered = sets.mask[np.arange(n), new_labels].mean()
    return {
        "K": n_classes,
        "n": n,
        "method": method,
        "fit, CPU s": round(fitted - start, 3),
        "sets, CPU s": round(ended - fitted, 3),
        "memory, MB": round((peak - before) / 1024),
        "coverage": round(float(covered), 4),
        "size": round(float(sets.sizes.mean()), 1),
    }


def main():
    found = []
    for n_classes, n, equal in SIZES:
        for method in METHODS:
            # 22 matrices of 10,000 x 10,000 numbers, and their products
            if method.startswith("MLLS") and n_classes > 1000:
                continue
            # classes without rows: BBSE's weights are not identified
            needs_weights = method in ("BBSE, plug-in", "BBSE, directional")
            if needs_weights and n < n_classes:
                continue
            command = [sys.executable, "-m", "benchmarks.many_classes", method]
            done = subprocess.run(
                [*command, str(n_classes), str(n), str(int(equal))],
                capture_output=True,
                text=True,
                check=True,
            )
            found.append(json.loads(done.stdout))
            print(found[-1], flush=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    if len(sys.argv) == 5:
        print(json.dumps(measure(sys.argv[1], *map(int, sys.argv[2:]))))
    else:
        main()
