"""Coverage under label shift, on the toy and on the white wines.

Podkopaev and Ramdas (2021), section 2.2, figure 1. Run it as

    python -m vignettes.replication.paper_a_conformal [folder] [--quick]

It prints both tables and writes the figures into the folder.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

import distfreeuq as dfu
from distfreeuq import plots, scenarios
from vignettes.replication import report
from vignettes.replication.report import MissingData, Section

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
            sets = fit.predict(probs_target[test])
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


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return means over repetitions, with the median coverage that the paper draws."""
    by_method = frame.drop(columns="repetition").groupby("method", sort=False)
    means = by_method.mean()
    means.insert(0, "median", by_method["coverage"].median())
    return means.round(3)


def coverage_section(
    figure: str, title: str, text: str, frame: pd.DataFrame, path: Path
) -> Section:
    """Return the table and write the histogram of one study."""
    columns = {m: frame.loc[frame["method"] == m, "coverage"] for m in METHODS}
    ax = plots.coverage_histogram(columns, 1 - ALPHA)
    ax.set_title(
        f"Podkopaev & Ramdas (2021), figure {figure}\n{ax.get_title()}",
        fontsize="medium",
    )
    ax.figure.savefig(path)
    return Section(
        f"Podkopaev & Ramdas (2021), figure {figure}: {title}",
        text,
        tables={
            f"Coverage on the target, nominal {1 - ALPHA:g}; means over "
            f"{frame['repetition'].nunique()} repetitions": table(frame)
        },
        figures={f"Coverage on the target ({title})": path},
    )


def draw_regions(path: Path, n: int = 1000, n_shown: int = 300) -> None:
    """Draw target rows, and the sets with oracle weights everywhere in the plane."""
    toy = scenarios.three_gaussians()
    x, labels = toy.sample(n, "source", rng=0)
    fit = dfu.label_shift_conformal(
        toy.posterior(x), labels, toy.label_weight, alpha=ALPHA, rng=0
    )
    points, true = toy.sample(n_shown, "target", rng=0)
    ax = plots.prediction_regions(fit, toy.posterior, points, true)
    ax.figure.savefig(path)


REGION_TEXT = """
One draw of target rows, and the prediction sets under the shift with oracle weights
everywhere in the plane: one label far from the other classes, several between them, as
in the paper's figure.
"""

TOY_TEXT = """
The paper draws histograms and gives no numbers: classic sets fall short of the nominal
coverage, sets with oracle or BBSE weights reach it. So do ours. The paper does not say
what alpha is; here it is 0.1.
"""

WINE_TEXT = """
The paper: "conformal sets with oracle importance weights closely match the nominal
coverage level, sets that proceed with estimated ones have a slightly downgraded
performance". Both are seen here, the second by a few thousandths. Its appendix with the
preprocessing was not at hand, so the loss of the uncorrected sets need not be of the
same size.
"""


def run(folder: Path, quick: bool = False) -> list[Section]:
    """Do both studies again."""
    n_rep = 50 if quick else 1000
    toy = compare(toy_draws(n_rep), n_rep)
    regions = folder / "paper-a-regions.png"
    draw_regions(regions)
    sections = [
        Section(
            "Podkopaev & Ramdas (2021), figures 1(a) and 1(b): "
            "a draw, and its prediction sets",
            REGION_TEXT,
            figures={"Target rows on the prediction sets": regions},
        ),
        coverage_section("1(c)", "toy", TOY_TEXT, toy, folder / "paper-a-toy.png"),
    ]
    try:
        data = report.data_folder("wine-quality-white")
    except MissingData as reason:
        return [
            *sections,
            report.skipped("Podkopaev & Ramdas (2021), figure 1(d): wine", reason),
        ]
    n_rep = 5 if quick else 200
    wine = compare(wine_draws(data, n_rep), n_rep)
    path = folder / "paper-a-wine.png"
    return [*sections, coverage_section("1(d)", "wine", WINE_TEXT, wine, path)]


if __name__ == "__main__":
    report.main(__doc__, run)
