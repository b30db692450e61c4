"""Assess one classifier: all metrics, their intervals, and a test of calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    FloatMatrix,
    IntArray,
    RandomState,
    RowsLike,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.random_streams import stream
from distfreeuq._base.row_groups import Names, read_groups
from distfreeuq._numerics.sample_weights import divide, effective_sample_size
from distfreeuq.assessment.bootstrap import intervals, resample
from distfreeuq.assessment.data import read_measures
from distfreeuq.assessment.guarantees import valid_p_value
from distfreeuq.assessment.interval_rules import (
    WITHOUT_INTERVAL,
    enough_events,
    enough_hits,
    exact_share,
    near_noise,
    usable,
)
from distfreeuq.assessment.measures import Measures, Sums
from distfreeuq.assessment.monte_carlo_test import (
    calibration_test,
    noise,
    noise_by_cell,
)
from distfreeuq.assessment.results import AssessmentResult
from distfreeuq.metrics.bins import (
    CONFIDENCE,
    HIT,
    WEIGHT,
    check_bins,
    gap_norm,
    sum_by_group,
)
from distfreeuq.metrics.reliability_table import table_of_sums
from distfreeuq.metrics.smooth_error import smooth_error_of


def assess(
    probs: RowsLike,
    labels: ArrayLike | None = None,
    *,
    n_bins: int = 15,
    scheme: str | ArrayLike = "equal-width",
    closed: str = "right",
    event: str = "predicted",
    predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
    groups: ArrayLike | None = None,
    n_boot: int = 0,
    level: float = 0.95,
    n_sim: int = 999,
    rng: RandomState = None,
    n_jobs: int = 1,
    progress: bool = False,
) -> AssessmentResult:
    """Measure probabilities against labels: all metrics at once, and how sure we are.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        With `predicted`: the confidence in the predicted labels, (n,). Or rows of Dask,
        or a function that returns blocks with labels (and weights): a few numbers of
        each row are gathered, so that all is as in memory, but for the bootstrap of
        the class-wise ECE, which there is none of.
    labels : array_like (n,)
    n_bins, scheme, closed
        The bins, as in `metrics.ece`.
    event : {"predicted", "class-1"}
        Whose probability ECE, test and diagram are about: the predicted class's, or,
        with two classes, class 1's. In place of "accuracy" and "mean_confidence" there
        are then "frequency" and "mean_probability", of class 1.
    predicted : array_like (n,), optional
        Predicted labels, where there is no matrix. Class-wise ECE, Brier score and
        likelihood are then left out.
    sample_weight : array_like (n,), optional
        Importance weights: metrics and test are then about the target. The debiased
        error is left out.
    classes : sequence, optional
    groups : array_like (n,), optional
        Each row's group: confidence, accuracy and ECE are then given by group too
        (`group_frame`), beside the ECE that noise alone would give.
    n_boot : int, default 0
        Bootstrap samples for the intervals; 0 for none.
    level : float
        Level of the intervals, and of the reliability diagram's bands.
    n_sim : int, default 999
        Simulations for the test of calibration; 0 for no test.
    rng : seed, Generator, SeedSequence or None
    n_jobs : int
        Processes for the bootstrap.
    progress : bool

    Returns
    -------
    AssessmentResult

    Notes
    -----
    The test simulates the ECE of a calibrated classifier with the same confidences, so
    its p-value is valid at any sample size.

    With unequal weights its null hypothesis is calibration on the target: in every bin
    E[w (hit - confidence)] = 0 for the density ratio w of target to source, known up to
    a factor. It may depend on the label, as under label shift, because hit and weight
    are drawn together. The p-value is then the larger of two, and asymptotic: the
    simulation above, and random signs of w (hit - confidence). If moreover the
    confidence is the probability of being right given the weight too, and the weights
    depend on the inputs alone, it is valid at any sample size. Where fewer than 20 rows
    are right, or wrong, in effect, it rejects too often: nothing is claimed of it, and
    the table does not print it.

    The bootstrap draws rows; bins stay as they are. Its intervals are approximate.
    There is none where simulations found that they cover too seldom: for maxima over
    bins or classes and means over classes; for calibration errors near what noise
    alone gives; and for scores if fewer than 20 rows are wrong. The interval of
    unweighted accuracy is Clopper and Pearson's, which is exact.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> labels = rng.random(2000) < p
    >>> calibrated = dfu.assess(p, labels.astype(int), rng=0)
    >>> calibrated.test.p_value > 0.05
    True
    >>> sharper = p**2 / (p**2 + (1 - p) ** 2)
    >>> result = dfu.assess(sharper, labels.astype(int), n_boot=200, rng=0)
    >>> result.test.p_value
    0.001
    >>> low, high = result.interval("ece")
    >>> low < result["ece"] < high
    True
    """
    args = Arguments("assess")
    n_bins, how = check_bins(args, n_bins, scheme, closed)
    n_boot = args.count(n_boot, "n_boot", low=0)
    n_sim = args.count(n_sim, "n_sim", low=0)
    level = args.probability(level, "level")
    n_jobs = args.jobs(n_jobs)
    progress = args.flag(progress, "progress")
    measures = read_measures(
        args, probs, labels, n_bins, how, event, predicted, sample_weight, classes
    )
    names: Names = ()
    by_group: FloatMatrix = np.empty((0, 5))
    if groups is not None:
        names, codes = read_groups(args, groups, measures.rows.n)
        by_group = _group_table(measures, codes, len(names))
    generator = stream(rng, "bootstrap", "assess")
    test_stream, boot_stream = generator.spawn(2)
    rows = measures.rows
    sums = measures.sums()
    estimates = measures.values(sums)[0]
    weighted = bool(rows.weights.min() < 1.0)
    test = calibration_test(measures, n_sim, test_stream) if n_sim else None
    noise_alone = noise(measures) if test is None else test.null_mean
    unknown = np.full(estimates.size, np.nan)
    bias, low, high = unknown, unknown, unknown
    if n_boot:
        (samples,) = resample([measures], n_boot, boot_stream, n_jobs, progress)
        bias, low, high = intervals(measures.names, estimates, samples, level)
        near = near_noise(measures.names, estimates, noise_alone)
        keep = usable(measures, estimates, near, enough_events(measures))
        low, high = np.where(keep, [low, high], np.nan)
        unknown_bias = WITHOUT_INTERVAL - {"classwise_ece"}
        bias[[name in unknown_bias for name in measures.names]] = np.nan
        exact = exact_share(measures, level)
        if exact is not None:
            low[0], high[0] = exact  # accuracy, or the frequency of class 1
    return AssessmentResult(
        metrics=measures.names,
        estimates=read_only(estimates),
        bias=read_only(bias),
        low=read_only(low),
        high=read_only(high),
        level=level,
        n_boot=n_boot,
        test=test,
        noise=noise_alone,
        smooth_ece=min(smooth_error_of(rows), 1.0),
        reliability=table_of_sums(
            sums.by_class[0].sum(axis=0),
            measures.ends,
            level,
            rows.n,
            "class 1" if event == "class-1" else "predicted class is right",
            fixed_bins=how != "uniform-mass",
            given_edges=not isinstance(how, str),
            weight_scale=rows.weight_scale,
        ),
        by_class=read_only(_class_table(measures, sums)),
        groups=names,
        by_group=read_only(by_group),
        n=rows.n,
        ess=float(rows.n)
        if sample_weight is None
        else effective_sample_size(rows.weights),
        classes=rows.classes,
        guarantee=valid_p_value(n_sim, weighted, enough_hits(measures)),
    )


def _group_table(measures: Measures, codes: IntArray, n_groups: int) -> FloatMatrix:
    """Return the columns of `AssessmentResult.by_group`."""
    rows, n_bins = measures.rows, measures.n_bins
    sums = sum_by_group(rows, measures.bins, n_bins, codes, n_groups)
    totals = sums.sum(axis=1)
    out = np.empty((n_groups, 5))
    out[:, 0] = totals[:, WEIGHT] * rows.weight_scale
    out[:, 1:3] = divide(totals[:, [CONFIDENCE, HIT]], totals[:, [WEIGHT]])
    out[:, 3] = gap_norm(sums)
    alone = noise_by_cell(rows, codes * n_bins + measures.bins, n_groups * n_bins)
    out[:, 4] = divide(alone.reshape(n_groups, n_bins).sum(axis=1), totals[:, WEIGHT])
    return out


def _class_table(measures: Measures, sums: Sums) -> FloatMatrix:
    """Return the columns of `AssessmentResult.by_class`."""
    rows, n_classes = measures.rows, measures.n_classes
    if n_classes == 1 or rows.labels is None:
        return np.empty((0, 6))
    out = np.full((n_classes, 6), np.nan)
    scale, by_class = rows.weight_scale, sums.by_class[0]
    out[:, 0] = np.bincount(rows.labels, weights=rows.weights, minlength=n_classes)
    totals = by_class.sum(axis=1)
    out[:, 1] = totals[:, WEIGHT]
    out[:, 2:4] = divide(totals[:, [CONFIDENCE, HIT]], totals[:, [WEIGHT]])
    out[:, 4] = gap_norm(by_class)
    if sums.class_errors is not None:
        out[:, 5] = sums.class_errors[0]
    out[:, :2] *= scale
    return out
