"""Calibrators of a user's own: functions and objects that take `sample_weight`.

A function is called as `temperature_scaling` is, and an object as scikit-learn's are:
``fit(logits, labels, sample_weight=)`` on a deep copy, then ``predict_proba(logits)``.
What they give back is read once, here, whichever procedure asks.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix
from distfreeuq._base.arrays import describe
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.stored_state import State, part, text
from distfreeuq.calibration.data import read_new_logits
from distfreeuq.calibration.guarantees import no_theorem
from distfreeuq.calibration.results import CalibrationResult, change_fields, outcome_of
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

_SUM_TOLERANCE = 1e-6
Map = Callable[[Any], Any]
"""From logits to probabilities."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OwnCalibrationResult(CalibrationResult):
    """A map that a calibrator of the user's own has fitted.

    Attributes
    ----------
    calibrator : str
        Its name.
    fitted : object
        What it returned: a function of logits, or an object with ``predict_proba`` or
        ``predict``.

    The other attributes are those of every `CalibrationResult`. It cannot be saved: a
    file holds no code.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> def shrunk(logits, labels, sample_weight=None):
    ...     share = np.average(labels, weights=sample_weight)
    ...     return lambda new: 0.5 * share + 0.5 / (1 + np.exp(new[:, 0] - new[:, 1]))
    >>> logits, labels = [[0.0, 2.0], [0.0, -2.0]] * 9, [1, 1, 0] * 6
    >>> fit = dfu.groupwise_calibration(shrunk, logits, labels, groups=[0, 1] * 9)
    >>> fit.fits[0]
    <OwnCalibrationResult shrunk n=9 K=2>
    >>> fit.fits[0].predict([[0.0, 2.0]]).round(3)
    array([[0.226, 0.774]])
    """

    calibrator: str
    fitted: Any

    _state: ClassVar[State] = {"calibrator": text(), "fitted": part(object)}

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<OwnCalibrationResult {self.calibrator} n={self.n} K={len(self.classes)}>"
        )

    def predict(self, logits: ArrayLike) -> FloatMatrix:
        """Probabilities by the user's map, checked, shape (n, K).

        Parameters
        ----------
        logits : array_like (n, K)
            Columns as in the fit.
        """
        args = Arguments("OwnCalibrationResult.predict")
        return self._predict(
            read_new_logits(args, logits, self.classes, may_be_probs=True)
        )

    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        args = Arguments("OwnCalibrationResult.predict")
        given = _map_of(args, self.fitted, "self", self.calibrator)(matrix)
        return _probabilities(args, given, matrix, "self", self.calibrator)

    def to_frame(self) -> pd.DataFrame:
        """Return one row: the map's name, and its loss before and after."""
        import pandas as pd

        columns = {
            "calibrator": [self.calibrator],
            "loss_before": [self.loss_before],
            "loss_after": [self.loss_after],
            "n_changed": [self.n_changed],
        }
        return pd.DataFrame(columns)

    def summary(self) -> Summary:
        """Return losses before and after as a ``Summary``."""
        from distfreeuq.calibration.summary import summarize_own

        return summarize_own(self)

    def _check_savable(self) -> None:
        must = "made of arrays and text, all that files without pickle hold"
        got = f"a map by your own {self.calibrator}, which cannot be saved"
        Arguments("save").invalid("self", must, got)

    def _parameter_plot(self, ax: Axes | None) -> Axes:
        must = "'reliability' for a map of your own, whose parameters are not known"
        Arguments("OwnCalibrationResult.plot").invalid("kind", must, "'parameters'")

    def _default_plot(self, ax: Axes | None) -> Axes:
        from distfreeuq import plots

        return plots.reliability_change(self, ax=ax)


