"""Pairs of real domains: digits of MNIST and USPS, objects of Amazon and Caltech.

Images of MNIST lose their margin of four pixels and become 16 by 16, as those of USPS
are, whose digits fill their frame: with the margin on, no classifier of one set is of
use on the other, and the shift is one of size alone.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from vignettes.replication.report import data_folder


class Domain(NamedTuple):
    """Features (n, d) and labels (n,), 0 to 9."""

    x: np.ndarray
    y: np.ndarray


@cache
def read_mnist() -> Domain:
    """Return 30000 images of MNIST as rows of 256 numbers in [0, 1]."""
    with np.load(data_folder("digits-mnist") / "mnist_20k_10k.npz") as file:
        images = np.concatenate([file["train_images"], file["test_images"]])
        labels = np.concatenate([file["train_labels"], file["test_labels"]])
    part = images[:, 4:-4, 4:-4] / 255.0
    mix = overlaps(16, part.shape[1])
    return Domain((mix @ part @ mix.T).reshape(len(part), -1), labels.astype(int))


@cache
def read_usps() -> Domain:
    """Return 1800 images of USPS."""
    folder = data_folder("digits-mnist-usps-16x16")
    with np.load(folder / "mnist_vs_usps.npz") as file:
        return Domain(file["usps_x"].astype(float), file["usps_y"].astype(int))


@cache
def read_objects(name: str) -> Domain:
    """Return word counts of "amazon" or "caltech": shares, then standardised by row."""
    with np.load(data_folder("office-caltech-surf") / f"{name}_surf.npz") as file:
        x, y = file["x"].astype(float), file["y"].astype(int)
    shares = x / x.sum(axis=1, keepdims=True)
    centred = shares - shares.mean(axis=1, keepdims=True)
    return Domain(centred / centred.std(axis=1, keepdims=True), y)


def overlaps(n: int, size: int) -> np.ndarray:
    """Return the share of each of `size` pixels in each of n larger ones, (n, size)."""
    low = np.arange(n)[:, None] * size / n
    high = low + size / n
    pixel = np.arange(size)
    shared = np.minimum(high, pixel + 1) - np.maximum(low, pixel)
    return np.maximum(shared, 0.0) * n / size
