"""Coverage of the printed intervals of label weights on real classifiers.

The rows of a classifier are the population: source and target are drawn from it with
replacement, class by class, so that label shift holds exactly and the true weights are
known. No network is calibrated after BCTS. Run it as

    python -m vignettes.replication.weight_intervals [folder] [--quick]

It prints the table, and writes it into the folder as weight_intervals.csv after every
situation.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special, stats
from tqdm import tqdm

import distfreeuq as dfu
from vignettes.replication import report
from vignettes.replication.report import Section

NOMINAL = 0.95
ASKED = 0.93
ENOUGH = 20
"""Source rows, on average, of the classes that are judged."""
DOUBT = 0.001
"""Error of "below": Bonferroni over the classes of a line."""


@dataclass(frozen=True)
class Net:
    """A classifier's rows on disk, and how many samples are drawn from them."""

    name: str
    folder: str
    file: str
    sizes: tuple[tuple[int, int], ...]
    draws: int
    priors: tuple[str, ...]


FEW = ((1000, 1000), (5000, 5000), (500, 10_000))
USUAL = ("one class at .9", "Dirichlet(.1) target")
SCARCE = (
    "Dirichlet(.1) source",
    "3 rows of half the target",
    "3 rows, most confused class",
    "30 rows, most confused class",
    "several classes of 3 rows",
)
"""Some source classes have few rows, and the target has many of theirs."""
NETS = (
    Net(
        "CIFAR-10 ResNet-50",
        "cifar10-resnet50-logits",
        "resnet50_c10_logits.npz",
        FEW,
        500,
        USUAL + SCARCE,
    ),
    Net(
        "CIFAR-10 VGG-19",
        "cifar10-chenyaofo-logits",
        "vgg19_bn.npz",
        FEW,
        500,
        USUAL + SCARCE,
    ),
    Net(
        "AG News GPT-2",
        "agnews-gpt2-zeroshot",
        "agnews_gpt2.npz",
        FEW,
        500,
        USUAL + SCARCE,
    ),
    Net(
        "CIFAR-100 ResNet-20",
        "cifar100-resnet20-logits",
        "resnet20.npz",
        ((5000, 5000), (3000, 60_000)),
        200,
        (*USUAL, "3 rows of half the target", "several classes of 3 rows"),
    ),
)
ESTIMATORS = {
    "MLLS": dfu.mlls,
    "BBSE, RLLS": dfu.bbse,
    "soft BBSE, RLLS": partial(dfu.bbse, soft=True),
}
"""RLLS prints the intervals of BBSE: both are those of the unregularised solution."""


