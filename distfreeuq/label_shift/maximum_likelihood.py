"""Maximum likelihood label shift: the prior under which target rows are likeliest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolArray,
    Classes,
    FloatArray,
    FloatMatrix,
    RowsLike,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.class_labels import name_classes
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.gram_sums import gram
from distfreeuq._numerics.mixture_likelihood import MixtureFit
from distfreeuq._numerics.passes.class_rows import ClassRows
from distfreeuq.exceptions import DistFreeWarning, IdentificationWarning
from distfreeuq.label_shift import guarantees
from distfreeuq.label_shift.class_matrix import TakingPart, check_room
from distfreeuq.label_shift.confusion import Confusion, count_predictions
from distfreeuq.label_shift.data import (
    SampleRows,
    Samples,
    TargetLabels,
    read_sample_rows,
    read_target_labels,
    refuse_labels_of_blocks,
)
from distfreeuq.label_shift.inference.hausman_test import compare_estimates
from distfreeuq.label_shift.inference.likelihood_delta_method import (
    LikelihoodCurvature,
    calibrated_noise,
    covariance_of_weights,
    curvature_at,
    prior_noise,
)
from distfreeuq.label_shift.inference.moment_estimate import (
    MomentEstimate,
    moments_of_posteriors,
)
from distfreeuq.label_shift.inference.scaling_noise import noise_of_scaling
from distfreeuq.label_shift.inference.score_intervals import score_ends
from distfreeuq.label_shift.inference.shift_test import compare_means
from distfreeuq.label_shift.labelled_shares import (
    LabelledShares,
    weigh_labels,
    with_shares,
)
from distfreeuq.label_shift.likelihood_solution import (
    LikelihoodSolution,
    solve_likelihood,
)
from distfreeuq.label_shift.linear_solution import invertibility
from distfreeuq.label_shift.output_cells import count_cells
from distfreeuq.label_shift.results import (
    TABLE_ALPHA,
    LabelShiftResult,
    WeightSolution,
)
from distfreeuq.label_shift.scalings import (
    SCALINGS,
    BiasCorrectedTemperature,
    LogScaling,
    Scaling,
    fit_scaling,
)

# Matrices by pairs of classes that are in memory at the same time, as measured.
_MATRICES = 22
# So many more with a scale or a bias for each class, whose matrices have four times as
# many entries.
_OF_VECTORS = 60

# Largest violation of the optimality conditions that passes without a warning.
_CONVERGED = 1e-6


def mlls(
    probs: RowsLike,
    labels: ArrayLike | None = None,
    probs_target: RowsLike | None = None,
    *,
    labels_target: ArrayLike | None = None,
    calibrate: str | None = "bcts",
    prior: str = "predictions",
    classes: ArrayLike | None = None,
) -> LabelShiftResult:
    """Class weights q / p by maximum likelihood of the target rows.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        A classifier's probabilities on source rows that it was not fitted on.
    labels : array_like (n,)
        Their labels: integers 0..K-1, or names listed in `classes`.
    probs_target : array_like (m, K)
        The same classifier's probabilities on unlabelled target rows.
        Rows of either sample may be of Dask or in blocks. They are then read some 25
        times, and not kept: there is no bootstrap.
    labels_target : array_like (m,), optional
        Labels of some target rows, chosen at random: None or NaN where the label is not
        known, as it must be of one row at least. Target rows in memory.
    calibrate : {"bcts", "ts", "vs", "nbvs", None}, default "bcts"
        What is fitted on the source and applied to both samples: bias-corrected
        temperature scaling; temperature scaling; vector scaling, a scale and a bias for
        each class; no-bias vector scaling. None if the probabilities are calibrated
        already.
    prior : {"predictions", "labels"}, default "predictions"
        What estimates the source prior p: the mean (calibrated) prediction on the
        source, or the label frequencies. After BCTS and vector scaling they are the
        same. Without a calibration, mean predictions err with the target's mean
        predictions, so that much of the error cancels: the weights vary less than
        BBSE's, while label frequencies make them vary more (theory page, 4.8).
    classes : sequence, optional
        Class names by column.

    Returns
    -------
    LabelShiftResult

    Notes
    -----
    Maximises mean_j log sum_k (q_k / p_k) f_k(X_j) over the simplex, until
    G_k = mean_j f_k / (p_k sum_i q_i f_i / p_i) is at most 1 + 1e-9 for every class,
    and within 1e-9 of 1 where q_k > 0. Zeros of q are exact. Where the likelihood is
    flat, q stays at p, and an `IdentificationWarning` names the classes.

    The weights need f to be calibrated in the source (P(Y = k | f) = f_k), which a
    calibration brings about only as far as its parameters go. Which one is best differs
    from classifier to classifier: [2]_ found BCTS and vector scaling good, and
    temperature scaling and no-bias vector scaling, which leave mean predictions apart
    from the labels' frequencies, worse. Scales of classes multiply log f less its mean
    over the classes, as theirs do. Intervals, standard
    errors and `region` do not: they are those of a second estimate, which solves the
    moment equations E_Q r = sum_j q_j E_P[r | Y = j] of the target posteriors r, and
    which calibration makes as good as the likelihood's in the first order. Where a
    weight lies outside its interval, a note says so. ``confint(method="likelihood")``
    has the likelihood's own intervals; they cover only if f is calibrated, and
    ``.calibration_test``, printed as "Calibration after BCTS", compares the two
    estimates (a large p-value does not show that it is).

    With `labels_target`, a labelled row's likelihood is q_y, so that the maximum is
    that of all rows together. Intervals, standard errors and `region` combine the
    moment equations of the other rows with the labelled rows' shares, by least variance
    (theory page, 4.15); those of the likelihood count the labels too. The tests do not.

    A class without source rows gets weight zero if p_k = 0 (always so after a
    calibration), with an `IdentificationWarning`.

    References
    ----------
    .. [1] Saerens, Latinne and Decaestecker (2002), "Adjusting the outputs of a
       classifier to new a priori probabilities", Neural Computation 14.
    .. [2] Alexandari, Kundaje and Shrikumar (2020), "Maximum likelihood with
       bias-corrected calibration is hard-to-beat at label shift adaptation", ICML.
    .. [3] Kim, Carbonetto, Stephens and Anitescu (2020), "A fast algorithm for maximum
       likelihood estimation of mixture proportions using sequential quadratic
       programming", JCGS 29.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.choice(2, p=[0.5, 0.5], size=20_000)
    >>> labels_target = rng.choice(2, p=[0.2, 0.8], size=20_000)
    >>> def classify(y):
    ...     return 1 / (1 + np.exp(2 - 4 * rng.normal(y, 0.6)))
    >>> fit = dfu.mlls(classify(labels), labels, classify(labels_target))
    >>> fit.target_prior.round(2).tolist()
    [0.2, 0.8]
    """
    args = Arguments("mlls")
    if calibrate is not None:
        calibrate = args.choice(calibrate, "calibrate", list(SCALINGS))
    prior = args.choice(prior, "prior", ["predictions", "labels"])
    samples, kept, names = read_sample_rows(args, probs, labels, probs_target, classes)
    refuse_labels_of_blocks(args, labels_target, samples)
    some = read_target_labels(args, labels_target, names, samples.target.n)
    needed = TakingPart.if_few(samples.class_counts > 0)
    if calibrate is None and prior == "predictions":
        needed = TakingPart(len(names), None)
        instead = "; after a calibration only classes with source rows take part"
        check_room(args, needed, _MATRICES, instead)
    else:
        many = _OF_VECTORS if calibrate in ("vs", "nbvs") else 0
        check_room(args, needed, _MATRICES + many)
    return fit_mlls(samples, kept, names, some, calibrate=calibrate, prior_from=prior)


@on_one_blas_thread
def fit_mlls(
    samples: SampleRows,
    kept: Samples | None,
    classes: Classes,
    labels: TargetLabels | None = None,
    *,
    calibrate: str | None,
    prior_from: str,
) -> LabelShiftResult:
    """Return MLLS's estimate; warnings point at the line that called the caller."""
    calibration = None
    if calibrate is not None:
        calibration = fit_scaling(calibrate, samples.source)
    solution = solve_likelihood(samples, calibration, prior_from, labels)
    calibrated, confusion = solution.calibrated, solution.confusion
    fit, p, weight = solution.fit, solution.source_prior, solution.weight

    few = TakingPart.if_few((p > 0) | (samples.class_counts > 0))
    source_gram = calibrated.source.parts.total(_Gram(few))
    curvature, spread = _curvature_and_spread(
        few, samples, solution, source_gram, calibration, prior_from, labels
    )
    raw_gram = source_gram if calibration is None and few.classes is None else None
    flat = np.ones(p.size, dtype=bool)
    flat[slice(None) if few.classes is None else few.classes] = curvature.flat
    at_zero = _slope_at_zero(few.of(fit.prior), curvature, few.of(p))
    moments, covariance = moments_of_posteriors(calibrated.without(labels), fit.prior)
    labelled = None
    if labels is not None:
        labelled = weigh_labels(labels.counts(p.size), moments)
        covariance = with_shares(labelled, covariance, moments)
    notes = _notes(fit, confusion, p, flat, classes)
    doubt = guarantees.scarce_classes(samples.class_counts, classes)
    doubt += _outside(weight, moments, labelled, calibration, classes)
    notes += [(None, note) for note in doubt]
    for kind, note in notes:
        if kind is not None:
            warn_user(note, kind)
    return LabelShiftResult(
        method="MLLS",
        classes=classes,
        solution=WeightSolution(
            raw=read_only(weight),
            label_weight=read_only(weight),
            target_prior=read_only(fit.prior),
        ),
        source_prior=read_only(p),
        source_counts=read_only(samples.class_counts),
        covariance=covariance,
        likelihood_covariance=few.matrix(spread, np.inf),
        slope_at_zero=read_only(few.vector(at_zero)),
        moments=moments,
        singular=bool(flat.any()),
        condition_number=invertibility(confusion).condition_number,
        confusion=confusion,
        regularization=None,
        prior_from=prior_from,
        calibration=calibration,
        samples=kept,
        predicted=None if kept is not None else count_predictions(samples),
        shift_test=compare_means(
            samples.source, samples.target, grams=(raw_gram, None)
        ),
        output_cells=count_cells(samples.source, samples.target),
        calibration_test=compare_estimates(calibrated, calibration, weight),
        labelled=labelled,
        notes=tuple(note for _, note in notes),
        guarantee=guarantees.moment_equations(labelled is not None),
    )


