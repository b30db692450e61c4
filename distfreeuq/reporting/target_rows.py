"""What is written of each target row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distfreeuq._base.array_types import FloatMatrix
from distfreeuq._base.class_labels import name_array
from distfreeuq.conformal.sets import PredictionSets

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = ("; ", " | ", " / ", " // ", " ||| ")


def separator(classes: Any) -> str:
    """Return what stands between two labels of a set, and in none of their names.

    Examples
    --------
    >>> from distfreeuq.reporting.target_rows import separator
    >>> separator(["a", "b"]), separator(["a; b", "c"])
    ('; ', ' | ')
    """
    names = [str(name) for name in classes]
    for sign in _SEPARATORS:
        if not any(sign.strip() in name for name in names):
            return sign
    longest = max(len(name) for name in names)
    return " " + "|" * (longest + 1) + " "


def target_frame(sets: PredictionSets, probs: FloatMatrix, rows: Any) -> pd.DataFrame:
    """Return a row per target row: prediction, set, its size, probabilities."""
    import pandas as pd

    names = name_array(sets.classes)
    between = separator(sets.classes)
    texts = [between.join(map(str, labels)) for labels in sets.labels()]
    index = pd.Index(rows, name=getattr(rows, "name", None) or "row")
    head = pd.DataFrame(
        {
            "prediction": names[np.argmax(probs, axis=1)],
            "set": texts,
            "size": sets.sizes,
        },
        index=index,
    )
    columns = [f"prob_{name}" for name in names]
    return pd.concat([head, pd.DataFrame(probs, index=index, columns=columns)], axis=1)