def proportions(
    name: str, rng: np.random.Generator, k: int, n: int, most_confused: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return p and q, both (k,), drawn anew for every pair of samples."""
    if name == "one class at .9":
        return np.full(k, 1.0 / k), halved(k, rng.integers(k), 0.9)
    if name == "Dirichlet(.1) target":
        p = rng.permutation(10.0 ** (-np.arange(k) / (k - 1)))
        return p / p.sum(), rng.dirichlet(np.full(k, 0.1))
    if name == "Dirichlet(.1) source":
        # what the target lacks, the source has in three rows or more
        p = rng.dirichlet(np.full(k, 0.1))
        p = 0.97 * p + 0.03 / k
        return p, np.full(k, 1.0 / k)
    rows = 30.0 if name.startswith("30") else 3.0
    rare: np.ndarray | int = most_confused
    if name == "several classes of 3 rows":
        rare = rng.permutation(k)[: max(2, k // 3)]
    elif name == "3 rows of half the target":
        rare = int(rng.integers(k))
    return halved(k, rare, np.size(rare) * rows / n), halved(k, rare, 0.5)


def halved(k: int, classes: np.ndarray | int, share: float) -> np.ndarray:
    """Return proportions: `share` among some classes, the rest among the others."""
    some = np.zeros(k, dtype=bool)
    some[classes] = True
    return np.where(some, share / some.sum(), (1.0 - share) / (~some).sum())


class Population:
    """All rows of a classifier."""

    def __init__(self, net: Net) -> None:
        with np.load(report.data_folder(net.folder) / net.file) as archive:
            if "logits" in archive:
                logits, labels = archive["logits"], archive["labels"]
            else:
                logits = np.vstack([archive["val_logits"], archive["test_logits"]])
                labels = np.append(archive["val_labels"], archive["test_labels"])
        self.probs = special.softmax(logits.astype(np.float64), axis=1)
        self.order = np.argsort(labels, kind="stable")
        self.counts = np.bincount(labels, minlength=self.probs.shape[1])
        self.first = np.cumsum(self.counts) - self.counts
        k = self.counts.size
        errors = np.bincount(k * labels + self.probs.argmax(axis=1), minlength=k * k)
        shares = errors.reshape(k, k) / self.counts[:, None]
        np.fill_diagonal(shares, 0.0)
        self.most_confused = int(shares.max(axis=1).argmax())

    def sample(
        self, rng: np.random.Generator, prior: np.ndarray, size: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return probabilities (size, K) and labels (size,) of rows drawn by class."""
        labels = rng.choice(prior.size, p=prior, size=size)
        rows = (rng.random(size) * self.counts[labels]).astype(np.int64)
        return self.probs[self.order[self.first[labels] + rows]], labels


def measure(
    population: Population, n: int, m: int, priors: str, draws: int, seed: int
) -> list[dict[str, object]]:
    """Return a line per estimator: how often intervals held their weights."""
    k = population.counts.size
    rng = np.random.default_rng(seed)
    held = {name: np.zeros((draws, k), dtype=bool) for name in ESTIMATORS}
    expected = np.empty((draws, k))
    seen = np.empty(draws, dtype=bool)
    width = {name: [] for name in ESTIMATORS}
    for i in range(draws):
        p, q = proportions(priors, rng, k, n, population.most_confused)
        source, labels = population.sample(rng, p, n)
        target, _ = population.sample(rng, q, m)
        expected[i] = n * p
        seen[i] = np.bincount(labels, minlength=k).all()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dfu.DistFreeWarning)
            for name, estimate in ESTIMATORS.items():
                frame = estimate(source, labels, target).to_frame()
                low, high = frame["low"].to_numpy(), frame["high"].to_numpy()
                held[name][i] = (low <= q / p + 1e-9) & (q / p <= high + 1e-9)
                width[name].append(np.median((high - low)[expected[i] >= ENOUGH]))
    enough = expected >= ENOUGH
    lines = []
    for name in ESTIMATORS:
        hits = np.where(enough, held[name], False).sum(axis=0)
        looked = enough.sum(axis=0)
        share = hits[looked > 0] / looked[looked > 0]
        # P(so few hits or fewer) if intervals covered what is asked
        chance = stats.binom.cdf(hits, looked, ASKED)[looked > 0]
        others = held[name][~enough]
        where_seen = held[name][seen][enough[seen]]
        lines.append(
            {
                "proportions": priors,
                "n": n,
                "m": m,
                "intervals": name,
                "mean": round(float(hits.sum() / looked.sum()), 4),
                "all classes seen": round(float(where_seen.mean()), 4),
                "worst class": round(float(share.min()), 4),
                "below .93": int((chance < DOUBT / len(chance)).sum()),
                "scarce classes": round(float(others.mean()), 4)
                if others.size
                else np.nan,
                "median width": round(float(np.median(width[name])), 3),
                "draws": draws,
            }
        )
    return lines


def run(folder: Path, quick: bool = False) -> list[Section]:
    """Measure all situations, and return one section."""
    lines: list[dict[str, object]] = []
    for number, net in enumerate(NETS):
        population = Population(net)
        situations = [(n, m, p) for n, m in net.sizes for p in net.priors]
        for i, (n, m, priors) in enumerate(tqdm(situations, desc=net.name)):
            draws = 5 if quick else net.draws
            found = measure(population, n, m, priors, draws, 100 * number + i)
            lines += [{"classifier": net.name, **line} for line in found]
            pd.DataFrame(lines).to_csv(folder / "weight_intervals.csv", index=False)
    table = pd.DataFrame(lines)
    text = f"""
    Nominal level {NOMINAL}. 'mean' and 'worst class' are shares of intervals that held
    their weight, of classes with {ENOUGH} source rows or more on average;
    'all classes seen' is the mean over the draws in which every class has a source row;
    'scarce classes' those of the others. 'below .93': classes
    of which that was refuted at an error of {DOUBT} for the line.
    """
    return [
        Section(
            "Printed 95 % intervals of label weights", text, {"Coverage": table}, {}, {}
        )
    ]


if __name__ == "__main__":
    report.main(__doc__, run)
