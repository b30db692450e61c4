"""How good a classifier is on rows without labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, Classes, FloatArray, RandomState
from distfreeuq._base.arrays import read_only
from distfreeuq._base.class_labels import name_classes
from distfreeuq._base.row_groups import Names, look_up_groups, read_groups
from distfreeuq._numerics.row_blocks import refuse_blocks
from distfreeuq.density_ratios.results import DensityRatioResult
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.label_shift.data import read_some_labels
from distfreeuq.label_shift.maximum_likelihood import fit_mlls
from distfreeuq.label_shift.results import LabelShiftResult
from distfreeuq.monitoring.performance import guarantees
from distfreeuq.monitoring.performance.data import (
    Loss,
    Rows,
    float_rows,
    metric_name,
    own_losses,
    read_bounds,
    read_metrics,
    read_rows,
    read_sets,
    read_shift,
    read_weight,
)
from distfreeuq.monitoring.performance.estimates import Entry, Estimator
from distfreeuq.monitoring.performance.indicator_functions import (
    class_indicators,
    one_hot,
    posteriors,
)
from distfreeuq.monitoring.performance.results import PerformanceResult
from distfreeuq.monitoring.performance.target_means import (
    EstimatedPriors,
    GivenPriors,
    RowWeights,
)

# A group's number (-1 for all), its rows, own losses in the source and labelled rows.
_Part = tuple[int, Rows, dict[str, FloatArray], dict[str, FloatArray]]

Shift = LabelShiftResult | DensityRatioResult | FloatArray | None


_INSTEAD = (
    "Give arrays of a sample: its intervals look at rows several times. mlls takes "
    "blocks, as do metrics of weighted rows."
)


def target_performance(
    probs: ArrayLike,
    labels: ArrayLike,
    probs_target: ArrayLike,
    *,
    shift: Any = None,
    conformal: Any = None,
    metrics: Any = ("accuracy", "recall", "precision", "brier", "nll", "ece"),
    alpha: float = 0.05,
    delta: float = 0.05,
    sample_weight: ArrayLike | None = None,
    weight_bound: float | None = None,
    loss_bounds: Any = None,
    labels_target: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    groups_target: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
) -> PerformanceResult:
    """Estimate performance on unlabelled target rows, with intervals.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        The classifier's probabilities on source rows that neither it nor `conformal`
        was fitted on.
    labels : array_like (n,)
    probs_target : array_like (m, K)
        The same classifier's probabilities on unlabelled target rows.
    shift : optional
        What carries the source to the target: a `LabelShiftResult` estimated from these
        rows, or of known priors (`label_weights`); class weights q / p that are known
        up to scale, (K,), ones for no shift; or a `DensityRatioResult` of these rows.
        By default label shift, with proportions estimated by `mlls`.
    conformal : optional
        Prediction sets whose coverage and mean size are asked for: a fit, or a pair of
        `PredictionSets` of the source and of the target rows.
    metrics : sequence of str and functions
        Among "accuracy", "balanced_accuracy" (the mean recall of the classes that the
        source has; intervals allow for any recall of the others), "recall",
        "precision", "confusion" (shares of pairs of classes), "brier", "nll"
        (probabilities clipped at 1e-6) and "ece" (15 bins of equal width). A function
        is given `probs` and `labels` of the source rows and returns a loss for each.
    alpha : float, default 0.05
        One minus the level of asymptotic intervals.
    delta : float, default 0.05
        One minus the level of finite-sample intervals.
    sample_weight : array_like (n,), optional
        In place of `shift`: known density ratios q(x) / p(x) of the source rows, up to
        scale.
    weight_bound : float, optional
        A number that no such ratio exceeds, which finite-sample intervals need.
    loss_bounds : (float, float), optional
        What the functions in `metrics` never exceed, which finite-sample intervals of
        these need.
    labels_target : array_like (m,), optional
        Labels of target rows where some are known, None or NaN elsewhere: of rows that
        were chosen at random. They are combined with what the source carries, for the
        accuracy, Brier score, likelihood, confusions, losses of yours and the coverage
        of sets; precisions, recalls and the ECE do not use them.
    groups, groups_target : array_like (n,) and (m,), optional
        Each row's group: all is then estimated in each group too.
    classes : sequence, optional
    rng : Generator, optional
        For sets that are drawn at random and have no seed.

    Returns
    -------
    PerformanceResult

    Notes
    -----
    Under label shift a loss l with class means L_j has the mean sum_j q_j L_j over the
    target. Asymptotic intervals are those of the mean over the target of h, a
    combination of outputs that has the same class means; the noise of both samples and
    of the estimated proportions is in them. Calibrated probabilities are not needed.

    Finite-sample intervals need label shift, not one of the estimates of it. A third of
    the rows (every third of each class, and of the target's, in the order given)
    chooses h, the others bound E_Q h + sum_j q_j E[l - h | Y = j] for all q that are
    below caps. Where outputs do not tell classes apart they are wide. The ECE, of which
    estimates are too large by noise, has none, nor do precisions with more than 20
    classes.

    With labels of some target rows, their mean loss, corrected by the outputs of all
    target rows, and what the source carries are weighted so that the variance is least:
    in the limit no worse than either alone. Finite-sample intervals are the common part
    of those of either at delta / 2.

    Where fewer than 20 source rows are wrong, as they count for the target, asymptotic
    intervals allow for half a row of each class that is as wrong as can be; losses of
    your own without bounds have none there.

    Recalls are those of the source: label shift does not change them.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.choice(2, p=[0.5, 0.5], size=4000)
    >>> labels_target = rng.choice(2, p=[0.1, 0.9], size=4000)
    >>> def classify(y):
    ...     return 1 / (1 + np.exp(2 - 4 * rng.normal(0.8 * y, 0.6)))
    >>> probs, probs_target = classify(labels), classify(labels_target)
    >>> result = dfu.target_performance(
    ...     probs, labels, probs_target, metrics=["accuracy", "recall"])
    >>> frame = result.to_frame()
    >>> limit = frame[(frame.metric == "accuracy") & (frame.kind == "asymptotic")]
    >>> limit[["source", "estimate", "low", "high"]].round(2).values.tolist()
    [[0.75, 0.71, 0.69, 0.73]]
    >>> round(float(((probs_target > 0.5) == labels_target).mean()), 2)
    0.71
    """
    args = Arguments("target_performance")
    refuse_blocks(
        args, {"probs": probs, "labels": labels, "probs_target": probs_target}, _INSTEAD
    )
    alpha = args.alpha(alpha)
    delta = args.probability(delta, "delta")
    chosen = read_metrics(args, metrics)
    ends = read_bounds(args, loss_bounds)
    rows, names = read_rows(args, probs, labels, probs_target, classes)
    given = read_shift(args, shift, rows, names)
    weight, bound = read_weight(args, sample_weight, weight_bound, rows.predicted.size)
    if weight is not None and given is not None:
        args.invalid("sample_weight", "given without shift", "both")
    if isinstance(given, DensityRatioResult):
        weight = given.source_weight
    rows = replace(rows, weight=weight)
    known, codes = read_some_labels(
        args, labels_target, names, rows.predicted_target.size
    )
    if known.any():
        if isinstance(given, DensityRatioResult):
            must = "None with an estimated density ratio, whose error is not known"
            args.invalid("labels_target", must, f"{codes.size} labels")
        of_target = np.full(known.size, -1, dtype=np.int64)
        of_target[known] = codes
        rows = replace(rows, labels_target=of_target)
    if isinstance(given, LabelShiftResult) and given.labelled is not None:
        counts = np.bincount(codes, minlength=len(names))
        if not np.array_equal(counts, given.labelled.counts):
            r, k = given.labelled.r, codes.size
            must = f"the {r} labels that the shift was estimated with"
            args.invalid("labels_target", must, f"{k} labels" if k else "None")
    if (groups is None) != (groups_target is None):
        absent = "groups" if groups is None else "groups_target"
        args.invalid(absent, "given for both samples", "None")
    if conformal is not None:
        by_group = (groups, groups_target)
        sets = read_sets(args, conformal, rows.samples, names, by_group, rng)
        rows = replace(rows, sets=sets[0], sets_target=sets[1])
    losses = {
        metric_name(metric): own_losses(args, metric, rows.samples, names)
        for metric in chosen
        if callable(metric)
    }
    new_losses = {}
    if known.any():
        for metric in filter(callable, chosen):
            some = rows.of_labelled().samples
            new_losses[metric_name(metric)] = own_losses(args, metric, some, names)
    parts: list[_Part] = [(-1, rows, losses, new_losses)]
    group_names: Names = ()
    if groups is not None:
        group_names, codes = read_groups(args, groups, rows.predicted.size)
        codes_target, _ = look_up_groups(
            Arguments(args.caller),
            groups_target,
            rows.predicted_target.size,
            group_names,
        )
        for code in range(len(group_names)):
            source = np.flatnonzero(codes == code)
            target = np.flatnonzero(codes_target == code)
            if target.size:
                own = {name: values[source] for name, values in losses.items()}
                inside = codes_target[rows.labelled] == code
                new = {name: values[inside] for name, values in new_losses.items()}
                parts.append((code, rows.take(source, target), own, new))
    return _fit(parts, given, bound, chosen, ends, alpha, delta, names, group_names)


def _fit(
    parts: Sequence[_Part],
    given: Shift,
    bound: float | None,
    metrics: tuple[str | Loss, ...],
    ends: tuple[float, float] | None,
    alpha: float,
    delta: float,
    classes: Classes,
    groups: Names,
) -> PerformanceResult:
    """Return the result of all rows together, and of each group."""
    found: list[tuple[int, Entry]] = []
    first: Estimator | None = None
    shift, notes = "", []
    for code, rows, losses, new_losses in parts:
        estimator, text = _estimator(rows, given, bound, alpha, delta, classes)
        if first is None:
            first, shift = estimator, text
            notes = _notes(estimator, classes)
        for metric in metrics:
            if isinstance(metric, str):
                found += [(code, row) for row in getattr(estimator, metric)()]
                continue
            low, high = (-np.inf, np.inf) if ends is None else ends
            name = metric_name(metric)
            values, new = losses[name], new_losses.get(name)
            if ends is not None:
                values = np.clip(values, low, high)
                new = None if new is None else np.clip(new, low, high)
            row = estimator.loss(name, values, low, high, labelled=new)
            found.append((code, row))
        if rows.sets is not None:
            found += [(code, row) for row in estimator.sets()]
    assert first is not None
    entries = [row for _, row in found]
    return PerformanceResult(
        metrics=tuple(row.metric for row in entries),
        row_class=_integers([row.of_class for row in entries]),
        row_predicted=_integers([row.predicted for row in entries]),
        row_group=_integers([code for code, _ in found]),
        source=_floats([row.source for row in entries]),
        estimates=_floats([row.estimate for row in entries]),
        low=_floats([row.limit[0] for row in entries]),
        high=_floats([row.limit[1] for row in entries]),
        certified_low=_floats([row.exact[0] for row in entries]),
        certified_high=_floats([row.exact[1] for row in entries]),
        alpha=alpha,
        delta=delta,
        target_prior=read_only(np.array(first.prior)),
        shift=shift,
        classes=classes,
        groups=groups,
        n=first.rows.predicted.size,
        m=first.rows.predicted_target.size,
        notes=tuple(notes),
        guarantees=_guarantees(first, alpha, delta, bound, entries, bool(groups)),
    )


def _integers(values: list[int]) -> Any:
    return read_only(np.array(values, dtype=np.int64))


def _floats(values: list[float]) -> Any:
    return read_only(np.array(values, dtype=np.float64))


def _estimator(
    rows: Rows,
    given: Shift,
    bound: float | None,
    alpha: float,
    delta: float,
    classes: Classes,
) -> tuple[Estimator, str]:
    """Return what estimates from these rows, and how the shift is called."""
    of = rows.samples
    k = of.probs.shape[1]
    unknown = np.full(k, np.nan)
    if isinstance(given, DensityRatioResult):
        assert rows.weight is not None
        text = f"covariate, density ratio by {given.method}"
        learnt, kind = RowWeights(rows.weight), guarantees.LEARNT
        return Estimator(rows, learnt, kind, True, unknown, None, alpha, delta), text
    if rows.weight is not None:
        design = RowWeights(rows.weight)
        kind = guarantees.RATIOS
        text = "covariate, given density ratio"
        return Estimator(rows, design, kind, True, unknown, bound, alpha, delta), text
    if isinstance(given, np.ndarray):
        finite = np.where(np.isinf(given), 0.0, given)
        most = float(given.max())
        by_row = finite[of.labels]
        told = bool(by_row.any()) and bool(np.isfinite(most))
        design = RowWeights(by_row if by_row.any() else np.ones(of.labels.size))
        text = "label, given class weights"
        if bool((given == given[0]).all()):
            text = "none"
        kind = guarantees.WEIGHTS
        limit = most if told else float("inf")
        return Estimator(rows, design, kind, told, unknown, limit, alpha, delta), text
    if given is not None and given.known:
        priors = GivenPriors(of.labels, given.target_prior)
        kind = guarantees.PRIORS
        prior = given.target_prior
        return (
            Estimator(rows, priors, kind, True, prior, None, alpha, delta),
            "label, given priors",
        )
    if given is None or given.n != of.labels.size:
        given = _of_these_rows(rows, given, classes)
    outputs, new = _outputs(rows, given)
    indicators = class_indicators(outputs, of.labels, new, k)
    feasible = _onto_simplex(indicators.prior)
    if given.solution is not None and given.n == of.labels.size:
        feasible = given.target_prior
    estimated = EstimatedPriors(of.labels, indicators)
    kind = guarantees.ESTIMATED
    told = indicators.told
    return (
        Estimator(rows, estimated, kind, told, feasible, None, alpha, delta),
        f"label, proportions by {given.method}",
    )


def _of_these_rows(
    rows: Rows, given: LabelShiftResult | None, classes: Classes
) -> LabelShiftResult:
    """Return MLLS's estimate of a group's rows, or of all; others stay as they are."""
    if given is not None and given.method != "MLLS":
        return given
    of = rows.samples
    return fit_mlls(of.rows, of, classes, calibrate="bcts", prior_from="predictions")


def _outputs(rows: Rows, given: LabelShiftResult) -> Any:
    """Return the functions of the output that the shift's estimate is made of."""
    of = rows.samples
    k = of.probs.shape[1]
    if given.method in ("BBSE", "RLLS"):
        return one_hot(rows.predicted, k), one_hot(rows.predicted_target, k)
    if given.method != "MLLS":
        return float_rows(of.probs), float_rows(of.probs_target)
    source, target = of.probs, of.probs_target
    if given.calibration is not None:
        source, target = (given.calibration.apply(x) for x in (source, target))
    p = of.class_counts / of.labels.size
    size = min(of.labels.size, of.probs_target.shape[0])
    # some of the source's proportions, so that no posterior is constant
    mixed = (size * given.target_prior + k * p) / (size + k)
    weight = np.divide(mixed, p, out=np.zeros(k), where=p > 0)
    return posteriors(float_rows(source), weight), posteriors(
        float_rows(target), weight
    )


def _onto_simplex(prior: FloatArray) -> FloatArray:
    """Return proportions that are none below zero."""
    positive = np.maximum(prior, 0.0)
    total = float(positive.sum())
    return positive / total if total > 0.0 else np.full(prior.size, 1.0 / prior.size)


def _notes(estimator: Estimator, classes: Classes) -> list[str]:
    """Return what a reader of the numbers should know."""
    notes = []
    counts = estimator.rows.samples.class_counts
    absent = np.flatnonzero(counts == 0)
    if absent.size and estimator.kind == guarantees.ESTIMATED:
        notes.append(
            f"The source has no rows of {name_classes(classes, absent)}: nothing "
            "bounds their part in the target, and finite-sample intervals say little."
        )
    labelled = estimator.rows.labelled.size
    if labelled:
        notes.append(
            f"Labels of {labelled} target rows are used, except in recalls, balanced "
            "accuracy, precisions and the ECE."
        )
    return notes


def _guarantees(
    estimator: Estimator,
    alpha: float,
    delta: float,
    bound: float | None,
    entries: Sequence[Entry],
    grouped: bool,
) -> tuple[Guarantee | NoGuarantee, ...]:
    """Return a guarantee for each kind of interval that the table has."""
    kind = estimator.kind
    labelled = bool(estimator.rows.labelled.size)
    told = estimator.told or labelled
    bounded = bound is not None or labelled
    out = [
        guarantees.in_the_limit(
            kind, alpha, told=told, labelled=labelled, grouped=grouped
        ),
        guarantees.at_every_size(
            kind, delta, bounded=bounded, labelled=labelled, grouped=grouped
        ),
    ]
    if any(row.metric == "recall" for row in entries) and kind in (
        guarantees.ESTIMATED,
        guarantees.PRIORS,
        guarantees.WEIGHTS,
    ):
        out.append(guarantees.of_recalls(delta, grouped=grouped))
    return tuple(out)
