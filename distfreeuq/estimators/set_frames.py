"""Sets as a frame of the kind that was asked for."""

from __future__ import annotations

from typing import Any

from distfreeuq.conformal.sets import PredictionSets

OUTPUTS = ("default", "pandas", "polars")


def sets_as_frame(sets: PredictionSets, X: Any, output: str) -> Any:
    """Return a bool column per class; pandas' with the index of X, if X has one."""
    names = [str(name) for name in sets.classes]
    if output == "polars":
        import polars

        return polars.DataFrame({name: sets.mask[:, k] for k, name in enumerate(names)})
    import pandas as pd

    index = X.index if isinstance(X, pd.DataFrame | pd.Series) else None
    return pd.DataFrame(sets.mask, columns=list(sets.classes), index=index)
