"""The printed tables of calibration fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.array_types import FloatArray
from distfreeuq._base.printing import Note, Table, class_name, lower, number, upper
from distfreeuq.calibration.groupwise_results import POOLED
from distfreeuq.calibration.isotonic import curve_classes
from distfreeuq.calibration.logistic_fits import MAX_NEWTON_PARAMETERS
from distfreeuq.calibration.losses.temperature_loss import LOSS_NAMES
from distfreeuq.calibration.shared_temperature import (
    AT_BOUND,
    LIMITED,
    NO_ERROR,
    SHARED,
)
from distfreeuq.calibration.temperature import TemperatureResult
from distfreeuq.calibration.vector import MAX_HESSIAN_PARAMETERS

if TYPE_CHECKING:
    import pandas as pd

    from distfreeuq._base.printing import GuaranteeSummary
    from distfreeuq.calibration.classwise_temperature import ClasswiseTemperatureResult
    from distfreeuq.calibration.groupwise_results import GroupwiseResult
    from distfreeuq.calibration.isotonic import IsotonicResult
    from distfreeuq.calibration.own_maps.own_calibrators import OwnCalibrationResult
    from distfreeuq.calibration.platt import PlattResult
    from distfreeuq.calibration.probability_maps.beta_curves import BetaResult
    from distfreeuq.calibration.probability_maps.dirichlet_maps import DirichletResult
    from distfreeuq.calibration.probability_maps.venn_prediction import VennAbersResult
    from distfreeuq.calibration.results import CalibrationResult
    from distfreeuq.calibration.vector import VectorResult

_CELLS = ["estimate", "std_err", "z", "p_value", "low", "high"]
_FIXED_WEIGHTS = (
    "the weights count as fixed: standard errors and intervals leave out how they were "
    "found."
)
_LEGEND = {
    SHARED: "'shared': too few predicted rows, the shared temperature",
    AT_BOUND: "'at bound': no optimum inside the bounds",
    LIMITED: "'limited': gamma keeps it from its own optimum",
    NO_ERROR: "'no error': none among its n predictions, the shared temperature",
}


def summarize_temperature(fit: TemperatureResult) -> GuaranteeSummary:
    """Return losses, the temperature and its guarantee."""
    frame = fit.to_frame()
    table = Table(["", *_headers("T=1")], _lines(list(frame["parameter"]), frame))
    notes = []
    if fit.at_bound is not None:
        which = {"low": "largest", "high": "smallest"}[fit.at_bound]
        note = f"the {which} temperature allowed: no optimum inside the bounds."
        notes.append(("Note", note))
    return _summarize(fit, "Temperature scaling", [], [table], notes)


def summarize_classwise(fit: ClasswiseTemperatureResult) -> GuaranteeSummary:
    """Return losses, the classes' temperatures and their guarantee."""
    frame = fit.to_frame()
    lines = _lines([class_name(name) for name in frame["class"]], frame)
    columns = zip(lines, frame["n"], frame["note"], strict=True)
    rows = [[name, str(n), *cells, note] for (name, *cells), n, note in columns]
    table = Table(["predicted", "n", *_headers("T=1"), ""], rows)
    facts = [("Gamma", f"{fit.gamma:g}")]
    if np.isfinite(fit.shared_temperature):
        facts.append(("Shared temperature", f"{fit.shared_temperature:.4f}"))
    seen = [text for status, text in _LEGEND.items() if (fit.status == status).any()]
    notes = [("Note", "; ".join(seen) + ".")] if seen else []
    return _summarize(fit, "Class-wise temperature scaling", facts, [table], notes)


def summarize_vector(fit: VectorResult) -> GuaranteeSummary:
    """Return losses, scales and biases."""
    frame = fit.to_frame()
    tables = []
    for name, null in (("scale", "a=1"), ("bias", "b=0")):
        part = frame[frame["parameter"] == name]
        names = [class_name(one) for one in part["class"]]
        tables.append(Table([name, *_headers(null)], _lines(names, part)))
    notes = _missing_errors(fit.std_err, fit.std_err.size > MAX_HESSIAN_PARAMETERS)
    return _summarize(fit, "Vector scaling", _ridge(fit.ridge), tables, notes)


