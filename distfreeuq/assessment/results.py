"""The result of an assessment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import Classes, FloatArray, FloatMatrix
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import check_floats, require
from distfreeuq.assessment.exact_test import CalibrationTest
from distfreeuq.assessment.measures import BIASED
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.metrics.reliability_table import ReliabilityTable
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

TITLES = {
    "accuracy": "accuracy",
    "mean_confidence": "mean confidence",
    "ece": "ECE",
    "overconfident_ece": "over-confident ECE",
    "max_gap": "largest gap of a bin",
    "debiased_ece": "debiased L2 error",
    "max_ece": "max-ECE over predicted classes",
    "average_ece": "average ECE over them",
    "classwise_ece": "class-wise ECE",
    "brier_score": "Brier score",
    "nll": "negative log-likelihood",
}

CLASS_COLUMNS = (
    "rows",
    "predicted",
    "confidence",
    "accuracy",
    "ece",
    "classwise_ece",
)

# Simulated 95% intervals of the ECE cover about 95% from this many times what noise
# alone gives; at three times 87%, at zero 80%.
NEAR_ZERO = 4.0


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
        without a bootstrap.
    low, high : ndarray (J,)
        Bootstrap intervals; NaN without one.
    confidence : float
        Their level, each by itself.
    n_boot : int
    test : CalibrationTest or None
    noise : float
        About the ECE that a calibrated classifier would have in this sample.
    reliability : ReliabilityTable
    by_class : ndarray (K, 6) or (0, 6)
        Weight of the true and of the predicted class, then confidence, accuracy and ECE
        of the rows where it is predicted, and the error of its own probability.
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
    confidence: float
    n_boot: int
    test: CalibrationTest | None
    noise: float
    reliability: ReliabilityTable
    by_class: FloatMatrix
    n: int
    ess: float
    classes: Classes
    guarantee: Guarantee | NoGuarantee

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<AssessmentResult ece={self['ece']:.4f} accuracy={self['accuracy']:.4f} "
            f"n={self.n} K={len(self.classes)}>"
        )

    def _validate_state(self) -> None:
        one_each = (len(self.metrics),)
        check_floats(self, estimates=one_each, bias=one_each)
        check_floats(self, low=one_each, high=one_each)
        n_rows = len(self.by_class)
        require(n_rows in (0, len(self.classes)), "a row for each class, or none")
        check_floats(self, by_class=(n_rows, len(CLASS_COLUMNS)))

    def __getitem__(self, metric: str) -> float:
        """Return the estimate of a metric."""
        return float(self.estimates[self._place(metric)])

    def interval(self, metric: str) -> tuple[float, float]:
        """Return the bootstrap interval of a metric; NaN without a bootstrap."""
        place = self._place(metric)
        return float(self.low[place]), float(self.high[place])

    def _place(self, metric: str) -> int:
        args = Arguments("AssessmentResult")
        return self.metrics.index(args.choice(metric, "metric", self.metrics))

    @property
    def near_zero(self) -> bool:
        """Whether the ECE is so near to noise alone that its interval is no good."""
        return self["ece"] < NEAR_ZERO * self.noise

    def to_frame(self) -> pd.DataFrame:
        """Return a row per metric: metric, estimate, corrected, low and high.

        Corrected is the estimate less the bootstrap's estimate of its bias, not below
        zero.
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

    def summary(self) -> Summary:
        """Return metrics, classes and the test as a statsmodels ``Summary``."""
        from distfreeuq._base import printing
        from distfreeuq._base.printing import Table, class_name, number

        headers = ["metric", "estimate"]
        if self.n_boot:
            level = f"{100 * self.confidence:g}%"
            headers += ["bias-corrected", f"{level} interval"]
        rows = []
        for name, *numbers in self.to_frame().itertuples(index=False):
            estimate, corrected, low, high = (float(value) for value in numbers)
            row = [TITLES[name], number(estimate)]
            if self.n_boot:
                row += [number(corrected) if name in BIASED else ""]
                row += [f"[{low:.4f}, {high:.4f}]"]
            rows.append(row)
        class_rows = [
            [class_name(name), f"{values[0]:.6g}", f"{values[1]:.6g}"]
            + [number(value) if np.isfinite(value) else "-" for value in values[2:]]
            for name, values in zip(self.classes, self.by_class.tolist(), strict=False)
        ]
        columns = ["rows", "predicted", "confidence", "accuracy", "ECE", "class-wise"]
        return printing.summarise(
            "Assessment of probabilities",
            self._facts(),
            [
                Table(headers, rows),
                Table(["class", *columns], class_rows),
            ],
            [*self._notes(), *printing.guarantee_notes(self.guarantee)],
        )

    def _facts(self) -> list[tuple[str, str]]:
        facts = [
            ("Rows", str(self.n)),
            ("Classes", str(len(self.classes))),
            ("Bins", str(self.reliability.n_bins)),
        ]
        if self.ess < self.n:
            facts.append(("Effective sample size", f"{self.ess:.1f}"))
        if self.test is not None:
            facts += [
                ("Test of calibration, p-value", f"{self.test.p_value:.4g}"),
                ("ECE if calibrated, mean", f"{self.test.null_mean:.4f}"),
            ]
        return facts

    def _notes(self) -> list[tuple[str, str]]:
        notes = []
        if self.n_boot:
            notes.append(
                (
                    "Intervals",
                    f"{self.n_boot} bootstrap samples of rows, each interval by "
                    "itself, asymptotic. Calibration errors are biased upwards; their "
                    "intervals are the basic ones, which take the bias out.",
                )
            )
        if self.near_zero:
            notes.append(
                (
                    "Note",
                    f"the ECE is not far above the {self.noise:.4f} that noise alone "
                    "gives a calibrated classifier in this sample: "
                    + (
                        "no interval of a calibration error can be trusted here. "
                        if self.n_boot
                        else "part of it is noise. "
                    )
                    + (
                        "Rely on the test." if self.test else "Ask for the test, n_sim."
                    ),
                )
            )
        return notes

    def plot(self, ax: Axes | None = None, *, style: str = "bars") -> Axes:
        """Draw the reliability diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        style : {"bars", "curve"}
        """
        return self.reliability.plot(ax=ax, style=style)
