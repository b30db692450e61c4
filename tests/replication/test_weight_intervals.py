"""Printed intervals of label-shift weights cover on real networks.

The rows of a network are the population: source and target are drawn from it with
replacement, class by class, so that label shift holds exactly and the true weights are
known. No network is calibrated after BCTS. Every class with 20 source rows or more on
average is judged by itself, at a false-alarm rate of 1e-6 for the whole file; the
intervals of the likelihood, which need calibration, are the control.
"""

import warnings

import numpy as np
import pytest
from scipy import special

import distfreeuq as dfu
from tests.theorem.binomial import Judge, RefutedError

pytestmark = [
    pytest.mark.slow,
    # a draw whose confusion matrix is singular has intervals too
    pytest.mark.filterwarnings("ignore::distfreeuq.IdentificationWarning"),
]

LEVEL = 0.93  # what is asked of nominal 95 % intervals at these sample sizes
DRAWS = 300
NETS = {
    "cifar10-resnet50": ("cifar10-resnet50-logits", "resnet50_c10_logits.npz"),
    "agnews-gpt2": ("agnews-gpt2-zeroshot", "agnews_gpt2.npz"),
}
judge = Judge(claims=500)


def population(data_folder, name):
    """Return probabilities and labels of all rows of a network."""
    folder, file = NETS[name]
    with np.load(data_folder(folder) / file) as archive:
        if "logits" in archive:
            logits, labels = archive["logits"], archive["labels"]
        else:
            logits = np.vstack([archive["val_logits"], archive["test_logits"]])
            labels = np.concatenate([archive["val_labels"], archive["test_labels"]])
    probs = np.maximum(special.softmax(logits.astype(np.float64), axis=1), 1e-30)
    return probs / probs.sum(axis=1, keepdims=True), labels.astype(np.int64)


def draw(rng, probs, labels, prior, size):
    classes = rng.choice(prior.size, p=prior, size=size)
    order, counts = np.argsort(labels, kind="stable"), np.bincount(labels)
    place = (rng.random(size) * counts[classes]).astype(np.int64)
    chosen = order[(np.cumsum(counts) - counts)[classes] + place]
    return probs[chosen], classes


def coverage(probs, labels, n, m, sparse, seed):
    """Return which classes were held (R, K) by method, and mean widths (K,)."""
    k = probs.shape[1]
    rng = np.random.default_rng(seed)
    p = 10.0 ** (-np.arange(k) / (k - 1)) if sparse else np.ones(k)
    p /= p.sum()
    held, widths = {}, {}
    for _ in range(DRAWS):
        q = np.full(k, 0.1 / (k - 1))
        q[rng.integers(k)] = 0.9
        if sparse:
            q = rng.dirichlet(np.full(k, 0.1))
        source, y = draw(rng, probs, labels, p, n)
        target, _ = draw(rng, probs, labels, q, m)
        likely = dfu.mlls(source, y, target)
        found = {
            "mlls": likely.confint(),
            "likelihood": likely.confint(method="likelihood"),
            "bbse": dfu.bbse(source, y, target).confint(),
            "soft bbse": dfu.bbse(source, y, target, soft=True).confint(),
        }
        for name, ends in found.items():
            inside = (ends[:, 0] <= q / p + 1e-9) & (q / p <= ends[:, 1] + 1e-9)
            held.setdefault(name, []).append(inside)
            widths.setdefault(name, []).append(ends[:, 1] - ends[:, 0])
    enough = n * p >= 20
    return (
        {name: np.array(of)[:, enough] for name, of in held.items()},
        {name: np.median(of, axis=0)[enough] for name, of in widths.items()},
    )


@pytest.mark.parametrize("sparse", [False, True], ids=["one-at-0.9", "dirichlet-0.1"])
@pytest.mark.parametrize(("n", "m"), [(1000, 1000), (500, 10_000)])
@pytest.mark.parametrize("name", NETS)
def test_printed_intervals_cover(data_folder, name, n, m, sparse):
    probs, labels = population(data_folder, name)
    held, widths = coverage(probs, labels, n, m, sparse, seed=n + m)
    for method, inside in held.items():
        each, ratio = (
            inside.mean(axis=0),
            (widths[method] / widths["likelihood"]).mean(),
        )
        print(
            f"{name} n={n} m={m} {'dirichlet' if sparse else 'one at .9'} {method}: "
            f"mean {each.mean():.3f} worst {each.min():.3f} width {ratio:.2f}"
        )
    for method in ("mlls", "bbse", "soft bbse"):
        for hits in held[method].sum(axis=0):
            judge.at_least(int(hits), DRAWS, LEVEL)
    if name == "agnews-gpt2":
        with pytest.raises(RefutedError):
            for hits in held["likelihood"].sum(axis=0):
                judge.at_least(int(hits), DRAWS, LEVEL)


@pytest.mark.parametrize("rows", [3, 30])
@pytest.mark.parametrize(
    ("name", "scarce"), [("cifar10-resnet50", 3), ("agnews-gpt2", 2)]
)
def test_a_class_of_few_rows_does_not_break_the_others(data_folder, name, scarce, rows):
    # half of the target is of one class, which is often mistaken for another
    probs, labels = population(data_folder, name)
    k, n, m = probs.shape[1], 5000, 5000
    p, q = np.full(k, (1 - rows / n) / (k - 1)), np.full(k, 0.5 / (k - 1))
    p[scarce], q[scarce] = rows / n, 0.5
    rng = np.random.default_rng(rows)
    held = {}
    for _ in range(DRAWS):
        source, y = draw(rng, probs, labels, p, n)
        target, _ = draw(rng, probs, labels, q, m)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dfu.DistFreeWarning)
            for method, fit in {
                "mlls": dfu.mlls(source, y, target),
                "bbse": dfu.bbse(source, y, target),
                "soft bbse": dfu.bbse(source, y, target, soft=True),
            }.items():
                low, high = fit.confint().T
                held.setdefault(method, []).append((low <= q / p) & (q / p <= high))
    for method, of in held.items():
        each = np.delete(np.mean(of, axis=0), scarce)
        print(f"{name} {rows} rows, {method}: mean {each.mean():.3f} {each.min():.3f}")
        for hits in np.delete(np.sum(of, axis=0), scarce):
            judge.at_least(int(hits), DRAWS, LEVEL)