def summarize_platt(fit: PlattResult) -> GuaranteeSummary:
    """Return losses and coefficients."""
    frame = fit.to_frame()
    names = list(frame["parameter"])
    heading, null = "", "a=1, b=0"
    if len(fit.classes) > 2:
        heading, null = "class <- of", "no change"
        pairs = zip(frame["class"], frame["of"], strict=True)
        names = [f"{class_name(k)} <- {class_name(of)}" for k, of in pairs]
    facts = _ridge(fit.ridge)
    if fit.smoothing:
        facts.append(("Targets", "Platt's, smoothed"))
    notes = _missing_errors(fit.std_err, fit.std_err.size > MAX_NEWTON_PARAMETERS)
    table = Table([heading, *_headers(null)], _lines(names, frame))
    return _summarize(fit, "Platt scaling", facts, [table], notes)


def summarize_dirichlet(fit: DirichletResult) -> GuaranteeSummary:
    """Return losses, the two ridges and coefficients."""
    frame = fit.to_frame()
    pairs = zip(frame["class"], frame["of"], strict=True)
    names = [f"{class_name(k)} <- {class_name(of)}" for k, of in pairs]
    facts = [
        ("Ridge off the diagonal", f"{fit.ridge:g}"),
        ("Ridge of biases", f"{fit.ridge_bias:g}"),
    ]
    notes = _missing_errors(fit.std_err, fit.std_err.size > MAX_NEWTON_PARAMETERS)
    if not np.isnan(fit.std_err).all():
        bias = "standard errors leave out the bias that the ridges make."
        notes.insert(0, ("Note", bias))
    tables = [Table(["class <- of", *_headers("no change")], _lines(names, frame))]
    return _summarize(fit, "Dirichlet scaling", facts, tables, notes)


def summarize_isotonic(fit: IsotonicResult) -> GuaranteeSummary:
    """Return losses and the extent of the curves."""
    rows = [
        [
            class_name(name),
            str(n_blocks),
            number(float(knots[0])),
            number(float(knots[-1])),
            number(float(values[0])),
            number(float(values[-1])),
        ]
        for name, n_blocks, knots, values in zip(
            curve_classes(fit.classes), fit.n_blocks, fit.knots, fit.values, strict=True
        )
    ]
    headers = ["class", "blocks", "from", "to", "lowest", "highest"]
    note = "no standard errors, as isotonic estimates have no normal limit."
    tables = [Table(headers, rows)]
    return _summarize(fit, "Isotonic calibration", [], tables, [("Note", note)])


def summarize_own(fit: OwnCalibrationResult) -> GuaranteeSummary:
    """Return losses before and after."""
    facts = [("Calibrator", fit.calibrator)]
    return _summarize(fit, "Calibration by a map of your own", facts, [], [])


def summarize_beta(fit: BetaResult) -> GuaranteeSummary:
    """Return losses and the parameters of every curve."""
    frame = fit.to_frame()
    tables = []
    for name, null in (("a", "a=1"), ("b", "b=1"), ("intercept", "c=0")):
        part = frame[frame["parameter"] == name]
        names = [class_name(one) for one in part["class"]]
        tables.append(Table([name, *_headers(null)], _lines(names, part)))
    notes = []
    if (fit.coef[:, :2] == 0.0).any():
        note = "a parameter of 0 is at its bound: without it the curve would fall."
        notes.append(("Note", note))
    return _summarize(fit, "Beta calibration", [], tables, notes)


def summarize_venn_abers(fit: VennAbersResult) -> GuaranteeSummary:
    """Return losses, the extent of the curves, and how far they are apart."""
    curves = zip(
        curve_classes(fit.classes), fit.knots, fit.lower, fit.upper, strict=True
    )
    rows = [
        [
            class_name(name),
            str(knots.size),
            number(float(low[0])),
            number(float(high[-1])),
            number(float((high - low).mean())),
            number(float((high - low).max())),
        ]
        for name, knots, low, high in curves
    ]
    headers = ["class", "scores", "lowest p_0", "highest p_1", "mean p_1 - p_0", "max"]
    note = (
        "at the calibration rows' different scores; no standard errors, as isotonic "
        "estimates have no normal limit."
    )
    tables = [Table(headers, rows)]
    return _summarize(fit, "Venn-Abers calibration", [], tables, [("Note", note)])


