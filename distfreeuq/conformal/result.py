"""What a conformal fit returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._kernels import _scores
from distfreeuq._random import stream
from distfreeuq._typing import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._validate import Door
from distfreeuq.conformal.p_values import exchangeable_p_values
from distfreeuq.conformal.scores import NestedScore, all_label_scores
from distfreeuq.conformal.sets import PredictionSets
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.results import Result, read_only
from distfreeuq.threads import threads_for

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConformalResult(Result):
    """A calibrated rule that turns probabilities into prediction sets.

    Attributes
    ----------
    title : str
        The procedure.
    thresholds : ndarray (K,)
        Label k is in a row's set if its score is at most thresholds[k]; +inf: always.
    alpha : float
        Miscoverage level.
    score : NestedScore
    randomized, never_empty : bool
        As given to the fit.
    confidence : float or None
        Probability over the calibration draw, for the training-conditional version.
    n : int
        Calibration rows.
    rank : int
        The threshold is the rank-th smallest calibration score; n + 1 means +inf.
    scores : ndarray (n,)
        Calibration scores, ascending.
    class_counts : ndarray (K,)
        Calibration rows by class.
    classes : sequence
        Class names by column.
    guarantee : Guarantee
        What holds for the sets that `predict` makes.
    further : tuple of Guarantee
        What else holds.
    """

    title: str
    thresholds: FloatArray
    alpha: float
    score: NestedScore
    randomized: bool
    never_empty: bool
    confidence: float | None
    n: int
    rank: int
    scores: FloatArray
    class_counts: IntArray
    classes: Classes
    guarantee: Guarantee | NoGuarantee
    further: tuple[Guarantee, ...]

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<ConformalResult {self.score.name} alpha={self.alpha:g} n={self.n} "
            f"K={len(self.classes)}>"
        )

    def predict(
        self,
        probs: ArrayLike,
        *,
        rng: RandomState = None,
        uniforms: ArrayLike | None = None,
    ) -> PredictionSets:
        """Prediction sets for new rows.

        Parameters
        ----------
        probs : array_like (n, K)
            The same classifier's probabilities, columns as in the fit.
        rng : seed, Generator or None
            For the randomised scores. An integer gives another stream than the same
            integer gave the fit.
        uniforms : array_like (n,), optional
            Your own uniforms in place of `rng`.

        Returns
        -------
        PredictionSets
            A row's set depends on that row and its uniform alone.
        """
        matrix, u = self._rows(probs, rng, uniforms, "predict")
        mask = np.empty(matrix.shape, dtype=np.uint8)
        sizes = np.empty(matrix.shape[0], dtype=np.int64)
        _scores._prediction_sets(
            self.score.kernel_arguments(),
            matrix,
            u,
            self.thresholds,
            self.never_empty,
            mask,
            sizes,
            threads_for(matrix.size),
        )
        return PredictionSets(
            mask=read_only(mask.view(np.bool_)),
            sizes=read_only(sizes),
            classes=self.classes,
            nominal=1.0 - self.alpha,
            guarantee=self.guarantee,
        )

    def p_values(
        self,
        probs: ArrayLike,
        *,
        rng: RandomState = None,
        uniforms: ArrayLike | None = None,
    ) -> FloatMatrix:
        """Conformal p-value of every label, shape (n, K).

        (1 + #{calibration scores >= score}) / (n + 1): under exchangeability the true
        label's is at most a with probability at most a. Without `confidence=` and
        `never_empty=`, a label is in the set exactly if its p-value exceeds alpha.

        Parameters
        ----------
        probs : array_like (n, K)
        rng, uniforms
            As in `predict`.
        """
        matrix, u = self._rows(probs, rng, uniforms, "p_values")
        return exchangeable_p_values(
            all_label_scores(self.score, matrix, u), self.scores
        )

    def _rows(
        self,
        probs: ArrayLike,
        rng: RandomState,
        uniforms: ArrayLike | None,
        method: str,
    ) -> tuple[FloatMatrix, FloatArray]:
        """Return checked probabilities and the uniforms to score them with."""
        door = Door(f"ConformalResult.{method}")
        matrix = door.new_probs(probs, self.classes)
        n = matrix.shape[0]
        if not (self.randomized and self.score.uses_uniforms):
            return matrix, np.ones(n)
        if uniforms is not None:
            return matrix, door.uniforms(uniforms, n)
        return matrix, stream(rng, "predict", door.caller).random(n)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per class: calibration rows, threshold, always in the set?"""
        import pandas as pd

        return pd.DataFrame(
            {
                "class": list(self.classes),
                "n": self.class_counts,
                "threshold": self.thresholds,
                "always": np.isinf(self.thresholds),
            }
        )

    def summary(self) -> Summary:
        """Return the thresholds and what they guarantee, as a statsmodels ``Summary``."""
        from distfreeuq import _summary
        from distfreeuq._summary import Table, class_name, number

        rank = f"{self.rank} of {self.n}" if self.rank <= self.n else "beyond the last"
        facts = [
            ("Score", self.score.describe(self.randomized)),
            ("Miscoverage alpha", f"{self.alpha:g}"),
            ("Never empty", "yes" if self.never_empty else "no"),
            ("Calibration rows", str(self.n)),
            ("Classes", str(len(self.classes))),
            ("Rank of the threshold", rank),
        ]
        rows = [
            [class_name(name), str(n), number(t), "yes" if always else "no"]
            for name, n, t, always in self.to_frame().itertuples(index=False)
        ]
        notes = _summary.guarantee_notes(self.guarantee)
        notes[1:1] = [("Also", also.statement) for also in self.further]
        return _summary.summarise(
            self.title,
            facts,
            [Table(["class", "n", "threshold", "always in the set"], rows)],
            notes,
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the calibration scores and the threshold."""
        from distfreeuq import plots

        return plots.calibration_scores(self, ax=ax)
