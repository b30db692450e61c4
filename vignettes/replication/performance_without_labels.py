"""Accuracy on the target without its labels, on real classifiers under label shift.

The rows of a classifier are the population: source and target are drawn from it with
replacement, class by class, so that label shift holds exactly and the target's accuracy
is known. Beside `target_performance`: the source's accuracy, and the mean confidence
over the target rows, as it is and after temperature scaling on the source rows, which
is the idea of confidence-based performance estimation (CBPE). Run it as

    python -m vignettes.replication.performance_without_labels [folder] [--quick]

It prints the table, and writes it into the folder as performance_without_labels.csv
after every situation.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

import distfreeuq as dfu
from vignettes.replication import report
from vignettes.replication.report import Section
from vignettes.replication.weight_intervals import Net, Population

DRAWS = 200
SIZES = (500, 2000, 10_000)
CIFAR = Net(
    "CIFAR-10 DenseNet-40",
    "cifar10-densenet40-logits",
    "densenet40_c10_logits.npz",
    (),
    0,
    (),
)


class Tabular(Population):
    """Rows of a table that a logistic regression was not fitted on."""

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        fitted = np.arange(y.size) % 3 == 0
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        model.fit(x[fitted], y[fitted])
        self.probs = model.predict_proba(x[~fitted])
        labels = y[~fitted]
        self.order = np.argsort(labels, kind="stable")
        self.counts = np.bincount(labels, minlength=2)
        self.first = np.cumsum(self.counts) - self.counts


def adult() -> Tabular:
    """Return census rows: income above 50,000 dollars."""
    path = report.data_folder("adult") / "adult-train.csv.gz"
    rows = pd.read_csv(path, header=None, skipinitialspace=True)
    x = pd.get_dummies(rows.iloc[:, :-1]).to_numpy(dtype=np.float64)
    return Tabular(x, rows.iloc[:, -1].str.startswith(">").to_numpy(dtype=np.int64))


def credit() -> Tabular:
    """Return credit card clients: default next month."""
    path = report.data_folder("credit-default") / "credit.csv.gz"
    rows = pd.read_csv(path, header=1).to_numpy(dtype=np.float64)
    return Tabular(rows[:, 1:-1], rows[:, -1].astype(np.int64))


def populations() -> dict[str, Population]:
    """Return the classifiers by name."""
    return {
        CIFAR.name: Population(CIFAR),
        "Adult, logistic regression": adult(),
        "Credit default, logistic regression": credit(),
    }


def answers(
    source: np.ndarray, labels: np.ndarray, target: np.ndarray
) -> tuple[dict[str, float], np.ndarray, np.ndarray]:
    """Return estimates of the accuracy, and the two intervals (2,) of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.DistFreeWarning)
        ours = dfu.target_performance(source, labels, target, metrics="accuracy")
        scaled = dfu.temperature_scaling(dfu.to_logits(source), labels)
        calibrated = scaled.predict(dfu.to_logits(target))
    found = {
        "target_performance": ours["accuracy"],
        "source accuracy": float(ours.source[0]),
        "mean confidence": float(target.max(axis=1).mean()),
        "calibrated confidence": float(calibrated.max(axis=1).mean()),
    }
    limit = np.array([ours.low[0], ours.high[0]])
    return found, limit, np.array([ours.certified_low[0], ours.certified_high[0]])


def measure(
    population: Population, size: int, shifted: bool, draws: int, seed: int
) -> dict[str, object]:
    """Return a line of the table: mean absolute errors, coverage and mean widths."""
    rng = np.random.default_rng(seed)
    labels = np.empty(population.order.size, dtype=np.int64)
    k = population.counts.size
    labels[population.order] = np.repeat(np.arange(k), population.counts)
    hits = population.probs.argmax(axis=1) == labels
    recall = np.bincount(labels, weights=hits, minlength=k) / population.counts
    p = population.counts / population.counts.sum()
    errors: dict[str, list[float]] = {}
    held, widths = np.zeros((draws, 2), dtype=bool), np.zeros((draws, 2))
    for i in range(draws):
        q = rng.dirichlet(np.ones(k)) if shifted else p
        source, y = population.sample(rng, p, size)
        target, _ = population.sample(rng, q, size)
        found, *intervals = answers(source, y, target)
        truth = float(q @ recall)
        for name, value in found.items():
            errors.setdefault(name, []).append(abs(value - truth))
        for j, (low, high) in enumerate(intervals):
            held[i, j], widths[i, j] = low <= truth <= high, high - low
    return {
        "proportions": "Dirichlet(1)" if shifted else "no shift",
        "n = m": size,
        **{f"error, {name}": round(float(np.mean(x)), 4) for name, x in errors.items()},
        "asymptotic covers": round(float(held[:, 0].mean()), 3),
        "its width": round(float(widths[:, 0].mean()), 3),
        "finite-sample covers": round(float(held[:, 1].mean()), 3),
        "width": round(float(widths[:, 1].mean()), 3),
        "draws": draws,
    }


def run(folder: Path, quick: bool = False) -> list[Section]:
    """Measure all situations, and return one section."""
    lines: list[dict[str, object]] = []
    found = populations()
    situations = [
        (name, size, shifted)
        for size in SIZES
        for shifted in (True, False)
        for name in found
        if shifted or size == 2000
    ]
    for i, (name, size, shifted) in enumerate(tqdm(situations)):
        draws = 3 if quick else DRAWS
        line = measure(found[name], size, shifted, draws, i)
        lines.append({"classifier": name, **line})
        table = pd.DataFrame(lines)
        table.to_csv(folder / "performance_without_labels.csv", index=False)
    text = """
    Mean absolute errors of the estimated accuracy, and how often nominal 95 %
    intervals held it. Proportions of the target are drawn anew for every pair.
    """
    title = "Accuracy on the target without its labels"
    return [Section(title, text, {"Errors and coverage": table}, {}, {})]


if __name__ == "__main__":
    report.main(__doc__, run)
