"""Every public method of a result, and what else is done with results."""

import copy
import inspect
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

from matplotlib.axes import Axes

import distfreeuq as dfu
from distfreeuq.results import Result
from tests.fuzz import fitted, kinds
from tests.fuzz.axes import drawn
from tests.fuzz.kinds import Kind, choice, optional
from tests.fuzz.parameters import METRIC, PARAMETERS

# How often a method is chosen among those that an object has.
METHODS: dict[str, float] = {
    "adapt": 1.0,
    "assign": 1.0,
    "at": 1.0,
    "bayes_rule": 1.0,
    "cited": 0.1,
    "class_frame": 0.5,
    "coefficients": 0.5,
    "column": 0.5,
    "confint": 1.0,
    "contains": 1.0,
    "count": 0.5,
    "covariance": 0.5,
    "density_ratio": 1.0,
    "describe": 0.5,
    "design": 0.5,
    "difference": 0.5,
    "drop": 0.5,
    "effects": 0.5,
    "enclosure": 0.5,
    "evaluate": 1.0,
    "to_json": 0.3,
    "to_list": 0.3,
    "excess": 0.5,
    "goodness_of_fit": 0.3,
    "group_frame": 0.5,
    "interval": 0.5,
    "joint": 0.5,
    "kernel_arguments": 0.1,
    "labels": 0.5,
    "line_names": 0.2,
    "logits": 1.0,
    "multiprobabilities": 1.0,
    "needs": 0.1,
    "oracle_sets": 1.0,
    "outcomes": 0.5,
    "p_values": 1.0,
    "plot": 0.01,
    "posterior": 1.0,
    "predict": 2.0,
    "prior": 0.5,
    "ranges": 0.5,
    "region": 1.0,
    "reliability": 0.3,
    "renyi": 1.0,
    "sample": 1.0,
    "save": 0.1,
    "source_probability": 1.0,
    "summary": 0.1,
    "support": 1.0,
    "test": 0.3,
    "threshold_for": 1.0,
    "to_frame": 0.4,
    "transform": 1.0,
    "under_label_shift": 1.0,
    "update": 2.0,
    "update_labels": 2.0,
    "verdict": 0.5,
    "weight": 1.0,
}

NOT_CALLED = {
    "compute": "of sets of Dask's rows: tests/property/tallies checks",
    "to_dict": "of a report, which tests/unit/reporting checks",
    "write": "of a report: report(path=...) writes with it",
    "draw": "what a subclass gives; sample checks",
    "posterior_of": "takes checked rows; posterior checks",
    "density_ratio_of": "takes checked rows; density_ratio checks",
    "log_density_of": "takes checked rows",
    "all_scores": "takes checked rows; nested_scores checks",
    "true_scores": "takes checked rows; nested_scores checks",
    "made_of": "takes checked labels",
    "upper": "of scores alone: takes a checked number of classes",
}

# Kinds that differ from those of the parameter's name.
OWN: dict[str, Kind] = {
    "LabelShiftResult.confint.method": choice(
        "asymptotic", "finite-sample", "bootstrap"
    ),
    "LabelShiftResult.test.n_draws": kinds.effort,
    "CovariateShiftConformalResult.predict.sample_weight": optional(kinds.new_weight),
    "LabelConditionalConformalResult.at.alpha": kinds.levels,
    "CrossConformalResult.predict.probs": kinds.probs_of_folds,
    "CrossConformalResult.p_values.probs": kinds.probs_of_folds,
    "GroupedConformalResult.predict.groups": kinds.row_groups,
    "GroupedConformalResult.p_values.groups": kinds.row_groups,
    "GroupwiseResult.predict.groups": kinds.new_groups,
    "CovariateShiftCalibrationResult.predict.groups": optional(kinds.new_groups),
    "CovariateShiftCalibrationResult.predict.x": lambda s: (
        kinds.logits(s) if s.r.random() < 0.7 else kinds.source(s)
    ),
    "RiskMonitor.update.predictions": kinds.probs,
    "RiskMonitor.drop.ids": choice([0], [11, 12], ["no such"], [], 3, None),
    "DensityRatioResult.weight.x": kinds.source,
    "Scenario.sample.n": kinds.effort_of(
        0, 1, 5, (2, 3), (0,), (), edge=(0, 1, (1, 0, 2))
    ),
    "Claim.verdict.low": kinds.level,
    "Claim.verdict.high": kinds.level,
    "Design.excess.probability": kinds.level,
    "Design.count.generator": kinds.generator,
    "Experiment.count.generator": kinds.generator,
    "TheoremResult.outcomes.name": choice("fair-coin", "no such"),
    "NestedScore.describe.randomized": kinds.flag,
    "ComparisonResult.interval.metric": METRIC,
    "save.path": fitted.new_path,
    "Result.save.rows": kinds.flag,
}


