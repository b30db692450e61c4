"""What a conformal fit returns: a rule that turns probabilities into sets."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments, UncheckedProbs
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolMatrix,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._base.arrays import describe, read_only, row_names
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.files.rows_left_out import fields_of_rows, kept
from distfreeuq._base.random_streams import check_rng
from distfreeuq._base.row_uniforms import RowKey, new_uniforms
from distfreeuq._base.stored_state import (
    State,
    column_names,
    count,
    either,
    flag,
    floats,
    integers,
    maybe,
    part,
    part_or_none,
    rate,
    require,
    several,
    text,
)
from distfreeuq._kernels import _scores
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.row_blocks import lazy
from distfreeuq.conformal.data import CalibrationScores
from distfreeuq.conformal.nonconformity import all_label_scores
from distfreeuq.conformal.scores.nested_score import NestedScore
from distfreeuq.conformal.sets import PredictionSets
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.references import OWN_UNIFORMS
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

NO_P_VALUES = "of another procedure: these sets have no p-values"
FIT_ANEW = "given to a fit of its own: the rows that this one kept depend on its level"
_SCORES_AT_ONCE = 1 << 21
"""Scores that are held in memory where no kernel compares them at once."""
_OTHER_UNIFORMS = (
    "the fit's uniforms are a hash of each row or id, and these are others, so that "
    "calibration and new scores are not exchangeable where rows repeat"
)


def guarantee_of_sets(
    guarantee: Guarantee | NoGuarantee, row_key: RowKey | None, own_uniforms: bool
) -> Guarantee | NoGuarantee:
    """Return what holds of sets, those with the user's own uniforms included."""
    if not own_uniforms or isinstance(guarantee, NoGuarantee):
        return guarantee
    if row_key is not None:
        return NoGuarantee(_OTHER_UNIFORMS)
    return replace(guarantee, assumptions=(*guarantee.assumptions, OWN_UNIFORMS))