def summarize_groupwise(fit: GroupwiseResult) -> GuaranteeSummary:
    """Return the losses and maps of all groups, and the guarantee."""
    rows = []
    for name, n, which in zip(fit.names, fit.counts, fit.which, strict=True):
        cells = ["-", "-", "-", "pooled"]
        if which != POOLED:
            own = fit.fits[which]
            cells = [
                number(own.loss_before),
                number(own.loss_after),
                str(own.n_changed),
                describe_map(own),
            ]
        rows.append([class_name(name), str(n), *cells])
    headers = ["group", "n", "loss before", "loss after", "changed", "map"]
    tied = np.isfinite(fit.gamma)
    how = "fitted to all rows"
    if tied and fit.ties_parameters and fit.gamma > 0.0:
        how = "shared by the groups"
    pooled = f"{describe_map(fit.pooled)}, {how}"
    if isinstance(fit.pooled, TemperatureResult) and not tied:
        pooled += "; for groups of too few rows, or without an error among them"
    notes = [("Pooled", f"{pooled}.")]
    what = "parameters" if fit.ties_parameters else "probabilities"
    gamma = f"{fit.gamma:g}, of {what}" if tied else "inf, by themselves"
    facts = [
        ("Calibrator", fit.calibrator),
        ("Groups", str(len(fit.names))),
        ("Gamma", gamma),
    ]
    if fit.limited.any():
        facts.append(("Groups limited by gamma", str(int(fit.limited.sum()))))
    if fit.gamma_losses.size:
        compared = "; ".join(f"{g:g}: {loss:.4f}" for g, loss in fit.gamma_losses)
        name = LOSS_NAMES[fit.gamma_loss]
        note = f"least {name} in five-fold cross-validation on these rows: {compared}."
        notes.append(("Gamma", note))
    tables = [Table(headers, rows)]
    return _summarize(fit, "Calibration by groups", facts, tables, notes)


def _summarize(
    fit: CalibrationResult,
    title: str,
    facts: list[tuple[str, str]],
    tables: list[Table],
    notes: list[Note],
) -> GuaranteeSummary:
    """Lay out a summary: losses and decisions, then what the procedure adds."""
    name = LOSS_NAMES[fit.loss]
    shared = [
        ("Calibration rows", str(fit.n)),
        ("Classes", str(len(fit.classes))),
        (f"{name} before", number(fit.loss_before)),
        (f"{name} after", number(fit.loss_after)),
        ("Decisions changed", f"{fit.n_changed} of {fit.n} rows"),
    ]
    if fit.effective_n < fit.n - 1e-6:
        shared.append(("Effective sample size", number(fit.effective_n, 1)))
        if any("std err" in table.headers for table in tables):
            notes = [*notes, ("Weights", _FIXED_WEIGHTS)]
    notes = [*notes, *printing.guarantee_notes(fit.guarantee)]
    return printing.summarize(title, [*shared, *facts], tables, notes)


def _ridge(ridge: float) -> list[tuple[str, str]]:
    return [("Ridge", f"{ridge:g}")] if ridge else []


def _missing_errors(std_err: FloatArray, too_many: bool) -> list[tuple[str, str]]:
    """Return why standard errors are missing, where they are."""
    missing = np.isnan(std_err)
    if missing.all() and too_many:
        limit = "500 classes" if std_err.shape[0] == 2 else "1000 parameters"
        return [("Note", f"no standard errors beyond {limit}.")]
    if not missing.any():
        return []
    why = (
        "no standard error where the rows do not determine a parameter: other values "
        "fit as well, and a small ridge= settles which."
    )
    return [("Note", why)]


def describe_map(fit: CalibrationResult) -> str:
    """Return a fitted map in a few words: a temperature, or the kind of map."""
    if isinstance(fit, TemperatureResult):
        if fit.at_bound is not None:
            return f"T={fit.temperature:.4g}, at bound"
        error = "" if np.isnan(fit.std_err) else f", s.e. {fit.std_err:.3f}"
        return f"T={fit.temperature:.4g}{error}"
    return type(fit).__name__.removesuffix("Result").lower()


# ------------------------------------------------------------------ coefficient tables


def _headers(null: str) -> list[str]:
    """Return the headings over the coefficients' cells; z tests the null value."""
    return ["coef", "std err", f"z ({null})", "P>|z|", "[0.025", "0.975]"]


def _lines(names: list[str], frame: pd.DataFrame) -> list[list[str]]:
    """Return a line for each row of a coefficient table, as statsmodels prints it."""
    cells = frame[_CELLS].itertuples(index=False)
    return [[name, *_cells(*row)] for name, row in zip(names, cells, strict=True)]


def _cells(
    estimate: float, std_err: float, z: float, p_value: float, low: float, high: float
) -> list[str]:
    if np.isnan(std_err):
        return [_digits(estimate), "-", "-", "-", "-", "-"]
    return [
        _digits(estimate),
        _digits(std_err),
        f"{z:.3f}",
        f"{p_value:.3f}",
        lower(low),
        upper(high),
    ]


def _digits(value: float) -> str:
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e4 or value == 0 else f"{value:.4g}"