def kind_of_method(cls: type, method: str, parameter: str) -> Kind:
    """Return the kind of a method's parameter, of the class or one that it extends."""
    for base in cls.__mro__:
        own = OWN.get(f"{base.__name__}.{method}.{parameter}")
        if own is not None:
            return own
    return PARAMETERS[parameter]


@cache
def methods_of(cls: type) -> dict[str, float]:
    """Return the public methods of a class and how often each is chosen."""
    return {
        name: METHODS[name]
        for name in dir(cls)
        if not name.startswith("_")
        and name in METHODS
        and inspect.isfunction(inspect.getattr_static(cls, name))
    }


def has_methods(value: Any) -> bool:
    """Say whether the object is one of the package's own, with methods to call."""
    cls = type(value)
    if isinstance(value, Axes):
        return False
    return cls.__module__.startswith("distfreeuq") and bool(methods_of(cls))


# ------------------------------------------------------- what every result stands


def _as_text(result: Any) -> Any:
    return str(result)


def _as_html(result: Any) -> Any:
    return result._repr_html_()


def _as_latex(result: Any) -> Any:
    return result.summary().as_latex()


def _as_csv(result: Any) -> Any:
    return result.summary().as_csv()


def _copied(result: Any) -> Any:
    return copy.deepcopy(result)


def _pickled(result: Any) -> Any:
    return pickle.loads(pickle.dumps(result))


def _stored(result: Any) -> Any:
    path = fitted.folder() / "result.npz"
    result.save(path)
    return dfu.load(path)


def _stored_without_rows(result: Any) -> Any:
    path = fitted.folder() / "small.npz"
    try:
        result.save(path, rows=False)
    except dfu.InputError as error:
        if "'rows' parameter of save" not in str(error):
            raise
        return None  # what is its rows says so
    return dfu.load(path)


# The share of each, and whether it must return the same again.
PROTOCOL: dict[str, tuple[Callable[[Any], Any], float, bool]] = {
    "repr": (repr, 0.5, False),
    "str": (_as_text, 0.3, False),
    "_repr_html_": (_as_html, 0.2, False),
    "as_latex": (_as_latex, 0.05, False),
    "as_csv": (_as_csv, 0.05, False),
    "deepcopy": (_copied, 0.2, True),
    "pickle": (_pickled, 0.2, True),
    "save and load": (_stored, 0.1, True),
    "save without rows": (_stored_without_rows, 0.05, False),
}


def protocol_of(value: Any) -> dict[str, float]:
    """Return what is done with every result, and how often."""
    if not isinstance(value, Result):
        return {"repr": PROTOCOL["repr"][1]}
    return {name: share for name, (_, share, _) in PROTOCOL.items()}


def bound_method(value: Any, name: str) -> Callable[..., Any]:
    """Return the method; a figure is drawn at once."""
    method: Callable[..., Any] = getattr(value, name)
    if name == "plot":
        return lambda *args, **kwargs: drawn(method(*args, **kwargs))
    return method
