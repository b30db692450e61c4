"""Read the rows of one classifier, and put them in bins."""

from __future__ import annotations

from typing import Any

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, RowsLike
from distfreeuq.assessment.measures import Measures, bin_rows
from distfreeuq.metrics.bins import Bins
from distfreeuq.metrics.class_errors_in_blocks import read_class_errors
from distfreeuq.metrics.data import ALL, read_matrix, read_predictions


def read_measures(
    args: Arguments,
    probs: RowsLike,
    labels: ArrayLike | None,
    n_bins: int,
    how: Bins,
    event: str,
    predicted: ArrayLike | None,
    sample_weight: ArrayLike | None,
    classes: Any,
    *,
    parameter: str = "probs",
) -> Measures:
    """Return the rows of a matrix, or of predicted labels, in their bins.

    Of rows in blocks some numbers each are gathered, in a second pass.
    """
    errors = None
    if predicted is None:
        given: dict[str, Any] = {parameter: probs, "labels": labels}
        given["sample_weight"] = sample_weight
        errors = read_class_errors(args, given, classes, n_bins, how, again=True)
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
        vectors: dict[str, Any] = {"confidence": probs, "labels": labels}
        rows = read_predictions(
            args,
            **vectors,
            predicted=predicted,
            sample_weight=sample_weight,
            classes=classes,
        )
    by_class = event == "predicted"
    return bin_rows(rows, n_bins, how, by_class=by_class, class_errors=errors)
