"""Histogram binning as one of the calibrators that other procedures fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatMatrix
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, part, require
from distfreeuq.binning.data import BinningRows
from distfreeuq.binning.histogram import fit_histogram
from distfreeuq.binning.results import BinningResult
from distfreeuq.binning.settings import read_options
from distfreeuq.calibration.results import (
    CalibrationResult,
    Outcome,
    change_fields,
    outcome_of,
)
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows
from distfreeuq.calibration.rows.rows_in_blocks import FitRows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@register("binned-map")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BinnedResult(CalibrationResult):
    """Histogram binning as a calibration map.

    Attributes
    ----------
    binning : BinningResult
        Bins, frequencies and their bounds, as `histogram_binning` returns them.

    The other attributes are those of every `CalibrationResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs = [[0.9, 0.1], [0.2, 0.8]] * 20
    >>> labels = [0, 1] * 15 + [1, 0] * 5
    >>> site = ["north"] * 20 + ["south"] * 20
    >>> fit = dfu.groupwise_calibration(
    ...     "binning", probs, labels, groups=site, n_bins=2)
    >>> fit.fits[0]
    <BinnedResult bins=3 n=20 K=2>
    """

    binning: BinningResult

    _state: ClassVar[State] = {"binning": part(BinningResult)}

    def _validate_state(self) -> None:
        require(self.binning.classes == self.classes, "bins of the same classes")

    def __repr__(self) -> str:
        """Return one line."""
        size = f"n={self.n} K={len(self.classes)}"
        return f"<BinnedResult bins={self.binning.n_bins} {size}>"

    def predict(self, logits: ArrayLike) -> FloatMatrix:
        """Label frequencies of each row's bin, shape (n, K).

        Parameters
        ----------
        logits : array_like (n, K), or (n,) for the probability of class 1
            Probabilities, columns as in the fit (the parameter has the name that it has
            for all calibrators).
        """
        args = Arguments("BinnedResult.predict")
        return self._predict(args.new_probs(logits, self.classes, "logits"))

    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        return self.binning._predict(matrix)

    def to_frame(self) -> pd.DataFrame:
        """Return the table of bins, as `BinningResult.to_frame`."""
        return self.binning.to_frame()

    def summary(self) -> Summary:
        """Return the bins and what holds in all of them, as a ``Summary``."""
        return self.binning.summary()

    def _check_savable(self) -> None:
        self.binning._check_savable()

    def _parameter_plot(self, ax: Axes | None) -> Axes:
        return self._default_plot(ax)

    def _default_plot(self, ax: Axes | None) -> Axes:
        return self.binning.plot(ax)


def read_binning_options(
    args: Arguments, rows: FitRows, **options: Any
) -> dict[str, Any]:
    """Return the options, checked on all rows; more than two classes are binned by top.

    Bins are chosen anew by every group of rows, so that the options stay as they are.
    """
    if not isinstance(rows, CalibrationRows):
        must = "another calibrator where rows are in blocks"
        args.invalid("calibrator", must, "histogram binning")
    several = rows.n_classes > 2 and not callable(options["scheme"])
    if several and options["mode"] == "canonical":
        options["mode"] = "top-label"
    read_options(args, _binning_rows(rows), **options)
    return options


def fit_binned(rows: FitRows, options: Mapping[str, Any]) -> BinnedResult:
    """Fit histogram binning to rows that hold probabilities."""
    assert isinstance(rows, CalibrationRows)
    args = Arguments("histogram_binning")
    binned, settings = read_options(args, _binning_rows(rows), **options)
    return as_map(rows, fit_histogram(binned, settings))


def as_map(rows: CalibrationRows, binning: BinningResult) -> BinnedResult:
    """Return a fit of these rows as a calibration map."""

    def become(some: CalibrationRows) -> Outcome:
        return outcome_of(some, binning._predict(some.logits))

    return BinnedResult(
        **change_fields(rows, become, of_probs=True),
        guarantee=binning.guarantee,
        binning=binning,
    )


def _binning_rows(rows: CalibrationRows) -> BinningRows:
    weights = rows.weights if rows.is_weighted else None
    probs = np.ascontiguousarray(rows.logits)
    return BinningRows(probs, rows.labels, rows.classes, weights)
