"""Venn-Abers: two probabilities of every class, one of them perfectly calibrated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, require, several
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq.calibration.data import read_probability_rows
from distfreeuq.calibration.isotonic import curve_classes
from distfreeuq.calibration.probability_maps.convex_minorants import fits_with_one_more
from distfreeuq.calibration.probability_maps.guarantees import venn_abers_guarantee
from distfreeuq.calibration.results import (
    CalibrationResult,
    change_fields,
    outcome_of,
)
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows
from distfreeuq.calibration.rows.rows_in_blocks import FitRows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

_LARGEST_WEIGHT_RANGE = 1e12
"""Rows of less than the largest weight over this one count as without weight."""


@register("venn-abers")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VennAbersResult(CalibrationResult):
    """Two non-decreasing curves per class; for two classes, those of class 1.

    Attributes
    ----------
    knots : tuple of ndarray
        Each class's different probabilities among the calibration rows, ascending.
    lower, upper : tuple of ndarray
        Isotonic regressions at each knot, once a row more of another class (lower) or
        of the class (upper) stands there.

    The other attributes are those of every `CalibrationResult`. There are no standard
    errors: isotonic estimates converge at the cube-root rate, to no normal law.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> fit = dfu.venn_abers([0.1, 0.4, 0.6, 0.9], [0, 0, 1, 1])
    >>> fit
    <VennAbersResult n=4 K=2>
    >>> fit.multiprobabilities([0.95])[0, 1].round(3).tolist()
    [0.667, 1.0]
    """

    knots: tuple[FloatArray, ...]
    lower: tuple[FloatArray, ...]
    upper: tuple[FloatArray, ...]

    _state: ClassVar[State] = {
        "knots": several(floats("*", finite=True, ascending=True), "curves"),
        "lower": several(floats("*", low=0.0, high=1.0, nan=False), "curves"),
        "upper": several(floats("*", low=0.0, high=1.0, nan=False), "curves"),
    }

    def _validate_state(self) -> None:
        n_curves = len(curve_classes(self.classes))
        require(len(self.knots) == n_curves, "two curves for each class")
        for one in zip(self.knots, self.lower, self.upper, strict=True):
            sizes = {values.size for values in one}
            require(len(sizes) == 1 and sizes != {0}, "two values at each knot")

    def _why_rows(self) -> str:
        return "whose curves have a point at each row"

    def __repr__(self) -> str:
        """Return one line."""
        return f"<VennAbersResult n={self.n} K={len(self.classes)}>"

    @lazy
    def predict(self, logits: ArrayLike) -> FloatMatrix:
        """Probabilities that merge the two of every class, shape (n, K).

        Parameters
        ----------
        logits : array_like (n, K), or (n,) for the probability of class 1
            Probabilities, columns as in the fit (the parameter has the name that it has
            for all calibrators).

        Notes
        -----
        p_1 / (1 - p_0 + p_1), whose log loss exceeds that of the better of the two by
        the same, whatever the label is. With more than two classes rows are divided by
        their sums. No row gets a probability of 0 or 1.
        """
        args = Arguments("VennAbersResult.predict")
        return self._predict(args.new_probs(logits, self.classes, "logits"))

    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        return merged(*self._both(matrix)).astype(matrix.dtype)

    def multiprobabilities(self, logits: ArrayLike) -> FloatArray:
        """Return p_0 and p_1 of every class, shape (n, K, 2).

        Parameters
        ----------
        logits : array_like (n, K), or (n,) for the probability of class 1
            Probabilities, as for `predict`.

        Notes
        -----
        ``[i, k, 0]`` is the probability of class k if row i is of another class, and
        ``[i, k, 1]`` if it is of class k: the first is never larger. Their distance
        says how much the calibration rows leave open there.
        """
        args = Arguments("VennAbersResult.multiprobabilities")
        matrix = args.new_probs(logits, self.classes, "logits")
        low, high = self._both(matrix)
        if len(self.classes) == 2:
            low, high = (
                np.hstack([1.0 - high, low]),
                np.hstack([1.0 - low, high]),
            )
        return np.stack([low, high], axis=2)

    def _both(self, matrix: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
        """Return p_0 and p_1 of every curve, each (n, curves)."""
        columns = matrix[:, -len(self.knots) :] if len(self.knots) == 1 else matrix
        return both_probabilities(columns, self.knots, self.lower, self.upper)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per knot: class, knot, lower, upper."""
        import pandas as pd

        names = name_array(self.classes)[-len(self.knots) :]
        return pd.DataFrame(
            {
                "class": np.repeat(names, [knots.size for knots in self.knots]),
                "knot": np.concatenate(self.knots),
                "lower": np.concatenate(self.lower),
                "upper": np.concatenate(self.upper),
            }
        )

    def summary(self) -> Summary:
        """Return losses, the curves' extent and the guarantee as a ``Summary``."""
        from distfreeuq.calibration.summary import summarize_venn_abers

        return summarize_venn_abers(self)

    def _parameter_plot(self, ax: Axes | None) -> Axes:
        return self._default_plot(ax)

    def _default_plot(self, ax: Axes | None) -> Axes:
        from distfreeuq import plots

        return plots.reliability_change(self, ax=ax)


