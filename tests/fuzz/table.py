"""Every public function: how often it is called, and what is special about it.

`tests/fuzz/test_table.py` fails for a public name that is missing here, and for a
parameter whose kind is not known.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import distfreeuq as dfu
from tests.fuzz.axes import drawn
from tests.fuzz.kinds import Kind
from tests.fuzz.parameters import PARAMETERS
from tests.fuzz.table_bounds import BOUNDS
from tests.fuzz.table_combined import COMBINED
from tests.fuzz.table_figures import FIGURES
from tests.fuzz.table_fits import FITS
from tests.fuzz.table_theory import THEORY

FUNCTIONS = {**FITS, **BOUNDS, **THEORY, **FIGURES, **COMBINED}

# Public, but not called with arguments of a user's.
NOT_CALLED = {
    "theorems.verify_all": "a minute of work with any draws; verify is the same code",
    "Guarantee": "a record: results make it, and it is read only",
    "NoGuarantee": "a record, as Guarantee",
    "CalibrationTest": "made by assess",
    "DaskPredictionSets": "made of rows of Dask; tests/property/tallies checks",
    "ClassBundles": "a record that class_bundles makes",
    "Report": "made by report, which writes its page and its table",
    "ShiftTest": "made by LabelShiftResult.test",
    "GoodnessOfFitTest": "made by LabelShiftResult.goodness_of_fit",
    "metrics.BrierDecomposition": "made by brier_decomposition",
    "metrics.L2ErrorInterval": "made by l2_ece_interval",
    "bounds.CovariateShiftTerms": "made by covariate_shift_terms",
    "bounds.LabelNoiseClassifier": "made by label_noise_confidence",
    "bounds.LossConstants": "made by the functions of losses",
    "bounds.SampleSizeEffect": "made by sample_size_effect",
    "scenarios.Scenario": "abstract",
    "scenarios.LabelShiftScenario": "abstract",
}


@cache
def function_of(name: str) -> Callable[..., Any]:
    """Return the function of that name in the package."""
    found: Any = dfu
    for part in name.split("."):
        found = getattr(found, part)
    if name.startswith("plots."):
        return lambda *args, **kwargs: drawn(found(*args, **kwargs))
    return found  # type: ignore[no-any-return]


def kind_of(name: str, parameter: str) -> Kind:
    """Return the kind of a function's parameter."""
    own = FUNCTIONS[name].own
    return own[parameter] if parameter in own else PARAMETERS[parameter]