@dataclass(frozen=True, slots=True)
class _Gram:
    """Sums f f' over some rows, of the classes that take part."""

    few: TakingPart

    def __call__(self, rows: ClassRows) -> FloatMatrix:
        return gram(self.few.columns(rows.probs))


def _curvature_and_spread(
    few: TakingPart,
    samples: SampleRows,
    solution: LikelihoodSolution,
    source_gram: FloatMatrix,
    calibration: Scaling | None,
    prior_from: str,
    labels: TargetLabels | None,
) -> tuple[LikelihoodCurvature, FloatMatrix]:
    """Return the likelihood's curvature and the covariance of the weights (J, J).

    Both are of the classes that take part, as `source_gram` is, the sum of the source
    rows' outer products: the others have prior and weight zero.
    """
    # the calibration moves only what is said of rows without labels
    calibrated = solution.calibrated.without(labels)
    samples = samples.without(labels)
    p, weight, confusion = solution.source_prior, solution.weight, solution.confusion
    known = solution.known
    if few.classes is not None:
        known = SampleRows(samples.source, known).of_classes(few).target
        samples, calibrated = samples.of_classes(few), calibrated.of_classes(few)
        p, weight = few.of(p), few.of(weight)
        confusion = confusion.of_classes(few)
    curvature = curvature_at(known, weight, p)
    if calibration is None:
        noise = prior_noise(confusion, source_gram, prior_from)
    elif isinstance(calibration, LogScaling):
        own = calibration.of_classes(few)
        noise = noise_of_scaling(
            samples, calibrated, own, prior_from, weight, curvature
        )
    else:
        if few.classes is not None:
            bias = few.of(calibration.bias)
            calibration = BiasCorrectedTemperature(calibration.slope, bias)
        noise = calibrated_noise(
            samples, calibrated, confusion, source_gram, calibration, weight, curvature
        )
    return curvature, covariance_of_weights(curvature, noise, confusion.n)


