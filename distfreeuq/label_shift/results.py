"""What the estimators of label shift return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.files.rows_left_out import kept
from distfreeuq._base.persistence import register
from distfreeuq._base.random_streams import stream
from distfreeuq._base.stored_state import (
    State,
    column_names,
    either,
    flag,
    floats,
    integers,
    masses,
    maybe,
    part,
    part_or_none,
    real,
    require,
    several,
    text,
)
from distfreeuq._numerics.gram_sums import gram
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq._numerics.sample_weights import effective_sizes
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.label_shift import guarantees
from distfreeuq.label_shift.class_matrix import ClassMatrix
from distfreeuq.label_shift.confusion import Confusion, hard_confusion
from distfreeuq.label_shift.data import Samples
from distfreeuq.label_shift.inference.anderson_rubin import anderson_rubin_intervals
from distfreeuq.label_shift.inference.delta_method import (
    delta_intervals,
    standard_errors,
)
from distfreeuq.label_shift.inference.finite_sample_regions import (
    exact_enclosure,
    exact_region,
    norm_region,
)
from distfreeuq.label_shift.inference.goodness_of_fit import (
    GoodnessOfFitTest,
    compare_with_mixtures,
)
from distfreeuq.label_shift.inference.hausman_test import HausmanTest, compare_estimates
from distfreeuq.label_shift.inference.moment_estimate import (
    MomentEstimate,
    moments_of_posteriors,
    moments_of_predictions,
)
from distfreeuq.label_shift.inference.moments.counted_moments import moments_of_counts
from distfreeuq.label_shift.inference.moments.limiting_law import (
    LimitLaw,
    law_of,
    law_of_prior,
    limit_law,
)
from distfreeuq.label_shift.inference.proportion_caps import PriorCaps, prior_caps
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.inference.resampled_weights import (
    Refit,
    percentile_intervals,
    refit_likelihood,
    refit_soft,
    resample_counts,
    resample_rows,
)
from distfreeuq.label_shift.inference.score_intervals import (
    Labelled,
    score_box,
    score_ends,
)
from distfreeuq.label_shift.inference.shift_test import (
    N_DRAWS,
    ShiftTest,
    compare_counts,
    compare_means,
)
from distfreeuq.label_shift.labelled_shares import LabelledShares
from distfreeuq.label_shift.output_cells import (
    MOST_CLASSES,
    OutputCells,
    count_cells,
)
from distfreeuq.label_shift.posterior import check_and_reweight, reweight
from distfreeuq.label_shift.scalings import (
    BiasCorrectedTemperature,
    LogScaling,
    Scaling,
)
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

Method = Literal["BBSE", "soft BBSE", "RLLS", "soft RLLS", "MLLS", "known"]

# One minus the level of the intervals in the frame, the summary and the plot.
TABLE_ALPHA = 0.05

# With more classes than this, tables have a box around the exact region in place of the
# smallest one, which takes two linear programs per class.
_MANY_CLASSES = 50


@register("weight-solution")
@dataclass(frozen=True, slots=True, eq=False)
class WeightSolution:
    """Weights that are identified.

    Attributes
    ----------
    raw : ndarray (K,)
        The weights as solved.
    label_weight : ndarray (K,)
        Clipped at zero, and divided by sum_k p_k w_k.
    target_prior : ndarray (K,)
        The target's class proportions that they imply.
    """

    raw: FloatArray
    label_weight: FloatArray
    target_prior: FloatArray

    _state: ClassVar[State] = {
        "raw": floats("K", nan=False),
        "label_weight": floats("K", low=0.0, nan=False),
        "target_prior": floats("K", low=0.0, nan=False),
    }


@register("label-shift")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LabelShiftResult(Result):
    """Class weights w = q / p of a label shift, and how well they are known.

    Attributes
    ----------
    method : str
        "BBSE", "soft BBSE", "RLLS", "soft RLLS", "MLLS" or "known".
    classes : sequence
        Class names by position.
    solution : WeightSolution or None
        What `raw`, `label_weight` and `target_prior` return; None if the weights are
        not identified.
    source_prior : ndarray (K,)
        p: label frequencies, or MLLS's mean predictions.
    source_counts : ndarray (K,)
        Source rows by class; zeros for known priors.
    covariance : ndarray (K, K), ClassMatrix or None
        Covariance whose roots `std_err` has, by the delta method: of `raw` for BBSE, of
        the unregularised solution for RLLS, of the moment estimate for MLLS (it needs
        no calibrated probabilities). With labels of target rows, of the moment estimate
        combined with their shares, for every method. None where it does not exist.
        Beyond 500 classes, of which at least half have no rows, a `ClassMatrix` of the
        others.
    likelihood_covariance : ndarray (K, K), ClassMatrix or None
        MLLS: covariance of `raw` if the probabilities are calibrated.
    slope_at_zero : ndarray (K,) or None
        MLLS: how fast the target's log-likelihood falls as a weight that is zero
        increases; 0 for positive weights.
    moments : MomentEstimate or None
        The solution of the moment equations, from which asymptotic intervals are made.
    singular : bool
        Whether the estimating equation is singular: a confusion matrix that cannot be
        inverted, or a likelihood that is flat in some direction; with labels of target
        rows, only if a class lacks source rows.
    condition_number : float
        That of the confusion matrix (MLLS: of the calibrated mean predictions by
        class).
    confusion : Confusion or None
        Confusion matrix and target predictions.
    regularization : float or None
        The regulariser of RLLS.
    prior_from : str
        Where `source_prior` is from: "labels", "predictions" or "given".
    calibration : BiasCorrectedTemperature, LogScaling or None
        The calibration of MLLS.
    samples : Samples or None
        The rows, which the bootstrap of soft predictions and of MLLS needs. The result
        keeps both matrices in memory, and does not copy them: do not change them while
        you use it. None for counted predictions, and after ``save(rows=False)``.
    predicted : Confusion or None
        How often each class is predicted, where rows were in blocks and the estimate is
        not made of these counts.
    shift_test : ShiftTest or None
        What `test` returns.
    output_cells : OutputCells or None
        Counts of which `goodness_of_fit` is made; None for known priors, more than 200
        classes with source rows, tallies, and counted predictions in files of early
        releases.
    calibration_test : HausmanTest or None
        MLLS: do the source's labels agree with the (calibrated) probabilities?
    labelled : LabelledShares or None
        Labels of some target rows, which `solution`, `covariance`, intervals and region
        use; `moments` is then that of the other target rows.
    notes : tuple of str
        What a reader of the numbers should know.
    guarantee : Guarantee or NoGuarantee

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs = [[0.9, 0.1]] * 6 + [[0.2, 0.8]] * 4
    >>> labels = [0, 0, 0, 0, 1, 0, 1, 1, 1, 0]
    >>> target = [[0.9, 0.1]] * 3 + [[0.2, 0.8]] * 7
    >>> fit = dfu.bbse(probs, labels, target)
    >>> fit.label_weight.round(3).tolist(), round(fit.kappa, 6)
    ([0.143, 2.286], 16.0)
    >>> fit.adapt([[0.5, 0.5]]).round(3).tolist()
    [[0.059, 0.941]]
    """

    method: Method
    classes: Classes
    solution: WeightSolution | None
    source_prior: FloatArray
    source_counts: IntArray
    covariance: FloatMatrix | ClassMatrix | None
    likelihood_covariance: FloatMatrix | ClassMatrix | None
    slope_at_zero: FloatArray | None
    moments: MomentEstimate | None
    singular: bool
    condition_number: float
    confusion: Confusion | None
    regularization: float | None
    prior_from: str
    calibration: Scaling | None
    samples: Samples | None
    predicted: Confusion | None
    shift_test: ShiftTest | None
    output_cells: OutputCells | None
    calibration_test: HausmanTest | None
    labelled: LabelledShares | None
    notes: tuple[str, ...]
    guarantee: Guarantee | NoGuarantee

    _state: ClassVar[State] = {
        "method": text(*get_args(Method)),
        "classes": column_names("K"),
        "solution": part_or_none(WeightSolution, same="K"),
        "source_prior": masses("K"),
        "source_counts": integers("K"),
        "covariance": maybe(either(floats("K", "K"), part(ClassMatrix, same="K"))),
        "likelihood_covariance": maybe(
            either(floats("K", "K"), part(ClassMatrix, same="K"))
        ),
        "slope_at_zero": maybe(floats("K")),
        "moments": part_or_none(MomentEstimate, same="K"),
        "singular": flag(),
        "condition_number": real(0.0, nan=True, finite=False),
        "confusion": part_or_none(Confusion, same="K"),
        "regularization": maybe(real(0.0)),
        "prior_from": text("labels", "predictions", "given"),
        "calibration": part_or_none(BiasCorrectedTemperature, LogScaling, same="K"),
        "samples": part_or_none(Samples, same="K"),
        "predicted": part_or_none(Confusion, same="K"),
        "shift_test": part_or_none(ShiftTest),
        "output_cells": part_or_none(OutputCells),
        "calibration_test": part_or_none(HausmanTest, same="K"),
        "labelled": part_or_none(LabelledShares, same="K"),
        "notes": several(text()),
        "guarantee": part(Guarantee, NoGuarantee),
    }

    _of_rows: ClassVar[tuple[str, ...]] = ("samples",)

    def _validate_state(self) -> None:
        require(self.known or self.moments is not None, "a moment estimate")
        require(self.source_counts.sum() == self.n, "as many rows as classes have")
        if self.labelled is not None:
            others = 0 if self.moments is None else self.moments.m
            require(self.labelled.r + others == self.m, "labels of the other rows")
        if self.samples is not None:
            shape = (len(self.samples.probs), len(self.samples.probs_target))
            require(shape == (self.n, self.m), "the rows that were counted")

    @staticmethod
    def _added(fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return what early files lack: counted anew if the rows are kept."""
        samples = fields["samples"]
        if samples is None:
            return {"output_cells": None, "labelled": None, "predicted": None}
        cells = count_cells(samples.rows.source, samples.rows.target)
        return {"output_cells": cells, "labelled": None, "predicted": None}

    def __repr__(self) -> str:
        """Return one line."""
        rows = "" if self.known else f" n={self.n} m={self.m}"
        return f"<LabelShiftResult {self.method}{rows} K={len(self.classes)}>"

    @property
    def known(self) -> bool:
        """True if the priors were given and not estimated."""
        return self.method == "known"

    @property
    def n(self) -> int:
        """Source rows; 0 for known priors."""
        return 0 if self.confusion is None else self.confusion.n

    @property
    def m(self) -> int:
        """Target rows; 0 for known priors."""
        return 0 if self.confusion is None else self.confusion.m

    @property
    def raw(self) -> FloatArray | None:
        """The weights as solved, before clipping; None if they are not identified."""
        return None if self.solution is None else self.solution.raw

    @property
    def label_weight(self) -> FloatArray:
        """The weights, shape (K,): non-negative, with sum_k p_k w_k = 1.

        +inf for a class of the target that the source lacks (known priors only).

        Raises
        ------
        InputError
            If BBSE's confusion matrix is singular, so that it has no solution.
        """
        return self._identified().label_weight

    @property
    def target_prior(self) -> FloatArray:
        """The target's class proportions q, shape (K,); they sum to one.

        Raises
        ------
        InputError
            As `label_weight`.
        """
        return self._identified().target_prior

    def _identified(self) -> WeightSolution:
        if self.solution is None:
            must = (
                "of predictions that tell the classes apart, or there are no weights "
                "(rlls and mlls estimate some nevertheless; region() still holds, and "
                "so does label_shift_conformal with robust=True)"
            )
            if self.labelled is not None:
                must = "of source rows of every class (region() holds)"
            Arguments("bbse").invalid("probs", must, "a singular confusion matrix")
        return self.solution

    @property
    def kappa(self) -> float:
        """Largest weight over the smallest that is not zero."""
        w = self.label_weight
        return np.inf if np.isinf(w).any() else float(w.max()) / float(w[w > 0].min())

    @property
    def ess(self) -> float | None:
        """Effective sample size (sum w)^2 / sum w^2 of the source rows' w(Y_i).

        None for known priors, which come without rows.
        """
        if self.known:
            return None
        w = self.label_weight
        counts = self.source_counts
        return float(effective_sizes(counts @ w, counts @ w**2))

    @property
    def std_err(self) -> FloatArray:
        """Standard errors by the delta method, shape (K,).

        BBSE: of `raw`. RLLS: of the unregularised solution; the regularised one varies
        less, at the price of a bias that no standard error shows. MLLS: of the moment
        estimate, which needs no calibrated probabilities; if they are calibrated, it is
        that of `raw` too in the first order, but for the noise of the class means. +inf
        where the weights are not identified, 0 for known priors. Intervals are not
        made of them (`confint`): a class of fewer than five source rows that is common
        in the target makes those of the others much too small, which intervals repair.
        """
        return read_only(standard_errors(self.covariance, len(self.classes)))

    def confint(
        self,
        alpha: float = TABLE_ALPHA,
        method: str = "asymptotic",
        *,
        n_boot: int = 999,
        rng: RandomState = None,
        n_jobs: int = 1,
        progress: bool = False,
    ) -> FloatMatrix:
        """Confidence intervals of the true weights, shape (K, 2), never negative.

        Parameters
        ----------
        alpha : float, default 0.05
            One minus the level.
        method : str
            "asymptotic" (score intervals; each class by itself), "finite-sample" (from
            `region`; all classes at once, at every sample size; BBSE and RLLS),
            "bootstrap" (percentiles of `label_weight` over resamples of both samples;
            each class by itself, in the limit), "anderson-rubin" (all classes at
            once, in the limit, also where the confusion matrix is nearly singular; hard
            predictions only), or "likelihood" (MLLS only: delta method of the
            likelihood equations; each class by itself, in the limit, and only if the
            probabilities are calibrated in the source).
        n_boot : int, default 999
            Resamples.
        rng : seed, Generator or None
            For the resamples.
        n_jobs : int, default 1
            Processes for the resamples of soft predictions and of MLLS; the intervals
            do not depend on it.
        progress : bool, default False
            Show a progress bar.

        Notes
        -----
        Known priors have intervals of length zero. RLLS's asymptotic intervals are
        those of the unregularised solution, so that they need not hold RLLS's own
        weights; its bootstrap intervals include the shrinkage and do not see its bias.
        Where an estimate lies on the boundary, bootstrap intervals are rough.

        Asymptotic intervals need label shift and classes that predictions tell apart;
        they do not need calibrated probabilities, MLLS's own included. A class that is
        not told from others has [0, 1 / lower end of p_k], since its proportion in the
        target is at most one; a class without source rows [0, inf). Where the target
        may have many rows of a class with fewer than five source rows, or with none,
        the intervals of the others allow for all predictions of it that its rows do not
        exclude: they are wide, and their lower ends often zero. They come from moment
        equations, so that MLLS's weight may lie outside, and a note then says so. In
        the intervals of the likelihood, a weight that MLLS puts at zero is at most that
        at which the likelihood has fallen by the factor alpha / 2.
        """
        args = Arguments("LabelShiftResult.confint")
        alpha = args.alpha(alpha)
        options = [
            "asymptotic",
            "finite-sample",
            "bootstrap",
            "anderson-rubin",
            "likelihood",
        ]
        method = args.choice(method, "method", options)
        n_boot = args.count(n_boot, "n_boot", low=1)
        n_jobs = args.jobs(n_jobs)
        progress = args.flag(progress, "progress")
        if self.known:
            return np.column_stack([self.label_weight, self.label_weight])
        if self.labelled is not None and method in ("bootstrap", "anderson-rubin"):
            must = (
                "'asymptotic', 'finite-sample' or 'likelihood' for a fit with "
                "labels_target, of which the others make no use"
            )
            args.invalid("method", must, repr(method))
        if method == "finite-sample":
            if self.method == "MLLS":
                must = "'asymptotic', 'bootstrap' or 'likelihood' for MLLS"
                args.invalid("method", must, repr(method))
            region = self._region(alpha)
            if isinstance(region, Polytope):
                region = region.ranges(progress=progress)
            return np.column_stack([region.low, region.high])
        if method == "anderson-rubin":
            if self.confusion is None or self.confusion.soft:
                must = "another one where predictions are soft"
                args.invalid("method", must, repr(method))
            return anderson_rubin_intervals(self.confusion, alpha)
        if method == "bootstrap":
            generator = stream(rng, "bootstrap", args.caller)
            return percentile_intervals(
                self._resampled(n_boot, generator, n_jobs, progress), alpha
            )
        if method == "likelihood":
            if self.method != "MLLS":
                args.invalid("method", "another one but for MLLS", repr(method))
            return delta_intervals(
                self.raw,
                self.likelihood_covariance,
                self.slope_at_zero,
                len(self.classes),
                alpha,
            )
        assert self.moments is not None
        return score_ends(self.moments, alpha, self._beside)

    @property
    def _beside(self) -> Labelled | None:
        """What intervals need of labels of target rows."""
        return None if self.labelled is None else self.labelled.beside

    def _resampled(
        self, n_boot: int, generator: np.random.Generator, n_jobs: int, progress: bool
    ) -> FloatMatrix:
        """Return the weights (B, K) of resamples of both samples."""
        samples = self._kept_samples("LabelShiftResult.confint")
        if samples is None:
            assert self.confusion is not None
            return resample_counts(
                self.confusion, self.regularization, n_boot, generator, progress
            )
        refit: Refit = partial(refit_soft, regularization=self.regularization)
        if self.method == "MLLS":
            refit = partial(
                refit_likelihood,
                calibration=self.calibration,
                prior_from=self.prior_from,
            )
        return resample_rows(samples, refit, n_boot, generator, n_jobs, progress)

    def region(self, delta: float) -> Box | Polytope:
        """Return a set that holds all true weights at once, with probability 1 - delta.

        Parameters
        ----------
        delta : float
            In (0, 1).

        Returns
        -------
        Box or Polytope
            For hard predictions (BBSE, RLLS) the exact Clopper-Pearson `Polytope`, for
            soft ones a `Box` around an l2 ball (often unbounded: it is conservative);
            both hold at every sample size, singular confusion matrix or not. For MLLS a
            `Box` of asymptotic intervals at level delta / K each, K the classes of the
            source; they need no calibrated probabilities. For known priors a point.
            Labels of target rows make all of them smaller. Its ``finite_sample`` says
            which kind of claim it is, its ``delta`` the level.
        """
        delta = Arguments("LabelShiftResult.region").probability(delta, "delta")
        return self._region(delta)

    def _region(self, delta: float) -> Box | Polytope:
        if self.known:
            return Box._unchecked(self.label_weight, self.label_weight, True, delta)
        if self.method == "MLLS":
            assert self.moments is not None
            low, high = score_box(self.moments, delta, self._beside).T
            return Box._unchecked(low, high, False, delta)
        assert self.confusion is not None
        counts = self._label_counts
        if self.confusion.soft:
            return norm_region(self.confusion, delta, counts)
        return exact_region(self.confusion, delta, counts)

    @property
    def _label_counts(self) -> IntArray | None:
        """Labelled target rows by class, shape (K,); None without labels."""
        return None if self.labelled is None else self.labelled.counts

    @property
    def _lacks_rows(self) -> bool:
        """Whether it was saved without the rows that it was made of."""
        if self.samples is not None or self.confusion is None:
            return False
        return self.method == "MLLS" or self.confusion.soft

    def _kept_samples(self, caller: str, parameter: str = "self") -> Samples | None:
        """Return the rows, if they count and not their predicted classes alone."""
        if not self._lacks_rows:
            return self.samples
        return kept(self.samples, caller, parameter)

    def _prior_caps(self, delta: float) -> PriorCaps:
        """Return caps of the target's proportions, by predicted classes and labels."""
        return prior_caps(self._counted(), delta, self._label_counts)

    def _counted(self) -> Confusion:
        """Return how often each class is predicted, whatever the estimate is from."""
        if self.predicted is not None:
            return self.predicted
        confusion = self.confusion
        samples = self._kept_samples("label_shift_conformal", "label_weight")
        if samples is not None:
            confusion = hard_confusion(
                np.asarray(samples.probs.argmax(axis=1)),
                samples.labels,
                np.asarray(samples.probs_target.argmax(axis=1)),
                len(self.classes),
            )
        assert confusion is not None
        return confusion

    def _limit_law(self) -> LimitLaw:
        """Return the law that the moment estimate of the weights has in the limit.

        With labels of target rows, that of its combination with their shares.
        """
        assert self.moments is not None and self.confusion is not None
        if self.labelled is not None:
            assert self.covariance is not None
            prior = self.labelled.beside.combined(self.moments.prior)
            return law_of(prior, self.covariance, self.moments)
        covariance = self.covariance if self.method == "MLLS" else None
        samples = self.samples
        if covariance is None:
            samples = self._kept_samples("label_shift_conformal", "label_weight")
        return limit_law(self.moments, covariance, self.confusion, samples)

    def _limit_law_of_prior(self) -> LimitLaw:
        """Return the same of the target's class proportions."""
        assert self.moments is not None
        prior = self.moments.feasible_prior
        if self.labelled is not None:
            prior = self.labelled.proportions_beside(self.moments)
        return law_of_prior(self._limit_law(), prior, self.moments)

    def test(self, *, n_draws: int = N_DRAWS, rng: RandomState = None) -> ShiftTest:
        """Are the class proportions equal? Tests that both samples' outputs are alike.

        Parameters
        ----------
        n_draws : int, default 199
            Drawn choices of the source rows, where they are too many to be listed;
            the smallest possible p-value is then 1 / (n_draws + 1).
        rng : seed, Generator or None
            For the draws. By default a seed made of the outputs, so that the same
            samples give the same p-value.

        Returns
        -------
        ShiftTest
            ``.statistic``, ``.df``, ``.p_value``, ``.n_draws``. Hard predictions: the
            two-sample chi-squared statistic of the predicted classes, p exactly or by
            Monte Carlo, given the margins. Soft ones and MLLS: Hotelling's statistic of
            the mean predictions as the classifier gave them, p by permutation.

        Notes
        -----
        Given label shift, q = p makes the rows of both samples exchangeable, so that
        P(p <= a) <= a at every sample size, rare classes or not, over the rows and the
        draws. There is power only against changes that move the (mean) predictions: by
        a shift of the labels or by any other; drift that leaves them as they are is not
        seen.
        """
        args = Arguments("LabelShiftResult.test")
        if self.shift_test is None or self.confusion is None:
            args.invalid("self", "made of samples", "known priors: nothing to test")
        n_draws = args.count(n_draws, "n_draws", low=1)
        if rng is None and n_draws == self.shift_test.n_draws:
            return self.shift_test
        generator = None if rng is None else stream(rng, "bootstrap", args.caller)
        samples = self._kept_samples("LabelShiftResult.test")
        return _shift_test(self.confusion, samples, generator, n_draws)

    def goodness_of_fit(self) -> GoodnessOfFitTest:
        """Is it label shift at all? Test that the target mixes the source's classes.

        Returns
        -------
        GoodnessOfFitTest
            ``.p_value``, and the statistics that it is made of. Rows are counted in
            cells of predicted class and confidence, at the quartiles of both samples
            together; probabilities are the classifier's own, and need not be
            calibrated.

        Notes
        -----
        Under label shift, whatever the proportions, P(p <= a) <= a in the limit of many
        rows. A small p-value refutes label shift, and with it the weights and all that
        is made of them. A large one does not show it: few rows exclude little, and
        what leaves the law of confidences in each predicted class as some mixture of
        the source's classes is not seen.
        """
        args = Arguments("LabelShiftResult.goodness_of_fit")
        if self.output_cells is None:
            must = (
                f"made of rows, no Tally, of at most {MOST_CLASSES} classes, and by "
                "this release"
            )
            args.invalid("self", must, "no counts of the output")
        return compare_with_mixtures(self.output_cells)

    @lazy
    def adapt(self, probs: ArrayLike) -> FloatMatrix:
        """Target posteriors w_k pi_k / sum_j w_j pi_j from source ones.

        Eq. (16) of Podkopaev and Ramdas (2021).

        Parameters
        ----------
        probs : array_like (n, K)
            The same classifier's probabilities, columns as in the fit. MLLS's
            calibration, if there is one, is applied first.

        Returns
        -------
        ndarray (n, K)
            Rows sum to one. A row with mass on classes of weight zero alone has no
            target posterior: it stays as it is, the limit of weights equally small.
        """
        args = Arguments("LabelShiftResult.adapt")
        weight, prior = self.label_weight, self.target_prior
        rows = args.unchecked_new_probs(probs, self.classes)
        if self.calibration is not None:
            matrix = self.calibration.apply(rows.checked())
            return reweight(matrix, weight, prior)
        out = np.empty_like(rows.matrix)
        bad = check_and_reweight(rows.matrix, weight, prior, rows.tolerance, out)
        rows.raise_if_invalid(bad)
        return out

    def to_frame(self) -> pd.DataFrame:
        """Return a row per class: priors, weight, standard error, 95% interval.

        The asymptotic interval or, where the weights are not identified, their range
        over the finite-sample region; BBSE's estimates are then missing (NaN).
        """
        import pandas as pd

        identified = self.solution is not None
        nothing = np.full(len(self.classes), np.nan)
        ends = self._table_intervals()
        return pd.DataFrame(
            {
                "class": name_array(self.classes),
                "source_prior": self.source_prior,
                "target_prior": self.target_prior if identified else nothing,
                "weight": self.label_weight if identified else nothing,
                "std_err": self.std_err if identified else nothing,
                "low": ends[:, 0],
                "high": ends[:, 1],
            }
        )

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        """Return today's fields from those in files of format 1."""
        fields = dict(fields)
        raw, weight = fields.pop("raw"), fields.pop("clipped")
        prior = fields.pop("proportions")
        fields["solution"] = None if raw is None else WeightSolution(raw, weight, prior)
        fields["prior_from"] = fields.pop("prior")
        del fields["n"], fields["m"]
        fields |= {
            "likelihood_covariance": None,
            "moments": None,
            "calibration_test": None,
        }
        confusion, samples = fields["confusion"], fields["samples"]
        if confusion is None:
            return fields
        # what was claimed then is not claimed any more: from the same rows, anew
        fields["shift_test"] = _shift_test(confusion, samples, None, N_DRAWS)
        if fields["method"] == "MLLS":
            fields["likelihood_covariance"] = fields["covariance"]
            calibration = fields["calibration"]
            calibrated = samples.rows
            if calibration is not None:
                calibrated = calibrated.calibrated(calibration.apply)
            moments, covariance = moments_of_posteriors(calibrated, prior)
            fields |= {
                "moments": moments,
                "covariance": covariance,
                "calibration_test": compare_estimates(calibrated, calibration, weight),
                "guarantee": guarantees.moment_equations(),
            }
        elif samples is None:
            fields["moments"] = moments_of_counts(confusion)
        else:
            target_gram = gram(samples.probs_target)
            fields["moments"] = moments_of_predictions(samples.rows, target_gram)
        return fields

    def _table_intervals(self) -> FloatMatrix:
        """Return the intervals of the table, without programs that take minutes."""
        method, many = self._table_method(), len(self.classes) > _MANY_CLASSES
        if method == "finite-sample" and many and not self.known:
            assert self.confusion is not None
            counts = self._label_counts
            box = (
                norm_region(self.confusion, TABLE_ALPHA, counts)
                if self.confusion.soft
                else exact_enclosure(self.confusion, TABLE_ALPHA, counts)
            )
            return np.column_stack([box.low, box.high])
        return self.confint(TABLE_ALPHA, method)

    def _table_method(self) -> str:
        """Return which intervals are printed.

        Those in finite samples are shorter where classes have no source rows.
        """
        unseen = self.method != "MLLS" and not self.source_counts.all()
        unsolved = self.solution is None or (unseen and not self.known)
        return "finite-sample" if unsolved else "asymptotic"

    def summary(self) -> Summary:
        """Return weights, intervals and what is known of them, as a ``Summary``."""
        from distfreeuq.label_shift.summary import summarize_label_shift

        return summarize_label_shift(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the weights with their 95% intervals."""
        from distfreeuq import plots

        return plots.label_shift_weights(self, ax=ax)


def _shift_test(
    confusion: Confusion,
    samples: Samples | None,
    generator: np.random.Generator | None,
    n_draws: int,
) -> ShiftTest:
    """Return the test of the predicted classes or, with samples, of the outputs."""
    if samples is None:
        return compare_counts(
            confusion.joint.sum(axis=1), confusion.target, generator, n_draws
        )
    return compare_means(samples.rows.source, samples.rows.target, generator, n_draws)


def identified_weights(args: Arguments, given: Any) -> Any:
    """Return the weights of a result, or what else was given as `label_weight`.

    A result without weights is an error of the function that was given it.
    """
    if not isinstance(given, LabelShiftResult):
        return given
    if given.solution is None:
        must = (
            "weights, or a result that has them. rlls and mlls estimate them "
            "nevertheless, and label_shift_conformal with robust=True needs none"
        )
        got = f"{given.method} with a singular confusion matrix"
        args.invalid("label_weight", must, got)
    return given.label_weight