def marked_sets(
    score: NestedScore,
    rows: UncheckedProbs,
    uniforms: FloatArray,
    thresholds: FloatArray,
    never_empty: bool,
    *,
    one_per_row: bool = False,
) -> tuple[BoolMatrix, IntArray]:
    """Return which labels the kernel puts into the sets (n, K), and how many (n,)."""
    matrix = rows.matrix
    mask = np.empty(matrix.shape, dtype=np.uint8)
    sizes = np.empty(matrix.shape[0], dtype=np.int64)
    bad = _scores._prediction_sets(
        score.kernel_arguments(),
        matrix,
        rows.tolerance,
        uniforms,
        thresholds,
        one_per_row,
        never_empty,
        mask,
        sizes,
        threads_for(matrix.size),
    )
    rows.raise_if_invalid(bad)
    return mask.view(np.bool_), sizes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConformalResult(Result):
    """A calibrated rule that turns probabilities into prediction sets.

    Each procedure returns its own kind, with these attributes and a few more.

    Attributes
    ----------
    title : str
        The procedure.
    thresholds : ndarray (K,)
        Label k is in a row's set if its score is at most thresholds[k]; +inf: always.
    alpha : float or ndarray (K,)
        Miscoverage level; one per class where the user gave one per class.
    score : NestedScore
    randomized, never_empty : bool
        As given to the fit.
    confidence : float or None
        Probability over the calibration draw, for the training-conditional version.
    n : int
        Calibration rows.
    scores : ndarray (n,) or None
        Calibration scores, ascending; None after ``save(rows=False)``.
    class_counts : ndarray (K,)
        Calibration rows by class.
    classes : sequence
        Class names by column.
    guarantee : Guarantee or NoGuarantee
        What holds for the sets that `predict` makes.
    further : tuple of Guarantee
        What else holds.
    row_key : RowKey or None
        What a row's uniform is a hash of, under which key, after a fit with a seed or
        with ids; None where uniforms are drawn, or there are none.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs = [[0.9, 0.06, 0.04], [0.5, 0.3, 0.2], [0.2, 0.5, 0.3]] * 10
    >>> fit = dfu.split_conformal(probs, [0, 1, 1] * 10, score="lac")
    >>> fit
    <SplitConformalResult lac alpha=0.1 n=30 K=3>
    >>> fit.predict([[0.6, 0.3, 0.1]]).labels()
    [array([0, 1])]
    >>> fit.p_values([[0.6, 0.3, 0.1]]).round(3).tolist()
    [[0.677, 0.355, 0.032]]
    >>> [fit.at(alpha).predict([[0.6, 0.3, 0.1]]).labels() for alpha in (0.5, 0.1)]
    [[array([0])], [array([0, 1])]]
    """

    _one_threshold_per_row: ClassVar[bool] = False
    _new_row: ClassVar[str] = "a new target row"
    _covers_every_class: ClassVar[bool] = False

    title: str
    thresholds: FloatArray
    alpha: float | FloatArray
    score: NestedScore
    randomized: bool
    never_empty: bool
    confidence: float | None
    n: int
    scores: FloatArray | None
    class_counts: IntArray
    classes: Classes
    guarantee: Guarantee | NoGuarantee
    further: tuple[Guarantee, ...]
    row_key: RowKey | None

    _state: ClassVar[State] = {
        "title": text(),
        "classes": column_names("K"),
        "thresholds": floats("K", nan=False),
        "alpha": either(floats("K", low=0.0, high=1.0, nan=False), rate()),
        "score": part(NestedScore),
        "randomized": flag(),
        "never_empty": flag(),
        "confidence": maybe(rate()),
        "n": count("n"),
        "scores": maybe(floats("n", ascending=True)),
        "class_counts": integers("K"),
        "guarantee": part(Guarantee, NoGuarantee),
        "further": several(part(Guarantee)),
        "row_key": part_or_none(RowKey),
    }
    _of_rows: ClassVar[tuple[str, ...]] = ("scores",)

    def _validate_state(self) -> None:
        require(self.class_counts.sum() == self.n, "as many rows as classes have")
        hashed = self.row_key is not None
        require(self.randomized or not hashed, "a key of randomised scores, or None")
        left_out = {getattr(self, name) is None for name in fields_of_rows(type(self))}
        require(len(left_out) == 1, "all that is kept of the rows, or nothing")

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<{type(self).__name__} {self.score.name} alpha={self._alpha_text()} "
            f"n={self.n} K={len(self.classes)}>"
        )

    @staticmethod
    def _from_format1(fields: dict[str, Any]) -> dict[str, Any]:
        """Return today's fields: uniforms were drawn."""
        return {**fields, "row_key": None}

    @abstractmethod
    def predict(
        self,
        probs: ArrayLike,
        *,
        rng: RandomState = None,
        uniforms: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> PredictionSets:
        """Prediction sets for new rows.

        Parameters
        ----------
        probs : array_like (n, K)
            The same classifier's probabilities, columns as in the fit.
        rng : Generator or None
            For the randomised scores of a fit without a seed. A fit with a seed needs
            nothing here: the same row has the same set today, tomorrow, alone or in
            any batch.
        uniforms : array_like (n,), optional
            Your own uniforms. After a fit with a seed nothing is then guaranteed.
        ids : array_like (n,)
            The rows' ids, if the fit was given ids.

        Returns
        -------
        PredictionSets
            A row's set depends on that row and its uniform alone.
        """

    @abstractmethod
    def p_values(
        self,
        probs: ArrayLike,
        *,
        rng: RandomState = None,
        uniforms: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> FloatMatrix:
        """Conformal p-value of every label, shape (n, K).

        The share of calibration mass, the new row's own included, whose score is at
        least the label's. Under the fit's assumptions the true label's is at most a
        with probability at most a. Without `confidence`, `robust` and `never_empty`, a
        label is in the set exactly if its p-value exceeds alpha (by more than 1e-12, so
        that 1 - 0.9 means 0.1).

        Parameters
        ----------
        probs : array_like (n, K)
        rng, uniforms, ids
            As in `predict`.
        """

    @abstractmethod
    def at(self, alpha: Any) -> ConformalResult:
        """Return the same fit at another level, from the scores that it keeps.

        What is guaranteed holds of each level by itself, for levels that were chosen
        without the calibration rows. Sets at a smaller alpha hold those at a larger
        one.

        Parameters
        ----------
        alpha : float
            Miscoverage level in (0, 1); for label-conditional sets also one per class.

        Returns
        -------
        ConformalResult
            Of the same kind. Fits that thin their rows at random (`confidence` under
            shift), and those that search a region of the weights, are not kept: fit
            those anew.
        """

    @property
    def _draws_uniforms(self) -> bool:
        """Whether new rows' uniforms are drawn, and not hashes of the rows."""
        return self.randomized and self.row_key is None

    def _kept_scores(self, method: str) -> FloatArray:
        """Return the calibration scores, which a method needs."""
        return kept(self.scores, f"{type(self).__name__}.{method}")

    def _kept_labels(self, labels: IntArray | None, method: str) -> IntArray:
        """Return the labels of the scores, which a method needs."""
        return kept(labels, f"{type(self).__name__}.{method}")

    def _calibration(self, labels: IntArray | None) -> CalibrationScores:
        """Return the calibration scores again, with their labels if these are kept."""
        none = np.empty(0, dtype=np.int64)
        return CalibrationScores(
            scores=self._kept_scores("at"),
            counts=self.class_counts,
            labels=none if labels is None else labels,
            order=none if labels is None else np.arange(self.n),
            classes=self.classes,
            score=self.score,
            randomized=self.randomized,
            never_empty=self.never_empty,
            row_key=self.row_key,
        )

    @abstractmethod
    def _facts(self) -> list[tuple[str, str]]:
        """Return what the summary's header says of this procedure."""

    def _advice(self) -> str | None:
        """Return what else has a claim for finite samples, if this has none."""
        return None

    def _rows(
        self,
        probs: ArrayLike,
        rng: RandomState,
        uniforms: ArrayLike | None,
        ids: ArrayLike | None,
        method: str,
    ) -> tuple[UncheckedProbs, FloatArray]:
        """Return probabilities and the uniforms to score them with."""
        args = Arguments(f"{type(self).__name__}.{method}")
        rows = args.unchecked_new_probs(probs, self.classes)
        if uniforms is None:
            return rows, new_uniforms(
                args, rows.matrix, self.row_key, rng, ids, self.randomized
            )
        check_rng(rng, args.caller)
        given = args.uniforms(uniforms, rows.matrix.shape[0])
        return rows, given if self.randomized else np.ones_like(given)

    def _own_weights(
        self,
        sample_weight: ArrayLike | None,
        features: ArrayLike | None,
        n_rows: int,
        method: str,
    ) -> FloatArray | None:
        """Return new rows' own weights; None where sets do not depend on them."""
        args = Arguments(f"GroupedConformalResult.{method}")
        for name, given in (("sample_weight", sample_weight), ("features", features)):
            if given is not None:
                args.invalid(
                    name, "None: only covariate shift uses it", describe(given)
                )
        return None

    @abstractmethod
    def _thresholds_for(self, own_weight: FloatArray | None) -> FloatArray:
        """Return thresholds of the classes (K,) or, by their weights, of rows (n,)."""

    @abstractmethod
    def _p_values_at(
        self, probs: FloatMatrix, uniforms: FloatArray, own_weight: FloatArray | None
    ) -> FloatMatrix:
        """Return the p-values of checked rows with these uniforms, shape (n, K)."""

    def _mask_of(
        self, probs: FloatMatrix, uniforms: FloatArray, own_weight: FloatArray | None
    ) -> BoolMatrix:
        """Return which labels are in the sets of checked rows, shape (n, K)."""
        rows = UncheckedProbs(probs, np.inf, Arguments("predict"), "probs")
        mask, _ = self._members(rows, uniforms, self._thresholds_for(own_weight))
        return mask

    def _sets(
        self,
        rows: UncheckedProbs,
        uniforms: FloatArray,
        thresholds: FloatArray,
        *,
        own_uniforms: bool,
    ) -> PredictionSets:
        """Return the sets by thresholds for the classes (K,) or for the rows (n,)."""
        mask, sizes = self._members(rows, uniforms, thresholds)
        return PredictionSets(
            mask=read_only(mask),
            sizes=read_only(sizes),
            classes=self.classes,
            nominal=self._nominal(),
            guarantee=guarantee_of_sets(
                self.guarantee, self.row_key, own_uniforms and self.randomized
            ),
            index=row_names(rows.given),
        )

    def _members(
        self, rows: UncheckedProbs, uniforms: FloatArray, thresholds: FloatArray
    ) -> tuple[BoolMatrix, IntArray]:
        """Return which labels are in the sets (n, K), and how many (n,)."""
        if self.score.compiled:
            return marked_sets(
                self.score,
                rows,
                uniforms,
                thresholds,
                self.never_empty,
                one_per_row=self._one_threshold_per_row,
            )
        return self._members_by_scores(rows.checked(), uniforms, thresholds)

    def _members_by_scores(
        self, probs: FloatMatrix, uniforms: FloatArray, thresholds: FloatArray
    ) -> tuple[BoolMatrix, IntArray]:
        """Return the same by the scores themselves, some rows at a time."""
        mask = np.empty(probs.shape, dtype=np.bool_)
        step = max(1, _SCORES_AT_ONCE // probs.shape[1])
        for start in range(0, len(probs), step):
            some = slice(start, start + step)
            limits = (
                thresholds[some, None] if self._one_threshold_per_row else thresholds
            )
            scores = self.score.all_scores(probs[some], uniforms[some])
            np.less_equal(scores, limits, out=mask[some])
        if self.never_empty and len(probs):
            mask |= probs == probs.max(axis=1, keepdims=True)
        return mask, mask.sum(axis=1)

    def _nominal(self) -> float | None:
        return None if isinstance(self.alpha, np.ndarray) else 1.0 - self.alpha

    def _alpha_text(self) -> str:
        if isinstance(self.alpha, np.ndarray):
            return f"{self.alpha.min():g}..{self.alpha.max():g}"
        return f"{self.alpha:g}"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per class: rows, threshold, and whether always in the set."""
        import pandas as pd

        names = name_array(self.classes)
        return pd.DataFrame(
            {
                "class": pd.Series(names, dtype=names.dtype),
                "n": self.class_counts,
                "threshold": self.thresholds,
                "always": np.isinf(self.thresholds),
            }
        )

    def summary(self) -> Summary:
        """Return thresholds and what they guarantee, as a statsmodels ``Summary``."""
        from distfreeuq.conformal.summary import summarize_conformal

        return summarize_conformal(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the calibration scores and the threshold."""
        from distfreeuq import plots

        return plots.calibration_scores(self, ax=ax)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClassThresholdResult(ConformalResult):
    """A rule whose thresholds are the same for every new row."""

    @lazy
    def predict(
        self,
        probs: ArrayLike,
        *,
        rng: RandomState = None,
        uniforms: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> PredictionSets:
        """Prediction sets for new rows.

        Parameters
        ----------
        probs, rng, uniforms, ids
            As in `ConformalResult.predict`.
        """
        rows, u = self._rows(probs, rng, uniforms, ids, "predict")
        return self._sets(rows, u, self.thresholds, own_uniforms=uniforms is not None)

    @lazy
    def p_values(
        self,
        probs: ArrayLike,
        *,
        rng: RandomState = None,
        uniforms: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> FloatMatrix:
        """Conformal p-value of every label, shape (n, K).

        Parameters
        ----------
        probs, rng, uniforms, ids
            As in `ConformalResult.p_values`.
        """
        rows, u = self._rows(probs, rng, uniforms, ids, "p_values")
        return self._p_values_of(all_label_scores(self.score, rows, u))

    def _thresholds_for(self, own_weight: FloatArray | None) -> FloatArray:
        return self.thresholds

    def _p_values_at(
        self, probs: FloatMatrix, uniforms: FloatArray, own_weight: FloatArray | None
    ) -> FloatMatrix:
        rows = UncheckedProbs(probs, np.inf, Arguments("p_values"), "probs")
        return self._p_values_of(all_label_scores(self.score, rows, uniforms))

    @abstractmethod
    def _p_values_of(self, scores: FloatMatrix) -> FloatMatrix:
        """Return the p-values of labels with these scores, shape (n, K)."""
