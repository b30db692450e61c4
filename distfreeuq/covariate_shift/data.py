"""Rows of a calibration under covariate shift, before and after feature learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolArray,
    Classes,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._base.arrays import describe, listed
from distfreeuq._base.random_streams import stream
from distfreeuq.calibration.logits import read_logits
from distfreeuq.density_ratios.data import read_labels, read_samples
from distfreeuq.density_ratios.results import DensityRatioResult, read_new_rows
from distfreeuq.feature_learning.learning import indistinguishable_features
from distfreeuq.feature_learning.results import FeatureMapResult

_MOST_FEATURES = 64


class ShiftedRows(NamedTuple):
    """Checked rows.

    Attributes
    ----------
    logits : ndarray (n, K) or None
    codes : ndarray (n,)
        Labels as column numbers.
    classes : sequence
    source, target : ndarray or None
        What density ratios are estimated on: features as given, or as learnt.
    features : sequence or None
        Names of the columns of the features as given.
    kept : ndarray (n,)
        Which of the source rows given these are.
    n_given : int
        Number of source rows given.
    """

    logits: FloatMatrix | None
    codes: IntArray
    classes: Classes
    source: FloatMatrix | None
    target: FloatMatrix | None
    features: Classes | None
    kept: IntArray
    n_given: int

    def named_labels(self) -> Any:
        """Return the labels (n,) in the user's own names."""
        names = np.empty(len(self.classes), dtype=object)
        names[:] = list(self.classes)
        return names[self.codes]

    def both(self, args: Arguments, what: str) -> tuple[FloatMatrix, FloatMatrix]:
        """Return source and target features, which `what` needs."""
        if self.source is None or self.target is None:
            parameter = "source" if self.source is None else "target"
            args.invalid(parameter, f"given for {what}", "None")
        return self.source, self.target


class LearntFeatures(NamedTuple):
    """Rows in learnt features, the map, and the numbers of rows it was learnt on."""

    rows: ShiftedRows
    feature_map: FeatureMapResult | None
    n_source: int | None
    n_target: int | None


def read_shifted_rows(
    args: Arguments,
    logits: ArrayLike | None,
    labels: ArrayLike,
    source: ArrayLike | None,
    target: ArrayLike | None,
    classes: ArrayLike | None,
) -> ShiftedRows:
    """Check what of the rows is given."""
    rows = others = features = None
    if source is not None and target is not None:
        rows, others, features = read_samples(args, source, target)
    elif source is not None:
        rows = args.features(source, "source")
    if logits is not None:
        matrix, names = read_logits(args, logits, classes)
        if matrix.shape[0] == 0:
            args.invalid("logits", "of at least one row", "no rows")
        codes = args.labels(labels, names, matrix.shape[0])
    elif rows is not None:
        matrix = None
        names, codes = read_labels(args, labels, classes, rows.shape[0])
    else:
        args.invalid("logits", "given, unless features are learnt", "None")
    if rows is not None and rows.shape[0] != codes.size:
        must = f"of {codes.size} rows, one for each label"
        args.invalid("source", must, f"{rows.shape[0]} rows")
    kept = np.arange(codes.size)
    return ShiftedRows(matrix, codes, names, rows, others, features, kept, codes.size)


def learn_features(
    args: Arguments,
    rows: ShiftedRows,
    how: Any,
    ratio: Any,
    map_share: Any,
    rng: RandomState,
    progress: bool,
) -> LearntFeatures:
    """Return the rows that calibrate, in learnt features if features are learnt."""
    if isinstance(how, FeatureMapResult):
        return _given_map(args, rows, how)
    if not isinstance(how, Mapping):
        if not args.flag(how, "feature_learning"):
            return LearntFeatures(rows, None, None, None)
        how = {}
    if isinstance(ratio, DensityRatioResult):
        must = "a method or known weights, if features are yet to be learnt"
        args.invalid("ratio", must, describe(ratio))
    source, target = rows.both(args, "feature learning")
    share = args.probability(map_share, "map_share")
    generator = stream(rng, "split", args.caller)
    of_source = _drawn(args, source.shape[0], share, generator)
    of_target = _drawn(args, target.shape[0], share, generator)
    options: dict[str, Any] = {
        "n_hidden": min(source.shape[1], _MOST_FEATURES),
        "classes": rows.classes,
        "rng": rng,
    }
    found = indistinguishable_features(
        source[of_source],
        rows.named_labels()[of_source],
        target[of_target],
        progress=progress,
        **(options | read_mapping(args, how, "feature_learning")),
    )
    left = rows._replace(codes=rows.codes[~of_source], kept=rows.kept[~of_source])
    return LearntFeatures(
        _mapped(left, found, source[~of_source], target[~of_target]),
        found,
        int(of_source.sum()),
        int(of_target.sum()),
    )


def _given_map(
    args: Arguments, rows: ShiftedRows, fmap: FeatureMapResult
) -> LearntFeatures:
    source, target = rows.both(args, "a feature map")
    read_new_rows(args, source[:1], "source", range(len(fmap.features)))
    if list(fmap.classes) != list(rows.classes):
        must = "a map with the classes of the labels"
        args.invalid("feature_learning", must, f"one with {listed(fmap.classes)}")
    mapped = _mapped(rows, fmap, source, target)._replace(features=fmap.features)
    return LearntFeatures(mapped, fmap, None, None)


def _mapped(
    rows: ShiftedRows, fmap: FeatureMapResult, source: FloatMatrix, target: FloatMatrix
) -> ShiftedRows:
    return rows._replace(
        logits=fmap.network.logits(source),
        source=fmap.network.hidden(source),
        target=fmap.network.hidden(target),
    )


def _drawn(
    args: Arguments, n: int, share: float, generator: np.random.Generator
) -> BoolArray:
    """Return which rows learn the features, shape (n,)."""
    n_drawn = round(share * n)
    if not 2 <= n_drawn <= n - 2:
        must = "a share that leaves two rows or more on both sides"
        args.invalid("map_share", must, f"{share:g} of {n} rows")
    drawn = np.zeros(n, dtype=np.bool_)
    drawn[generator.permutation(n)[:n_drawn]] = True
    return drawn


def read_mapping(args: Arguments, value: Any, parameter: str) -> dict[str, Any]:
    """Return options by name; none for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        args.invalid(parameter, "a mapping of options by name", describe(value))
    return dict(value)
