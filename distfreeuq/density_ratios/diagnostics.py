"""How far importance weights can be trusted: AUC and support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from distfreeuq._base.array_types import FloatArray
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, proportion, real
from distfreeuq._numerics.quantiles import normal_margin

RARE = 20.0
"""Ratio from which on the source counts as having almost no data."""


def uncovered_share(source_ratio: FloatArray, target_ratio: FloatArray) -> float:
    """Return the share of target rows where the source has almost no data.

    That is, where the ratio, scaled to mean one on the source, exceeds `RARE`: the
    source is less than a twentieth as dense as the target.
    """
    return float((target_ratio > RARE * source_ratio.mean()).mean())


def support_text(uncovered: float) -> str:
    """Return the sentence on target rows that the source hardly reaches."""
    return (
        f"{100.0 * uncovered:.1f}% of target rows lie where the source has almost no "
        f"data (estimated ratio above {RARE:g})."
    )


def support_notes(uncovered: float | None) -> list[tuple[str, str]]:
    """Return the note with that sentence; none where it is not known."""
    return [] if uncovered is None else [("Support", support_text(uncovered))]


@register("auc")
@dataclass(frozen=True, slots=True)
class Auc:
    """How well the ratio tells target rows from source rows, with a 95% interval.

    Attributes
    ----------
    estimate : float
        Probability that a target row has a larger ratio than a source row, ties counted
        by half; 1/2 without shift.
    low, high : float
        DeLong, DeLong and Clarke-Pearson's (1988) on the logit scale, the variance
        doubled for cross-fitted ratios. Where their variance is zero, Wilson's score
        interval with the variance bound A (1 - A) / min(n_source, n_target) of Birnbaum
        and Klose (1957).
    """

    estimate: float
    low: float
    high: float

    _state: ClassVar[State] = {
        "estimate": proportion(nan=True),
        "low": real(nan=True),
        "high": real(nan=True),
    }


def auc_interval(
    source_ratio: FloatArray,
    target_ratio: FloatArray,
    alpha: float = 0.05,
    *,
    cross_fitted: bool = False,
) -> Auc:
    """Return the area under the ROC curve of held-out ratios, with an interval.

    With `cross_fitted`, rows were held out in turn. Each pair of folds then meets
    twice, as fit and held out and the other way round; without shift both meetings
    agree to first order, which doubles the variance, and with shift it grows by less.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.density_ratios.diagnostics import auc_interval
    >>> auc_interval(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0])).estimate
    0.75
    """
    n_s, n_t = source_ratio.size, target_ratio.size
    # the placement of each row among those of the other sample (ties half)
    above_source = _placements(target_ratio, source_ratio)
    above_target = _placements(source_ratio, target_ratio)
    area = float(above_source.mean())
    variance = _variance(above_source) / n_t + _variance(above_target) / n_s
    variance *= 2.0 if cross_fitted else 1.0
    z = normal_margin(alpha)
    if variance > 0.0:
        half = z * np.sqrt(variance) / (area * (1.0 - area))
        center = special.logit(area)
        return Auc(
            area,
            float(special.expit(center - half)),
            float(special.expit(center + half)),
        )
    n = min(n_s, n_t) / (2.0 if cross_fitted else 1.0)
    center = (area + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(area * (1 - area) / n + z**2 / (4 * n**2))
    return Auc(area, max(0.0, float(center - half)), min(1.0, float(center + half)))


def _placements(values: FloatArray, others: FloatArray) -> FloatArray:
    """Return the share of `others` below each value, ties counted by half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, "left")
    up_to = np.searchsorted(ordered, values, "right")
    return np.asarray((below + up_to) / (2.0 * others.size))


def _variance(values: FloatArray) -> float:
    return float(values.var(ddof=1)) if values.size > 1 else 0.0
