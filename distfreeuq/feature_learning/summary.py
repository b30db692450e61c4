"""The printed table of a feature map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, number
from distfreeuq._base.rounding import interval, upper

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.density_ratios.diagnostics import Auc
    from distfreeuq.feature_learning.results import FeatureMapResult

_SHOWN_EPOCHS = 10
_FOOLED = 0.5
"""Loss of a discriminator that is nearer to chance than to knowing."""


def summarize_feature_map(result: FeatureMapResult) -> Summary:
    """Return losses along the training, and discriminators before and after it."""
    frame = result.to_frame()
    last = len(frame)
    shown = np.unique(np.linspace(0, last - 1, min(last, _SHOWN_EPOCHS)).round())
    curves = [
        [str(int(epoch)), number(of_labels), number(of_domains)]
        for epoch, of_labels, of_domains in frame.to_numpy()[shown.astype(int)]
    ]
    accuracies = [
        [what, str(columns), number(accuracy, 3), *_area(auc)]
        for what, columns, accuracy, auc in (
            ("x", len(result.features), result.accuracy_before, result.auc_before),
            ("psi(x)", result.n_hidden, result.accuracy_after, result.auc_after),
        )
    ]
    facts = [
        ("Source rows", str(result.n_source)),
        ("Target rows", str(result.n_target)),
        ("Classes", str(len(result.classes))),
        ("Epochs", f"{last} of {result.n_epochs}"),
        ("Gradient reversal", f"{result.reversal:g} after {result.warm_up} epochs"),
        *([("Adversary", "conditional")] if result.adversary != "features" else []),
        ("Discriminator's dropout", f"{result.dropout:g}"),
        ("Weights of both networks", str(result.n_weights)),
        ("Million operations an epoch", number(result.epoch_operations / 1e6, 1)),
        ("Accuracy on training labels", number(result.source_accuracy, 3)),
    ]
    notes = [
        (
            "Losses",
            "mean NLL of the training rows at the epoch's end, without dropout; a "
            "discriminator that knows nothing has 0.693.",
        ),
        (
            "Discriminators",
            "trained anew on x and on the finished psi(x), until they no longer "
            f"improved, and judged on {result.n_tested} rows that they, though not the "
            "map, have not seen; 0.5 is chance. The 95% intervals are DeLong's with "
            "twice the variance (asymptotic: no claim at a given sample size).",
        ),
        ("Reading", _reading(result)),
    ]
    tables = [
        Table(["epoch", "classifier loss", "discriminator loss"], curves),
        Table(
            ["discriminator of", "columns", "accuracy", "AUC", "95% interval"],
            accuracies,
        ),
    ]
    if len(result.tried):
        cells = [
            [str(int(units)), number(loss), number(change)]
            for units, loss, change in result.tried.tolist()
        ]
        tables.append(Table(["features tried", "classifier loss", "change"], cells))
        notes.append(("Features tried", _tried(result)))
    if result.stopped is not None:
        notes.append(
            (
                "Stopped",
                f"after epoch {result.stopped}, as the discriminator's loss stayed "
                f"below {result.stop_below:g}.",
            )
        )
    return printing.summarize(
        "Features learnt against a discriminator of source and target",
        facts,
        tables,
        [*notes, *printing.guarantee_notes(result.guarantee)],
    )


def _tried(result: FeatureMapResult) -> str:
    """Say why this number of features was kept."""
    change = (
        "the change is that of the mean classifier loss between the last two tenths of "
        "the epochs, in units of the first epoch's; at most 0.02 counts as converged"
    )
    if result.tried[-1, 2] <= 0.02:
        return f"{change}. The first number that converges is kept."
    return f"{change}. None does: {result.n_hidden}, of the smallest loss, was kept."


def _area(auc: Auc | None) -> list[str]:
    if auc is None:
        return ["", ""]
    return [number(auc.estimate, 3), interval(auc.low, auc.high, 3)]


def _reading(result: FeatureMapResult) -> str:
    """Return what the two areas under the curve say together, in words."""
    before, after = result.auc_before, result.auc_after
    if before is None or after is None:
        return (
            "the discriminators of this early file were trained as long as the map, "
            "which can be too short: nothing is concluded from them. Fit again."
        )
    if after.low <= 0.5:
        return (
            "no difference of source and target is found in psi(x), on rows that the "
            f"map was trained on; an AUC up to {upper(after.high, 3)} is not "
            "excluded."
        )
    if after.high >= before.low:
        same = "source and target are told apart in psi(x) about as well as in x: "
        if result.discriminator_loss[-1] > _FOOLED:
            return same + "the training fooled its own discriminator, not a fresh one."
        return same + "the features did not learn to hide the difference."
    return (
        "source and target are harder to tell apart in psi(x) than in x, but not "
        "impossible: weights still have work to do."
    )
