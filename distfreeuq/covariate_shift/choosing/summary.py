"""The printed table of a chosen calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, class_name, number

if TYPE_CHECKING:
    from distfreeuq._base.printing import GuaranteeSummary
    from distfreeuq.covariate_shift.choosing.results import CalibrationChoiceResult

_LOSSES = {"brier": "Brier score", "nll": "NLL"}
_FROM = {
    "none": "no weights: the scores are those of the source",
    "known": "weights were given and count as known",
    "held out": "each row's weight is by a density ratio fitted without it",
    "matched": "weights are by kernel mean matching, which has seen these rows",
    "given ratio": "weights are by the ratio that was given",
    "given ratio's rows": "each row has its held-out weight by the ratio given",
}


def summarize_choice(result: CalibrationChoiceResult) -> GuaranteeSummary:
    """Return each candidate's score, the choice, and what it is worth."""
    rows = []
    for i, name in enumerate(result.names):
        cells = ["", "", "chosen"]
        if i != result.chosen:
            less = result.differences[i], result.difference_std_err[i]
            cells = [*map(_or_dash, less), ""]
        score = [number(float(result.scores[i])), _or_dash(result.std_err[i])]
        rows.append([class_name(name), *score, *cells])
    notes = [
        ("Weights", f"{_FROM[result.weights_from]}; all candidates' scores have them."),
        ("Scores", _scores(result)),
    ]
    return printing.summarize(
        "Calibration chosen by importance-weighted cross-validation",
        [
            ("Source rows", str(result.n)),
            ("Folds", str(result.n_folds)),
            ("Score", f"weighted {_LOSSES[result.loss]}"),
            ("Effective sample size", number(result.ess, 1)),
            ("Chosen", class_name(result.best)),
        ],
        [
            Table(
                ["candidate", "score", "std err", "less chosen", "std err", ""],
                rows,
            )
        ],
        [*notes, *printing.guarantee_notes(result.guarantee)],
    )


def _scores(result: CalibrationChoiceResult) -> str:
    text = "standard errors take the folds' fits as fixed, and are rough."
    if result.weights_from == "known":
        text = (
            "each is unbiased for the target's loss of fits to all folds but one, if "
            f"the weights are q(x)/p(x); {text}"
        )
    close = (result.differences < 2.0 * result.difference_std_err).sum() - 1
    if close > 0:
        others = "one other is" if close == 1 else f"{close} others are"
        text += f" {others[0].upper()}{others[1:]} within two of them of the chosen."
    return text


def _or_dash(value: float) -> str:
    return number(value) if np.isfinite(value) else "-"