def _slope_at_zero(
    prior: FloatArray, curvature: LikelihoodCurvature, p: FloatArray
) -> FloatArray:
    """Return m (p_k - mean s_k) = m p_k (1 - G_k) for the classes on the boundary.

    It bounds from below how fast the log-likelihood falls in w_k, the other weights
    chosen at their best: at the maximum their own slopes are zero or point downwards.
    """
    slope = curvature.rows * (p - curvature.mean)
    return np.where((prior == 0) & (p > 0), np.maximum(slope, 0.0), 0.0)


def _notes(
    fit: MixtureFit,
    confusion: Confusion,
    p: FloatArray,
    unidentified: BoolArray,
    classes: Classes,
) -> list[tuple[type[DistFreeWarning] | None, str]]:
    """Return what a reader should know, each with its kind of warning if it has one."""
    notes: list[tuple[type[DistFreeWarning] | None, str]] = []
    absent = np.flatnonzero(p == 0)
    if absent.size:
        named = name_classes(classes, absent)
        notes.append(
            (
                IdentificationWarning,
                f"The source lacks {named}: no weight can be estimated, and it was set "
                "to zero.",
            )
        )
    flat = np.flatnonzero(unidentified & (p > 0))
    if flat.size:
        named = name_classes(classes, flat)
        notes.append(
            (
                IdentificationWarning,
                f"The likelihood is flat in {named}: predictions do not tell these "
                "apart, and their weights are not identified.",
            )
        )
    if fit.violation > _CONVERGED:
        notes.append(
            (
                DistFreeWarning,
                f"The likelihood's maximum was not reached: its optimality conditions "
                f"are breached by {fit.violation:.2g}.",
            )
        )
    if fit.lost:
        notes.append(
            (
                None,
                f"{fit.lost:g} of {confusion.m} target rows have no mass on any class "
                "of the source, and were left out.",
            )
        )
    zero = np.flatnonzero((fit.prior == 0) & (p > 0))
    if zero.size:
        named = name_classes(classes, zero)
        notes.append(
            (
                None,
                f"The maximum lies on the boundary, at zero for {named}: bootstrap "
                "intervals and those of the likelihood are rough there.",
            )
        )
    return notes


def _outside(
    weight: FloatArray,
    moments: MomentEstimate,
    labelled: LabelledShares | None,
    calibration: Scaling | None,
    classes: Classes,
) -> list[str]:
    """Return a note if weights lie outside the printed intervals."""
    beside = None if labelled is None else labelled.beside
    low, high = score_ends(moments, TABLE_ALPHA, beside).T
    slack = 1e-9 * (1.0 + weight)
    outside = np.flatnonzero((weight < low - slack) | (weight > high + slack))
    if not outside.size:
        return []
    named = name_classes(classes, outside)
    when = f" after {calibration.name}" if calibration is not None else ""
    return [
        f"The weight of {named} lies outside its interval, which does not need "
        f"calibrated probabilities: calibration{when} is doubtful there."
    ]
