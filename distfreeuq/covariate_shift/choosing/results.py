"""What `choose_calibration` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, get_args

import numpy as np

from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    column_names,
    count,
    floats,
    part,
    real,
    require,
    text,
)
from distfreeuq.covariate_shift.data import WeightsFrom
from distfreeuq.covariate_shift.results import CovariateShiftCalibrationResult
from distfreeuq.guarantees import NoGuarantee
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@register("calibration-choice")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibrationChoiceResult(Result):
    """Candidates' cross-validated scores, and the best one fitted to all rows.

    Attributes
    ----------
    names : tuple of str
        The candidates.
    scores : ndarray (C,)
        Mean over the source rows of weight times loss, each row's by a fit without its
        fold: the smaller the better.
    std_err : ndarray (C,)
        Of the scores, as if the folds' fits were fixed.
    differences, difference_std_err : ndarray (C,)
        Score less that of the chosen one, on the same rows, and its standard error.
    chosen : int
        Position of the smallest score.
    loss : {"brier", "nll"}
    n : int
        Source rows.
    n_folds : int
    ess : float
        Effective sample size of the weights of the scores.
    weights_from : str
        Where these weights come from, as in ``fit.rows``.
    fit : CovariateShiftCalibrationResult
        The chosen candidate, fitted to all rows.
    guarantee : NoGuarantee

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=800)
    >>> labels = (rng.random(800) < 1 / (1 + np.exp(-x - 0.5))).astype(int)
    >>> choice = dfu.choose_calibration(
    ...     3 * x, labels, None, None, ["temperature", "platt"], ratio=np.exp(x / 2),
    ...     rng=0,
    ... )
    >>> choice
    <CalibrationChoiceResult platt of 2 candidates n=800 folds=5>
    >>> choice.predict([0.0]).round(2)
    array([[0.39, 0.61]])
    """

    names: tuple[str, ...]
    scores: FloatArray
    std_err: FloatArray
    differences: FloatArray
    difference_std_err: FloatArray
    chosen: int
    loss: str
    n: int
    n_folds: int
    ess: float
    weights_from: WeightsFrom
    fit: CovariateShiftCalibrationResult
    guarantee: NoGuarantee

    _state: ClassVar[State] = {
        "names": column_names("C"),
        "scores": floats("C", low=0.0, nan=False),
        "std_err": floats("C", low=0.0),
        "differences": floats("C"),
        "difference_std_err": floats("C", low=0.0),
        "chosen": count(),
        "loss": text("brier", "nll"),
        "n": count(),
        "n_folds": count(low=2),
        "ess": real(0.0),
        "weights_from": text(*get_args(WeightsFrom)),
        "fit": part(CovariateShiftCalibrationResult),
        "guarantee": part(NoGuarantee),
    }

    def _validate_state(self) -> None:
        require(self.chosen < len(self.names), "a choice among the candidates")

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<CalibrationChoiceResult {self.best} of {len(self.names)} candidates "
            f"n={self.n} folds={self.n_folds}>"
        )

    @property
    def best(self) -> str:
        """Name of the chosen candidate."""
        return self.names[self.chosen]

    def predict(self, x: ArrayLike) -> FloatMatrix:
        """Calibrated probabilities by the chosen candidate, shape (n, K).

        Parameters
        ----------
        x : array_like
            As ``fit.predict`` takes it: logits, or features after feature learning.
        """
        return self.fit.predict(x)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per candidate, in the order given."""
        import pandas as pd

        return pd.DataFrame(
            {
                "candidate": list(self.names),
                "score": self.scores,
                "std_err": self.std_err,
                "difference": self.differences,
                "difference_std_err": self.difference_std_err,
                "chosen": np.arange(len(self.names)) == self.chosen,
            }
        )

    def summary(self) -> Summary:
        """Return the scores and what they are worth, as a ``Summary``."""
        from distfreeuq.covariate_shift.choosing.summary import summarize_choice

        return summarize_choice(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what the chosen calibrator draws of itself."""
        return self.fit.plot(ax=ax)
