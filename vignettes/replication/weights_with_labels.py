"""Label weights from predictions and from labels of some target rows, on real nets.

The rows of a classifier are the population: source and target are drawn from it with
replacement, class by class, so that label shift holds exactly and the true weights are
known. Each estimate is made without labels, with those of r target rows, and is set
beside the shares of the labels alone. Run it as

    python -m vignettes.replication.weights_with_labels [folder] [--quick]

It prints the table, and writes it into the folder as weights_with_labels.csv after
every situation.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

import distfreeuq as dfu
from vignettes.replication import report
from vignettes.replication.report import Section
from vignettes.replication.weight_intervals import Net, Population, proportions

ESTIMATORS = {
    "BBSE": dfu.bbse,
    "soft BBSE": partial(dfu.bbse, soft=True),
    "RLLS": dfu.rlls,
    "soft RLLS": partial(dfu.rlls, soft=True),
    "MLLS after BCTS": dfu.mlls,
    "MLLS": partial(dfu.mlls, calibrate=None),
}
NETS = (
    Net("AG News GPT-2", "agnews-gpt2-zeroshot", "agnews_gpt2.npz", (), 100, ()),
    Net("CIFAR-10 ResNet-20", "cifar10-chenyaofo-logits", "resnet20.npz", (), 100, ()),
    Net("CIFAR-100 ResNet-20", "cifar100-resnet20-logits", "resnet20.npz", (), 20, ()),
)
PRIORS = ("one class at .9", "Dirichlet(.1) target", "30 rows, most confused class")
SIZES = ((500, 20), (500, 100), (2000, 20), (2000, 200))
"""Rows of either sample, and how many of the target's have labels."""
ALPHA, DELTA = 0.1, 0.1
"""Of the sets."""


def measure(
    population: Population, draws: int, n: int, r: int, priors: str, seed: int
) -> list[dict[str, object]]:
    """Return a line per estimator."""
    k = population.counts.size
    rng = np.random.default_rng(seed)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ESTIMATORS}
    for _ in range(draws):
        p, q = proportions(priors, rng, k, n, population.most_confused)
        source, labels = population.sample(rng, p, n)
        target, truth = population.sample(rng, q, n)
        some = np.full(n, np.nan)
        some[:r] = truth[:r]
        seen = np.bincount(labels, minlength=k)
        by_labels = np.bincount(truth[:r], minlength=k) / r / np.maximum(seen, 1) * n
        by_labels /= seen @ by_labels / n
        judged = n * p >= 20
        for name, estimate in ESTIMATORS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", dfu.DistFreeWarning)
                without = estimate(source, labels, target)
                fit = estimate(source, labels, target, labels_target=some)
                if without.solution is None or fit.solution is None:
                    continue
                low, high = fit.confint().T
                line = {
                    "held": float(
                        ((low <= q / p + 1e-9) & (q / p <= high + 1e-9))[judged].mean()
                    ),
                    "width": float(
                        np.median((high - low) / np.ptp(without.confint(), axis=1))
                    ),
                    "error": _error(fit.label_weight, p, q),
                    "without": _error(without.label_weight, p, q),
                    "by_labels": _error(by_labels, p, q),
                }
                if name.startswith("MLLS"):
                    low, high = fit.confint(method="likelihood").T
                    inside = (low <= q / p + 1e-9) & (q / p <= high + 1e-9)
                    line["held by likelihood"] = float(inside[judged].mean())
                region = fit.region(0.05)
                line["in region"] = float(region.contains(q / p))
                line |= _of_sets(population, source, labels, fit, q)
            found[name].append(line)
    return [
        {
            "proportions": priors,
            "n = m": n,
            "labels": r,
            "estimate": name,
            "draws": len(lines),
            **_in_all(pd.DataFrame(lines)),
        }
        for name, lines in found.items()
        if lines
    ]