def venn_abers(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> VennAbersResult:
    """Calibrate by isotonic regressions that take in the new row, with either label.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        A classifier's probabilities on rows that it was not fitted on: in memory, since
        the result has a knot for each of them.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`.
    sample_weight : array_like (n,), optional
        Non-negative weights; their scale has no effect. A new row then has their mean.
        Nothing is guaranteed with weights.
    classes : sequence, optional
        Class names by column.

    Returns
    -------
    VennAbersResult

    Notes
    -----
    For a new row with probability s of class 1, isotonic regression is fitted twice to
    the calibration rows and this row, once with label 0 and once with label 1; p_0 and
    p_1 are the fitted values at s. If the rows are exchangeable, the one that belongs
    to the row's label is perfectly calibrated, at any sample size and for any
    classifier [1]_. All places that a new row can have are fitted together, in one pass
    over the sorted rows for each label. With more than two classes this is done for
    each class against all others.

    References
    ----------
    .. [1] Vovk, Petej and Fedorova (2015), "Large-scale probabilistic predictors with
       and without guarantees of validity", NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(500)
    >>> labels = (rng.random(500) < score**2).astype(int)
    >>> fit = dfu.venn_abers(score, labels)
    >>> fit.multiprobabilities([0.5])[0, 1].round(2).tolist()
    [0.31, 0.32]
    >>> fit.predict([0.5]).round(2).tolist()
    [[0.68, 0.32]]
    """
    args = Arguments("venn_abers")
    rows = read_probability_rows(args, probs, labels, sample_weight, classes)
    read_venn_abers_options(args, rows)
    return fit_venn_abers(rows)


def read_venn_abers_options(args: Arguments, rows: FitRows) -> None:
    """Return nothing, as there are no options; refuse rows in blocks."""
    if not isinstance(rows, CalibrationRows):
        must = "an array in memory: the result has a knot for each of its rows"
        hint = "isotonic_calibration takes blocks; or give a sample of the rows."
        args.invalid("probs", must, "rows in blocks", hint=hint)


def fit_venn_abers(rows: FitRows, options: None = None) -> VennAbersResult:
    """Fit both curves of every class to rows that hold probabilities."""
    assert isinstance(rows, CalibrationRows)
    columns = range(rows.n_classes) if rows.n_classes > 2 else [1]
    curves = [_fit_curves(rows, k) for k in columns]
    knots, lower, upper = (
        tuple(read_only(curve[i]) for curve in curves) for i in range(3)
    )
    places = [curve.which for curve in curves]
    if all(place.size == rows.n for place in places):  # every row is at a knot
        pairs = zip(places, lower, upper, strict=True)
        low, high = np.stack([(lo[at], up[at]) for at, lo, up in pairs], axis=2)
    else:
        low, high = both_probabilities(rows.logits[:, columns], knots, lower, upper)
    after = outcome_of(rows, merged(low, high))
    return VennAbersResult(
        **change_fields(rows, lambda _: after, of_probs=True),
        guarantee=venn_abers_guarantee(rows),
        knots=knots,
        lower=lower,
        upper=upper,
    )


class _Curves(NamedTuple):
    """Different probabilities, both values at each, and which one each row has.

    Rows of next to no weight have none.
    """

    knots: FloatArray
    lower: FloatArray
    upper: FloatArray
    which: IntArray


def _fit_curves(rows: CalibrationRows, k: int) -> _Curves:
    """Fit both curves of class k."""
    counted = rows.weights * _LARGEST_WEIGHT_RANGE > rows.weights.max()
    weights = rows.weights[counted]
    distinct, which = np.unique(
        rows.logits[counted, k].astype(np.float64), return_inverse=True
    )
    of_class = weights * (rows.labels[counted] == k)
    lower, upper = fits_with_one_more(
        np.bincount(which, weights=weights).astype(np.float64),
        np.bincount(which, weights=of_class).astype(np.float64),
        float(weights.mean()),
    )
    return _Curves(distinct, lower, upper, which)


def both_probabilities(
    columns: FloatMatrix,
    knots: tuple[FloatArray, ...],
    lower: tuple[FloatArray, ...],
    upper: tuple[FloatArray, ...],
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return p_0 and p_1 (n, curves) of new rows' probabilities (n, curves).

    Between knots, a row that is not of the class joins the rows below it, and one that
    is those above; beyond all of them it stands alone.
    """
    low, high = (np.empty(columns.shape) for _ in range(2))
    for k, (places, below, above) in enumerate(zip(knots, lower, upper, strict=True)):
        column = columns[:, k].astype(np.float64)
        # searches in ascending order stay in the cache: 253 -> 25 ms for a million
        # rows among as many knots, the sort included
        order = np.argsort(column)
        column = column[order]
        up_to = np.searchsorted(places, column, side="right")
        at_knot = places[np.maximum(up_to, 1) - 1] == column
        low[order, k] = np.concatenate([[0.0], below])[up_to]
        high[order, k] = np.concatenate([above, [1.0]])[up_to - at_knot]
    return low, high


def merged(low: FloatMatrix, high: FloatMatrix) -> FloatMatrix:
    """Return probabilities (n, K) of the two of every curve."""
    one = high / (1.0 - low + high)
    if one.shape[1] == 1:
        return np.hstack([1.0 - one, one])
    return np.asarray(one / one.sum(axis=1, keepdims=True))
