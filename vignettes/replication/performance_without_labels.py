"""Accuracy on the target without its labels, on real classifiers under label shift.

The rows of a classifier are the population: source and target are drawn from it with
replacement, class by class, so that label shift holds exactly and the target's accuracy
is known. Beside `target_performance`: the source's accuracy, and the mean confidence
over the target rows, as it is and after temperature scaling on the source rows, which
is the idea of confidence-based performance estimation (CBPE); and, where NannyML is
installed, its CBPE itself. Run it as

    python -m vignettes.replication.performance_without_labels [folder] [--quick]

It prints the table, and writes it into the folder as performance_without_labels.csv
after every situation.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

import distfreeuq as dfu

os.environ.setdefault("NML_DISABLE_USAGE_LOGGING", "1")  # it would call its makers
try:
    import nannyml
except ImportError:
    nannyml = None

from vignettes.replication import report
from vignettes.replication.report import Section
from vignettes.replication.weight_intervals import Net, Population

DRAWS = 200
NANNYML_DRAWS, NANNYML_CLASSES = 20, 10
"""It takes several times as long: the first draws, and not a hundred classes."""
SIZES = (500, 2000, 10_000)
NETS = tuple(
    Net(name, folder, file, (), 0, ())
    for name, folder, file in (
        (
            "CIFAR-10 DenseNet-40",
            "cifar10-densenet40-logits",
            "densenet40_c10_logits.npz",
        ),
        ("CIFAR-10 ResNet-50", "cifar10-resnet50-logits", "resnet50_c10_logits.npz"),
        ("CIFAR-10 ResNet-20", "cifar10-chenyaofo-logits", "resnet20.npz"),
        ("CIFAR-10 VGG-19", "cifar10-chenyaofo-logits", "vgg19_bn.npz"),
        ("CIFAR-100 ResNet-20", "cifar100-resnet20-logits", "resnet20.npz"),
    )
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
        self.counts = np.bincount(labels)
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


def bank() -> Tabular:
    """Return calls of a bank's campaign: whether the client subscribed."""
    rows = pd.read_csv(report.data_folder("bank-marketing") / "bank.csv.gz")
    x = pd.get_dummies(rows.drop(columns=["ID", "y"])).to_numpy(dtype=np.float64)
    return Tabular(x, (rows["y"] == "yes").to_numpy(dtype=np.int64))


def wine() -> Tabular:
    """Return white wines by quality: at most 4, 5, 6, 7, at least 8."""
    path = report.data_folder("wine-quality-white") / "winequality-white.csv"
    rows = pd.read_csv(path, sep=";")
    x = rows.drop(columns="quality").to_numpy(dtype=np.float64)
    return Tabular(x, rows["quality"].clip(4, 8).to_numpy(dtype=np.int64) - 4)


def populations() -> dict[str, Population]:
    """Return the classifiers by name."""
    return {
        **{net.name: Population(net) for net in NETS},
        "Adult, logistic regression": adult(),
        "Credit default, logistic regression": credit(),
        "Bank marketing, logistic regression": bank(),
        "White wine, logistic regression": wine(),
    }


