"""The dual certificate of one direction against other finite-sample sets.

Under label shift sum_j c_j w_j <= E_Q h + max_j (c_j / p_j - E_P[h | Y = j]) for every
function h of the predicted class (theory page, 4.12). Half of the source rows give
scores and h, the other half and the target rows bound the right side by betting, so
that each label's threshold fails with probability delta, at every sample size. Rows
are drawn from real networks as for the study of estimated weights. Run it as

    python -m vignettes.replication.dual_certificate [folder] [--quick]

It prints the table and writes dual-certificate.csv into the folder.
"""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special
from tqdm import tqdm

import distfreeuq as dfu
from distfreeuq.bounds.betting_bounds import betting_ends
from vignettes.replication import report
from vignettes.replication.estimated_weights import (
    ALPHA,
    DELTA,
    draw_rows,
    load_network,
    target_prior,
)
from vignettes.replication.report import Section

SETTINGS = (
    ("AG News, GPT-2", 1000),
    ("AG News, GPT-2", 5000),
    ("CIFAR-10, LeNet-5", 1000),
    ("CIFAR-10, LeNet-5", 5000),
    ("CIFAR-10, ResNet-50", 1000),
    ("CIFAR-10, ResNet-50", 5000),
    ("CIFAR-100, ResNet-20", 5000),
)
# Thresholds are looked for among so many quantiles of the scores.
GRID = 400
# h is the solution for the rows that gave it, times the best of these.
FACTORS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])


