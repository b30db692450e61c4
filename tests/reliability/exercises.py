"""Everything that a loaded result can do, done once."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import distfreeuq as dfu
from tests.files.write_format2 import LOGITS, PROBS, TWO, WEIGHTS, X

N = 12
UNIFORMS = np.linspace(0.05, 0.95, N)


def exercises(fit: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield names of methods, and calls of them with ordinary arguments."""
    classes = getattr(fit, "classes", range(3))
    n_classes = min(len(classes), 8)
    probs = PROBS[:N] if n_classes == 3 else np.full((N, n_classes), 1 / n_classes)
    logits = LOGITS[:N] if n_classes == 3 else np.zeros((N, n_classes))
    labels = [classes[i % n_classes] for i in range(N)] if n_classes else []
    yield "repr", lambda: repr(fit)
    yield "str", lambda: str(fit)
    yield "html", lambda: fit._repr_html_()
    yield "to_frame", fit.to_frame
    yield "plot", lambda: plt.close(fit.plot().figure)
    if isinstance(fit, dfu.ConformalResult):
        weights = (WEIGHTS[:N],) if hasattr(fit, "sample_weight") else ()
        hashed = fit.row_key is not None and fit.row_key.by_id
        options: dict[str, Any] = {"ids": range(N)} if hashed else {"rng": 0}
        yield "predict", lambda: fit.predict(probs, *weights, **options)
        yield "uniforms", lambda: fit.predict(probs, *weights, uniforms=UNIFORMS)
        yield "p_values", lambda: fit.p_values(probs, *weights, **options)
        yield (
            "evaluate",
            lambda: fit.predict(probs, *weights, **options).evaluate(labels),
        )
        if weights:
            yield "threshold_for", lambda: fit.threshold_for([0.5, 9.0])
            yield "by ratio", lambda: fit.predict(probs, features=X[:N], rng=0)
    if isinstance(fit, dfu.ChosenConformalResult):
        yield "predict", lambda: fit.predict(PROBS[:N])
    if isinstance(fit, dfu.GroupedConformalResult):
        groups = [fit.names[i % len(fit.names)] for i in range(N)]
        yield "predict", lambda: fit.predict(probs, groups, rng=0)
        yield "p_values", lambda: fit.p_values(probs, groups, rng=0)
        yield "items", lambda: [fit[name] for name in fit.names]
    if isinstance(fit, dfu.PredictionSets):
        yield "labels", fit.labels
        yield "index", lambda: (fit[0], fit[::2], len(fit))
        yield "evaluate", lambda: fit.evaluate([fit.classes[0]] * len(fit))
    if isinstance(fit, dfu.BinningResult | dfu.IsotonicResult):
        rows = TWO[:N] if n_classes == 2 else probs
        yield "predict", lambda: fit.predict(rows)
    if isinstance(fit, dfu.BinningResult):
        yield "shift", lambda: fit.under_label_shift(np.ones(n_classes))
        yield "edges", lambda: (fit.edges, fit.n_bins, fit.cells)
    elif isinstance(fit, dfu.CalibrationResult):
        yield "predict", lambda: fit.predict(logits)
        yield "reliability", fit.reliability
    if isinstance(fit, dfu.CovariateShiftCalibrationResult):
        for rows in (logits, probs, X[:N]):
            yield "predict", lambda rows=rows: fit.predict(rows)
        yield "facts", lambda: (fit.method, fit.ess)
    if isinstance(fit, dfu.DensityRatioResult):
        yield "weight", lambda: fit.weight(X[:N])
        yield "facts", lambda: (fit.ess, fit.largest_share)
    if isinstance(fit, dfu.FeatureMapResult):
        yield "transform", lambda: (fit.transform(X[:N]), fit.logits(X[:N]))
    if isinstance(fit, dfu.LabelShiftResult):
        yield "adapt", lambda: fit.adapt(probs)
        yield "confint", fit.confint
        yield "bootstrap", lambda: fit.confint(method="bootstrap", n_boot=5, rng=0)
        yield "region", lambda: fit.region(0.1)
        yield "test", fit.test
        yield "facts", lambda: (fit.kappa, fit.std_err, fit.label_weight)
    if isinstance(fit, dfu.AssessmentResult):
        yield "interval", lambda: [fit.interval(metric) for metric in fit.metrics]
        yield "items", lambda: [fit[metric] for metric in fit.metrics]
    if isinstance(fit, dfu.ComparisonResult):
        yield "interval", lambda: [fit.interval(metric) for metric in fit.metrics]
        yield "near_zero", lambda: fit.near_zero
    if isinstance(fit, dfu.SimulationResult):
        yield "describe", fit.describe
        yield "wide", lambda: fit.to_frame(wide=True)


def exercise(fit: Any) -> dict[str, str]:
    """Do all of it; return the foreign errors, by method."""
    errors = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, call in exercises(fit):
            try:
                call()
            except dfu.InputError:
                pass
            except Exception as error:
                errors[name] = repr(error)
    return errors