def nannyml_answer(
    source: np.ndarray, labels: np.ndarray, target: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return NannyML's estimate of the accuracy, and its band (2,).

    NaN where it refuses the rows: a class has a single one of them.
    """
    k = source.shape[1]

    def frame(probs: np.ndarray) -> pd.DataFrame:
        out = pd.DataFrame(probs, columns=[f"p{j}" for j in range(k)])
        return out.assign(predicted=probs.argmax(axis=1))

    columns: object = "p1" if k == 2 else {j: f"p{j}" for j in range(k)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = nannyml.CBPE(
            problem_type=f"classification_{'binary' if k == 2 else 'multiclass'}",
            y_pred_proba=columns,
            y_pred="predicted",
            y_true="label",
            metrics=["accuracy"],
            chunk_size=len(target),
        )
        try:
            estimator.fit(frame(source).assign(label=labels))
        except nannyml.exceptions.CalculatorException:
            return np.nan, np.full(2, np.nan)
        found = estimator.estimate(frame(target)).filter(period="analysis").to_df()
    row = found["accuracy"].iloc[0]
    ends = row[["lower_confidence_boundary", "upper_confidence_boundary"]]
    return float(row["value"]), ends.to_numpy(dtype=np.float64)


def answers(
    source: np.ndarray, labels: np.ndarray, target: np.ndarray, ask_nannyml: bool
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Return estimates of the accuracy, and intervals (2,)."""
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
    intervals = {
        "asymptotic": np.array([ours.low[0], ours.high[0]]),
        "finite-sample": np.array([ours.certified_low[0], ours.certified_high[0]]),
    }
    if ask_nannyml:
        found["NannyML"], intervals["NannyML"] = nannyml_answer(source, labels, target)
    return found, intervals


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
    held: dict[str, list[bool]] = {}
    widths: dict[str, list[float]] = {}
    ask_nannyml = nannyml is not None and k <= NANNYML_CLASSES
    for i in range(draws):
        q = rng.dirichlet(np.ones(k)) if shifted else p
        source, y = population.sample(rng, p, size)
        target, _ = population.sample(rng, q, size)
        found, intervals = answers(source, y, target, ask_nannyml and i < NANNYML_DRAWS)
        truth = float(q @ recall)
        for name, value in found.items():
            errors.setdefault(name, []).append(abs(value - truth))
        for name, (low, high) in intervals.items():
            if high >= low:  # else it has none
                held.setdefault(name, []).append(bool(low <= truth <= high))
                widths.setdefault(name, []).append(high - low)
    columns: dict[str, float] = {}
    if ask_nannyml:
        columns["NannyML draws"] = len(held.get("NannyML", ()))
    for name in held:
        columns[f"{name} covers"] = round(float(np.mean(held[name])), 3)
        columns[f"{name} width"] = round(float(np.mean(widths[name])), 3)
    return {
        "proportions": "Dirichlet(1)" if shifted else "no shift",
        "n = m": size,
        **{
            f"error, {name}": round(float(np.nanmean(x)), 4)
            for name, x in errors.items()
            if not np.isnan(x).all()
        },
        **columns,
        "draws": draws,
    }


HEADERS = {
    "classifier": "classifier",
    "proportions": "target",
    "n = m": "n = m",
    "error, target_performance": "`target_performance`",
    "error, source accuracy": "source accuracy",
    "error, mean confidence": "mean confidence",
    "error, calibrated confidence": "calibrated confidence",
    "error, NannyML": "NannyML",
    "asymptotic covers": "asymptotic covers",
    "asymptotic width": "width",
    "finite-sample covers": "finite-sample covers",
    "finite-sample width": "width",
    "NannyML covers": "NannyML's band covers",
    "NannyML width": "width",
    "NannyML draws": "of draws",
    "draws": "draws",
}
"""Columns of the table, and what they are called in docs/searches.md."""


def page_table(table: pd.DataFrame) -> str:
    """Return the table as it stands in docs/searches.md; what was not run is empty."""
    lines = ["| " + " | ".join(HEADERS.values()) + " |"]
    lines.append("|---|---|" + "---:|" * (len(HEADERS) - 2))
    for _, row in table[list(HEADERS)].iterrows():
        cells = ["" if pd.isna(x) else x for x in row]
        texts = [x if isinstance(x, str) else f"{x:g}" for x in cells]
        lines.append("| " + " | ".join(texts) + " |")
    return "\n".join(lines)


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
    intervals held it; NannyML's band is three standard errors of sampling wide on
    either side. Proportions of the target are drawn anew for every pair.
    """
    title = "Accuracy on the target without its labels"
    return [Section(title, text, {"Errors and coverage": table}, {}, {})]


if __name__ == "__main__":
    report.main(__doc__, run)