def counted(said: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Return counts (k, k) by class and prediction."""
    return np.bincount(labels * k + said, minlength=k * k).reshape(k, k).astype(float)


def ends_of_means(
    h: np.ndarray, source: np.ndarray, target: np.ndarray, each: float
) -> tuple[float, np.ndarray]:
    """Return an upper end of E_Q h and lower ends of E_P[h | Y = j], by betting.

    `source` and `target` are counts of predictions, the former by class.
    """
    low, width = float(h.min()), max(float(np.ptp(h)), 1e-12)
    counts = np.vstack([source, target])
    points, stake = (h - low) / width, np.ones(h.size)
    ends = betting_ends(stake, points, counts, counts.sum(axis=1), 2.0 * each)
    return low + width * float(ends[1][-1]), low + width * ends[0][:-1]


def over_p(c: np.ndarray, source: np.ndarray, each: float) -> np.ndarray:
    """Return upper ends of c_j / p_j by Clopper and Pearson."""
    rows, n = source.sum(axis=1), source.sum()
    p_low = special.betaincinv(np.maximum(rows, 1), n - rows + 1, each)
    p_high = special.betaincinv(rows + 1, np.maximum(n - rows, 1), 1.0 - each)
    with np.errstate(divide="ignore"):
        return c / np.where(c > 0, np.where(rows > 0, p_low, 0.0), p_high)


def best_h(c: np.ndarray, fitted: np.ndarray) -> np.ndarray:
    """Return a number for each prediction, from the rows that give the scores.

    Its means by class are to be c_j / p_j, up to a constant. Of all multiples of the
    solution, that which has the smallest largest gap, what the rows' number costs
    included.
    """
    rows = np.maximum(fitted.sum(axis=1), 1.0)
    by_class, wanted = fitted / rows[:, None], c * fitted.sum() / rows
    wanted = wanted - wanted.mean()
    k = rows.size
    ridge = 1e-3 * np.eye(k)
    h = np.linalg.solve(by_class.T @ by_class + ridge, by_class.T @ wanted)
    noise = np.ptp(h) * np.sqrt(np.log((2 * k + 1) / DELTA) / (2.0 * rows))
    costs = [
        (wanted - factor * (by_class @ h) + factor * noise).max() for factor in FACTORS
    ]
    return h * FACTORS[int(np.argmin(costs))]


def certified_thresholds(
    scores: np.ndarray,
    labels: np.ndarray,
    said: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
) -> np.ndarray:
    """Return thresholds by class: the smallest from which on all bounds are <= 0.

    `scores`, `labels` and `said` are of the rows that give scores and h.
    """
    k, n = target.size, scores.size
    fitted, counts = counted(said, labels, k), np.bincount(labels, minlength=k)
    # of 2K + 1 one-sided bounds each gets as much
    each = DELTA / (2 * k + 1)
    thresholds, undecided = np.full(k, np.inf), np.ones(k, dtype=bool)
    at = np.unique(np.quantile(scores, np.linspace(0, 1, GRID), method="higher"))
    for t in at[::-1]:
        below = np.bincount(labels[scores <= t], minlength=k)
        c = ((1.0 - ALPHA) * counts - below) / n
        mean, means = ends_of_means(best_h(c, fitted), source, target, each)
        gaps = over_p(c, source, each) - means
        # with a new row of class y
        own = over_p(c + (1.0 - ALPHA) / n, source, each) - means
        for y in np.flatnonzero(undecided):
            if mean + max(np.delete(gaps, y).max(), own[y]) <= 0.0:
                thresholds[y] = t
            else:
                undecided[y] = False
        if not undecided.any():
            break
    return thresholds


def one_draw(network, name: str, n: int, seed: int) -> list[dict]:
    """Return coverage and size, a record per method."""
    probs, labels = network
    k = probs.shape[1]
    generator = np.random.default_rng([seed, n, k])
    q = target_prior("Dirichlet(1)", k, generator)
    source = draw_rows(labels, np.full(k, 1.0 / k), n, generator)
    target = draw_rows(labels, q, n, generator)
    given, common = (probs[source], labels[source]), {"alpha": ALPHA, "rng": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.DistFreeWarning)
        counts = dfu.bbse(*given, probs[target])
        masks = {
            "known weights": dfu.label_shift_conformal(*given, k * q, **common),
            "robust": dfu.label_shift_conformal(
                *given, counts, robust=True, delta=DELTA, **common
            ),
            "label-conditional": dfu.label_conditional_conformal(*given, **common),
        }
    masks = {method: fit.predict(probs).mask for method, fit in masks.items()}
    scores = dfu.nested_scores(probs, uniforms=generator.random(labels.size))
    said, half = probs.argmax(axis=1), n // 2
    first, second = source[:half], source[half:]
    thresholds = certified_thresholds(
        scores[first, labels[first]],
        labels[first],
        said[first],
        counted(said[second], labels[second], k),
        np.bincount(said[target], minlength=k).astype(float),
    )
    masks["certificate"] = scores <= thresholds
    share = (q / np.bincount(labels, minlength=k))[labels]
    covered = {
        method: float(share @ mask[np.arange(labels.size), labels])
        for method, mask in masks.items()
    }
    return [
        {
            "network": name,
            "n": n,
            "method": method,
            "coverage": covered[method],
            "size": float(share @ mask.sum(axis=1)),
        }
        for method, mask in masks.items()
    ]


def study(n_rep: int) -> pd.DataFrame:
    """Return the mean of every method in every setting."""
    records = []
    for name, n in tqdm(SETTINGS, desc="settings", disable=None):
        network = load_network(name)
        for seed in range(n_rep):
            records += one_draw(network, name, n, seed)
    keys = ["network", "n", "method"]
    means = pd.DataFrame(records).groupby(keys, sort=False).mean()
    known = means["size"].xs("known weights", level="method")
    over = known.reindex(means.index.droplevel("method")).to_numpy()
    means["relative size"] = means["size"] / over
    return means.reset_index()


TEXT = """
Sizes are divided by those of known weights; all sets but these hold at every sample
size with weights that are not known.
"""


def run(folder: Path, quick: bool = False) -> list[Section]:
    """Draw, and make the table."""
    means = study(1 if quick else 20).round(4)
    means.to_csv(folder / "dual-certificate.csv", index=False)
    sizes = means.pivot_table(
        "relative size", ["network", "n"], "method", sort=False
    ).map("{:.2f}".format)
    return [
        Section(
            "The dual certificate", TEXT, tables={"Relative size": sizes}, figures={}
        )
    ]


if __name__ == "__main__":
    report.main(__doc__, run)
