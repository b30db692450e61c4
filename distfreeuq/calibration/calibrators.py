"""The calibrators that other procedures fit to rows of their own, by name or given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray
from distfreeuq._base.arrays import describe
from distfreeuq._base.keyword_options import complete_options
from distfreeuq.binning.histogram import histogram_binning
from distfreeuq.binning.results import BinningResult
from distfreeuq.calibration.classwise_temperature import (
    classwise_temperature_scaling,
    fit_classwise_temperatures,
    read_classwise_options,
)
from distfreeuq.calibration.isotonic import (
    IsotonicResult,
    fit_isotonic,
    isotonic_calibration,
    read_isotonic_options,
)
from distfreeuq.calibration.own_maps.own_calibrators import (
    OwnCalibrator,
    is_estimator,
    read_own,
)
from distfreeuq.calibration.platt import fit_platt, platt_scaling, read_platt_options
from distfreeuq.calibration.probability_maps.beta_curves import (
    BetaResult,
    beta_calibration,
    fit_beta,
    read_beta_options,
)
from distfreeuq.calibration.probability_maps.binned_map import (
    BinnedResult,
    as_map,
    fit_binned,
    read_binning_options,
)
from distfreeuq.calibration.probability_maps.dirichlet_maps import (
    dirichlet_scaling,
    fit_dirichlet,
    read_dirichlet_options,
)
from distfreeuq.calibration.probability_maps.venn_prediction import (
    VennAbersResult,
    fit_venn_abers,
    read_venn_abers_options,
    venn_abers,
)
from distfreeuq.calibration.results import CalibrationResult
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows
from distfreeuq.calibration.rows.rows_in_blocks import FitRows
from distfreeuq.calibration.temperature import (
    fit_temperature,
    read_temperature_options,
    temperature_scaling,
)
from distfreeuq.calibration.vector import (
    fit_vector,
    read_vector_options,
    vector_scaling,
)

UserCalibrator = Callable[..., Any] | Any
"""A user's own function, called as `temperature_scaling` is, or object with fit."""


@dataclass(frozen=True, slots=True)
class Calibrator:
    """A calibrator of this package.

    Attributes
    ----------
    function : callable
        What users call; it names the options, and messages name it.
    read : callable
        From arguments, rows and options as given to checked options.
    fit : callable
        From rows and checked options to the result.
    takes_probs : bool
        Whether the rows hold probabilities rather than logits.
    takes_masked : bool
        Whether logits may be -inf, as those of classes that are masked.
    preset : mapping
        Options that came with it, in a ``functools.partial``.
    """

    function: Callable[..., CalibrationResult | BinningResult]
    read: Callable[..., Any]
    fit: Callable[[FitRows, Any], CalibrationResult]
    takes_probs: bool = False
    takes_masked: bool = False
    preset: Mapping[str, Any] = field(default_factory=dict)

    def options(self, rows: FitRows, given: Mapping[str, Any]) -> Any:
        """Return checked options for a fit to these rows."""
        shared = ("sample_weight", "classes")
        wanted = {**self.preset, **given}
        options = complete_options(self.function, wanted, without=shared)
        return self.read(Arguments(self.function.__name__), rows, **options)


CALIBRATORS = {
    "temperature": Calibrator(
        temperature_scaling,
        read_temperature_options,
        fit_temperature,
        takes_masked=True,
    ),
    "classwise-temperature": Calibrator(
        classwise_temperature_scaling,
        read_classwise_options,
        fit_classwise_temperatures,
        takes_masked=True,
    ),
    "vector": Calibrator(vector_scaling, read_vector_options, fit_vector),
    "platt": Calibrator(platt_scaling, read_platt_options, fit_platt),
    "dirichlet": Calibrator(dirichlet_scaling, read_dirichlet_options, fit_dirichlet),
    "isotonic": Calibrator(
        isotonic_calibration, read_isotonic_options, fit_isotonic, takes_probs=True
    ),
    "beta": Calibrator(beta_calibration, read_beta_options, fit_beta, takes_probs=True),
    "venn-abers": Calibrator(
        venn_abers, read_venn_abers_options, fit_venn_abers, takes_probs=True
    ),
}

BY_NAME = {
    **CALIBRATORS,
    "binning": Calibrator(
        histogram_binning, read_binning_options, fit_binned, takes_probs=True
    ),
}
"""All of them, with histogram binning as a calibration map."""


AnyCalibrator: TypeAlias = Calibrator | OwnCalibrator
TAKES_PROBS = (IsotonicResult, VennAbersResult, BetaResult, BinnedResult)
"""Maps of probabilities, which take no logits."""


def read_calibrator(
    args: Arguments, value: Any, parameter: str = "calibrator"
) -> tuple[str, AnyCalibrator]:
    """Return a calibrator and its name from a name, a function or an object.

    A function of this package counts as its name, with the options of a
    ``functools.partial`` of it.
    """
    if isinstance(value, str) or not (callable(value) or is_estimator(value)):
        if not isinstance(value, str):
            names = ", ".join(repr(name) for name in BY_NAME)
            must = f"one of {names}, a function, or an object with 'fit'"
            args.invalid(parameter, must, describe(value))
        name = args.choice(value, parameter, BY_NAME)
        return name, BY_NAME[name]
    whole = isinstance(value, partial) and not value.args
    function = value.func if isinstance(value, partial) and whole else value
    for name, known in BY_NAME.items():
        if function is not known.function:
            continue
        preset = dict(value.keywords) if isinstance(value, partial) else {}
        if not {"sample_weight", "classes"} & preset.keys():
            return name, replace(known, preset=preset)
    own = read_own(args, value, parameter)
    return own.name, own


def fit_calibrator(
    args: Arguments,
    calibrator: AnyCalibrator,
    rows: CalibrationRows,
    options: Any,
    weights: FloatArray | None,
    parameter: str = "calibrator",
) -> CalibrationResult:
    """Fit to rows; `options` are checked ones, or by name for a user's calibrator.

    To that the weights are given as they are, None for none.
    """
    if isinstance(calibrator, Calibrator):
        return calibrator.fit(rows, options)
    found = calibrator.fit(args, parameter, rows, options, weights)
    if isinstance(found, BinningResult):
        return as_map(rows, found)
    if not isinstance(found, CalibrationResult):
        must = "a calibrator that returns a CalibrationResult or a map of logits"
        args.invalid(parameter, must, f"one that returns {type(found).__name__}")
    return found


def takes_probs(fit: CalibrationResult) -> bool:
    """Return whether a fitted map takes probabilities rather than logits."""
    return isinstance(getattr(fit, "pooled", fit), TAKES_PROBS)


def may_mask(calibrator: AnyCalibrator | None) -> bool:
    """Return whether logits may be -inf in a fit that makes of them what it takes.

    Temperatures leave masked classes at zero, and so does the softmax that maps of
    probabilities and bins (None) are given: zeros are to them what others are. But beta
    calibration is of logarithms.
    """
    if calibrator is None:
        return True
    if not isinstance(calibrator, Calibrator):
        return False
    of_logs = calibrator.function is beta_calibration
    return calibrator.takes_masked or (calibrator.takes_probs and not of_logs)


def takes_masked(fit: CalibrationResult | BinningResult) -> bool:
    """Return whether logits may be -inf for a fitted map, or their softmax taken."""
    if isinstance(fit, BinningResult):
        return True
    of_logs = isinstance(getattr(fit, "pooled", fit), BetaResult)
    return fit._has_temperatures or (takes_probs(fit) and not of_logs)
