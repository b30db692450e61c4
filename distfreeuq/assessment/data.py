"""Read the rows of one classifier, and put them in bins."""

from __future__ import annotations

from typing import Any

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike
from distfreeuq.assessment.measures import Measures, bin_rows
from distfreeuq.metrics.bins import Bins
from distfreeuq.metrics.data import ALL, read_matrix, read_predictions


def read_measures(
    args: Arguments,
    probs: ArrayLike,
    labels: ArrayLike,
    n_bins: int,
    how: Bins,
    event: str,
    predicted: ArrayLike | None,
    sample_weight: ArrayLike | None,
    classes: Any,
    *,
    parameter: str = "probs",
) -> Measures:
    """Return the rows of a matrix, or of predicted labels, in their bins."""
    if predicted is None:
        rows = read_matrix(
            args,
            probs,
            labels,
            sample_weight=sample_weight,
            classes=classes,
            event=event,
            needs=ALL,
            parameter=parameter,
        )
    else:
        args.choice(event, "event", ["predicted"])
        rows = read_predictions(
            args, probs, labels, predicted, sample_weight=sample_weight, classes=classes
        )
    return bin_rows(rows, n_bins, how, by_class=event == "predicted")
