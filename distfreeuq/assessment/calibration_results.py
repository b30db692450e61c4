"""The result of a comparison of calibrations on a shifted target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, count, floats, part, several, text
from distfreeuq.guarantees import NoGuarantee
from distfreeuq.metrics.titles import TITLES
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

UNCALIBRATED, UNWEIGHTED = "Uncalibrated", "Unweighted"
WEIGHTED, USING_TARGET = "Weighted", "Using target"

# What stands in place of accuracy where the event is class 1.
_OF_CLASS_1 = {"accuracy": "frequency"}

PRINTED = (("ece", "overconfident_ece"), ("accuracy", "brier_score", "nll"))
"""Columns of the summary's two tables: all in one would not fit a page."""


@register("calibration-comparison")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibrationComparisonResult(Result):
    """Metrics on the target of several calibrations, in repeated random splits.

    Attributes
    ----------
    calibrators, methods : tuple of str
        One of each for the C lines of the table: the calibrator, "none" in the first;
        and "Uncalibrated", "Unweighted", "Weighted" or "Using target".
    metrics : tuple of str
        The J metrics.
    values : ndarray (R, C, J)
        The metrics in each of R repetitions.
    n_source, n_target : int
        Rows; n_target is 0 if the target's metrics are estimated on the source.
    n_calibration, n_calibration_target, n_test : int
        Rows of each repetition.
    weighting : tuple of str
        Names of the weighted methods.
    ess : ndarray (W,)
        Effective sample size of each one's weights on all source rows.
    guarantee : NoGuarantee

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(400, 2))
    >>> labels = (logits[:, 1] + rng.logistic(size=400) > logits[:, 0]).astype(int)
    >>> result = dfu.compare_calibrations(
    ...     3 * logits[:200], labels[:200], 3 * logits[200:], labels[200:], rng=0
    ... )
    >>> result
    <CalibrationComparisonResult temperature R=10 n_source=200 n_target=200>
    >>> result.to_frame().query("metric == 'ece'")["method"].tolist()
    ['Uncalibrated', 'Unweighted', 'Using target']
    """

    calibrators: tuple[str, ...]
    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    values: FloatArray
    n_source: int
    n_target: int
    n_calibration: int
    n_calibration_target: int
    n_test: int
    weighting: tuple[str, ...]
    ess: FloatArray
    guarantee: NoGuarantee

    _state: ClassVar[State] = {
        "calibrators": several(text(), "C"),
        "methods": several(text(), "C"),
        "metrics": several(text(*TITLES), "J"),
        "values": floats("R", "C", "J"),
        "n_source": count(),
        "n_target": count(),
        "n_calibration": count(),
        "n_calibration_target": count(),
        "n_test": count(),
        "weighting": several(text(), "W"),
        "ess": floats("W"),
        "guarantee": part(NoGuarantee),
    }

    def __repr__(self) -> str:
        """Return one line."""
        names = ", ".join(dict.fromkeys(self.calibrators[1:]))
        return (
            f"<CalibrationComparisonResult {names} R={self.n_rep} "
            f"n_source={self.n_source} n_target={self.n_target}>"
        )

    @property
    def n_rep(self) -> int:
        """Number of repetitions R."""
        return int(self.values.shape[0])

    @property
    def mean(self) -> FloatMatrix:
        """Means over repetitions, shape (C, J)."""
        means: FloatMatrix = self.values.mean(axis=0)
        return means

    @property
    def sd(self) -> FloatMatrix:
        """Standard deviations over repetitions (C, J); NaN for one, or infinities."""
        if self.n_rep < 2:
            return np.full(self.values.shape[1:], np.nan)
        with np.errstate(invalid="ignore"):  # infinite likelihoods
            deviations: FloatMatrix = self.values.std(axis=0, ddof=1)
        return deviations

    def to_frame(self, *, by_repetition: bool = False) -> pd.DataFrame:
        """Return a row per metric, calibrator and method.

        Columns: metric, calibrator, method, mean, sd. Or, by repetition: repetition,
        metric, calibrator, method, value.
        """
        import pandas as pd

        n_rep, n_lines, n_metrics = self.values.shape
        lines = {
            "metric": np.repeat(self.metrics, n_lines),
            "calibrator": np.tile(self.calibrators, n_metrics),
            "method": np.tile(self.methods, n_metrics),
        }
        if not Arguments("to_frame").flag(by_repetition, "by_repetition"):
            return pd.DataFrame(
                {**lines, "mean": self.mean.T.ravel(), "sd": self.sd.T.ravel()}
            )
        frame = pd.DataFrame(
            {name: np.tile(column, n_rep) for name, column in lines.items()}
        )
        frame.insert(0, "repetition", np.repeat(np.arange(n_rep), n_lines * n_metrics))
        frame["value"] = self.values.transpose(0, 2, 1).ravel()
        return frame

    def summary(self) -> Summary:
        """Return a table of means (sd) by method, as a statsmodels ``Summary``."""
        from distfreeuq._base import printing
        from distfreeuq._base.printing import Table

        names = self.line_names()
        tables = []
        for usual in PRINTED:
            own = {} if "accuracy" in self.metrics else _OF_CLASS_1
            metrics = [own.get(name, name) for name in usual]
            places = [self.metrics.index(name) for name in metrics]
            rows = [
                [name, *(_cell(self.mean[c, j], self.sd[c, j]) for j in places)]
                for c, name in enumerate(names)
            ]
            titles = ["NLL" if name == "nll" else TITLES[name] for name in metrics]
            tables.append(Table(["method", *titles], rows))
        return printing.summarize(
            "Comparison of calibrations on the target",
            self._facts(),
            tables,
            [*self._notes(), *printing.guarantee_notes(self.guarantee)],
        )

    def line_names(self) -> list[str]:
        """Return the calibrator and method of every line of the table."""
        from distfreeuq._base.printing import class_name

        return [UNCALIBRATED] + [
            f"{class_name(calibrator)}: {method}"
            for calibrator, method in zip(
                self.calibrators[1:], self.methods[1:], strict=True
            )
        ]

    def _facts(self) -> list[tuple[str, str]]:
        facts = [
            ("Source rows", str(self.n_source)),
            ("of which calibrate", str(self.n_calibration)),
        ]
        if self.n_target:
            facts += [
                ("Target rows", str(self.n_target)),
                ("of which calibrate", str(self.n_calibration_target)),
            ]
        facts += [("Test rows", str(self.n_test)), ("Repetitions", str(self.n_rep))]
        for name, size in zip(self.weighting, self.ess, strict=True):
            of = "" if len(self.weighting) == 1 else name.removeprefix(WEIGHTED)
            facts.append((f"Effective sample size{of}", f"{size:.1f}"))
        return facts

    def _notes(self) -> list[tuple[str, str]]:
        notes = []
        if self.n_rep > 1:
            notes.append(
                (
                    "Spread",
                    f"in parentheses the standard deviation over {self.n_rep} random "
                    "splits of the same rows: what the split does, no standard error.",
                )
            )
        if not self.n_target:
            notes.append(
                (
                    "Target",
                    "its metrics are estimated on the held-out source rows by their "
                    "weights: they are as good as the weights are.",
                )
            )
        elif USING_TARGET in self.methods:
            notes.append(
                (
                    USING_TARGET,
                    "a reference, no lower bound: the calibrator minimises a loss, not "
                    "the ECE, on rows of its own.",
                )
            )
        return notes

    def plot(self, ax: Axes | None = None, *, metric: str = "ece") -> Axes:
        """Draw one metric: a dot for every method, with its standard deviation.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        metric : str
        """
        from distfreeuq import plots

        args = Arguments("CalibrationComparisonResult.plot")
        args.choice(metric, "metric", self.metrics)
        return plots.calibration_comparison(self, metric, ax=ax)


def _cell(mean: float, sd: float) -> str:
    from distfreeuq._base.printing import number

    if np.isnan(sd):
        return number(mean) if np.isfinite(mean) else "inf"
    return f"{number(mean)} ({number(sd)})"