@dataclass(frozen=True, slots=True)
class OwnCalibrator:
    """A user's function or estimator, ready to be fitted to rows.

    Attributes
    ----------
    name : str
    given : callable or object with fit
    """

    name: str
    given: Any

    def fit(
        self,
        args: Arguments,
        parameter: str,
        rows: CalibrationRows,
        options: Mapping[str, Any],
        weights: FloatArray | None,
    ) -> Any:
        """Return a CalibrationResult, or what else of this package was returned.

        The weights are handed over as they are: their scale may matter to a penalty.
        """
        if is_estimator(self.given):
            fresh = copy.deepcopy(self.given)
            found = fresh.fit(
                rows.logits, rows.labels, sample_weight=weights, **options
            )
            fitted = fresh if found is None else found
        else:
            labels: Any = rows.labels
            if _takes(self.given, "classes"):
                labels = name_array(rows.classes)[rows.labels]
                options = {**options, "classes": rows.classes}
            fitted = self.given(rows.logits, labels, sample_weight=weights, **options)
        if hasattr(fitted, "guarantee") and hasattr(fitted, "classes"):
            if len(fitted.classes) != rows.n_classes:
                must = f"a calibrator of the {rows.n_classes} classes of the labels"
                args.invalid(parameter, must, repr(fitted))
            return fitted
        given = _map_of(args, fitted, parameter, self.name)(rows.logits)
        probs = _probabilities(args, given, rows.logits, parameter, self.name)
        return OwnCalibrationResult(
            **change_fields(rows, lambda _: outcome_of(rows, probs)),
            guarantee=no_theorem("this calibrator", "Cor. 4.2"),
            calibrator=self.name,
            fitted=fitted,
        )


def is_estimator(value: Any) -> bool:
    """Return whether this is an object in scikit-learn's manner."""
    return callable(getattr(value, "fit", None)) and not isinstance(value, type)


def read_own(args: Arguments, value: Any, parameter: str) -> OwnCalibrator:
    """Return a user's calibrator, which must take `sample_weight`."""
    name = getattr(value, "__name__", type(value).__name__)
    called = value.fit if is_estimator(value) else value
    if not _takes(called, "sample_weight"):
        must = "a calibrator that takes 'sample_weight'"
        args.invalid(parameter, must, describe(value))
    return OwnCalibrator(name, value)


def _takes(function: Any, name: str) -> bool:
    """Return whether a function takes this keyword, as far as it tells."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return name == "sample_weight"
    if any(parameter.name == name for parameter in parameters):
        return True
    # what takes everything may pass it on; only the weights must arrive
    return name == "sample_weight" and any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters
    )


def _map_of(args: Arguments, fitted: Any, parameter: str, name: str) -> Map:
    """Return the map from logits to probabilities that a user's fit has."""
    for method in ("predict_proba", "predict"):
        own = getattr(fitted, method, None)
        if callable(own):
            found: Map = own
            return found
    if not callable(fitted):
        must = (
            "a calibrator that returns a CalibrationResult, a function of logits, or "
            "an object with 'predict_proba' or 'predict'"
        )
        args.invalid(parameter, must, f"{name}, which returns {describe(fitted)}")
    given: Map = fitted
    return given


def _probabilities(
    args: Arguments, given: Any, matrix: FloatMatrix, parameter: str, name: str
) -> FloatMatrix:
    """Return checked probabilities (n, K) in float64."""
    n, n_classes = matrix.shape
    must = (
        f"a calibrator whose probabilities (n, {n_classes}) of n rows are finite, not "
        "negative, and sum to one"
    )
    try:
        probs = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        args.invalid(parameter, must, f"{describe(given)} from {name}")
    if n_classes == 2 and probs.shape == (n,):  # of class 1
        probs = np.column_stack([1.0 - probs, probs])
    got = f"an array of shape {probs.shape} from {name}"
    if probs.shape != (n, n_classes):
        args.invalid(parameter, must, got)
    good = (probs >= 0.0).all(axis=1)
    good &= np.abs(probs.sum(axis=1) - 1.0) <= _SUM_TOLERANCE
    if not good.all():
        row = int(np.argmin(good))
        values = ", ".join(f"{value:.6g}" for value in probs[row, :4])
        more = ", ..." if n_classes > 4 else ""
        args.invalid(parameter, must, f"{got}, whose row {row} is [{values}{more}]")
    return probs
