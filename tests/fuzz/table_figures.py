"""Rows of the table: figures, which are costly and hence rare."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz import fitted, kinds
from tests.fuzz.entry import Entry
from tests.fuzz.kinds import Kind, choice
from tests.fuzz.parameters import made


def _figure(**own: Kind) -> Entry:
    return Entry(share=0.01, own=own, heavy=True)


def _of_results(maker: Callable[[Any], Any]) -> Kind:
    return lambda s: kinds.same({"first": maker(s), "second": maker(s)})


FIGURES: dict[str, Entry] = {
    "plots.bounds_against_n": _figure(
        n=kinds.uniforms, errors=kinds.uniforms, bounds=choice({}, {"b": [1.0]})
    ),
    "plots.calibration_comparison": _figure(result=made(fitted.calibration_comparison)),
    "plots.calibration_parameters": _figure(fit=made(fitted.scaling_fit)),
    "plots.calibration_scores": _figure(fit=made(fitted.conformal_fit)),
    "plots.class_comparison": _figure(values=_of_results(lambda s: s.np.random(s.K))),
    "plots.class_coverage": _figure(result=made(fitted.coverage)),
    "plots.coverage_against_alpha": _figure(
        alphas=choice([0.1, 0.2]),
        results=made(lambda s: [fitted.coverage(s), fitted.coverage(s)]),
    ),
    "plots.coverage_against_rows": _figure(result=made(fitted.a_plan)),
    "plots.coverage_by_method": _figure(results=_of_results(fitted.coverage)),
    "plots.coverage_histogram": _figure(
        coverages=_of_results(lambda s: s.np.random(20)), nominal=kinds.level
    ),
    "plots.density_ratio_weights": _figure(fit=made(fitted.density_ratio)),
    "plots.excess_risk": _figure(
        n=choice([10, 100]), excess=choice([0.1, 0.2]), bounds=choice({"b": [1.0, 0.5]})
    ),
    "plots.feature_learning_losses": _figure(fit=made(fitted.feature_map)),
    "plots.fold_scores": _figure(fit=made(fitted.cross_fit)),
    "plots.grouped_scores": _figure(fit=made(fitted.grouped_fit)),
    "plots.importance_weights": _figure(weights=kinds.sample_weight),
    "plots.isotonic_curves": _figure(fit=made(fitted.isotonic_fit)),
    "plots.label_shift_weights": _figure(fit=made(fitted.shift_result)),
    "plots.running_risk": _figure(result=made(fitted.watched_risk)),
    "plots.tallied_rows": _figure(result=made(fitted.tally)),
    "plots.monitor_wealth": _figure(result=made(fitted.monitor)),
    "plots.loss_curves": _figure(
        losses=_of_results(lambda s: s.np.random(5)), step=choice("epoch", "")
    ),
    "plots.metric_comparison": _figure(result=made(fitted.comparison)),
    "plots.new_axes": _figure(
        width=kinds.positive, height=kinds.positive, grid=choice("x", "y", "both")
    ),
    "plots.performance_intervals": _figure(result=made(fitted.performance)),
    "plots.prediction_regions": _figure(
        fit=made(fitted.conformal_fit),
        classifier=made(lambda s: lambda x: np.full((len(x), s.K), 1 / s.K)),
        points=made(lambda s: s.np.normal(size=(6, 2))),
        labels=made(lambda s: np.arange(6) % s.K),
    ),
    "plots.reliability_band": _figure(band=made(fitted.reliability_band)),
    "plots.reliability_bins": _figure(fit=made(fitted.binning_fit)),
    "plots.reliability_change": _figure(fit=made(fitted.scaling_fit)),
    "plots.reliability_curves": _figure(
        tables=_of_results(fitted.reliability_table), intervals=choice(True, False)
    ),
    "plots.reliability_diagram": _figure(table=made(fitted.reliability_table)),
    "plots.replicate_histogram": _figure(),
    "plots.search_designs": _figure(result=made(fitted.search_result)),
    "plots.set_sizes": _figure(result=made(fitted.sets)),
    "plots.theorem_checks": _figure(result=made(fitted.theorem_result)),
    "plots.weights_over_runs": _figure(
        weights=made(lambda s: s.np.random((3, 6))),
        largest=choice(1, 5, 9),
        names=choice(None, list("abcdef")),
    ),
}
