"""A file with a good digest and impossible numbers in it is refused.

Kernels take for granted what fits make sure of: an index out of range in a file would
be read, or written, out of bounds.
"""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq._base.files import archive
from tests.unit.base.test_persistence import rewrite

OLD = Path(__file__).parents[2] / "files" / "format1"


def entry(document: Any, path: str) -> Any:
    """Return the entry of a field such as "samples.labels" or "partition.0.edges"."""
    place = document["content"]
    for step in path.split("."):
        inside = place["tuple"][int(step)] if step.isdigit() else place["fields"][step]
        place = inside
    return place


def forge(file: Path, field: str, change: Any) -> None:
    """Save a file again with one array changed, and a digest that fits."""
    members = archive.read_archive(file)

    def edit(document: Any) -> None:
        spot = entry(document, field)
        array = np.asarray(change(archive.array_of(members[spot["array"]]).copy()))
        forged[spot["array"]] = array
        spot.update(dtype=array.dtype.str, shape=list(array.shape))

    forged: dict[str, Any] = {}
    rewrite(file, edit, sign=True, arrays=forged)


def put(position: Any, value: Any) -> Any:
    """Return the change that puts a value at a position."""

    def change(array: Any) -> Any:
        array[position] = value
        return array

    return change


def shorter(array: Any) -> Any:
    return array[:-1]


def longer(array: Any) -> Any:
    return np.concatenate([array, array[-1:]])


def backwards(array: Any) -> Any:
    return array[::-1]


def as_integers(array: Any) -> Any:
    return array.astype(np.int64)


def as_small_integers(array: Any) -> Any:
    return array.astype(np.int32)


FORGERIES = [
    # cells of the simplex: columns, children, cycles
    ("bins-canonical", "partition.column", put(0, 3)),
    ("bins-canonical", "partition.column", put(0, -1)),
    ("bins-canonical", "partition.column", shorter),
    ("bins-canonical", "partition.child", put((0, 0), 99)),
    ("bins-canonical", "partition.child", put((0, 0), -99)),
    ("bins-canonical", "partition.child", put((0, 0), 0)),
    ("bins-canonical", "partition.child", put((1, 0), 0)),
    ("bins-canonical", "partition.child", put((1, 0), 1)),
    ("bins-canonical", "partition.child", np.ravel),
    ("bins-canonical", "partition.threshold", put(0, np.nan)),
    ("bins-canonical", "partition.threshold", longer),
    ("bins-canonical", "partition.strict", shorter),
    ("bins-canonical", "frequencies", shorter),
    ("bins-canonical", "fallback", shorter),
    # intervals
    ("bins-two", "partition.edges", backwards),
    ("bins-two", "partition.edges", put(0, np.nan)),
    ("bins-two", "partition.edges", put(-1, np.inf)),
    ("bins-two", "partition.edges", longer),
    ("bins-two", "partition.strict", longer),
    ("bins-two", "partition.strict", as_integers),
    ("bins-two", "frequencies", shorter),
    ("bins-classwise", "partition.0.edges", backwards),
    ("bins-classwise", "frequencies", shorter),
    ("bins-top-label", "frequencies", shorter),
    ("bins-top-label", "label_counts", shorter),
    # samples
    ("bbse-soft", "samples.labels", put(0, 10**9)),
    ("bbse-soft", "samples.labels", put(0, -1)),
    ("bbse-soft", "samples.labels", shorter),
    ("bbse-soft", "samples.labels", as_small_integers),
    ("mlls", "samples.labels", put(0, 3)),
    ("mlls", "samples.probs_target", lambda array: array[:, :2]),
    ("mlls", "samples.probs", np.ravel),
    ("mlls", "samples.probs", put((0, 0), np.nan)),
    ("mlls", "samples.probs_target", put((0, 0), -0.5)),
    ("mlls", "calibration.bias", shorter),
    ("mlls", "solution.label_weight", shorter),
    ("bbse", "confusion.joint", shorter),
    ("bbse", "covariance", shorter),
    # conformal results
    ("split-aps", "thresholds", shorter),
    ("split-aps", "thresholds", put(0, np.nan)),
    ("split-aps", "scores", backwards),
    ("split-aps", "scores", shorter),
    ("split-aps", "scores", put(0, np.nan)),
    ("split-aps", "class_counts", shorter),
    ("label-conditional", "score_labels", put(0, 3)),
    ("label-conditional", "ranks", shorter),
    ("label-shift-known", "score_labels", put(0, -1)),
    ("label-shift-known", "label_weight", shorter),
    ("covariate-shift-conformal", "sample_weight", shorter),
    ("covariate-shift-conformal", "sample_weight", put(0, -1.0)),
    ("bins-shift", "shift.source_radius", shorter),
    ("sets", "mask", shorter),
    ("sets", "sizes", shorter),
    ("coverage", "size_counts", shorter),
    # curves and scales
    ("isotonic", "knots.0", backwards),
    ("isotonic", "knots.1", shorter),
    ("isotonic", "values.0", backwards),
    ("isotonic", "values.2", longer),
    ("isotonic", "knots.0", put(0, np.nan)),
    ("classwise", "inverse_temperatures", shorter),
    ("vector", "scale", shorter),
    ("platt", "coef", shorter),
    ("groupwise", "which", put(0, 99)),
    ("groupwise", "which", put(0, -2)),
    ("temperature", "bins_before", shorter),
    # density ratios and networks
    ("ratio-ulsif", "model.kernels", np.ravel),
    ("ratio-ulsif", "model.theta", shorter),
    ("ratio-ulsif", "model.center", shorter),
    ("ratio-knn", "model.target", lambda array: array[:, :1]),
    ("ratio-knn", "model.scale", longer),
    ("ratio-logistic", "model.discriminator.coef", shorter),
    ("ratio-mlp", "model.discriminator.hidden_bias", shorter),
    ("ratio-mlp", "model.discriminator.output_weight", shorter),
    ("ratio-mlp", "source_ratio", shorter),
    ("features", "network.hidden_weight", shorter),
    ("features", "discriminator.center", shorter),
    ("shifted-temperature", "sample_weight", shorter),
    # tables
    ("reliability", "edges", backwards),
    ("reliability", "weight", shorter),
    ("assessment", "estimates", shorter),
    ("comparison", "low", shorter),
    ("comparison-of-calibrations", "values", lambda array: array[:, :-1]),
    ("simulation", "values", np.ravel),
]


