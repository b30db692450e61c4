"""Prediction sets with estimated class weights, on real networks.

Rows are drawn with replacement from the test rows of a network, source rows with equal
class proportions and target rows with others, so that label shift holds exactly and
coverage, that of every class, and sizes are known exactly: means over all test rows,
weighted by class. Run it as

    python -m vignettes.replication.estimated_weights [folder] [--quick]

It prints the tables and writes all means as estimated-weights.csv into the folder.
"""

import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

import distfreeuq as dfu
from vignettes.replication import report
from vignettes.replication.report import Section, data_folder

ALPHA, DELTA, CONFIDENCE = 0.1, 0.01, 0.95
NETWORKS = {
    "CIFAR-10, ResNet-50": "cifar10-resnet50-logits/resnet50_c10_logits.npz",
    "CIFAR-10, DenseNet-40": "cifar10-densenet40-logits/densenet40_c10_logits.npz",
    "CIFAR-10, ResNet-20": "cifar10-chenyaofo-logits/resnet20.npz",
    "CIFAR-10, VGG-19": "cifar10-chenyaofo-logits/vgg19_bn.npz",
    "CIFAR-10, ResNet-110": "cifar10-kerrigan-probs/resnet-110.npz",
    "CIFAR-10, DenseNet-190": "cifar10-kerrigan-probs/densenet-bc-L190-k40.npz",
    "CIFAR-10, LeNet-5": "cifar10-probs-netcal/lenet-5.npz",
    "CIFAR-10, WideResNet-16": "cifar10-probs-netcal/wideresnet-16-4.npz",
    "CIFAR-10, VGG-16": "cifar10-vgg16-probs/vgg16_c10_probs.npz",
    "CIFAR-100, ResNet-20": "cifar100-resnet20-logits/resnet20.npz",
    "CIFAR-100, WideResNet-16": "cifar100-wideresnet-probs/wideresnet-16-4.npz",
    "AG News, GPT-2": "agnews-gpt2-zeroshot/agnews_gpt2.npz",
}
SHIFTS = ("Dirichlet(1)", "Dirichlet(0.1)", "one class .5", "one class .9")
ROWS = (300, 1000, 5000)


def load_network(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities and labels of all test rows."""
    folder, file = NETWORKS[name].split("/")
    with np.load(data_folder(folder) / file) as archive:
        prefix = "test_" if "test_labels" in archive else ""
        labels = archive[f"{prefix}labels"].astype(np.int64)
        if "probs" in archive:
            probs = archive["probs"].astype(np.float64)
            return probs / probs.sum(axis=1, keepdims=True), labels
        logits = archive[f"{prefix}logits"].astype(np.float64)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True), labels


def target_prior(shift: str, k: int, generator: np.random.Generator) -> np.ndarray:
    """Return the target's class proportions, drawn anew for each draw of rows."""
    if shift.startswith("Dirichlet"):
        return generator.dirichlet(np.full(k, float(shift[10:-1])))
    most = float(shift.rsplit(" ", 1)[1])
    prior = np.full(k, (1.0 - most) / (k - 1))
    prior[generator.integers(k)] = most
    return prior


def draw_rows(
    labels: np.ndarray, prior: np.ndarray, n: int, generator: np.random.Generator
) -> np.ndarray:
    """Return the numbers of n rows with these class proportions, with replacement."""
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels, minlength=prior.size)
    first = np.cumsum(counts) - counts
    drawn = generator.choice(prior.size, p=prior, size=n)
    return order[first[drawn] + generator.integers(0, counts[drawn])]


def fit_all(probs, labels, target, weight, seed) -> dict[str, dfu.ConformalResult]:
    """Return all the sets that there are with known and with estimated weights."""
    common = {"alpha": ALPHA, "rng": seed}
    likely = dfu.mlls(probs, labels, target)
    counted = dfu.bbse(probs, labels, target)
    drawn_in = dfu.rlls(probs, labels, target)
    averaged = dfu.bbse(probs, labels, target, soft=True)

    def shifted(weights, **options):
        return dfu.label_shift_conformal(probs, labels, weights, **common, **options)

    def chosen(claim):
        result = dfu.prediction_sets(probs, labels, likely, claim=claim, **common)
        return result.fit

    sure = {"confidence": CONFIDENCE}
    pas = {"score": dfu.PAS()}
    found = {
        "known weights": shifted(weight),
        "known weights, PAS": shifted(weight, **pas),
        "plug-in, MLLS": shifted(likely),
        "plug-in, RLLS": shifted(drawn_in),
        "directional, MLLS": shifted(likely, robust="directional", delta=DELTA),
        "directional, MLLS, PAS": shifted(
            likely, robust="directional", delta=DELTA, **pas
        ),
        "directional, BBSE": shifted(counted, robust="directional", delta=DELTA),
        "directional, soft BBSE": shifted(averaged, robust="directional", delta=DELTA),
        "combined": chosen("combined"),
        "robust": shifted(counted, robust=True, delta=DELTA),
        "label-conditional": dfu.label_conditional_conformal(probs, labels, **common),
        "rank-calibrated": dfu.rank_calibrated_conformal(probs, labels, **common),
        "no correction": dfu.split_conformal(probs, labels, **common),
        "no correction, PAS": dfu.split_conformal(probs, labels, **pas, **common),
        "clustered": dfu.clustered_conformal(probs, labels, **common),
        "interpolated": dfu.interpolated_conformal(probs, labels, **common),
        "estimated, confidence": shifted(counted, **sure),
        "directional, confidence": shifted(likely, robust="directional", **sure),
        "label-conditional, confidence": dfu.label_conditional_conformal(
            probs, labels, **common, **sure
        ),
    }
    if counted.solution is not None:
        found["plug-in, BBSE"] = shifted(counted)
    if averaged.solution is not None:
        found["plug-in, soft BBSE"] = shifted(averaged)
    return found


