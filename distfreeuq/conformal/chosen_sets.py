"""The front door to prediction sets: a procedure chosen by rules fixed in advance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatMatrix, RandomState, RowsLike
from distfreeuq._base.arrays import listed
from distfreeuq._base.persistence import register
from distfreeuq._base.random_streams import stream
from distfreeuq._base.stored_state import State, part, text
from distfreeuq.conformal.data import CalibrationScores, calibration_scores
from distfreeuq.conformal.label_conditional_sets import fit_label_conditional
from distfreeuq.conformal.results import ConformalResult
from distfreeuq.conformal.scores.nested_score import ScoreLike
from distfreeuq.conformal.sets import PredictionSets
from distfreeuq.conformal.split_sets import fit_split
from distfreeuq.conformal.under_label_shift.capped_fits import fit_capped_pac
from distfreeuq.conformal.under_label_shift.directional_fits import (
    fit_label_shift_combined,
    fit_label_shift_directional,
)
from distfreeuq.conformal.under_label_shift.given_weights_fits import (
    fit_label_shift,
    fit_label_shift_pac,
)
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.label_shift.results import LabelShiftResult
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

ClaimKind = Literal["finite-sample", "asymptotic", "combined"]

_SPLIT = "no shift was declared, and split conformal sets are the smallest then"
_UNKNOWN = (
    "nothing is known of the target, and label-conditional sets hold under any label "
    "shift"
)
_KNOWN = "the weights are known, and with them coverage holds in finite samples"
_DRAW = (
    "coverage is to hold for the draw at hand, and of the two procedures that promise "
    "it with estimated weights this covers fewer calibration rows; both hold at once"
)
_FINITE = (
    "a claim in finite samples was asked for: with estimated weights label-conditional "
    "sets have the stronger one, and were the smaller in 142 of 144 settings measured"
)
_LIMIT = (
    "a claim in the limit was asked for: directional sets by MLLS were smaller than "
    "label-conditional ones in 119 of 144 settings measured, those by BBSE in 101"
)
_NOT_TOLD = (
    "predictions do not tell all classes apart, so that weights cannot be used; "
    "label-conditional sets need none"
)
_COMBINED = (
    "sets were asked for that are never larger than label-conditional ones at alpha="
)


@register("chosen-conformal")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ChosenConformalResult(Result):
    """Prediction sets of a procedure that `prediction_sets` chose.

    Attributes
    ----------
    fit : ConformalResult
        What the procedure itself returns.
    procedure : str
        How it is called by itself.
    reason : str
        Why it was chosen.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs, labels = [[0.8, 0.2], [0.3, 0.7]] * 30, [0, 1] * 30
    >>> fit = dfu.prediction_sets(probs, labels, score="lac")
    >>> fit
    <ChosenConformalResult: LabelConditionalConformalResult lac alpha=0.1 n=60 K=2>
    >>> fit.procedure
    'label_conditional_conformal(probs, labels)'
    """

    fit: ConformalResult
    procedure: str
    reason: str

    _state: ClassVar[State] = {
        "fit": part(ConformalResult),
        "procedure": text(),
        "reason": text(),
    }

    def __repr__(self) -> str:
        """Return one line."""
        return f"<ChosenConformalResult: {repr(self.fit)[1:-1]}>"

    @property
    def guarantee(self) -> Guarantee | NoGuarantee:
        """What holds for the sets that `predict` makes."""
        return self.fit.guarantee

    def predict(
        self,
        probs: ArrayLike,
        *,
        rng: RandomState = None,
        uniforms: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> PredictionSets:
        """Prediction sets for new rows.

        Parameters
        ----------
        probs, rng, uniforms, ids
            As in `ConformalResult.predict`.
        """
        return self.fit.predict(probs, rng=rng, uniforms=uniforms, ids=ids)

    def p_values(
        self,
        probs: ArrayLike,
        *,
        rng: RandomState = None,
        uniforms: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> FloatMatrix:
        """Conformal p-value of every label, shape (n, K).

        Parameters
        ----------
        probs, rng, uniforms, ids
            As in `ConformalResult.p_values`.
        """
        return self.fit.p_values(probs, rng=rng, uniforms=uniforms, ids=ids)

    def _check_savable(self) -> None:
        self.fit._check_savable()

    def to_frame(self) -> pd.DataFrame:
        """Return the frame of the fit."""
        return self.fit.to_frame()

    def summary(self) -> Summary:
        """Return the summary of the fit, with the choice and its reason."""
        from distfreeuq.conformal.summary import summarize_conformal

        choice = [
            ("Chosen", f"{self.procedure}."),
            ("Because", f"{self.reason}."),
        ]
        return summarize_conformal(self.fit, choice)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the calibration scores and the threshold."""
        return self.fit.plot(ax)


