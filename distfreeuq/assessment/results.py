"""What `assess` and `compare` return."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import Classes, FloatArray, FloatMatrix
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.row_groups import Names
from distfreeuq._base.stored_state import (
    State,
    column_names,
    count,
    floats,
    part,
    part_or_none,
    rate,
    real,
    require,
    several,
    text,
)
from distfreeuq.assessment.interval_rules import NEAR_ZERO
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.metrics.results import ReliabilityTable
from distfreeuq.metrics.titles import TITLES
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

CLASS_COLUMNS = (
    "rows",
    "predicted",
    "confidence",
    "accuracy",
    "ece",
    "classwise_ece",
)
GROUP_COLUMNS = ("rows", "confidence", "accuracy", "ece", "noise")


@register("calibration-test")
@dataclass(frozen=True, slots=True, eq=False)
class CalibrationTest:
    """Result of the test that the classifier is calibrated.

    Attributes
    ----------
    p_value : float
        Share of simulated ECEs, the observed one among them, that are at least as
        large as the observed one; it cannot be below 1 / (n_sim + 1). With weights the
        larger one of two such shares: simulated hits, and random signs.
    statistic : float
        The observed ECE.
    null_mean, null_upper : float
        Mean and 95% quantile of a calibrated classifier's ECE on these confidences;
        with weights, those of the simulations that the p-value is from.
    n_sim : int

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> test = dfu.assess([[0.9, 0.1]] * 50, [0] * 30 + [1] * 20, rng=0).test
    >>> round(test.statistic, 3), test.p_value < 0.01
    (0.3, True)
    """

    p_value: float
    statistic: float
    null_mean: float
    null_upper: float
    n_sim: int

    _state: ClassVar[State] = {
        "p_value": real(above=0.0, high=1.0),
        "statistic": real(nan=True, finite=False),
        "null_mean": real(nan=True, finite=False),
        "null_upper": real(nan=True, finite=False),
        "n_sim": count(),
    }

    def _validate_state(self) -> None:
        require(self.p_value * (self.n_sim + 1) > 0.99, "a share of the simulations")


@register("assessment")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AssessmentResult(Result):
    """All metrics of one classifier, with intervals if asked, and a calibration test.

    Attributes
    ----------
    metrics : tuple of str
        Names of the J metrics.
    estimates : ndarray (J,)
    bias : ndarray (J,)
        The bootstrap's estimate of the upward bias; zero for unbiased metrics, NaN
        without a bootstrap, and for the largest gap, max-ECE and average ECE.
    low, high : ndarray (J,)
        Bootstrap intervals; accuracy (or frequency) without weights has Clopper and
        Pearson's. NaN without a bootstrap, and where none is known to cover: see
        `interval`.
    level : float
        Their level, each by itself.
    n_boot : int
    test : CalibrationTest or None
    noise : float
        About the ECE that a calibrated classifier would have in this sample: the mean
        of the test's simulations, or without a test a normal approximation.
    smooth_ece : float
        The calibration error with a kernel in place of bins, as `metrics.smooth_ece`
        has it; NaN in files that are older. It has no interval: none is known to hold.
    reliability : ReliabilityTable
    by_class : ndarray (K, 6) or (0, 6)
        Weight of the true and of the predicted class, then confidence, accuracy and ECE
        of the rows where it is predicted, and the error of its own probability.
    groups : tuple
        Names of the groups that `assess` was given; empty without.
    by_group : ndarray (G, 5)
        Weight, confidence, accuracy and ECE of each group's rows, and about the ECE
        that they would have if the classifier were calibrated for them; NaN for a group
        without weight.
    n : int
    ess : float
        Effective sample size of the weights; n without weights.
    classes : sequence
    guarantee : Guarantee or NoGuarantee
        What the test guarantees.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> result = dfu.assess([[0.8, 0.2]] * 50, [0] * 40 + [1] * 10, rng=0)
    >>> result
    <AssessmentResult ece=0.0000 accuracy=0.8000 n=50 K=2>
    >>> result["accuracy"]
    0.8
    >>> result.test.p_value
    1.0
    """

    metrics: tuple[str, ...]
    estimates: FloatArray
    bias: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    n_boot: int
    test: CalibrationTest | None
    noise: float
    smooth_ece: float
    reliability: ReliabilityTable
    by_class: FloatMatrix
    groups: Names
    by_group: FloatMatrix
    n: int
    ess: float
    classes: Classes
    guarantee: Guarantee | NoGuarantee

    _state: ClassVar[State] = {
        "metrics": several(text(*TITLES), "J"),
        "estimates": floats("J"),
        "bias": floats("J"),
        "low": floats("J"),
        "high": floats("J"),
        "level": rate(),
        "n_boot": count(),
        "test": part_or_none(CalibrationTest),
        "noise": real(0.0, nan=True, finite=False),
        "smooth_ece": real(0.0, 1.0, nan=True, finite=False),
        "reliability": part(ReliabilityTable),
        "by_class": floats("rows", len(CLASS_COLUMNS)),
        "groups": column_names("G"),
        "by_group": floats("G", len(GROUP_COLUMNS)),
        "n": count(),
        "ess": real(0.0, nan=True, finite=False),
        "classes": column_names("K"),
        "guarantee": part(Guarantee, NoGuarantee),
    }

    def _validate_state(self) -> None:
        n_rows = len(self.by_class)
        require(n_rows in (0, len(self.classes)), "a row for each class, or none")
        require("ece" in self.metrics, "metrics with the ECE among them")
        require(len(set(self.metrics)) == len(self.metrics), "different metrics")

    def __repr__(self) -> str:
        """Return one line."""
        share = self.metrics[0]  # accuracy, or class 1's frequency
        return (
            f"<AssessmentResult ece={self['ece']:.4f} {share}={self[share]:.4f} "
            f"n={self.n} K={len(self.classes)}>"
        )

    @staticmethod
    def _added(fields: dict[str, Any]) -> dict[str, Any]:
        """Return what the first files lack."""
        return {"smooth_ece": math.nan}

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        """Return today's fields from those in files of format 1."""
        fields = dict(fields)
        fields["level"] = fields.pop("confidence")
        fields |= {"groups": (), "by_group": read_only(np.empty((0, 5)))}
        fields["smooth_ece"] = math.nan
        if fields["reliability"].event == "class 1":  # they had the names of others
            new = {"accuracy": "frequency", "mean_confidence": "mean_probability"}
            fields["metrics"] = tuple(new.get(name, name) for name in fields["metrics"])
        return fields

    def __getitem__(self, metric: str) -> float:
        """Return the estimate of a metric."""
        return float(self.estimates[self._place(metric)])

    def interval(self, metric: str) -> tuple[float, float]:
        """Return the interval of a metric; NaN where there is none.

        There is none without a bootstrap; for the largest gap, max-ECE, average ECE and
        class-wise ECE, whose bootstrap intervals cover too seldom; for other
        calibration errors if the ECE is `near_zero`, or the over-confident one as
        small; for all but mean confidence and unweighted accuracy if fewer than 20 rows
        are wrong, or fewer than 20 right; and for an infinite likelihood.
        """
        place = self._place(metric)
        return float(self.low[place]), float(self.high[place])

    def _place(self, metric: str) -> int:
        args = Arguments("AssessmentResult")
        return self.metrics.index(args.choice(metric, "metric", self.metrics))

    @property
    def near_zero(self) -> bool:
        """Whether the ECE is so near to noise alone that its interval is unreliable."""
        return self["ece"] < NEAR_ZERO * self.noise

    def to_frame(self) -> pd.DataFrame:
        """Return a row per metric: metric, estimate, corrected, low and high.

        Corrected is the estimate less the bootstrap's estimate of its bias, not below
        zero. What is not given is NaN: see `interval`. With ``event="class-1"`` the
        first two metrics are "frequency" and "mean_probability", both of class 1, in
        place of "accuracy" and "mean_confidence".
        """
        import pandas as pd

        corrected = np.maximum(self.estimates - self.bias, 0.0)
        return pd.DataFrame(
            {
                "metric": list(self.metrics),
                "estimate": self.estimates,
                "corrected": corrected,
                "low": self.low,
                "high": self.high,
            }
        )

    def class_frame(self) -> pd.DataFrame:
        """Return a row per class.

        Columns: class; rows and predicted, the weights of the true and of the predicted
        class; confidence, accuracy and ece where it is predicted (NaN if it never is);
        classwise_ece, the error of its own probability.
        """
        import pandas as pd

        frame = pd.DataFrame(self.by_class, columns=list(CLASS_COLUMNS))
        names = list(self.classes)[: len(frame)]
        frame.insert(0, "class", pd.Series(names, dtype=object))
        return frame

    def group_frame(self) -> pd.DataFrame:
        """Return a row per group: rows, confidence, accuracy, ece and noise.

        Rows are their weight; noise is about the ECE that they would have if the
        classifier were calibrated for them.
        """
        import pandas as pd

        frame = pd.DataFrame(self.by_group, columns=list(GROUP_COLUMNS))
        frame.insert(0, "group", pd.Series(self.groups, dtype=object))
        return frame

    def summary(self) -> Summary:
        """Return metrics, classes and the test as a statsmodels ``Summary``."""
        from distfreeuq.assessment.summary import summarize_assessment

        return summarize_assessment(self)

    def plot(self, ax: Axes | None = None, *, kind: str = "bars") -> Axes:
        """Draw the reliability diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        kind : {"bars", "curve"}
        """
        return self.reliability.plot(ax=ax, kind=kind)


