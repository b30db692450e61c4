"""The printed table of a density ratio."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, class_name, interval, number, upper
from distfreeuq._numerics.networks import Network
from distfreeuq.density_ratios.diagnostics import support_notes
from distfreeuq.density_ratios.discriminators import DiscriminatorRatio
from distfreeuq.density_ratios.logistic_discriminator import LinearDiscriminator

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.density_ratios.diagnostics import Auc
    from distfreeuq.density_ratios.results import DensityRatioResult

_SIZES = ("mean", "smallest", "largest")
ORDERS = (1.0, 2.0, 3.0, np.inf)
_TITLES = {
    "logistic": "logistic regression",
    "mlp": "a network with one hidden layer",
    "knn": "nearest neighbours",
    "ulsif": "least squares (uLSIF)",
    "rulsif": "relative least squares (RuLSIF)",
    "kliep": "Kullback-Leibler importance estimation (KLIEP)",
    "kmm": "kernel mean matching (KMM)",
}


def summarize_density_ratio(result: DensityRatioResult) -> Summary:
    """Return what was estimated, what conditioning did, and how far to trust it."""
    by = _TITLES.get(result.method, result.method)
    layers = _hidden_layers(result)
    if len(layers) > 1:
        by = f"a network with {len(layers)} hidden layers"
    tables = [_effects(result), _divergences(result), *_coefficients(result)]
    notes = [
        ("Weights", _order(result)),
        *support_notes(result.uncovered),
        *(("Note", note) for note in result.notes),
    ]
    return printing.summarize(
        f"Density ratio of target to source by {by}",
        _facts(result),
        tables,
        [*notes, *printing.guarantee_notes(result.guarantee)],
    )


def _facts(result: DensityRatioResult) -> list[tuple[str, str]]:
    facts = [
        ("Source rows", str(result.n_source)),
        ("Target rows", str(result.n_target)),
        ("Features", str(len(result.features))),
        *([("Weights held out by", result.held_out)] if result.held_out else []),
    ]
    layers = _hidden_layers(result)
    if layers:
        facts.append(("Hidden units", ", ".join(map(str, layers))))
    if isinstance(result.model, DiscriminatorRatio):
        beta = result.model.inverse_temperature
        facts.append(("Temperature", number(1.0 / beta if beta > 0.0 else np.inf, 3)))
    else:
        facts += result.model.facts()
    return [
        *facts,
        ("Effective sample size", f"{result.ess:.1f}"),
        ("Largest share of a row", f"{100.0 * result.largest_share:.2f}%"),
        ("Bound U on weights", upper(result.upper, 2)),
        *area_facts(result.auc),
    ]


def area_facts(auc: Auc | None) -> list[tuple[str, str]]:
    """Return the area under the curve, if there is one, for a header."""
    if auc is None:
        return []
    text = f"{auc.estimate:.3f} {interval(auc.low, auc.high, 3)}"
    return [("AUC target/source", text)]


def _hidden_layers(result: DensityRatioResult) -> tuple[int, ...]:
    """Return the units of a network's hidden layers; none without a network."""
    network = getattr(result.model, "discriminator", None)
    return network.parameters.n_hidden if isinstance(network, Network) else ()


def _effects(result: DensityRatioResult) -> Table:
    frame = result.effects().set_index("step")
    rows = []
    for step in _steps_taken(result):
        sizes = [number(frame[size][step], 3) for size in _SIZES]
        ess, share = frame["ess"][step], frame["largest_share"][step]
        rows.append([step, *sizes, f"{ess:.1f}", f"{100.0 * share:.2f}%"])
    headers = ["source weights", "mean", "smallest", "largest", "ESS", "largest share"]
    return Table(headers, rows)


def _steps_taken(result: DensityRatioResult) -> list[str]:
    steps = result.conditioning
    taken = {
        "estimated": True,
        "flattened": steps.flatten != 1.0,
        "clipped": steps.low > 0.0 or np.isfinite(steps.high),
        "normalised": steps.mean != 1.0,
    }
    return [step for step, was in taken.items() if was]


def _divergences(result: DensityRatioResult) -> Table:
    row = ["d(target || source)", *(number(result.renyi(o), 3) for o in ORDERS)]
    return Table(["Renyi order", *(f"{order:g}" for order in ORDERS)], [row])


def _coefficients(result: DensityRatioResult) -> list[Table]:
    """Return the features by which the samples differ, the clearest first."""
    model = result.model
    if not (
        isinstance(model, DiscriminatorRatio)
        and isinstance(model.discriminator, LinearDiscriminator)
    ):
        return []
    fit = model.discriminator
    names = [class_name(name) for name in result.features]
    if fit.glm_coef is None or fit.glm_std_err is None:
        order = np.argsort(-np.abs(fit.coef), kind="stable")
        rows = [[names[j], number(fit.coef[j])] for j in order]
        return [Table(["feature (by std. deviation)", "coef (ridge)"], rows)]
    from scipy import special

    with np.errstate(invalid="ignore", divide="ignore"):
        z = fit.glm_coef / fit.glm_std_err
    order = np.argsort(-np.nan_to_num(np.abs(z)), kind="stable")
    rows = [
        [
            names[j],
            _or_dash(fit.glm_coef[j]),
            _or_dash(fit.glm_std_err[j]),
            _or_dash(z[j], 2),
            _or_dash(2.0 * special.ndtr(-abs(z[j])), 3),
        ]
        for j in order
    ]
    headers = ["feature (by std. deviation)", "coef (GLM)", "std. err.", "z", "P>|z|"]
    return [Table(headers, rows)]


def _or_dash(value: float, digits: int = 4) -> str:
    return "-" if np.isnan(value) else number(float(value), digits)


def _order(result: DensityRatioResult) -> str:
    steps = result.conditioning
    low, high = 1.0 / steps.n_target, float(steps.n_source)
    taken = _steps_taken(result)
    text = f"estimated ratios, limited to [{low:.3g}, {high:.6g}]"
    if "flattened" in taken:
        text += f", then raised to the power {steps.flatten:g}"
    if "clipped" in taken:
        text += f", then clipped to [{steps.low:.4g}, {steps.high:.4g}]"
    if "normalised" in taken:
        text += f", then divided by their mean over the source, {steps.mean:.4g}"
    return text + "."
