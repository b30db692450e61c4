"""Paper D's tables in kind: Uncal / VS / TS / CTS, by accuracy and three ECEs.

Run as ``python -m tests.replication.calibration_tables`` to print them.
"""

from __future__ import annotations

import importlib
import os
import warnings
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np

import distfreeuq as dfu

METHODS = ("Uncal", "VS", "TS", "CTS")
COLUMNS = ("accuracy", "ECE", "max-ECE", "avg-ECE")
NOISE = 0.3


@contextmanager
def single_threaded():
    """Run kernels and linear algebra on one thread."""
    before = dfu.get_num_threads()
    dfu.set_num_threads(1)
    try:
        limits = importlib.import_module("threadpoolctl").threadpool_limits(1)
    except ImportError:
        limits = nullcontext()
    try:
        with limits:
            yield
    finally:
        dfu.set_num_threads(before)


def ece(confidence, correct, n_bins=15):
    """Return the expected calibration error over bins ((m-1)/15, m/15]."""
    bins = np.clip(np.ceil(confidence * n_bins).astype(int) - 1, 0, n_bins - 1)
    gaps = np.bincount(bins, confidence - correct, n_bins)
    return float(np.abs(gaps).sum() / len(confidence))


def assess(probs, labels):
    """Return accuracy, ECE, max-ECE and avg-ECE in percent; D, eq. (4.1)."""
    predicted, confidence = probs.argmax(axis=1), probs.max(axis=1).astype(float)
    correct = predicted == labels
    by_class = [
        ece(confidence[predicted == k], correct[predicted == k])
        for k in np.unique(predicted)
    ]
    values = correct.mean(), ece(confidence, correct), max(by_class), np.mean(by_class)
    return 100.0 * np.array(values)


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def compare(fit_logits, fit_labels, logits, labels):
    """Return a table (4, 4): methods fitted on some rows, assessed on others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.FitAtBoundWarning)
        fits = [
            calibrator(fit_logits, fit_labels)
            for calibrator in (
                dfu.vector_scaling,
                dfu.temperature_scaling,
                dfu.classwise_temperature_scaling,
            )
        ]
    probs = [softmax(logits), *(fit.predict(logits) for fit in fits)]
    return np.array([assess(p, labels) for p in probs])


# ------------------------------------------------------------ digits with noisy classes


def train_network(images, labels, seed, *, hidden=100, epochs=10, rate=0.1, batch=64):
    """Return the logits of a net with one hidden layer, by momentum descent."""
    rng = np.random.default_rng(seed)
    n_inputs, n_classes = images.shape[1], 10
    parameters = [
        rng.normal(0, np.sqrt(2 / n_inputs), (n_inputs, hidden)).astype(np.float32),
        np.zeros(hidden, np.float32),
        rng.normal(0, np.sqrt(1 / hidden), (hidden, n_classes)).astype(np.float32),
        np.zeros(n_classes, np.float32),
    ]
    speeds = [np.zeros_like(p) for p in parameters]
    for _ in range(epochs):
        order = rng.permutation(len(images))
        for first in range(0, len(images), batch):
            rows = order[first : first + batch]
            x, w2 = images[rows], parameters[2]
            inner = np.maximum(x @ parameters[0] + parameters[1], 0)
            error = softmax(inner @ w2 + parameters[3])
            error[np.arange(len(rows)), labels[rows]] -= 1.0
            error /= len(rows)
            back = (error @ w2.T) * (inner > 0)
            gradients = (x.T @ back, back.sum(0), inner.T @ error, error.sum(0))
            for p, speed, gradient in zip(parameters, speeds, gradients, strict=True):
                speed *= 0.9
                speed -= rate * gradient
                p += speed
    w1, b1, w2, b2 = parameters
    return lambda x: np.maximum(x @ w1 + b1, 0) @ w2 + b2


def noisy_digits(folder, seeds):
    """Return tables (S, 4, 4): half the classes with 30 % training label noise."""
    data = np.load(folder / "mnist_20k_10k.npz")

    def pooled(images):
        blocks = images.reshape(len(images), 14, 2, 14, 2)
        return (
            blocks.mean(axis=(2, 4)).reshape(len(images), -1).astype(np.float32) / 255
        )

    images, labels = pooled(data["train_images"]), data["train_labels"]
    test_images, test_labels = pooled(data["test_images"]), data["test_labels"]
    tables = []
    for seed in seeds:
        rng = np.random.default_rng(1000 + seed)
        order = rng.permutation(len(images))
        train, held_out = order[:15_000], order[15_000:]
        noisy = labels[train].copy()
        # D's protocol: relabelled uniformly, the true label included
        hit = (noisy < 5) & (rng.random(len(noisy)) < NOISE)
        noisy[hit] = rng.integers(0, 10, hit.sum())
        logits = train_network(images[train], noisy, seed)
        tables.append(
            compare(
                logits(images[held_out]),
                labels[held_out],
                logits(test_images),
                test_labels,
            )
        )
    return np.array(tables)


def cifar100_halves(folder, seeds):
    """Return tables (S, 4, 4): fitted on one half of the rows, judged on the other."""
    data = np.load(folder / "resnet20.npz")
    logits, labels = data["logits"], data["labels"]
    tables = []
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(labels))
        one, other = order[: len(order) // 2], order[len(order) // 2 :]
        tables.append(compare(logits[one], labels[one], logits[other], labels[other]))
    return np.array(tables)


def as_text(title, tables):
    """Return mean and standard deviation over the seeds as a printed table."""
    mean, spread = tables.mean(axis=0), tables.std(axis=0, ddof=1)
    lines = [title, f"{'':6}" + "".join(f"{name:>15}" for name in COLUMNS)]
    for method, m, s in zip(METHODS, mean, spread, strict=True):
        cells = (f"{a:.2f} +- {b:.2f}" for a, b in zip(m, s, strict=True))
        lines.append(f"{method:6}" + "".join(f"{cell:>15}" for cell in cells))
    return "\n".join(lines)


def main():
    given = os.environ.get("DISTFREEUQ_DATA")
    here = Path(__file__).resolve().parents[2]
    root = Path(given) if given else here.parent / "shared" / "data"
    with single_threaded():
        digits = noisy_digits(root / "digits-mnist", range(5))
        cifar = cifar100_halves(root / "cifar100-resnet20-logits", range(10))
    print(as_text("MNIST, 30 % label noise in classes 0-4, 5 seeds (percent)", digits))
    print(as_text("CIFAR-100, ResNet-20, random halves, 10 seeds (percent)", cifar))


if __name__ == "__main__":
    main()