def prediction_sets(
    probs: RowsLike,
    labels: ArrayLike | None,
    shift: ArrayLike | LabelShiftResult | Literal["none"] | None = None,
    *,
    alpha: float = 0.1,
    claim: ClaimKind = "finite-sample",
    delta: float = 0.01,
    share: float = 0.5,
    score: ScoreLike = "aps",
    randomized: bool = True,
    never_empty: bool = False,
    confidence: float | None = None,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
    ids: ArrayLike | None = None,
) -> ChosenConformalResult:
    """Prediction sets by the procedure that suits what is known and what is asked for.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        A classifier's probabilities on source rows that it was not fitted on.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`.
    shift : optional
        What is known of the target: "none" if it is the source, the class weights
        w = q/p if they are known (numbers, or what `label_weights` returned), an
        estimate (`bbse`, `rlls`, `mlls`), or None: any label shift.
    alpha : float, default 0.1
        Miscoverage level in (0, 1).
    claim : {"finite-sample", "asymptotic", "combined"}, default "finite-sample"
        What is to be promised with estimated weights.
    delta : float, default 0.01
        What the bound on estimated weights may fail with, for claims in the limit.
    share : float, default 0.5
        Of alpha, what directional sets get where ``claim="combined"``.
    score, randomized, never_empty, classes, rng, ids
        As in `split_conformal`.
    confidence : float, optional
        With a number such as 0.95: coverage of at least 1 - alpha with that probability
        over the draw of the rows.

    Returns
    -------
    ChosenConformalResult
        ``.fit`` is the procedure's own result, ``.procedure`` and ``.reason`` are
        printed with its summary.

    Notes
    -----
    The rules look at what is given and asked for, not at scores or labels:

    ===================  ===================  ==========================================
    shift                claim                procedure
    ===================  ===================  ==========================================
    "none"               any                  `split_conformal`
    None                 any                  `label_conditional_conformal`
    known weights        any                  `label_shift_conformal`
    estimate             with `confidence`    `label_shift_conformal`, ``confidence=``
    estimate             "finite-sample"      `label_conditional_conformal`
    estimate             "asymptotic"         ``robust="directional"`` or, where
                                              predictions do not tell all classes apart,
                                              `label_conditional_conformal`
    estimate             "combined"           both, with shares of alpha
    ===================  ===================  ==========================================

    ``robust=True`` is never chosen: its sets were larger than label-conditional ones,
    which promise more, in 142 of 144 settings measured (vignette 6).

    Combined sets hold a label if label-conditional sets at (1 - share) alpha and
    directional ones at share * alpha both do. They are never larger than the former,
    and where classes have too few rows for the former nearly the latter.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> toy = dfu.scenarios.three_gaussians()
    >>> x, labels = toy.sample(500, "source", rng=0)
    >>> probs, target = toy.posterior(x), toy.posterior(toy.sample(500, "target")[0])
    >>> estimate = dfu.mlls(probs, labels, target)
    >>> fit = dfu.prediction_sets(probs, labels, estimate, claim="asymptotic", rng=1)
    >>> fit.procedure
    "label_shift_conformal(probs, labels, shift, robust='directional')"
    """
    args = Arguments("prediction_sets")
    calibration = calibration_scores(
        args,
        probs,
        labels,
        score=score,
        randomized=randomized,
        never_empty=never_empty,
        classes=classes,
        rng=rng,
        ids=ids,
    )
    alpha = args.alpha(alpha)
    kinds = ("finite-sample", "asymptotic", "combined")
    kind = args.choice(claim, "claim", kinds)
    delta = args.probability(delta, "delta")
    share = args.probability(share, "share")
    confidence = calibration.read_confidence(args, confidence)
    if isinstance(shift, str):
        args.choice(shift, "shift", ["none"])
        fit = fit_split(calibration, alpha, confidence)
        return _chosen(fit, "split_conformal(probs, labels)", _SPLIT)
    if shift is None:
        return _by_class(calibration, alpha, confidence, _UNKNOWN)
    if isinstance(shift, LabelShiftResult) and not shift.known:
        _check_classes(args, shift, calibration)
        if confidence is not None:
            drawn = fit_capped_pac(calibration, shift, alpha, confidence)
            how = "label_shift_conformal(probs, labels, shift, confidence=...)"
            return _chosen(drawn, how, f"{_DRAW} ({drawn.pac_method})")
        return _with_estimate(calibration, shift, alpha, kind, delta, share)

    known = shift if isinstance(shift, LabelShiftResult) else None
    if known is not None:
        _check_classes(args, known, calibration)
    given: Any = shift if known is None else known.label_weight
    weights = args.label_weights(
        given, calibration.classes, calibration.labels, "shift"
    )
    if confidence is None:
        by_weights = fit_label_shift(calibration, weights, known, alpha, None)
    else:
        generator = stream(rng, "thin", args.caller)
        by_weights = fit_label_shift_pac(
            calibration, weights, known, alpha, confidence, generator
        )
    how = "label_shift_conformal(probs, labels, shift)"
    return _chosen(by_weights, how, _KNOWN)


