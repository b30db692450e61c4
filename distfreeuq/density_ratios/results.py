"""What `density_ratio` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import special

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, Classes, FloatArray, FloatMatrix
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    column_names,
    floats,
    maybe,
    part,
    part_or_none,
    proportion,
    require,
    several,
    text,
)
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq._numerics.sample_weights import effective_sample_size, largest_share
from distfreeuq.bounds import unchecked
from distfreeuq.density_ratios.data import read_new_rows
from distfreeuq.density_ratios.design import Design, FactorDesign, FormulaDesign
from distfreeuq.density_ratios.diagnostics import Auc
from distfreeuq.density_ratios.discriminators import (
    DiscriminatorRatio,
    UserDiscriminator,
)
from distfreeuq.density_ratios.gaussian_kernels import KernelRatio
from distfreeuq.density_ratios.kernel_mean_matching import MatchedMeans
from distfreeuq.density_ratios.logistic_discriminator import LinearDiscriminator
from distfreeuq.density_ratios.nearest_neighbors import NeighborRatio
from distfreeuq.density_ratios.weight_pipeline import STAGES, Conditioning
from distfreeuq.guarantees import NoGuarantee
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


# Beyond what rows can tell, and small enough for sums of squares.
_LARGEST = 1e150


@register("density-ratio")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DensityRatioResult(Result):
    """Estimated ratios q(x)/p(x) of target to source, and how far to trust them.

    Attributes
    ----------
    method : str
        The method's name, or the class name of the user's estimator.
    model : RatioModel
        Fitted on all rows; `weight` asks it.
    source_weight : ndarray (n_source,)
        Weights of the source rows, each by a fit that has not seen the row.
    target_weight : ndarray (n_target,)
        The same for the target rows: for diagnostics, not for weighting. NaN for kernel
        mean matching.
    source_ratio, target_ratio : ndarray
        Estimated ratios of the same rows before conditioning.
    conditioning : Conditioning
        How ratios become weights.
    held_out : str
        How rows were kept from the fits that weight them; empty where they were not.
    auc : Auc or None
        How well held-out ratios tell target from source rows; None for kernel mean
        matching, which has no ratio at target rows.
    uncovered : float or None
        Share of target rows where the source has almost no data: the ratio, scaled to
        mean one on the source, exceeds 20. None where `auc` is.
    features : sequence
        Names of the columns of x, of numbers.
    design : FactorDesign, FormulaDesign or None
        How frames with texts or categories, or of a formula, become these columns.
    notes : tuple of str
        What a reader of the numbers should know.
    guarantee : NoGuarantee

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.normal(size=(900, 2)), rng.normal([1, 0], 1, (700, 2))
    >>> ratio = dfu.density_ratio(source, target, rng=0)
    >>> ratio
    <DensityRatioResult logistic n_source=900 n_target=700 d=2 ess=422.7>
    >>> ratio.weight([[-1, 0], [0, 0], [1, 0]]).round(2)  # truly exp(x_1 - 1/2)
    array([0.26, 0.66, 1.66])
    """

    method: str
    model: Any
    source_weight: FloatArray
    target_weight: FloatArray
    source_ratio: FloatArray
    target_ratio: FloatArray
    conditioning: Conditioning
    held_out: str
    auc: Auc | None
    uncovered: float | None
    features: Classes
    design: Design | None
    notes: tuple[str, ...]
    guarantee: NoGuarantee

    _state: ClassVar[State] = {
        "method": text(),
        "model": part(DiscriminatorRatio, KernelRatio, NeighborRatio, MatchedMeans),
        "source_weight": floats("n", low=0.0, high=_LARGEST, nan=False),
        "target_weight": floats("m", low=0.0, high=_LARGEST),
        "source_ratio": floats("n", low=0.0, high=_LARGEST, nan=False),
        "target_ratio": floats("m", low=0.0, high=_LARGEST),
        "conditioning": part(Conditioning),
        "held_out": text(),
        "auc": part_or_none(Auc),
        "uncovered": maybe(proportion()),
        "features": column_names("d"),
        "design": part_or_none(FactorDesign),
        "notes": several(text()),
        "guarantee": part(NoGuarantee),
    }

    @staticmethod
    def _added(fields: dict[str, Any]) -> dict[str, Any]:
        """Return what the first files lack: there were matrices only."""
        return {"design": None}

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        """Return today's fields from those in files of format 1."""
        return {**fields, "design": None}

    def _validate_state(self) -> None:
        d = len(self.features)
        designed = self.design is None or len(self.design.features) == d
        require(designed, "a design with these columns")
        require(self.model.n_features == len(self.features), "a model of the features")
        matched = isinstance(self.model, MatchedMeans)
        known = self.auc is not None and self.uncovered is not None
        numbers = np.isnan(self.target_weight) | np.isnan(self.target_ratio)
        has_all = known and not numbers.any()
        has_none = self.auc is None and self.uncovered is None and numbers.all()
        require(has_none if matched else has_all, "ratios at target rows")

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<DensityRatioResult {self.method} n_source={self.n_source} "
            f"n_target={self.n_target} d={len(self.features)} ess={self.ess:.1f}>"
        )

    @property
    def n_source(self) -> int:
        """Number of source rows."""
        return self.source_weight.size

    @property
    def n_target(self) -> int:
        """Number of target rows."""
        return self.target_weight.size

    @property
    def ess(self) -> float:
        """Effective sample size (sum w)^2 / sum w^2 of the source rows."""
        return effective_sample_size(self.source_weight)

    @property
    def largest_share(self) -> float:
        """Largest part of the total weight that one source row carries."""
        return largest_share(self.source_weight)

    @property
    def upper(self) -> float:
        """U: no weight that this result gives to any row is larger.

        It bounds the estimate. That the true ratio is bounded, too, is an assumption.
        """
        return self.conditioning.upper

    def renyi(self, order: float = 2.0) -> float:
        """Estimate the divergence d_order(target || source) from the source weights.

        The target is the one that the weights imply: flattened and clipped ones imply
        less of a shift than there is.

        Parameters
        ----------
        order : float, default 2
            At least 1; +inf is allowed. The d_{a+1} of Pampari and Ermon (2020) has
            order a + 1.

        See Also
        --------
        distfreeuq.bounds.renyi_from_weights
        """
        must = "a number of at least 1, or inf"
        order = Arguments("DensityRatioResult.renyi").number(
            order, "order", must, low=1.0
        )
        return unchecked.renyi_from_weights(self.source_weight, order)

    @lazy
    def weight(self, x: ArrayLike) -> FloatArray:
        """Weights of new rows, shape (n,), by the fit on all rows.

        On the scale of `source_weight`. For the source rows themselves use that: this
        fit has seen them. Kernel mean matching has no weights but those.

        Parameters
        ----------
        x : array_like (n, d)
            Features as in the fit; (n,) if there was one. After a fit of texts,
            categories or a formula, a frame. Of Dask's rows the weights are lazy.
        """
        args = Arguments("DensityRatioResult.weight")
        return weights_by_ratio(self, args, x, "x")

    def coefficients(self) -> pd.DataFrame:
        """Return a row per feature of a logistic ratio, in the features' order.

        Returns
        -------
        DataFrame
            ``feature``; ``ridge``, the coefficient that makes the ratio, and
            ``estimate``, the maximum likelihood estimate without a ridge, with its
            ``std_err``, ``z`` and ``p_value``: all by standard deviation of the
            feature. NaN where the rows do not determine them.
        """
        import pandas as pd

        fit = self._linear("coefficients")
        none = np.full(fit.coef.size, np.nan)
        estimate = none if fit.glm_coef is None else fit.glm_coef
        std_err = none if fit.glm_std_err is None else fit.glm_std_err
        with np.errstate(invalid="ignore", divide="ignore"):
            z = estimate / std_err
        return pd.DataFrame(
            {
                "feature": list(self.features),
                "ridge": fit.coef,
                "estimate": estimate,
                "std_err": std_err,
                "z": z,
                "p_value": 2.0 * special.ndtr(-np.abs(z)),
            }
        )

    def confint(self, alpha: float = 0.05) -> FloatMatrix:
        """Confidence intervals of a logistic ratio's estimates, shape (d, 2).

        Parameters
        ----------
        alpha : float, default 0.05
            One minus the level of each, by itself.

        Notes
        -----
        Normal intervals by the standard errors, rows as in `coefficients`: asymptotic,
        and of the odds of target against source if they are linear. NaN where the rows
        do not determine them. Of the weights they say nothing.
        """
        fit = self._linear("confint")
        args = Arguments("DensityRatioResult.confint")
        quantile = float(-special.ndtri(0.5 * args.alpha(alpha)))
        if fit.glm_coef is None or fit.glm_std_err is None:
            return np.full((fit.coef.size, 2), np.nan)
        half = quantile * fit.glm_std_err
        return np.column_stack([fit.glm_coef - half, fit.glm_coef + half])

    def _linear(self, method: str) -> LinearDiscriminator:
        """Return the logistic regression, or say that there is none."""
        model = self.model
        if isinstance(model, DiscriminatorRatio) and isinstance(
            model.discriminator, LinearDiscriminator
        ):
            return model.discriminator
        args = Arguments(f"DensityRatioResult.{method}")
        args.invalid("self", "a ratio by logistic regression", repr(self))

    def effects(self) -> pd.DataFrame:
        """Return a row per step of the conditioning: what it did to the weights."""
        import pandas as pd

        stages = self.conditioning.stages(self.source_ratio)
        return pd.DataFrame(
            {
                "step": list(STAGES),
                "mean": [float(stages[s].mean()) for s in STAGES],
                "smallest": [float(stages[s].min()) for s in STAGES],
                "largest": [float(stages[s].max()) for s in STAGES],
                "ess": [effective_sample_size(stages[s]) for s in STAGES],
                "largest_share": [largest_share(stages[s]) for s in STAGES],
            }
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a row per row of source and target: its ratio and its weight."""
        import pandas as pd

        rows = [np.arange(self.n_source), np.arange(self.n_target)]
        return pd.DataFrame(
            {
                "sample": np.repeat(["source", "target"], [r.size for r in rows]),
                "row": np.concatenate(rows),
                "ratio": np.concatenate([self.source_ratio, self.target_ratio]),
                "weight": np.concatenate([self.source_weight, self.target_weight]),
            }
        )

    def summary(self) -> Summary:
        """Return weights, divergences and their warnings, as a ``Summary``."""
        from distfreeuq.density_ratios.summary import summarize_density_ratio

        return summarize_density_ratio(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the weights of the source rows, and where the target rows lie."""
        from distfreeuq import plots

        return plots.density_ratio_weights(self, ax=ax)

    def _why_rows(self) -> str:
        return "whose table is made of the weights of its rows"

    def _check_savable(self) -> None:
        check_savable(self)


def weights_by_ratio(
    ratio: DensityRatioResult, args: Arguments, features: ArrayLike, parameter: str
) -> FloatArray:
    """Return the weights (n,) of rows that a function was given as `parameter`."""
    if isinstance(ratio.model, MatchedMeans):
        must = "the source rows of the fit, whose weights are in source_weight"
        got = "others, at which kernel mean matching has no ratio"
        args.invalid(parameter, must, got)
    rows = read_new_rows(args, features, parameter, ratio.features, ratio.design)
    return ratio.conditioning.weights(ratio.model.ratio(rows))


def check_savable(ratio: DensityRatioResult) -> None:
    """Raise an InputError for a ratio by a user's estimator, which no file can hold."""
    if isinstance(ratio.design, FormulaDesign):
        must = (
            "made of arrays and text, and of no formula, which is code (give the "
            "formula's columns as a matrix, or pickle the fit)"
        )
        got = f"a density ratio by {ratio.design.formula!r}"
        Arguments("save").invalid("self", must, got)
    own = ratio.model
    if isinstance(own, DiscriminatorRatio) and isinstance(
        own.discriminator, UserDiscriminator
    ):
        must = (
            "made of arrays and text, all that files without pickle hold (save "
            "your estimator its own way, and the weights as arrays)"
        )
        got = f"a density ratio by your own {ratio.method}, which"
        Arguments("save").invalid("self", must, f"{got} cannot be saved")
