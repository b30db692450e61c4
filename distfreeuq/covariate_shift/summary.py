"""The printed table of a calibration under covariate shift."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distfreeuq._base import printing
from distfreeuq._base.printing import Note, Table, interval, number
from distfreeuq.covariate_shift.bound_estimate import TRIVIAL
from distfreeuq.density_ratios.diagnostics import support_notes
from distfreeuq.density_ratios.summary import area_facts
from distfreeuq.guarantees import at_most
from distfreeuq.references import PARK_2020

if TYPE_CHECKING:
    from distfreeuq._base.printing import GuaranteeSummary
    from distfreeuq.covariate_shift.results import CovariateShiftCalibrationResult

_NAMES = {
    "temperature": "temperature scaling",
    "classwise-temperature": "class-wise temperature scaling",
    "platt": "Platt scaling",
    "vector": "vector scaling",
    "dirichlet": "Dirichlet scaling",
    "isotonic": "isotonic regression",
    "venn-abers": "Venn-Abers",
    "beta": "beta calibration",
    "binning": "histogram binning",
}


def summarize_calibration(result: CovariateShiftCalibrationResult) -> GuaranteeSummary:
    """Return rows and weights, the calibrator's tables, the bound, and what holds."""
    own = result.calibration.summary().page
    facts = _facts(result)
    shown = {name for name, _ in facts}
    facts += [fact for fact in own.facts if fact[0] not in shown]
    own_notes = [
        note for note in own.notes if note[0] not in ("Guarantee", "Needs", "By")
    ]
    return printing.summarize(
        f"Covariate shift: {_parts(result)}",
        facts,
        [*own.tables, *_bound(result)],
        [
            *_rows(result),
            *_weights(result),
            *own_notes,
            *_bound_notes(result),
            *printing.guarantee_notes(result.guarantee),
        ],
    )


def _parts(result: CovariateShiftCalibrationResult) -> str:
    parts = ["learnt features"] if result.feature_map is not None else []
    parts += ["weighted rows"] if result.rows.weights_from != "none" else []
    return ", ".join([*parts, _NAMES.get(result.calibrator, result.calibrator)])


def _facts(result: CovariateShiftCalibrationResult) -> list[tuple[str, str]]:
    facts = [
        ("Calibration rows", str(result.rows.n_calibration)),
        ("Classes", str(len(result.classes))),
    ]
    if result.feature_map is not None:
        before, after = result.feature_map.auc_before, result.feature_map.auc_after
        if before is not None and after is not None:
            facts += [
                (f"AUC of {of}", f"{auc.estimate:.3f} {interval(auc.low, auc.high, 3)}")
                for of, auc in (("x", before), ("psi(x)", after))
            ]
    if result.rows.weights_from == "none":
        return facts
    facts += [
        ("Effective sample size", f"{result.ess:.1f}"),
        ("Largest share of a row", f"{100.0 * result.largest_share:.2f}%"),
        ("Mean weight", number(float(result.sample_weight.mean()), 3)),
        ("Largest weight", number(float(result.sample_weight.max()), 3)),
    ]
    if result.offset > 0.0:
        facts.append(("Added to weights", f"{result.offset:g}"))
    if result.ratio is not None:
        facts += [
            ("Density ratio by", result.ratio.method),
            ("Renyi d_2", number(result.ratio.renyi(2.0), 3)),
            *area_facts(result.ratio.auc),
        ]
    return facts


def _rows(result: CovariateShiftCalibrationResult) -> list[Note]:
    """Say which rows did what, on which independence depends."""
    rows = result.rows
    if result.feature_map is None:
        text = "the classifier must have been fitted on other rows than these"
    elif rows.n_map_source is None:
        text = (
            "the feature map was given, with its classifier; it must have been fitted "
            "on other rows than these"
        )
    else:
        text = (
            f"features and classifier were learnt on {rows.n_map_source} other source "
            f"rows and {rows.n_map_target} other target rows, drawn at random"
        )
    how = {
        "none": "no weights",
        "known": "weights were given and count as known",
        "matched": f"weights are by kernel mean matching of these rows, which it has "
        f"seen, to {rows.n_target} target rows",
        "held out": f"each row's weight is by a fit without it, on these rows and "
        f"{rows.n_target} target rows",
        "given ratio": "weights are by the ratio that was given, which is taken to "
        "have been fitted on other source rows",
        "given ratio's rows": "these are taken to be the source rows of the ratio that "
        "was given, and each has its held-out weight",
    }[rows.weights_from]
    return [("Rows", f"{text}; {how}.")]


def _weights(result: CovariateShiftCalibrationResult) -> list[Note]:
    if result.ratio is None:
        return []
    notes = support_notes(result.ratio.uncovered)
    return notes + [("Note", note) for note in result.ratio.notes]


def _bound(result: CovariateShiftCalibrationResult) -> list[Table]:
    bound = result.bound
    if bound is None:
        return []
    source = "given" if bound.upper_is_given else "largest estimate"
    rows = [
        ["E_p[L w], for the target's squared error", number(bound.target_error)],
        ["E_p[L (w + 1/2)], their objective", number(bound.weighted_error)],
        [f"U, bound on q/p ({source})", f"{bound.upper:.4g}"],
        ["lambda(U, 1/2)", f"{bound.factor:.4g}"],
        ["E_r(g_hat - s)^2, discriminator's error", number(bound.discriminator_error)],
        ["E_r(g - s)^2 if g_hat is calibrated", number(bound.supposed_best_error)],
        ["bound if so: no certificate", f"{bound.supposed:.4g}"],
        ["bound without that", at_most(bound.value)],
    ]
    return [Table([f"{PARK_2020}, Thm 1, repaired", "estimate"], rows)]


def _bound_notes(result: CovariateShiftCalibrationResult) -> list[Note]:
    bound = result.bound
    if bound is None:
        return []
    verdict = (
        f"vacuous: at {TRIVIAL:g} or more it says nothing"
        if bound.is_vacuous
        else "below the trivial 2, but with estimates in the place of expectations"
    )
    return [
        (
            "Bound",
            f"of the squared calibration error on the target, E_q||f - c||^2. The last "
            f"line is {verdict}. Its first term is an objective to minimise; it is no "
            "certificate (theory page, 7).",
        )
    ]
