"""Losses in [0, 1] of a prediction, for every label that its row may turn out to have.

They are computed when the prediction is made, so that nothing else of it is kept until
its label comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolMatrix,
    Classes,
    FloatArray,
    FloatMatrix,
)
from distfreeuq._base.arrays import describe
from distfreeuq._numerics.row_sums import check_and_predict
from distfreeuq.conformal.sets import PredictionSets

Loss: TypeAlias = Callable[[FloatMatrix, Any], ArrayLike]
LOSSES = ("error", "brier", "miscoverage")
BINARY = ("error", "miscoverage")
"""Losses that are 0 or 1."""


def read_loss(args: Arguments, loss: Any, predictions: Any) -> str | Loss:
    """Return the loss: the user's, or the one that predictions of this kind have."""
    sets = are_sets(predictions)
    if loss is None:
        return "miscoverage" if sets else "error"
    if callable(loss):
        if sets:
            must = "'miscoverage' or None for prediction sets"
            args.invalid("loss", must, describe(loss))
        return loss  # type: ignore[no-any-return]
    options = ("miscoverage",) if sets else ("error", "brier")
    if not isinstance(loss, str) or loss not in options:
        listed = " or ".join(repr(name) for name in options)
        what = "prediction sets" if sets else "probabilities, or a function of theirs"
        args.invalid("loss", f"{listed} for {what}", describe(loss))
    return loss


def loss_name(loss: str | Loss) -> str:
    """Return what is printed of a loss."""
    if isinstance(loss, str):
        return loss
    return str(getattr(loss, "__name__", type(loss).__name__))


def are_sets(predictions: Any) -> bool:
    """Return whether these are prediction sets, or a matrix of bools."""
    if isinstance(predictions, PredictionSets):
        return True
    return getattr(predictions, "dtype", None) == np.dtype(np.bool_)


def read_predictions(
    args: Arguments,
    predictions: Any,
    loss: str | Loss,
    classes: Classes | None,
    given: Any = None,
) -> tuple[FloatMatrix, Classes]:
    """Return the loss of every row (n, K) for each label, and the classes.

    `classes` are those of the monitor, None where it is being made; then `given` are
    names that the user gave.
    """
    if loss == "miscoverage":
        mask, names = _sets(args, predictions, classes, given)
        return 1.0 - mask, names
    if are_sets(predictions):
        must = "probabilities, as in risk_monitor"
        args.invalid("predictions", must, describe(predictions))
    if classes is None:
        rows, names = args.unchecked_probs(predictions, "predictions", given)
    else:
        rows, names = (
            args.unchecked_new_probs(predictions, classes, "predictions"),
            classes,
        )
    if loss == "error":
        wrong = np.ones(rows.matrix.shape)
        np.put_along_axis(wrong, check_and_predict(rows)[:, None], 0.0, axis=1)
        return wrong, names
    probs = rows.checked().astype(np.float64)
    if not isinstance(loss, str):
        return _own(args, loss, probs, names), names
    # half of |e_y - f|^2 = 1 - 2 f_y + |f|^2, which is at most 1
    squares = np.einsum("ij,ij->i", probs, probs)[:, None]
    return np.clip(0.5 * (1.0 - 2.0 * probs + squares), 0.0, 1.0), names


def _sets(
    args: Arguments, predictions: Any, classes: Classes | None, given: Any
) -> tuple[BoolMatrix, Classes]:
    if isinstance(predictions, PredictionSets):
        mask, names = predictions.mask, predictions.classes
        if given is not None:
            names = args.classes(given, names, mask.shape[1])
    elif are_sets(predictions) and np.ndim(predictions) == 2:
        mask = np.asarray(predictions)
        names = args.classes(given, None, mask.shape[1]) if classes is None else classes
    else:
        must = "prediction sets, or a matrix of bools (n, K)"
        args.invalid("predictions", must, describe(predictions))
    wanted = names if classes is None else classes
    if mask.shape[1] != len(wanted) or tuple(names) != tuple(wanted):
        must = f"sets of the {len(wanted)} classes that risk_monitor had"
        args.invalid("predictions", must, f"sets of {mask.shape[1]} classes")
    if mask.shape[1] < 2:
        must = "sets of two classes or more"
        args.invalid("predictions", must, f"{mask.shape[1]} columns")
    return mask, wanted


def _own(
    args: Arguments, loss: Loss, probs: FloatMatrix, classes: Classes
) -> FloatMatrix:
    """Return the user's loss for each label, that of a column at a time."""
    n = probs.shape[0]
    columns: list[FloatArray] = []
    for name in classes:
        labels = np.full(n, name) if isinstance(name, int | float) else _texts(name, n)
        try:
            values = loss(probs, labels)
        except Exception as error:
            must = "a function of probs (n, K) and labels (n,) that returns n numbers"
            got = f"{loss_name(loss)}, which raised {type(error).__name__}: {error}"
            args.invalid("loss", must, got)
        must = "a function that returns numbers in [0, 1], one for each row"
        columns.append(args.vector(values, "loss", must, length=n, low=0.0, high=1.0))
    return np.column_stack(columns)


def _texts(name: Any, n: int) -> Any:
    labels = np.empty(n, dtype=object)
    labels[:] = [name] * n
    return labels
