"""What `decision_calibration` returns, and its evaluation on other rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, Classes, FloatArray, FloatMatrix
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    column_names,
    count,
    flag,
    masses,
    maybe,
    part,
    proportion,
    rate,
    real,
    text,
)
from distfreeuq._numerics.sample_weights import effective_sample_size
from distfreeuq.bounds import unchecked
from distfreeuq.calibration.data import read_new_logits
from distfreeuq.calibration.reliability_change import N_BINS, reliability_frame
from distfreeuq.calibration.results import coefficients
from distfreeuq.covariate_shift.decisions.data import (
    read_decision_rows,
    read_decisions,
)
from distfreeuq.covariate_shift.decisions.decision_loss import (
    DecisionRows,
    confidences,
)
from distfreeuq.covariate_shift.decisions.guarantees import WeightsOf, error_guarantee
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.metrics.bins import check_bins
from distfreeuq.metrics.data import read_hits
from distfreeuq.metrics.reliability_table import tabulate
from distfreeuq.metrics.results import ReliabilityTable
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

EVENT = "decision is right"


@register("decision-calibration")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DecisionCalibrationResult(Result):
    """A temperature for the confidence that a given classifier's decision is right.

    Attributes
    ----------
    classes : sequence
        Class names by column.
    temperature : float
        Logits are divided by it; the confidence is the decision's column.
    inverse_temperature : float
    std_err : float
        Sandwich estimate for the temperature; NaN at a bound, where the loss is not
        convex, and for one of a few temperatures that were fixed in advance.
    at_bound : {None, "low", "high"}
        Which bound the inverse temperature stands at, if any.
    loss : {"brier", "nll"}
        Squared error or log loss of the confidence in whether the decision is right.
    loss_before, loss_after : float
        Its weighted mean over the fitted rows.
    accuracy : float
        Weighted share of right decisions.
    confidence_before, confidence_after : float
        Weighted mean confidence.
    n : int
        Rows of positive weight.
    effective_n : float
        Kish's effective sample size.
    weights_of : {"none", "known", "estimated"}
    offset : float
        What was added to the weights in the loss.
    n_temperatures : int
        Among how many temperatures, fixed in advance, the fit chose; 0 for all.
    error_bound : float or None
        Upper bound of the target's squared calibration error, at level 1 - `alpha`;
        None without known weights and a bound on them.
    alpha : float
    bins_before, bins_after : ndarray (15, 3)
        Weight, weighted confidence and weighted correctness, by confidence.
    guarantee : Guarantee or NoGuarantee

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> logits = [[2.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 1.0]] * 5
    >>> labels = [0, 1, 1, 1] * 4 + [0, 1, 0, 0]
    >>> fit = dfu.decision_calibration(logits, labels)
    >>> fit
    <DecisionCalibrationResult T=1.192 brier n=20 K=2>
    >>> fit.predict([[1.0, 0.0]]).round(3), fit.predict([[1.0, 0.0]], [1]).round(3)
    (array([0.698]), array([0.302]))
    """

    classes: Classes
    temperature: float
    inverse_temperature: float
    std_err: float
    at_bound: str | None
    loss: str
    loss_before: float
    loss_after: float
    accuracy: float
    confidence_before: float
    confidence_after: float
    n: int
    effective_n: float
    weights_of: WeightsOf
    offset: float
    n_temperatures: int
    error_bound: float | None
    alpha: float
    bins_before: FloatMatrix
    bins_after: FloatMatrix
    guarantee: Guarantee | NoGuarantee

    _state: ClassVar[State] = {
        "classes": column_names("K"),
        "temperature": real(above=0.0),
        "inverse_temperature": real(above=0.0),
        "std_err": real(0.0, nan=True, finite=False),
        "at_bound": maybe(text("low", "high")),
        "loss": text("brier", "nll"),
        "loss_before": real(0.0, finite=False),
        "loss_after": real(0.0, finite=False),
        "accuracy": proportion(),
        "confidence_before": proportion(),
        "confidence_after": proportion(),
        "n": count(),
        "effective_n": real(0.0),
        "weights_of": text(*get_args(WeightsOf)),
        "offset": real(0.0),
        "n_temperatures": count(),
        "error_bound": maybe(real(0.0)),
        "alpha": rate(),
        "bins_before": masses(N_BINS, 3),
        "bins_after": masses(N_BINS, 3),
        "guarantee": part(Guarantee, NoGuarantee),
    }

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<DecisionCalibrationResult T={self.temperature:.4g} {self.loss} "
            f"n={self.n} K={len(self.classes)}>"
        )

    def predict(
        self, logits: ArrayLike, decisions: ArrayLike | None = None
    ) -> FloatArray:
        """Confidence that each decision is right, shape (n,).

        Parameters
        ----------
        logits : array_like (n, K)
            Of the forecaster, columns as in the fit.
        decisions : array_like (n,), optional
            What the classifier decided; by default the class of the largest logit.
        """
        args = Arguments("DecisionCalibrationResult.predict")
        matrix = read_new_logits(args, logits, self.classes)
        chosen = read_decisions(args, matrix, decisions, self.classes)
        return confidences(matrix, chosen, self.inverse_temperature)

    def evaluate(
        self,
        logits: ArrayLike,
        labels: ArrayLike,
        decisions: ArrayLike | None = None,
        *,
        sample_weight: Any = None,
        weight_bound: float | None = None,
        n_bins: int = 15,
        scheme: str = "equal-width",
        closed: str = "right",
        alpha: float = 0.05,
    ) -> DecisionEvaluation:
        """Judge the confidences on other rows, of the target or weighted for it.

        Parameters
        ----------
        logits : array_like (n, K)
        labels : array_like (n,)
        decisions : array_like (n,), optional
            As in `predict`.
        sample_weight : array_like (n,) or DensityRatioResult, optional
            Weights of source rows. None for rows of the target itself.
        weight_bound : float, optional
            Number that no weight can exceed, on their scale.
        n_bins, scheme, closed
            As in `metrics.reliability`. [1]_ has bins closed on the left.
        alpha : float, default 0.05
            Probability that the bound on the squared error fails.

        Returns
        -------
        DecisionEvaluation

        References
        ----------
        .. [1] Park, Bastani, Weimer and Lee (2020), "Calibrated prediction with
           covariate shift via unsupervised domain adaptation", AISTATS, section 6.
        """
        args = Arguments("DecisionCalibrationResult.evaluate")
        n_bins, how = check_bins(args, n_bins, scheme, closed)
        alpha = args.alpha(alpha)
        own = sample_weight is None  # rows of the target itself
        read = read_decision_rows(
            args,
            logits,
            labels,
            decisions,
            sample_weight,
            weight_bound,
            None,
            self.classes,
        )
        of = "target" if own else read.weights_of
        limit = 1.0 if own else read.weight_bound
        rows = read.rows
        confidence = confidences(rows.logits, rows.decisions, self.inverse_temperature)
        hits = read_hits(
            args,
            confidence,
            rows.right,
            sample_weight=None if own else rows.weights,
        )
        table = tabulate(hits, n_bins, how, 1.0 - alpha, EVENT)
        error = (confidence - rows.right) ** 2
        bound = squared_error_bound(error, rows, limit, alpha)
        return DecisionEvaluation(
            reliability=table,
            squared_error=float(rows.weights @ error / rows.weights.sum()),
            error_bound=bound,
            alpha=alpha,
            effective_n=effective_sample_size(rows.weights),
            is_weighted=not own,
            guarantee=error_guarantee(bound, alpha, of, 0),
        )

    def confint(self, alpha: float = 0.05) -> FloatMatrix:
        """Confidence interval of the temperature, shape (1, 2).

        Parameters
        ----------
        alpha : float, default 0.05
            One minus its level.

        Notes
        -----
        A normal interval on the log scale: asymptotic, with no claim at a given sample
        size, and without how weights were found. NaN where the temperature has no
        standard error, as at a bound.
        """
        alpha = Arguments("DecisionCalibrationResult.confint").alpha(alpha)
        table = coefficients(
            np.array([self.temperature]),
            np.array([self.std_err]),
            1.0,
            positive=True,
            level=1.0 - alpha,
        )
        return np.column_stack([table["low"], table["high"]])

    def to_frame(self) -> pd.DataFrame:
        """Return the coefficient table: estimate, std_err, z (of T = 1), and so on."""
        import pandas as pd

        numbers = coefficients(
            np.array([self.temperature]), np.array([self.std_err]), 1.0, positive=True
        )
        return pd.DataFrame({"parameter": ["temperature"], **numbers})

    def reliability(self) -> pd.DataFrame:
        """Return confidence and accuracy of the fitted rows by bin, before and after.

        The temperature was chosen on these rows: `evaluate` judges it on others.
        """
        return reliability_frame(self.bins_before, self.bins_after)

    def summary(self) -> Summary:
        """Return losses, the temperature and what holds, as a ``Summary``."""
        from distfreeuq.covariate_shift.decisions.summary import summarize_decisions

        return summarize_decisions(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw confidence against accuracy of the fitted rows, before and after."""
        from distfreeuq import plots

        return plots.reliability_change(self, ax=ax)


