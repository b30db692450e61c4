"""Density ratios made fit for use: limited, flattened, clipped, normalised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, count, proportion, real

STAGES = ("estimated", "flattened", "clipped", "normalised")


@register("weight-pipeline")
@dataclass(frozen=True, slots=True)
class Conditioning:
    """What turns estimated ratios into weights, always in this order.

    Ratios are limited to [1 / n_target, n_source] (samples of these sizes cannot tell a
    ratio from one beyond), raised to the power `flatten`, clipped to [low, high], and
    divided by `mean`, the mean over the source rows of what the clipping gave.

    Attributes
    ----------
    n_source, n_target : int
    flatten : float
        1 changes nothing, 0 makes all weights equal.
    low, high : float
        0 and inf where nothing is clipped.
    mean : float
        1 without self-normalisation.
    """

    n_source: int
    n_target: int
    flatten: float
    low: float
    high: float
    mean: float

    _state: ClassVar[State] = {
        "n_source": count(low=1),
        "n_target": count(low=1),
        "flatten": proportion(),
        "low": real(0.0),
        "high": real(0.0, finite=False),
        "mean": real(above=0.0),
    }

    def weights(self, ratio: FloatArray) -> FloatArray:
        """Return the weights (n,) of rows with these estimated ratios (n,)."""
        return np.asarray(self.stages(ratio)["normalised"])

    def stages(self, ratio: FloatArray) -> dict[str, FloatArray]:
        """Return the ratios after each of `STAGES`."""
        estimated = limited(ratio, self.n_source, self.n_target)
        flattened = estimated**self.flatten
        clipped = np.clip(flattened, self.low, self.high)
        values = (estimated, flattened, clipped, clipped / self.mean)
        return dict(zip(STAGES, values, strict=True))

    @property
    def upper(self) -> float:
        """The largest weight that any row can get."""
        largest = np.clip(float(self.n_source) ** self.flatten, self.low, self.high)
        return float(largest / self.mean)


def limited(ratio: FloatArray, n_source: int, n_target: int) -> FloatArray:
    """Return ratios within what samples of these sizes can tell."""
    return np.clip(ratio, 1.0 / n_target, float(n_source))


def condition(
    source_ratio: FloatArray,
    n_target: int,
    *,
    flatten: float = 1.0,
    clip: tuple[float | str, float | str] | None = None,
    normalize: bool = True,
) -> Conditioning:
    """Return the conditioning that these ratios of the source rows determine.

    `clip` is (low, high); a text such as "99%" is that quantile of the flattened
    ratios of the source rows.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.density_ratios.weight_pipeline import condition
    >>> ratios = np.array([0.25, 1.0, 4.0])
    >>> tamed = condition(ratios, 10, flatten=0.5, clip=(0.0, 1.5))
    >>> tamed.weights(ratios)
    array([0.5, 1. , 1.5])
    >>> tamed.upper
    1.5
    """
    n_source = source_ratio.size
    flattened = limited(source_ratio, n_source, n_target) ** flatten
    low, high = (0.0, np.inf) if clip is None else (_end(e, flattened) for e in clip)
    clipped = np.clip(flattened, low, high)
    mean = float(clipped.mean()) if normalize else 1.0
    return Conditioning(n_source, n_target, flatten, low, high, mean)


def _end(end: float | str, values: FloatArray) -> float:
    if isinstance(end, str):
        return float(np.quantile(values, float(end.rstrip("%")) / 100.0))
    return float(end)