def _with_estimate(
    calibration: CalibrationScores,
    estimate: LabelShiftResult,
    alpha: float,
    kind: str,
    delta: float,
    share: float,
) -> ChosenConformalResult:
    """Return the sets for estimated weights, by the claim that was asked for."""
    if kind == "finite-sample":
        return _by_class(calibration, alpha, None, _FINITE)
    law = estimate._limit_law()
    if not law.told[calibration.counts > 0].all():
        return _by_class(calibration, alpha, None, _NOT_TOLD)
    if kind == "asymptotic":
        fit = fit_label_shift_directional(calibration, estimate, alpha, delta)
        how = "label_shift_conformal(probs, labels, shift, robust='directional')"
        return _chosen(fit, how, _LIMIT)
    both = fit_label_shift_combined(calibration, estimate, alpha, delta, share)
    how = "directional sets, cut to label-conditional ones"
    return _chosen(both, how, f"{_COMBINED}{(1.0 - share) * alpha:.6g}")


def _by_class(
    calibration: CalibrationScores, alpha: float, confidence: float | None, why: str
) -> ChosenConformalResult:
    alphas = np.full(len(calibration.classes), alpha)
    fit = fit_label_conditional(calibration, alphas, confidence, True)
    return _chosen(fit, "label_conditional_conformal(probs, labels)", why)


def _chosen(fit: ConformalResult, procedure: str, reason: str) -> ChosenConformalResult:
    return ChosenConformalResult(fit=fit, procedure=procedure, reason=reason)


def _check_classes(
    args: Arguments, shift: LabelShiftResult, calibration: CalibrationScores
) -> None:
    if tuple(shift.classes) != tuple(calibration.classes):
        must = f"for the classes {listed(calibration.classes)}"
        args.invalid("shift", must, f"weights for {listed(shift.classes)}")
