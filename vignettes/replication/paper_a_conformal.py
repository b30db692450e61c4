"""Paper A, figure 1: coverage under label shift, on the toy and on the white wines.

Podkopaev and Ramdas (2021), section 2.2. Run it as

    python vignettes/replication/paper_a_conformal.py [folder]

It prints both tables and writes figures like 1(c) and 1(d) into the folder. The wines
are looked for where DISTFREEUQ_DATA points, then in ../shared/data beside the project.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

import distfreeuq as dfu
from distfreeuq import plots, scenarios

ALPHA = 0.1
METHODS = ("uncorrected", "oracle weights", "BBSE weights", "label-conditional")
Draw = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Source probabilities and labels, target probabilities and labels, true weights."""


def compare(draws: Iterator[Draw], n_rep: int, progress: bool = True) -> pd.DataFrame:
    """Calibrate four ways; half of the target rows estimate weights, half test."""
    records = []
    for i, draw in enumerate(
        tqdm(draws, total=n_rep, disable=None if progress else True)
    ):
        probs, labels, probs_target, labels_target, weights = draw
        unlabelled, test = np.array_split(np.arange(len(labels_target)), 2)
        estimate = dfu.bbse(probs, labels, probs_target[unlabelled])
        fits = (
            dfu.split_conformal(probs, labels, alpha=ALPHA, rng=i),
            dfu.label_shift_conformal(probs, labels, weights, alpha=ALPHA, rng=i),
            dfu.label_shift_conformal(probs, labels, estimate, alpha=ALPHA, rng=i),
            dfu.label_conditional_conformal(probs, labels, alpha=ALPHA, rng=i),
        )
        for method, fit in zip(METHODS, fits, strict=True):
            sets = fit.predict(probs_target[test], rng=i)
            true = labels_target[test]
            covered = sets.mask[np.arange(len(true)), true]
            record = {
                "repetition": i,
                "method": method,
                "coverage": covered.mean(),
                "size": sets.sizes.mean(),
            }
            for k in range(probs.shape[1]):
                record[f"class {k}"] = covered[true == k].mean()
            records.append(record)
    return pd.DataFrame(records)


def toy_draws(n_rep: int, n: int = 1000) -> Iterator[Draw]:
    """Three Gaussians with their Bayes rule: n source rows, 2n target rows."""
    toy = scenarios.three_gaussians()
    for seed in range(n_rep):
        x, labels = toy.sample(n, "source", rng=seed)
        x_target, labels_target = toy.sample(2 * n, "target", rng=seed)
        yield (
            toy.posterior(x),
            labels,
            toy.posterior(x_target),
            labels_target,
            toy.label_weight,
        )


def wine_draws(data: Path, n_rep: int) -> Iterator[Draw]:
    """White wines in three classes of quality, resampled to p and q, a shallow net.

    The paper's appendix with its preprocessing was not at hand. Here: quality up to 5,
    6, and 7 up; repeated rows dropped; a third of the rows trains a network of 16
    hidden units, a third is resampled (with replacement) to the source's class
    proportions, a third to the target's.
    """
    wines = pd.read_csv(data / "winequality-white.csv", sep=";").drop_duplicates()
    classes = np.digitize(wines.pop("quality"), [5.5, 6.5])
    source_prior, target_prior = np.array([0.1, 0.4, 0.5]), np.array([0.4, 0.5, 0.1])
    features = ((wines - wines.mean()) / wines.std()).to_numpy()
    for seed in range(n_rep):
        rng = np.random.default_rng(seed)
        train, source, target = np.array_split(rng.permutation(len(classes)), 3)
        train = resample(train, classes, source_prior, len(train), rng)
        network = fit_network(features[train], classes[train], rng)
        source = resample(source, classes, source_prior, 1000, rng)
        target = resample(target, classes, target_prior, 2000, rng)
        yield (
            network(features[source]),
            classes[source],
            network(features[target]),
            classes[target],
            target_prior / source_prior,
        )


def resample(
    rows: np.ndarray,
    classes: np.ndarray,
    prior: np.ndarray,
    n: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw n of the rows with the class proportions of the prior."""
    weight = (prior / np.bincount(classes[rows], minlength=prior.size))[classes[rows]]
    return rng.choice(rows, size=n, p=weight / weight.sum())


def fit_network(
    x: np.ndarray, labels: np.ndarray, rng: np.random.Generator, hidden: int = 16
):
    """Fit a network with one hidden layer by full-batch Adam; return its predictor."""
    n_classes = int(labels.max()) + 1
    shapes = [(x.shape[1], hidden), (hidden,), (hidden, n_classes), (n_classes,)]
    parameters = [rng.normal(0, shape[0] ** -0.5, shape) for shape in shapes]
    moments = [(np.zeros(shape), np.zeros(shape)) for shape in shapes]
    truth = np.eye(n_classes)[labels]

    def forward(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        layer = np.tanh(rows @ parameters[0] + parameters[1])
        logits = layer @ parameters[2] + parameters[3]
        probs = np.exp(logits - logits.max(axis=1, keepdims=True))
        return layer, probs / probs.sum(axis=1, keepdims=True)

    for step in range(1, 301):
        layer, probs = forward(x)
        error = (probs - truth) / len(x)
        back = (error @ parameters[2].T) * (1 - layer**2)
        gradients = [x.T @ back, back.sum(0), layer.T @ error, error.sum(0)]
        for value, gradient, (first, second) in zip(
            parameters, gradients, moments, strict=True
        ):
            first += 0.1 * (gradient - first)
            second += 0.001 * (gradient**2 - second)
            scale = np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            value -= 0.02 * scale * first / (np.sqrt(second) + 1e-8)
    return lambda rows: forward(rows)[1]


def table(frame: pd.DataFrame) -> str:
    """Return means over repetitions, with the median coverage that the paper draws."""
    by_method = frame.drop(columns="repetition").groupby("method", sort=False)
    means = by_method.mean()
    means.insert(0, "median", by_method["coverage"].median())
    return means.round(3).to_string()


def find_data() -> Path:
    """Return the folder of the wines."""
    default = Path(__file__).parents[2] / ".." / "shared" / "data"
    return Path(os.environ.get("DISTFREEUQ_DATA", default)) / "wine-quality-white"


def main(folder: Path) -> None:
    """Print both tables and write both figures."""
    folder.mkdir(parents=True, exist_ok=True)
    studies = {"toy": ("1(c)", compare(toy_draws(1000), 1000))}
    if find_data().is_dir():
        studies["wine"] = ("1(d)", compare(wine_draws(find_data(), 200), 200))
    else:
        print("the white wines are not there: set DISTFREEUQ_DATA")
    for name, (figure, frame) in studies.items():
        print(
            f"\nCoverage on the target, nominal {1 - ALPHA:g} ({name}, figure {figure})"
        )
        print(table(frame))
        columns = {m: frame.loc[frame["method"] == m, "coverage"] for m in METHODS}
        ax = plots.coverage_histogram(columns, 1 - ALPHA)
        ax.set_title(f"Paper A, {figure}. {ax.get_title()}", fontsize="medium")
        ax.figure.savefig(folder / f"paper-a-{name}.png")
        print(f"figure: {folder / f'paper-a-{name}.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "figures"))
