"""What `covariate_shift_calibration` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from scipy import special

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, Classes, FloatArray, FloatMatrix
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    column_names,
    count,
    masses,
    maybe,
    part,
    part_or_none,
    real,
    require,
    text,
)
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq._numerics.sample_weights import effective_sample_size, largest_share
from distfreeuq.binning.results import BinningResult
from distfreeuq.calibration.calibrators import takes_masked, takes_probs
from distfreeuq.calibration.data import read_new_logits
from distfreeuq.calibration.groupwise_results import GroupwiseResult
from distfreeuq.calibration.results import CalibrationResult
from distfreeuq.calibration.rows.masked_logits import with_infinities
from distfreeuq.covariate_shift.bound_estimate import BoundEstimate
from distfreeuq.covariate_shift.data import WeightsFrom
from distfreeuq.density_ratios.data import read_new_rows
from distfreeuq.density_ratios.results import DensityRatioResult
from distfreeuq.feature_learning.results import FeatureMapResult
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@register("row-use")
@dataclass(frozen=True, slots=True)
class RowUse:
    """Which rows did what.

    Attributes
    ----------
    n_calibration : int
        Source rows that the calibrator was fitted to.
    n_target : int or None
        Target rows that the weights were estimated with, where they were.
    n_map_source, n_map_target : int or None
        Other rows, which the feature map was learnt on; None if it was not learnt here.
    weights_from : str
        "none", "known" (given as numbers), "held out" (each row's by a fit without it),
        "matched" (by kernel mean matching, which has seen the rows),
        "given ratio" (fitted elsewhere) or "given ratio's rows" (these are the source
        rows of the ratio that was given, weighted held out).
    """

    n_calibration: int
    n_target: int | None
    n_map_source: int | None
    n_map_target: int | None
    weights_from: WeightsFrom

    _state: ClassVar[State] = {
        "n_calibration": count(),
        "n_target": maybe(count()),
        "n_map_source": maybe(count()),
        "n_map_target": maybe(count()),
        "weights_from": text(*get_args(WeightsFrom)),
    }


@register("covariate-shift-calibration")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CovariateShiftCalibrationResult(Result):
    """A calibrator fitted to weighted source rows, for use on the target.

    Attributes
    ----------
    calibrator : str
        Its name: "temperature", "platt" and so on, or that of a calibrator given.
    calibration : CalibrationResult or BinningResult
        The fitted calibrator.
    ratio : DensityRatioResult or None
        What gave the weights; None if they were given as numbers, or there are none.
    feature_map : FeatureMapResult or None
        Whose classifier is calibrated, on whose features the ratio was estimated.
    sample_weight : ndarray (n,)
        w_hat of the calibration rows; ones without weights.
    offset : float
        What was added to them in the calibrator's loss.
    rows : RowUse
        Which rows did what.
    bound : BoundEstimate or None
        The bound of Park et al. (2020); None unless weights were estimated.
    classes : sequence
        Class names by column.
    features : sequence or None
        Names of the columns of x that `predict` takes after feature learning.
    guarantee : Guarantee or NoGuarantee

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> x, new = rng.normal(size=500), rng.normal(0.5, size=500)
    >>> labels = (rng.random(500) < 1 / (1 + np.exp(-x))).astype(int)
    >>> fit = dfu.covariate_shift_calibration(2 * x, labels, x, new, rng=0)
    >>> fit.method, fit.calibration, round(fit.ess)
    ('IW+temperature', <TemperatureResult T=2.604 nll n=500 K=2>, 380)
    >>> fit.predict([1.0]).round(3)
    array([[0.405, 0.595]])
    """

    calibrator: str
    calibration: CalibrationResult | BinningResult
    ratio: DensityRatioResult | None
    feature_map: FeatureMapResult | None
    sample_weight: FloatArray
    offset: float
    rows: RowUse
    bound: BoundEstimate | None
    classes: Classes
    features: Classes | None
    guarantee: Guarantee | NoGuarantee

    _state: ClassVar[State] = {
        "calibrator": text(),
        "calibration": part(CalibrationResult, BinningResult),
        "ratio": part_or_none(DensityRatioResult),
        "feature_map": part_or_none(FeatureMapResult),
        "sample_weight": masses("n"),
        "offset": real(0.0),
        "rows": part(RowUse),
        "bound": part_or_none(BoundEstimate),
        "classes": column_names("K"),
        "features": maybe(column_names("d")),
        "guarantee": part(Guarantee, NoGuarantee),
    }

    def _validate_state(self) -> None:
        n_rows = self.rows.n_calibration
        require(self.sample_weight.size == n_rows, "a weight of each calibration row")
        require(self.calibration.classes == self.classes, "a calibrator of its classes")
        n_features = None if self.features is None else len(self.features)
        learnt = None if self.feature_map is None else len(self.feature_map.features)
        require(n_features == learnt, "as many features as the map has")

    def _why_rows(self) -> str:
        return "whose table is made of its rows' weights (its calibration can)"

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<CovariateShiftCalibrationResult {self.method} "
            f"n={self.rows.n_calibration} K={len(self.classes)} ess={self.ess:.1f}>"
        )

    @property
    def method(self) -> str:
        """The name in Park et al. (2020): FL for feature learning, IW for weights."""
        parts = ["FL"] if self.feature_map is not None else []
        parts += ["IW"] if self.rows.weights_from != "none" else []
        return "+".join([*parts, self.calibrator])

    @property
    def ess(self) -> float:
        """Effective sample size (sum w)^2 / sum w^2, without the offset."""
        return effective_sample_size(self.sample_weight)

    @property
    def largest_share(self) -> float:
        """Largest part of the total weight that one calibration row carries."""
        return largest_share(self.sample_weight)

    @lazy
    def predict(self, x: ArrayLike, *, groups: ArrayLike | None = None) -> FloatMatrix:
        """Calibrated probabilities of new target rows, shape (n, K).

        Parameters
        ----------
        x : array_like
            Logits (n, K) of the classifier, columns as in the fit; after feature
            learning, features (n, d). Of Dask's rows the probabilities are lazy.
        groups : array_like (n,), optional
            Needed by calibration by groups that was given an array of them, and only
            then.
        """
        args = Arguments("CovariateShiftCalibrationResult.predict")
        if self.feature_map is None:
            masks = takes_masked(self.calibration)
            logits = read_new_logits(args, x, self.classes, "x", may_mask=masks)
        else:
            assert self.features is not None
            rows = read_new_rows(args, x, "x", self.features)
            logits = self.feature_map.network.logits(rows)
        inputs = calibrator_input(self.calibration, logits)
        if isinstance(self.calibration, GroupwiseResult):
            shown = with_infinities(inputs)
            return self.calibration._by_group(args, shown, inputs, groups)
        if groups is not None:
            args.invalid("groups", "None: the calibrator has no groups", "an array")
        return self.calibration._predict(inputs)

    def to_frame(self) -> pd.DataFrame:
        """Return the calibrator's own table: parameters, knots or bins.

        The weights are in ``ratio.to_frame()``, the losses of feature learning in
        ``feature_map.to_frame()``.
        """
        return self.calibration.to_frame()

    def summary(self) -> Summary:
        """Return rows, weights, calibrator and bound as a ``Summary``."""
        from distfreeuq.covariate_shift.summary import summarize_calibration

        return summarize_calibration(self)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["calibrator", "weights"] = "calibrator",
    ) -> Axes:
        """Draw what the calibrator draws of itself, or the weights.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        kind : {"calibrator", "weights"}, default "calibrator"
        """
        from distfreeuq import plots

        args = Arguments("CovariateShiftCalibrationResult.plot")
        if args.choice(kind, "kind", ["calibrator", "weights"]) == "weights":
            return plots.importance_weights(self.sample_weight, ax=ax)
        return self.calibration.plot(ax=ax)


def calibrator_input(
    fit: CalibrationResult | BinningResult, logits: FloatMatrix
) -> FloatMatrix:
    """Return what the fitted map takes: logits, or their softmax in float64."""
    if isinstance(fit, BinningResult) or takes_probs(fit):
        return as_probabilities(logits)
    return logits


def as_probabilities(logits: FloatMatrix) -> FloatMatrix:
    """Return the logits' softmax in float64."""
    probs: FloatMatrix = special.softmax(logits.astype("float64", copy=False), axis=1)
    return probs
