"""Rows of a calibration under covariate shift: their features and their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolArray,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._base.arrays import describe, listed
from distfreeuq._base.keyword_options import complete_options
from distfreeuq._base.random_streams import stream
from distfreeuq.calibration.data import read_logits
from distfreeuq.calibration.rows.masked_logits import check_labels_of_masked
from distfreeuq.density_ratios.data import (
    Samples,
    read_labels,
    read_new_rows,
    read_ratio_options,
    read_samples,
)
from distfreeuq.density_ratios.estimation import density_ratio, fit_density_ratio
from distfreeuq.density_ratios.results import DensityRatioResult, weights_by_ratio
from distfreeuq.density_ratios.rows.samples_in_blocks import SamplesInBlocks
from distfreeuq.feature_learning.data import read_training_options
from distfreeuq.feature_learning.learning import (
    fit_feature_map,
    indistinguishable_features,
)
from distfreeuq.feature_learning.results import FeatureMapResult

_MOST_FEATURES = 64
"""Features are learnt in as many units as there are columns, up to this number."""

WeightsFrom = Literal[
    "none", "known", "held out", "matched", "given ratio", "given ratio's rows"
]


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
        Positions of these rows among the source rows given.
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

    def samples(self, args: Arguments, what: str) -> Samples:
        """Return source and target features, which `what` needs."""
        if self.source is None or self.target is None:
            parameter = "source" if self.source is None else "target"
            args.invalid(parameter, f"given for {what}", "None")
        return Samples(self.source, self.target, range(self.source.shape[1]))


class LearntFeatures(NamedTuple):
    """Rows in learnt features, the map, and the numbers of rows it was learnt on."""

    rows: ShiftedRows
    feature_map: FeatureMapResult | None
    n_source: int | None
    n_target: int | None


def read_shifted_rows(
    args: Arguments,
    logits: ArrayLike | None,
    labels: ArrayLike | None,
    source: ArrayLike | None,
    target: ArrayLike | None,
    classes: ArrayLike | None,
    *,
    may_mask: bool = False,
) -> ShiftedRows:
    """Check those of the arguments that are given."""
    if labels is None:
        args.invalid("labels", "an array of labels, one per row", "None")
    rows = others = features = None
    if source is not None and target is not None:
        rows, others, features = read_samples(args, source, target)
    elif source is not None:
        rows = args.features(source, "source")
    if logits is not None:
        matrix, names = read_logits(args, logits, classes, may_mask=may_mask)
        if matrix.shape[0] == 0:
            args.invalid("logits", "of at least one row", "no rows")
        codes = args.labels(labels, names, matrix.shape[0])
        check_labels_of_masked(args, matrix, codes, names)
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
    source, target, features = rows.samples(args, "feature learning")
    share = args.probability(map_share, "map_share")
    generator = stream(rng, "split", args.caller)
    of_source = _drawn(args, source.shape[0], share, generator)
    of_target = _drawn(args, target.shape[0], share, generator)
    drawn = Samples(source[of_source], target[of_target], features)
    given = {"n_hidden": min(source.shape[1], _MOST_FEATURES), "rng": rng}
    given |= read_mapping(args, how, "feature_learning")
    if "classes" in given:
        args.invalid("feature_learning", "without 'classes'", describe(how))
    options = complete_options(
        indistinguishable_features, given, without=("classes", "progress")
    )
    map_rng = options.pop("rng")
    checked = read_training_options(
        Arguments("indistinguishable_features"),
        drawn,
        len(rows.classes),
        progress=progress,
        **options,
    )
    found = fit_feature_map(
        drawn, rows.codes[of_source], rows.classes, checked, map_rng
    )
    left = rows._replace(codes=rows.codes[~of_source], kept=rows.kept[~of_source])
    return LearntFeatures(
        _mapped(args, left, found, source[~of_source], target[~of_target]),
        found,
        int(of_source.sum()),
        int(of_target.sum()),
    )


def _given_map(
    args: Arguments, rows: ShiftedRows, fmap: FeatureMapResult
) -> LearntFeatures:
    source, target, _ = rows.samples(args, "a feature map")
    read_new_rows(args, source[:1], "source", range(len(fmap.features)))
    if list(fmap.classes) != list(rows.classes):
        must = "a map with the classes of the labels"
        args.invalid("feature_learning", must, f"one with {listed(fmap.classes)}")
    mapped = _mapped(args, rows, fmap, source, target)
    mapped = mapped._replace(features=fmap.features)
    return LearntFeatures(mapped, fmap, None, None)


def _mapped(
    args: Arguments,
    rows: ShiftedRows,
    fmap: FeatureMapResult,
    source: FloatMatrix,
    target: FloatMatrix,
) -> ShiftedRows:
    """Return the rows in learnt features, which are not finite if training diverged."""
    network = fmap.network
    return rows._replace(
        logits=args.logits(network.logits(source))[0],
        source=args.features(network.hidden(source), "source"),
        target=args.features(network.hidden(target), "target"),
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


class RowWeights(NamedTuple):
    """Weights, and where they come from.

    Attributes
    ----------
    source : ndarray (n,) or None
        Weights of the calibration rows; None for no weights.
    target : ndarray (m,) or None
        Weights of the target rows, where weights are estimated.
    ratio : DensityRatioResult or None
    come_from : str
        As in `RowUse`.
    """

    source: FloatArray | None
    target: FloatArray | None
    ratio: DensityRatioResult | None
    come_from: WeightsFrom

    @property
    def n_target(self) -> int | None:
        """Number of target rows that the weights were estimated with, if they were."""
        if self.target is not None:
            return self.target.size
        return None if self.ratio is None else self.ratio.n_target


def names_a_method(args: Arguments, ratio: Any, options: Any) -> bool:
    """Say whether `ratio` is a method of `density_ratio`: only these take options."""
    is_method = isinstance(ratio, str) or hasattr(ratio, "predict_proba")
    if options is not None and not is_method:
        must = "None, unless 'ratio' is a method of density_ratio"
        args.invalid("ratio_options", must, "options")
    return is_method


def weigh_rows(
    args: Arguments, rows: ShiftedRows, ratio: Any, options: Any, rng: RandomState
) -> RowWeights:
    """Return the weights that `ratio` stands for: nothing, numbers, a fit, a method."""
    is_method = names_a_method(args, ratio, options)
    if ratio is None:
        return RowWeights(None, None, None, "none")
    if isinstance(ratio, DensityRatioResult):
        return _by_result(args, rows, ratio)
    if not is_method:
        given = args.weights(ratio, "ratio", rows.n_given, squared=True)[rows.kept]
        if given.max() == 0.0:
            args.invalid("ratio", "positive for a row that calibrates", "all zero")
        return RowWeights(given, None, None, "known")
    return estimate_weights(
        args, rows.samples(args, "a density ratio"), ratio, options, rng
    )


def estimate_weights(
    args: Arguments,
    samples: Samples | SamplesInBlocks,
    ratio: Any,
    options: Any,
    rng: RandomState,
) -> RowWeights:
    """Return weights by a method of `density_ratio`."""
    wanted = {"rng": rng} | read_mapping(args, options, "ratio_options")
    chosen = complete_options(density_ratio, wanted, without=("method",))
    own_rng = chosen.pop("rng")
    checked = read_ratio_options(
        Arguments("density_ratio"), samples, method=ratio, **chosen
    )
    found = fit_density_ratio(samples, checked, own_rng)
    if found.auc is None:  # kernel mean matching has none of target rows
        return RowWeights(found.source_weight, None, found, "matched")
    return RowWeights(found.source_weight, found.target_weight, found, "held out")


def _by_result(
    args: Arguments, rows: ShiftedRows, ratio: DensityRatioResult
) -> RowWeights:
    if ratio.n_source == rows.codes.size:
        others = None if ratio.auc is None else ratio.target_weight
        return RowWeights(ratio.source_weight, others, ratio, "given ratio's rows")
    samples = rows.samples(args, "a ratio of other rows")
    weights = weights_by_ratio(ratio, args, samples.source, "source")
    others = weights_by_ratio(ratio, args, samples.target, "target")
    return RowWeights(weights, others, ratio, "given ratio")


def read_mapping(args: Arguments, value: Any, parameter: str) -> dict[str, Any]:
    """Return options by name; none for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        args.invalid(parameter, "a mapping of options by name", describe(value))
    return dict(value)
