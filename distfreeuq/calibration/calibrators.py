"""The calibrators that other procedures fit to rows of their own, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.keyword_options import complete_options
from distfreeuq.calibration.data import CalibrationRows
from distfreeuq.calibration.isotonic import (
    fit_isotonic,
    isotonic_calibration,
    read_isotonic_options,
)
from distfreeuq.calibration.platt import fit_platt, platt_scaling, read_platt_options
from distfreeuq.calibration.probability_maps.beta_curves import (
    beta_calibration,
    fit_beta,
    read_beta_options,
)
from distfreeuq.calibration.probability_maps.dirichlet_maps import (
    dirichlet_scaling,
    fit_dirichlet,
    read_dirichlet_options,
)
from distfreeuq.calibration.probability_maps.venn_prediction import (
    fit_venn_abers,
    read_venn_abers_options,
    venn_abers,
)
from distfreeuq.calibration.results import CalibrationResult
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

UserCalibrator = Callable[..., Any]
"""A user's own function, which is called as `temperature_scaling` is."""


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
    """

    function: Callable[..., CalibrationResult]
    read: Callable[..., Any]
    fit: Callable[[CalibrationRows, Any], CalibrationResult]
    takes_probs: bool = False

    def options(self, rows: CalibrationRows, given: Mapping[str, Any]) -> Any:
        """Return checked options for a fit to these rows."""
        shared = ("sample_weight", "classes")
        options = complete_options(self.function, given, without=shared)
        return self.read(Arguments(self.function.__name__), rows, **options)


CALIBRATORS = {
    "temperature": Calibrator(
        temperature_scaling, read_temperature_options, fit_temperature
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


def read_calibrator(
    args: Arguments, value: Any, parameter: str = "calibrator"
) -> tuple[str, Calibrator | UserCalibrator]:
    """Return a calibrator and its name from either."""
    if callable(value):
        for name, known in CALIBRATORS.items():
            if value is known.function:
                return name, known
        return getattr(value, "__name__", type(value).__name__), value
    name = args.choice(value, parameter, CALIBRATORS)
    return name, CALIBRATORS[name]
