"""How often the test of label shift rejects, on real classifiers.

Rows are drawn from those of a classifier with replacement, class by class, the target's
class proportions anew for every pair. Then label shift holds, or is broken in one of
three ways: the target's logits are those of a network less sure of itself, one row
in ten is that of a noisy input (its logits get normal noise of twice their spread),
or the target's rows were classified by another network. Run it as

    python -m vignettes.replication.power_of_the_test [folder] [--quick]

It writes the table into the folder as power_of_the_test.csv.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special
from tqdm import tqdm

import distfreeuq as dfu
from vignettes.replication import report
from vignettes.replication.report import Section
from vignettes.replication.weight_intervals import Net, Population

LEVEL, DRAWS = 0.05, 200
SIZES = (500, 2000, 10_000)
FOLDER = "cifar10-chenyaofo-logits"
NETWORK = Net("CIFAR-10 ResNet-20", FOLDER, "resnet20.npz", (), 0, ())
OTHER = Net("CIFAR-10 VGG-19", FOLDER, "vgg19_bn.npz", (), 0, ())
CHANGES = ("label shift", "temperature 1.1", "noise in 1 row of 10", "other network")


def target_rows(
    change: str,
    rng: np.random.Generator,
    prior: np.ndarray,
    size: int,
    network: Population,
    other: Population,
) -> np.ndarray:
    """Return the target's probabilities (size, K)."""
    drawn = other if change == "other network" else network
    probs, _ = drawn.sample(rng, prior, size)
    if change.startswith("temperature"):
        return softmax(np.log(probs) / float(change.rsplit(" ", 1)[1]))
    if change.startswith("noise"):
        logits = np.log(np.maximum(probs, 1e-12))
        noisy = rng.random(size) < 0.1
        spread = 2.0 * logits[noisy].std(axis=1, keepdims=True)
        logits[noisy] += spread * rng.normal(size=logits[noisy].shape)
        return softmax(logits)
    return probs


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return probabilities in double precision."""
    return np.asarray(special.softmax(logits, axis=1))


def measure(change: str, size: int, draws: int, seed: int) -> dict[str, object]:
    """Return a line of the table."""
    network, other = Population(NETWORK), Population(OTHER)
    rng = np.random.default_rng(seed)
    k = network.counts.size
    p = np.full(k, 1.0 / k)
    rejected = {"goodness_of_fit()": 0, "test(), of equal proportions": 0}
    for _ in range(draws):
        q = rng.dirichlet(np.ones(k))
        source, labels = network.sample(rng, p, size)
        target = target_rows(change, rng, q, size, network, other)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dfu.DistFreeWarning)
            fit = dfu.bbse(source, labels, target)
        rejected["goodness_of_fit()"] += fit.goodness_of_fit().p_value <= LEVEL
        rejected["test(), of equal proportions"] += fit.test().p_value <= LEVEL
    shares = {name: round(count / draws, 3) for name, count in rejected.items()}
    return {"target": change, "n = m": size, **shares, "draws": draws}


def run(folder: Path, quick: bool = False) -> list[Section]:
    """Measure all situations, and return one section."""
    situations = [(change, size) for change in CHANGES for size in SIZES]
    lines = []
    for i, (change, size) in enumerate(tqdm(situations)):
        lines.append(measure(change, size, 3 if quick else DRAWS, i))
    table = pd.DataFrame(lines)
    table.to_csv(folder / "power_of_the_test.csv", index=False)
    text = f"""
    Shares of draws in which the p-value was at most {LEVEL}. Under label shift the test
    of fit should reject in about as many, whatever the proportions; that of equal
    proportions answers another question.
    """
    title = "The test of label shift"
    return [Section(title, text, {"Rejected at .05": table}, {}, {})]


if __name__ == "__main__":
    report.main(__doc__, run)