@register("decision-evaluation")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DecisionEvaluation(Result):
    """How well confidences say whether decisions are right, on rows not fitted to.

    Attributes
    ----------
    reliability : ReliabilityTable
    squared_error : float
        Weighted mean of (confidence - 1{right})^2.
    error_bound : float or None
        Upper bound of the target's mean squared calibration error, which is never above
        the expectation of `squared_error`; None without known weights and a bound.
    alpha : float
        Probability that it fails.
    effective_n : float
    is_weighted : bool
    guarantee : Guarantee or NoGuarantee
        Of the bound; the intervals of `reliability` have their own.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> logits = [[2.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 1.0]] * 25
    >>> labels = ([0, 1, 1, 1] * 4 + [0, 1, 0, 0]) * 5
    >>> fit = dfu.decision_calibration(logits[:50], labels[:50])
    >>> fit.evaluate(logits[50:], labels[50:])
    <DecisionEvaluation ece=0.1783 squared_error=0.1624 n=50>
    """

    reliability: ReliabilityTable
    squared_error: float
    error_bound: float | None
    alpha: float
    effective_n: float
    is_weighted: bool
    guarantee: Guarantee | NoGuarantee

    _state: ClassVar[State] = {
        "reliability": part(ReliabilityTable),
        "squared_error": proportion(),
        "error_bound": maybe(real(0.0)),
        "alpha": rate(),
        "effective_n": real(0.0),
        "is_weighted": flag(),
        "guarantee": part(Guarantee, NoGuarantee),
    }

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<DecisionEvaluation ece={self.ece:.4f} "
            f"squared_error={self.squared_error:.4f} n={self.reliability.n}>"
        )

    @property
    def ece(self) -> float:
        """Expected calibration error of the confidences."""
        return self.reliability.ece

    @property
    def overconfident_ece(self) -> float:
        """Mean of the positive gaps (Park et al., 2020, section 6)."""
        return self.reliability.overconfident_ece

    def to_frame(self) -> pd.DataFrame:
        """Return the reliability table, a row per bin."""
        return self.reliability.to_frame()

    def summary(self) -> Summary:
        """Return errors, bins and what holds, as a ``Summary``."""
        from distfreeuq.covariate_shift.decisions.summary import summarize_evaluation

        return summarize_evaluation(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the reliability diagram."""
        return self.reliability.plot(ax=ax)


def squared_error_bound(
    error: FloatArray, rows: DecisionRows, weight_bound: float | None, alpha: float
) -> float | None:
    """Return an upper bound of the target's mean squared error, if there is one.

    It bounds the squared calibration error, too: of two errors that add up to the
    squared error, that is one, and the other is a variance.
    """
    if weight_bound is None:
        return None
    _, upper = unchecked.weighted_betting_interval(
        error, rows.weights, alpha, weight_bound, side="upper"
    )
    return float(upper)