@register("comparison")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ComparisonResult(Result):
    """Metrics of several classifiers, and their differences to the first.

    Attributes
    ----------
    names : tuple of str
        The C classifiers.
    metrics : tuple of str
        The J metrics.
    estimates : ndarray (C, J)
    differences : ndarray (C, J)
        To the first classifier; zero in its own row, NaN where both are infinite.
    low, high : ndarray (C, J)
        Paired bootstrap intervals of the differences; NaN without a bootstrap, and
        where none is known to cover: see `interval`.
    noise : ndarray (C,)
        About the ECE that each would have in this sample if it were calibrated.
    level : float
        Their level, each by itself.
    n_boot, n : int
    guarantee : NoGuarantee

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> sure, unsure = [[0.9, 0.1]] * 20, [[0.6, 0.4]] * 20
    >>> labels = [0] * 14 + [1] * 6
    >>> result = dfu.compare({"sure": sure, "unsure": unsure}, labels, n_boot=0)
    >>> result
    <ComparisonResult sure, unsure n=20>
    >>> result.to_frame().query("metric == 'ece'")["estimate"].round(3).tolist()
    [0.2, 0.1]
    """

    names: tuple[str, ...]
    metrics: tuple[str, ...]
    estimates: FloatMatrix
    differences: FloatMatrix
    low: FloatMatrix
    high: FloatMatrix
    noise: FloatArray
    level: float
    n_boot: int
    n: int
    guarantee: NoGuarantee

    _state: ClassVar[State] = {
        "names": several(text(), "C"),
        "metrics": several(text(*TITLES), "J"),
        "estimates": floats("C", "J"),
        "differences": floats("C", "J"),
        "low": floats("C", "J"),
        "high": floats("C", "J"),
        "noise": floats("C"),
        "level": rate(),
        "n_boot": count(),
        "n": count(),
        "guarantee": part(NoGuarantee),
    }

    def _validate_state(self) -> None:
        require(len(self.names) > 0 and "ece" in self.metrics, "names and metrics")
        require(len(set(self.metrics)) == len(self.metrics), "different metrics")

    def __repr__(self) -> str:
        """Return one line."""
        return f"<ComparisonResult {', '.join(self.names)} n={self.n}>"

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        """Return today's fields from those in files of format 1."""
        fields = dict(fields)
        fields["level"] = fields.pop("confidence")
        return fields

    @property
    def near_zero(self) -> tuple[str, ...]:
        """Classifiers whose ECE is too near to noise alone for intervals of errors."""
        ece = self.estimates[:, self._place("ece")]
        near = ece < NEAR_ZERO * self.noise
        return tuple(np.asarray(self.names, dtype=object)[near])

    def difference(self, metric: str) -> FloatArray:
        """Return a metric's differences to the first classifier, shape (C,)."""
        return self.differences[:, self._place(metric)]

    def interval(self, metric: str) -> FloatMatrix:
        """Return paired intervals of these, shape (C, 2); NaN where there is none.

        There is none without a bootstrap; for the largest gap, max-ECE, average ECE and
        class-wise ECE; for other calibration errors if either ECE is `near_zero`; for
        all but mean confidence if either classifier is wrong, or right, in fewer than
        20 rows; for accuracy if it differs in fewer than 20 rows; and for an infinite
        difference.
        """
        place = self._place(metric)
        return np.column_stack([self.low[:, place], self.high[:, place]])

    def _place(self, metric: str) -> int:
        args = Arguments("ComparisonResult")
        return self.metrics.index(args.choice(metric, "metric", self.metrics))

    def to_frame(self) -> pd.DataFrame:
        """Return a row per metric and classifier.

        Columns: metric, classifier, estimate, difference, low, high.
        """
        import pandas as pd

        shape = self.estimates.shape
        return pd.DataFrame(
            {
                "metric": np.repeat(self.metrics, shape[0]),
                "classifier": np.tile(self.names, shape[1]),
                "estimate": self.estimates.T.ravel(),
                "difference": self.differences.T.ravel(),
                "low": self.low.T.ravel(),
                "high": self.high.T.ravel(),
            }
        )

    def summary(self) -> Summary:
        """Return metrics by classifier, then the differences, as a ``Summary``."""
        from distfreeuq.assessment.summary import summarize_comparison

        return summarize_comparison(self)

    def plot(self, ax: Axes | None = None, *, metric: str = "ece") -> Axes:
        """Draw one metric of every classifier, and its difference to the first.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        metric : str
        """
        from distfreeuq import plots

        Arguments("ComparisonResult.plot").choice(metric, "metric", self.metrics)
        return plots.metric_comparison(self, metric, ax=ax)
