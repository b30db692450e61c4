"""Scaling-binning: fit a map, choose bins of its outputs, average it in each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolArray,
    FloatMatrix,
    RandomState,
)
from distfreeuq._base.arrays import describe, read_only
from distfreeuq._base.random_streams import stream
from distfreeuq._numerics.row_blocks import refuse_blocks
from distfreeuq.binning.data import BinningRows
from distfreeuq.binning.histogram import fit_histogram
from distfreeuq.binning.settings import read_options
from distfreeuq.calibration.calibrators import (
    Calibrator,
    fit_calibrator,
    read_calibrator,
    takes_probs,
)
from distfreeuq.calibration.data import read_rows_in_memory, read_weights
from distfreeuq.calibration.results import Outcome, change_fields, outcome_of
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows
from distfreeuq.calibration.scaled_bins.guarantees import outputs_guarantee
from distfreeuq.calibration.scaled_bins.output_bounds import (
    extremes_of,
    label_radius,
    map_radius,
    outputs_of,
)
from distfreeuq.calibration.scaled_bins.results import ScalingBinningResult, averaged

_SHARES = "two shares of the rows, for the map and for the bins, that leave some"


def scaling_binning(
    logits: ArrayLike,
    labels: ArrayLike,
    calibrator: Any = "temperature",
    *,
    n_bins: int = 10,
    mode: str = "auto",
    split: ArrayLike = (1 / 3, 1 / 3),
    alpha: float = 0.1,
    sample_weight: ArrayLike | None = None,
    weight_bound: float | None = None,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
) -> ScalingBinningResult:
    """Fit a scaling map, and give out its mean in each of a few bins of its outputs.

    Parameters
    ----------
    logits : array_like (n, K), or (n,) for log-odds of class 1
        A classifier's logits on rows that it was not fitted on; probabilities, if the
        calibrator is one of probabilities.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`.
    calibrator : str, callable or object, default "temperature"
        The scaling map, as `groupwise_calibration` reads it: "temperature", "platt",
        "vector", "beta", ..., ``functools.partial`` of such a function with options, or
        a function or object of yours that takes `sample_weight`.
    n_bins : int, default 10
        Number of bins; class-wise, for each class. Where outputs tie there are fewer.
    mode : {"auto", "canonical", "classwise", "top-label"}
        What has bins: "canonical" the probability of class 1, for two classes;
        "classwise" that of each class; "top-label" the largest. "auto" is canonical for
        two classes and top-label for more.
    split : (float, float), default (1/3, 1/3)
        Shares of the rows, drawn at random, that fit the map and that choose the bins;
        the others give outputs and intervals. With 0 as the second, bins are at order
        statistics of these others themselves, as in `histogram_binning`.
    alpha : float, default 0.1
        Probability that the radius fails in some bin.
    sample_weight : array_like (n,), optional
        w(x) = q(x)/p(x) of the rows, up to scale, for covariate shift.
    weight_bound : float, optional
        A number that no weight can exceed, on the weights' scale: with it, and weights
        that are the true ratio, the radii hold in finite samples.
    classes : sequence, optional
        Class names by column.
    rng : seed, Generator or None
        Draws the parts.

    Returns
    -------
    ScalingBinningResult

    Notes
    -----
    The three steps of [1]_: the map varies less from sample to sample than labels in
    bins do, and bins make its calibration error one that can be measured. What holds at
    every sample size (theory page, 8.8), for any map:

    - The labels of the third part bound how far each output is from the true frequency
      in its bin, in all bins at once (`radius`). Unlike the radius of
      `histogram_binning` it does not go to 0 with many rows if the map is wrong.
    - In all bins at once outputs are within `map_radius` of the map's own mean there, a
      share of the bin's width: a bin of width 1/M needs M^2 times fewer rows for that
      than a frequency of labels for its own. So the calibration error of the outputs is
      at most that of the map, in whatever norm, plus `cost`.

    The paper's theorem 4.1 bounds the error by twice that of the best map of a family,
    for sample sizes that have unknown constants; here the error is bounded by what the
    rows show.

    References
    ----------
    .. [1] Kumar, Liang and Ma (2019), "Verified uncertainty calibration", NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(0.0, 3.0, (6000, 3))
    >>> labels = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> fit = dfu.scaling_binning(logits, labels, "vector", n_bins=4, rng=0)
    >>> fit.to_frame()[["n", "output", "frequency", "radius"]].round(3)
         n  output  frequency  radius
    0  464   0.478      0.433   0.096
    1  515   0.610      0.592   0.067
    2  541   0.746      0.723   0.069
    3  480   0.901      0.862   0.078
    >>> round(fit.cost, 3)
    0.037
    """
    args = Arguments("scaling_binning")
    name, chosen = read_calibrator(args, calibrator)
    instead = "Give arrays of a sample: the three parts are drawn from all rows."
    refuse_blocks(args, {"logits": logits}, instead)
    of_probs = isinstance(chosen, Calibrator) and chosen.takes_probs
    may_be_probs = of_probs or not isinstance(chosen, Calibrator)
    arrays = (logits, labels, sample_weight, classes)
    masks = isinstance(chosen, Calibrator) and chosen.takes_masked
    rows = read_rows_in_memory(args, *arrays, may_be_probs=may_be_probs, may_mask=masks)
    if of_probs:
        args.probs(rows.logits, "logits")
    weights = read_weights(args, sample_weight, rows.n)
    mode = _mode(args, mode, rows.n_classes)
    first, second, third = _parts(args, split, rows.n, rng)
    if weights is not None:
        for some, of in ((first, "the map's part"), (third, "the outputs' part")):
            if not weights[some].max() > 0.0:
                args.invalid("sample_weight", f"positive for a row of {of}", "all zero")
    own = rows.some(first)
    options: Any = {}
    if isinstance(chosen, Calibrator):
        options = chosen.options(own, {})
    given = None if weights is None else weights[first]
    scaling = fit_calibrator(args, chosen, own, options, given)

    def scaled(some: BoolArray) -> FloatMatrix:
        return np.ascontiguousarray(scaling._predict(rows.logits[some]))

    last = BinningRows(
        scaled(third),
        rows.labels[third],
        rows.classes,
        None if weights is None else weights[third],
    )
    counted, settings = read_options(
        args,
        last,
        n_bins=n_bins,
        mode=mode,
        alpha=alpha,
        partition_on=scaled(second) if second.any() else None,
        weight_bound=weight_bound,
    )
    binning = fit_histogram(counted, settings)
    predictor = averaged(binning)

    def become(some: CalibrationRows) -> Outcome:
        probs = np.ascontiguousarray(scaling._predict(some.logits))
        return outcome_of(some, predictor._predict(probs))

    bins = outputs_of(binning)
    radius = label_radius(bins)
    return ScalingBinningResult(
        **change_fields(rows, become, of_probs=takes_probs(scaling)),
        guarantee=outputs_guarantee(binning, extremes_of(bins, radius)),
        calibrator=name,
        scaling=scaling,
        binning=binning,
        n_scaling=own.n,
        radius=read_only(radius),
        map_radius=read_only(
            map_radius(bins, settings.alpha, weighted=weights is not None)
        ),
    )


def _mode(args: Arguments, mode: str, n_classes: int) -> str:
    mode = args.choice(mode, "mode", ["auto", "canonical", "classwise", "top-label"])
    if mode == "auto":
        return "canonical" if n_classes == 2 else "top-label"
    if mode == "canonical" and n_classes > 2:
        must = "'classwise' or 'top-label' for more than two classes"
        args.invalid("mode", must, "'canonical'")
    return mode


class _Parts(NamedTuple):
    """Which rows fit the map, choose the bins and give outputs, each (n,)."""

    first: BoolArray
    second: BoolArray
    third: BoolArray


def _parts(args: Arguments, split: Any, n_rows: int, rng: RandomState) -> _Parts:
    shares = args.array(split, "split", _SHARES)
    if shares.shape != (2,) or shares.dtype.kind not in "iuf":
        args.invalid("split", _SHARES, describe(split))
    of_map, of_bins = (float(share) for share in shares)
    if not (0.0 < of_map < 1.0 and 0.0 <= of_bins < 1.0 and of_map + of_bins < 1.0):
        args.invalid("split", _SHARES, describe(split))
    n_map, n_bins = round(of_map * n_rows), round(of_bins * n_rows)
    enough = n_map > 0 and n_map + n_bins < n_rows and (n_bins > 0 or of_bins == 0.0)
    if not enough:
        got = f"{of_map:g} and {of_bins:g} of {n_rows} rows"
        args.invalid("split", "shares that leave rows in every part", got)
    order = stream(rng, "split", args.caller).permutation(n_rows)
    masks = [np.zeros(n_rows, dtype=np.bool_) for _ in range(3)]
    ends = (0, n_map, n_map + n_bins, n_rows)
    for mask, start, end in zip(masks, ends[:-1], ends[1:], strict=True):
        mask[order[start:end]] = True
    return _Parts(*masks)