def one_draw(network, shift, n, seed) -> list[dict]:
    """Return coverage, that of the classes, and size, a record per method."""
    probs, labels = network
    k = probs.shape[1]
    generator = np.random.default_rng([seed, n, SHIFTS.index(shift), k])
    q = target_prior(shift, k, generator)
    source = draw_rows(labels, np.full(k, 1.0 / k), n, generator)
    target = draw_rows(labels, q, n, generator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.DistFreeWarning)
        fits = fit_all(probs[source], labels[source], probs[target], k * q, seed)
    counts = np.bincount(labels, minlength=k)
    share = (q / counts)[labels]
    records = []
    for method, fit in fits.items():
        sets = fit.predict(probs)
        covered = sets.mask[np.arange(labels.size), labels]
        by_class = np.bincount(labels, covered, minlength=k) / counts
        records.append(
            {
                "method": method,
                "coverage": float(q @ by_class),
                "worst class": float(by_class.min()),
                "size": float(share @ sets.sizes),
            }
        )
    return records


def study(n_rep: int, names: Iterable[str] = NETWORKS) -> pd.DataFrame:
    """Return the mean of every method in every setting of these networks."""
    settings = [(name, shift, n) for name in names for n in ROWS for shift in SHIFTS]
    networks = {name: load_network(name) for name in names}
    records = []
    for name, shift, n in tqdm(settings, desc="settings", disable=None):
        for seed in range(n_rep):
            records += [
                {"network": name, "shift": shift, "n": n, **record}
                for record in one_draw(networks[name], shift, n, seed)
            ]
    frame = pd.DataFrame(records)
    keys = ["network", "n", "shift", "method"]
    means = frame.groupby(keys, sort=False)[["coverage", "worst class", "size"]].mean()
    known = means["size"].xs("known weights", level="method")
    means["relative size"] = (
        means["size"] / known.reindex(means.index.droplevel("method")).to_numpy()
    )
    return means.reset_index()


def size_table(means: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return sizes by method over those of known weights, by n and shift."""
    part = means[means["network"] == name]
    return part.pivot_table("relative size", "method", ["n", "shift"], sort=False).map(
        "{:.3f}".format
    )


def coverage_table(means: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return each method's smallest mean coverage over shifts, and worst class."""
    part = means[means["network"] == name]
    records = {}
    for (method, n), some in part.groupby(["method", "n"], sort=False):
        lowest, worst = some["coverage"].min(), some["worst class"].mean()
        records.setdefault(method, {})[f"n = {n}"] = f"{lowest:.3f} ({worst:.2f})"
    return pd.DataFrame(records).T.rename_axis(index="method")


TEXT = """
Sizes are divided by those of known weights in the same setting: 1.000 is as good as
knowing the class proportions. Source and target have n rows each; a class has about
n / K of the source.
"""


def run(folder: Path, quick: bool = False) -> list[Section]:
    """Draw, and make the tables."""
    n_rep = 1 if quick else 20
    means = study(n_rep)
    means.round(4).to_csv(folder / "estimated-weights.csv", index=False)
    tables = {}
    for name in NETWORKS:
        of_draws = f"mean of {n_rep} draws"
        tables[f"{name}: size over that of known weights, {of_draws}"] = size_table(
            means, name
        )
        tables[
            f"{name}: smallest mean coverage of the four shifts (in brackets that of "
            "the worst class, mean of the shifts)"
        ] = coverage_table(means, name)
    return [Section("Sets with estimated weights", TEXT, tables=tables, figures={})]


if __name__ == "__main__":
    report.main(__doc__, run)
