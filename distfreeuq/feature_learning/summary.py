"""The printed table of a feature map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, number

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

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
        ["x", str(len(result.features)), number(result.accuracy_before, 3)],
        ["psi(x)", str(result.n_hidden), number(result.accuracy_after, 3)],
    ]
    facts = [
        ("Source rows", str(result.n_source)),
        ("Target rows", str(result.n_target)),
        ("Classes", str(len(result.classes))),
        ("Epochs", f"{last} of {result.n_epochs}"),
        ("Gradient reversal", f"{result.reversal:g} after {result.warm_up} epochs"),
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
            "trained anew on x and on the finished psi(x), and judged on "
            f"{result.n_tested} rows that they, though not the map, have not seen. "
            "0.5 is chance.",
        ),
        ("Reading", _reading(result)),
    ]
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
        [
            Table(["epoch", "classifier loss", "discriminator loss"], curves),
            Table(["discriminator of", "columns", "accuracy"], accuracies),
        ],
        [*notes, *printing.guarantee_notes(result.guarantee)],
    )


def _reading(result: FeatureMapResult) -> str:
    """Return what the two accuracies say together, in words."""
    error = 1.0 / np.sqrt(result.n_tested)  # two standard errors at chance
    after = result.accuracy_after
    if after <= 0.5 + error:
        return "no difference of source and target is found in psi(x)."
    if after >= result.accuracy_before - error:
        same = "source and target are told apart in psi(x) as well as in x: "
        if result.discriminator_loss[-1] > _FOOLED:
            return same + "the training fooled its own discriminator, not a fresh one."
        return same + "the features did not learn to hide the difference."
    return (
        "source and target are harder to tell apart in psi(x) than in x, but not "
        "impossible: weights still have work to do."
    )
