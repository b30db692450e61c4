"""Estimates that see the classifier as a black box: BBSE and RLLS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
    RowsLike,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.class_labels import name_classes
from distfreeuq._base.tallied import Tallied
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.gram_sums import gram
from distfreeuq._numerics.passes.class_rows import ClassRows
from distfreeuq.exceptions import IdentificationWarning
from distfreeuq.label_shift import guarantees
from distfreeuq.label_shift.class_matrix import ClassMatrix, TakingPart, check_room
from distfreeuq.label_shift.confusion import (
    Confusion,
    count_predictions,
    counted_confusion,
    hard_confusion,
    soft_confusion,
)
from distfreeuq.label_shift.data import (
    SampleRows,
    Samples,
    TargetLabels,
    read_and_predict,
    read_counts,
    read_sample_rows,
    read_target_labels,
    refuse_labels_of_blocks,
)
from distfreeuq.label_shift.inference.delta_method import (
    hard_covariance,
    soft_covariance,
)
from distfreeuq.label_shift.inference.moment_estimate import (
    MomentEstimate,
    covariance_of_predictions,
    moments_of_predictions,
)
from distfreeuq.label_shift.inference.moments.counted_moments import (
    covariance_of_counts,
    moments_of_counts,
)
from distfreeuq.label_shift.inference.shift_test import compare_counts, compare_means
from distfreeuq.label_shift.labelled_shares import (
    LabelledShares,
    weigh_labels,
    with_shares,
)
from distfreeuq.label_shift.linear_solution import (
    Invertibility,
    invertibility,
    normalize,
    solve,
)
from distfreeuq.label_shift.output_cells import OutputCells, count_cells
from distfreeuq.label_shift.regularized_solution import (
    default_regularization,
    regularized_weights,
)
from distfreeuq.label_shift.results import LabelShiftResult, WeightSolution

# Matrices by pairs of classes that are in memory at the same time, as measured.
_MATRICES, _SOFT_MATRICES = 13, 18


def bbse(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = None,
    probs_target: RowsLike | Tallied | None = None,
    *,
    labels_target: ArrayLike | None = None,
    soft: bool = False,
    classes: ArrayLike | None = None,
) -> LabelShiftResult:
    """Class weights q / p by black-box shift estimation: solve C w = mu.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        A classifier's probabilities on source rows that it was not fitted on. They need
        not be calibrated; hard predictions may be given as rows of zeros and a one.
    labels : array_like (n,)
        Their labels: integers 0..K-1, or names listed in `classes`.
    probs_target : array_like (m, K)
        The same classifier's probabilities on unlabelled target rows.
        `probs` (then without `labels`) and `probs_target` may each be a `Tally` of the
        rows (see `tally`), where predictions are not soft, or rows of Dask or in
        blocks. There is then no `goodness_of_fit` of predictions that are not soft,
        which needs the confidences, and no bootstrap of soft ones.
    labels_target : array_like (m,), optional
        Labels of some target rows, chosen at random: None or NaN where the label is not
        known, as it must be of one row at least. Weights and intervals then combine
        them with the predictions of the other rows (theory page, 4.15). Rows in memory.
    soft : bool, default False
        Use the probabilities themselves in place of the predicted classes.
    classes : sequence, optional
        Class names by column.

    Returns
    -------
    LabelShiftResult

    Notes
    -----
    C_ij = P(predicted i, class j) is counted in the source and mu_i = P(predicted i) in
    the target; under label shift C w = mu. Ties between the most likely classes go to
    the first. ``.raw`` is the solution, ``.label_weight`` is clipped at zero and
    divided by sum_k p_k w_k.

    If a class is never predicted in the source, or has no source rows, C is singular
    and the weights are not identified: an `IdentificationWarning` names the class,
    reading ``.label_weight`` is an error, and ``.region()`` still holds.

    With `labels_target`, q_k is the combination of least variance of the estimate from
    the rows without labels and of the labelled rows' share of class k: its interval is
    in the limit no wider than either alone. Classes that predictions do not tell apart
    have the weights of their labels; only a class without source rows has none. The
    tests do not use the labels.

    References
    ----------
    .. [1] Lipton, Wang and Smola (2018), "Detecting and correcting for label shift with
       black box predictors", ICML.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.choice(2, p=[0.5, 0.5], size=20_000)
    >>> labels_target = rng.choice(2, p=[0.2, 0.8], size=20_000)
    >>> def classify(y):  # a score that overlaps between the classes
    ...     return 1 / (1 + np.exp(2 - 4 * rng.normal(y, 0.6)))
    >>> fit = dfu.bbse(classify(labels), labels, classify(labels_target))
    >>> fit
    <LabelShiftResult BBSE n=20000 m=20000 K=2>
    >>> fit.target_prior.round(2).tolist()
    [0.2, 0.8]
    >>> fit.confint(0.05).round(2).tolist()
    [[0.37, 0.43], [1.55, 1.63]]
    """
    args = Arguments("bbse")
    soft = args.flag(soft, "soft")
    data, names = _read(args, soft, probs, labels, probs_target, classes, labels_target)
    result = fit_confusion(data, names, None)
    if result.raw is None:
        warn_user(
            f"{result.notes[0]} rlls and mlls estimate weights nevertheless.",
            IdentificationWarning,
        )
    return result


def rlls(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = None,
    probs_target: RowsLike | Tallied | None = None,
    *,
    labels_target: ArrayLike | None = None,
    regularization: float | None = None,
    soft: bool = False,
    classes: ArrayLike | None = None,
) -> LabelShiftResult:
    """Class weights q / p by regularised learning: BBSE drawn towards no shift.

    Parameters
    ----------
    probs, labels, probs_target, labels_target, soft, classes
        As in `bbse`.
    regularization : float, optional
        The factor of ``|w - 1|``, at least 0. By default that of the authors' code,
        0.01 * 3 (2 ln(2K/0.05) / (3n) + sqrt(2 ln(2K/0.05) / n)).

    Returns
    -------
    LabelShiftResult

    Notes
    -----
    theta = w - 1 minimises ``|C theta - b| + regularization * |theta|``, b = mu - C 1;
    the norms are not squared, so that the minimum is exactly BBSE up to some
    regularisation and exactly w = 1 from another one on. Solved exactly, also for a
    singular C.

    Standard errors and asymptotic intervals are those of the unregularised solution,
    and say nothing of classes that a singular C does not tell apart: a smaller spread
    is bought with a bias that cannot be estimated. ``.region()`` is BBSE's.

    With `labels_target`, the weights are combined with the labelled rows' shares as
    BBSE's would be, which leaves 1 - a_k of the bias, a_k what the shares count for.
    Intervals, standard errors and region are those of `bbse` with these labels.

    References
    ----------
    .. [1] Azizzadenesheli, Liu, Yang and Anandkumar (2019), "Regularized learning for
       domain adaptation under label shifts", ICLR.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs = [[0.9, 0.1]] * 6 + [[0.2, 0.8]] * 4
    >>> labels = [0, 0, 0, 0, 1, 0, 1, 1, 1, 0]
    >>> target = [[0.9, 0.1]] * 3 + [[0.2, 0.8]] * 7
    >>> fit = dfu.rlls(probs, labels, target, regularization=0.3)
    >>> fit.label_weight.round(3).tolist(), fit.regularization
    ([0.929, 1.107], 0.3)
    """
    args = Arguments("rlls")
    soft = args.flag(soft, "soft")
    data, names = _read(args, soft, probs, labels, probs_target, classes, labels_target)
    if regularization is None:
        regularization = default_regularization(data.confusion.n, len(names))
    else:
        must = "a non-negative finite number or None"
        largest = float(np.finfo(np.float64).max)
        regularization = args.number(
            regularization, "regularization", must, low=0.0, high=largest
        )
    return fit_confusion(data, names, regularization)


@dataclass(frozen=True, slots=True)
class _Data:
    """All that BBSE and RLLS are made from.

    Attributes
    ----------
    confusion : Confusion
    class_counts : ndarray (K,)
        Source rows by class.
    samples : Samples or None
        The rows, where probabilities are used, not predictions, and are in memory.
    output_cells : OutputCells or None
        What tests label shift itself; None if there are no rows.
    rows : SampleRows or None
        The rows to sum over, where probabilities are used and not predictions.
    labels : TargetLabels or None
        Labels of some target rows.
    unlabelled, unlabelled_rows : Confusion, SampleRows or None
        As `confusion` and `rows`, of the target rows without labels alone, if others
        have one.
    """

    confusion: Confusion
    class_counts: IntArray
    samples: Samples | None
    output_cells: OutputCells | None
    labels: TargetLabels | None = None
    unlabelled: Confusion | None = None
    rows: SampleRows | None = None
    unlabelled_rows: SampleRows | None = None


def _read(
    args: Arguments,
    soft: bool,
    probs: RowsLike | Tallied,
    labels: ArrayLike | None,
    probs_target: RowsLike | Tallied | None,
    classes: ArrayLike | None,
    labels_target: ArrayLike | None = None,
) -> tuple[_Data, Classes]:
    """Return the sums over both samples, and the classes, from rows or from tallies."""
    if soft:
        return _read_soft(args, probs, labels, probs_target, classes, labels_target)
    counted = read_counts(args, probs, labels, probs_target, classes)
    if counted is not None:
        source, target, names = counted
        if labels_target is not None:
            must = "None where rows come in blocks or as a Tally"
            args.invalid("labels_target", must, "labels")
        occurs = source.by_prediction() + source.by_label() + target.by_prediction() > 0
        check_room(args, TakingPart.if_few(occurs), _MATRICES)
        confusion = counted_confusion(source, target)
        return _Data(confusion, source.by_label(), None, None), names
    arrays: Any = (probs, labels, probs_target, classes)
    samples, names, predictions = read_and_predict(args, *arrays)
    occurs = samples.class_counts > 0
    occurs[predictions.of_source] = occurs[predictions.of_target] = True
    check_room(args, TakingPart.if_few(occurs), _MATRICES)
    confusion = hard_confusion(
        predictions.of_source, samples.labels, predictions.of_target, len(names)
    )
    said = predictions.of_source, predictions.of_target
    cells = count_cells(samples.rows.source, samples.rows.target, said)
    data = _Data(confusion, samples.class_counts, None, cells)
    some = read_target_labels(args, labels_target, names, confusion.m)
    if some is None:
        return data, names
    said_of_others = predictions.of_target[~some.known]
    others = hard_confusion(
        predictions.of_source, samples.labels, said_of_others, len(names)
    )
    return replace(data, labels=some, unlabelled=others), names


def _read_soft(
    args: Arguments,
    probs: RowsLike | Tallied,
    labels: ArrayLike | None,
    probs_target: RowsLike | Tallied | None,
    classes: ArrayLike | None,
    labels_target: ArrayLike | None,
) -> tuple[_Data, Classes]:
    """Return the same of rows whose probabilities are summed."""
    rows: list[Any] = [probs, probs_target]
    for value, parameter in zip(rows, ("probs", "probs_target"), strict=True):
        if isinstance(value, Tallied):
            must = "rows where predictions are soft: tallies count predicted classes"
            args.invalid(parameter, must, "a Tally")
    samples, kept, names = read_sample_rows(args, rows[0], labels, rows[1], classes)
    check_room(args, TakingPart.if_few(samples.class_counts > 0), _SOFT_MATRICES)
    confusion = soft_confusion(samples)
    cells = count_cells(samples.source, samples.target)
    data = _Data(confusion, samples.class_counts, kept, cells, rows=samples)
    refuse_labels_of_blocks(args, labels_target, samples)
    some = read_target_labels(args, labels_target, names, confusion.m)
    if some is None:
        return data, names
    rest = samples.without(some)
    others = soft_confusion(rest)
    return replace(data, labels=some, unlabelled=others, unlabelled_rows=rest), names


@on_one_blas_thread
def fit_confusion(
    data: _Data, classes: Classes, regularization: float | None
) -> LabelShiftResult:
    """Return BBSE's estimate or, with a regulariser, RLLS's.

    From predicted classes or, where the data have rows, from soft predictions.
    """
    confusion, counts, rows = data.confusion, data.class_counts, data.rows
    soft = rows is not None
    prior = counts / confusion.n
    shape = invertibility(confusion)
    # with labels of some target rows, what is solved has only the others
    solved = confusion if data.unlabelled is None else data.unlabelled
    unregularized = solve(solved, singular=shape.singular)
    raw = unregularized
    if regularization is not None:
        raw = regularized_weights(solved, regularization)

    covariance: FloatMatrix | ClassMatrix | None = None
    predicted = None
    if rows is not None:
        predicted = None if data.samples is not None else count_predictions(rows)
        target_gram = None
        if not isinstance(confusion.joint, ClassMatrix):
            target_gram = rows.target.parts.total(_gram)
        test = compare_means(rows.source, rows.target, grams=(None, target_gram))
        if data.unlabelled_rows is not None:
            moments = moments_of_predictions(data.unlabelled_rows, None)
        else:
            moments = moments_of_predictions(rows, target_gram)
            if unregularized is not None and target_gram is not None:
                covariance = soft_covariance(
                    confusion, unregularized, rows.source, target_gram
                )
    else:
        test = compare_counts(confusion.joint.sum(axis=1), confusion.target)
        moments = moments_of_counts(solved)
        if unregularized is not None and data.labels is None:
            covariance = hard_covariance(solved, unregularized)

    labelled = None
    if data.labels is not None:
        labelled = weigh_labels(data.labels.counts(len(classes)), moments)
        raw = _combined(raw, labelled, moments, prior)
        of_moments = (
            covariance_of_counts(solved)
            if data.unlabelled_rows is None
            else covariance_of_predictions(data.unlabelled_rows)
        )
        covariance = with_shares(labelled, of_moments, moments)
    solution = None
    if raw is not None:
        weight = normalize(raw, prior)
        solution = WeightSolution(
            raw=read_only(raw),
            label_weight=read_only(weight),
            target_prior=read_only(prior * weight),
        )
    if not isinstance(covariance, ClassMatrix | None):
        covariance = read_only(covariance)

    name = "BBSE" if regularization is None else "RLLS"
    return LabelShiftResult(
        method=f"soft {name}" if soft else name,  # type: ignore[arg-type]
        classes=classes,
        solution=solution,
        source_prior=read_only(prior),
        source_counts=read_only(counts),
        covariance=covariance,
        likelihood_covariance=None,
        slope_at_zero=None,
        moments=moments,
        singular=shape.singular and (labelled is None or not counts.all()),
        condition_number=shape.condition_number,
        confusion=confusion,
        regularization=regularization,
        prior_from="labels",
        calibration=None,
        samples=data.samples,
        predicted=predicted,
        shift_test=test,
        output_cells=data.output_cells,
        calibration_test=None,
        labelled=labelled,
        notes=tuple(
            _notes(confusion, shape, raw, counts, classes, labelled is not None)
        ),
        guarantee=(
            guarantees.norm_ball(labelled is not None)
            if soft
            else guarantees.exact_cells(labelled is not None)
        ),
    )


def _gram(rows: ClassRows) -> FloatMatrix:
    return gram(rows.probs)


def _combined(
    raw: FloatArray | None,
    labelled: LabelledShares,
    moments: MomentEstimate,
    prior: FloatArray,
) -> FloatArray | None:
    """Return the weights with those of the labelled rows' shares.

    The moment estimate stands for what a singular confusion matrix does not solve: it
    counts only for classes that predictions tell from others. None, without a
    regulariser, if a class has no source rows; its weight is left as it is with one.
    """
    here = prior > 0
    if raw is None:
        if not here.all():
            return None
        raw = moments.prior / prior
    by_labels = np.divide(labelled.shares, prior, out=raw.copy(), where=here)
    return (1.0 - labelled.weight) * raw + labelled.weight * by_labels


def _notes(
    confusion: Confusion,
    shape: Invertibility,
    raw: FloatArray | None,
    counts: IntArray,
    classes: Classes,
    labelled: bool,
) -> list[str]:
    """Return what a reader of the weights should know."""
    notes = []
    if shape.singular:
        rests = "there are none" if raw is None else "they rest on the regulariser"
        if labelled and raw is not None:
            rests = (
                "those of classes that predictions do not tell apart are the labels'"
            )
        notes.append(
            f"The confusion matrix is singular ({_why_singular(confusion, classes)}), "
            f"so that predictions do not identify the weights: {rests}."
            if labelled
            else f"The confusion matrix is singular "
            f"({_why_singular(confusion, classes)}), so that the weights are not "
            f"identified: {rests}."
        )
    elif shape.weak:
        doubtful, others = (
            "asymptotic and bootstrap",
            ("The methods 'finite-sample' and 'anderson-rubin' do not invert it."),
        )
        if labelled:
            doubtful, others = (
                "asymptotic",
                ("The method 'finite-sample' does not invert it."),
            )
        notes.append(
            "The confusion matrix is nearly singular, within its sampling noise: "
            f"{doubtful} intervals are not to be trusted. {others}"
        )
    absent = np.flatnonzero((counts == 0) & (confusion.target > 0))
    if absent.size:
        named = name_classes(classes, absent)
        notes.append(
            f"The target is predicted to hold {named}, of which there is no source row."
        )
    if raw is not None and (raw < 0).any():
        named = name_classes(classes, np.flatnonzero(raw < 0))
        notes.append(
            f"Negative weights as solved ({named}) were set to zero, and the others "
            "rescaled."
        )
    return notes + guarantees.scarce_classes(counts, classes)


def _why_singular(confusion: Confusion, classes: Classes) -> str:
    never = np.flatnonzero(confusion.joint.sum(axis=1) == 0)
    absent = np.flatnonzero(confusion.joint.sum(axis=0) == 0)
    reasons = []
    if absent.size:
        reasons.append(f"{name_classes(classes, absent)} without source rows")
    if never.size:
        reasons.append(f"{name_classes(classes, never)} never predicted in the source")
    return "; ".join(reasons) or "predictions do not tell some classes apart"