def _error(weight: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """Return the squared error of the target's proportions."""
    implied = weight * p
    return float(np.square(implied / implied.sum() - q).sum())


def _of_sets(
    population: Population,
    source: np.ndarray,
    labels: np.ndarray,
    fit: dfu.LabelShiftResult,
    q: np.ndarray,
) -> dict[str, float]:
    """Return the target's coverage by sets with these weights, exactly."""
    out = {}
    for name, options in (
        ("plug-in", {}),
        ("directional", {"robust": "directional", "delta": DELTA}),
        ("draw", {"robust": "directional", "confidence": 1.0 - DELTA}),
        ("capped draw", {"confidence": 1.0 - DELTA}),
    ):
        sets = dfu.label_shift_conformal(
            source, labels, fit, alpha=ALPHA, score="lac", rng=0, **options
        )
        out[name] = float(q @ _coverage(population, sets.thresholds))
    return out


def _coverage(population: Population, thresholds: np.ndarray) -> np.ndarray:
    """Return the share of each class's rows whose own label is in the set."""
    own = np.repeat(np.arange(population.counts.size), population.counts)
    scores = 1.0 - population.probs[population.order, own]
    held = np.bincount(own, weights=scores <= thresholds[own])
    return held / population.counts


def _in_all(lines: pd.DataFrame) -> dict[str, float]:
    """Return means over the draws, and shares of draws that miss."""
    root = lines[["error", "without", "by_labels"]].mean() ** 0.5
    missed = lines[["draw", "capped draw"]] < 1.0 - ALPHA - 1e-12
    by_likelihood = lines.get("held by likelihood", pd.Series([np.nan]))
    return {
        "covered": round(lines["held"].mean(), 4),
        "by likelihood": round(by_likelihood.mean(), 4),
        "region": round(lines["in region"].mean(), 4),
        "width": round(lines["width"].median(), 3),
        "error": round(root["error"], 4),
        "without": round(root["without"], 4),
        "labels alone": round(root["by_labels"], 4),
        "plug-in sets": round(lines["plug-in"].mean(), 4),
        "directional sets": round(lines["directional"].mean(), 4),
        "draws missed": round(missed["draw"].mean(), 3),
        "capped missed": round(missed["capped draw"].mean(), 3),
    }


HEADERS = {
    "classifier": "classifier",
    "proportions": "target",
    "n = m": "n = m",
    "labels": "labels",
    "estimate": "estimate",
    "covered": "intervals cover",
    "by likelihood": "by likelihood",
    "region": "region",
    "width": "width",
    "error": "error",
    "without": "without labels",
    "labels alone": "labels alone",
    "directional sets": "directional sets cover",
    "draws missed": "draws missed",
    "capped missed": "capped",
    "draws": "draws",
}
"""Columns of the table, and what they are called in docs/searches.md."""


def page_table(table: pd.DataFrame) -> str:
    """Return the table as it stands in docs/searches.md, without RLLS's lines."""
    shown = table[~table["estimate"].str.contains("RLLS")]
    lines = ["| " + " | ".join(HEADERS.values()) + " |"]
    lines.append("|---|---|---:|---:|---|" + "---:|" * (len(HEADERS) - 5))
    for _, row in shown[list(HEADERS)].iterrows():
        cells = ["" if pd.isna(x) else x for x in row]
        texts = [x if isinstance(x, str) else f"{x:g}" for x in cells]
        lines.append("| " + " | ".join(texts) + " |")
    return "\n".join(lines)


def run(folder: Path, quick: bool = False) -> list[Section]:
    """Measure all situations, and return one section."""
    lines: list[dict[str, object]] = []
    for number, net in enumerate(NETS):
        population = Population(net)
        k = population.counts.size
        # with fewer rows most classes would have none in the source
        sizes = [size for size in SIZES if size[0] >= 10 * k]
        situations = [(n, r, priors) for n, r in sizes for priors in PRIORS]
        for i, (n, r, priors) in enumerate(tqdm(situations, desc=net.name)):
            draws = 5 if quick else net.draws
            found = measure(population, draws, n, r, priors, 100 * number + i)
            lines += [{"classifier": net.name, **line} for line in found]
            pd.DataFrame(lines).to_csv(folder / "weights_with_labels.csv", index=False)
    text = f"""
    "covered": intervals at .95 that held their weight, each by itself, of classes with
    20 source rows or more on average; "by likelihood" those of MLLS that need
    calibrated probabilities; "region" that of all at once, at .95. "width" is the
    median ratio to intervals without labels. Errors are root mean squared distances of
    the target's proportions. Sets at .9 by the score lac; "missed": coverage below .9
    in draws that should have it with probability {1.0 - DELTA:g}.
    """
    table = {"Coverage and errors": pd.DataFrame(lines)}
    return [Section("Label weights with some target labels", text, table, {}, {})]


if __name__ == "__main__":
    report.main(__doc__, run)