@pytest.mark.parametrize(
    ("name", "field", "change"),
    FORGERIES,
    ids=[f"{name}.{field}-{i}" for i, (name, field, _) in enumerate(FORGERIES)],
)
def test_a_forged_array_is_refused(name, field, change, tmp_path):
    path = tmp_path / "forged"
    dfu.load(OLD / f"{name}.npz").save(path)
    forge(path, field, lambda array: array)
    dfu.load(path)  # the forging itself is harmless
    forge(path, field, change)
    with pytest.raises(dfu.InputError, match="its content is not understood"):
        dfu.load(path)


def test_bools_that_are_none_are_refused(tmp_path):
    path = tmp_path / "forged"
    dfu.load(OLD / "sets.npz").save(path)
    forge(path, "mask", lambda mask: (2 * mask.view(np.uint8)).view(np.bool_))
    with pytest.raises(dfu.InputError, match="bools holds something else"):
        dfu.load(path)


@pytest.mark.parametrize("key", [-1, 2**64, 0.5, "0", True, None])
def test_a_key_of_hashes_that_is_none_is_refused(key, tmp_path):
    dfu.split_conformal([[0.8, 0.2]] * 30, [0] * 30, rng=0).save(tmp_path / "f.npz")

    def edit(document: Any) -> None:
        entry(document, "row_key")["fields"]["key"] = key

    rewrite(tmp_path / "f.npz", edit, sign=True)
    with pytest.raises(dfu.InputError, match=r"\(key: an integer"):
        dfu.load(tmp_path / "f.npz")


@pytest.mark.parametrize(
    ("name", "field", "other"),
    [
        ("bins-two", "partition", "guarantee"),
        ("bins-classwise", "partition", "guarantee"),
        ("bins-top-label", "partition", "guarantee"),
        ("split-aps", "score", "guarantee"),
        ("split-aps", "classes", "title"),
        ("groupwise", "pooled", "guarantee"),
        ("shifted-platt", "calibration", "guarantee"),
        ("ratio-knn", "model", "guarantee"),
        ("ratio-knn", "conditioning", "guarantee"),
        ("features", "network", "guarantee"),
    ],
)
def test_one_object_in_the_place_of_another_is_refused(name, field, other, tmp_path):
    path = tmp_path / "forged"
    fit = dfu.load(OLD / f"{name}.npz")
    fit.save(path)

    def swap(document: Any) -> None:
        fields = document["content"]["fields"]
        fields[field] = fields[other]

    rewrite(path, swap, sign=True)
    with pytest.raises(dfu.InputError, match="its content is not understood"):
        dfu.load(path)
    swapped = dataclasses.replace(fit, **{field: getattr(fit, other)})
    with pytest.raises(dfu.InputError, match="that it would refuse"):
        swapped.save(path)
