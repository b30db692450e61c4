"""What a cross-conformal fit returns: scores of held-out rows, by fold."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distfreeuq._base import row_groups
from distfreeuq._base.arguments import Arguments, UncheckedProbs
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._base.arrays import describe, read_only
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.persistence import register
from distfreeuq._base.random_streams import check_rng
from distfreeuq._base.row_uniforms import RowKey, new_uniforms
from distfreeuq._base.stored_state import (
    State,
    column_names,
    count,
    flag,
    floats,
    integers,
    part,
    part_or_none,
    rate,
    require,
    text,
)
from distfreeuq._kernels import _bins
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.quantiles import conformal_rank
from distfreeuq.conformal.cross_fitted import guarantees
from distfreeuq.conformal.data import CalibrationScores
from distfreeuq.conformal.nonconformity import all_label_scores
from distfreeuq.conformal.results import guarantee_of_sets
from distfreeuq.conformal.scores.nested_score import NestedScore
from distfreeuq.conformal.sets import PredictionSets
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.results import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

METHODS = ("exchangeable", "label-conditional")


@register("cross-conformal")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CrossConformalResult(Result):
    """A rule that turns the probabilities of several classifiers into sets.

    There is no threshold: a label's score under a fold's classifier is compared with
    the scores of the fold's own rows, and what is counted over all folds decides.

    Attributes
    ----------
    alpha : float
        Miscoverage level that was asked for; see `guarantee` for what holds.
    method : str
        "exchangeable": scores of all rows are compared; "label-conditional": those of
        the label's own class.
    score : NestedScore
    randomized : bool
        As given to the fit.
    n : int
        Calibration rows.
    folds : tuple
        The folds' names, in the order in which `predict` takes probabilities.
    fold_counts : ndarray (F,)
        Calibration rows by fold.
    scores : ndarray (n,)
        Calibration scores, ascending.
    score_labels, score_folds : ndarray (n,)
        Column number and fold number of each score's row.
    ranks : ndarray (K,)
        Label k is left out if ranks[k] scores at least are below its own.
    class_counts : ndarray (K,)
        Calibration rows by class.
    class_lower : ndarray (K,)
        What coverage is at least: of each class, or of all rows in every entry.
    classes : sequence
        Class names by column.
    row_key : RowKey or None
        As in `ConformalResult`.
    guarantee : Guarantee or NoGuarantee

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs = [[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]] * 20
    >>> fit = dfu.cross_conformal(
    ...     probs, [0, 1, 1] * 20, [0] * 30 + [1] * 30, alpha=0.2, score="lac")
    >>> fit
    <CrossConformalResult lac alpha=0.2 n=60 folds=2 K=2>
    >>> fit.predict([[[0.6, 0.4]], [[0.4, 0.6]]]).labels()
    [array([0, 1])]
    >>> round(fit.guarantee.lower, 3)
    0.581
    """

    alpha: float
    method: str
    score: NestedScore
    randomized: bool
    n: int
    folds: row_groups.Names
    fold_counts: IntArray
    scores: FloatArray
    score_labels: IntArray
    score_folds: IntArray
    ranks: IntArray
    class_counts: IntArray
    class_lower: FloatArray
    classes: Classes
    row_key: RowKey | None
    guarantee: Guarantee | NoGuarantee

    _state: ClassVar[State] = {
        "classes": column_names("K"),
        "alpha": rate(),
        "method": text(*METHODS),
        "score": part(NestedScore),
        "randomized": flag(),
        "n": count("n"),
        "folds": column_names("F"),
        "fold_counts": integers("F"),
        "scores": floats("n", ascending=True),
        "score_labels": integers("n", below="K"),
        "score_folds": integers("n", below="F"),
        "ranks": integers("K", low=1),
        "class_counts": integers("K"),
        "class_lower": floats("K", low=0.0, high=1.0, nan=False),
        "row_key": part_or_none(RowKey),
        "guarantee": part(Guarantee, NoGuarantee),
    }

    def _validate_state(self) -> None:
        require(len(self.folds) > 0, "one fold at least")
        counts = np.bincount(self.score_labels, minlength=len(self.classes))
        require(np.array_equal(counts, self.class_counts), "labels that were counted")
        counts = np.bincount(self.score_folds, minlength=len(self.folds))
        require(np.array_equal(counts, self.fold_counts), "folds that were counted")
        hashed = self.row_key is not None
        require(self.randomized or not hashed, "a key of randomised scores, or None")

    def _why_rows(self) -> str:
        return "which compares new rows with every calibration row"

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<CrossConformalResult {self.score.name} alpha={self.alpha:g} n={self.n} "
            f"folds={len(self.folds)} K={len(self.classes)}>"
        )

    @property
    def title(self) -> str:
        """The procedure."""
        return "Cross-conformal prediction sets"

    def predict(
        self,
        probs: Any,
        *,
        rng: RandomState = None,
        uniforms: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> PredictionSets:
        """Prediction sets for new rows, from the probabilities of every fold.

        Parameters
        ----------
        probs : array_like (F, n, K), or a sequence of F matrices (n, K)
            The new rows' probabilities by the classifier of each fold (the one that was
            fitted without it), in the order of ``.folds``.
        rng, uniforms, ids
            As in `ConformalResult.predict`.
        """
        below = self._count_below(probs, rng, uniforms, ids, "predict")
        mask = below < self.ranks
        return PredictionSets(
            mask=read_only(mask),
            sizes=read_only(mask.sum(axis=1)),
            classes=self.classes,
            nominal=1.0 - self.alpha,
            guarantee=guarantee_of_sets(
                self.guarantee, self.row_key, self.randomized and uniforms is not None
            ),
        )

    def p_values(
        self,
        probs: Any,
        *,
        rng: RandomState = None,
        uniforms: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> FloatMatrix:
        """Cross-conformal p-value of every label, shape (n, K).

        The share of scores, the label's own included, that are at least the label's
        under the classifier of their fold. A label is in the set exactly if it exceeds
        alpha (by more than 1e-12). The true label's is at most a with a probability of
        about 2 a at most.

        Parameters
        ----------
        probs, rng, uniforms, ids
            As in `predict`.
        """
        below = self._count_below(probs, rng, uniforms, ids, "p_values")
        totals = self._compared()
        return (totals - below + 1.0) / (totals + 1.0)

    def _compared(self) -> IntArray:
        """Return with how many scores those of each label are compared, shape (K,)."""
        if self.method == "label-conditional":
            return self.class_counts
        return np.full(len(self.classes), self.n)

    def _count_below(
        self,
        probs: Any,
        rng: RandomState,
        uniforms: ArrayLike | None,
        ids: ArrayLike | None,
        method: str,
    ) -> IntArray:
        """Return how many calibration scores are below each label's, shape (n, K)."""
        args = Arguments(f"CrossConformalResult.{method}")
        parts = self._read_folds(args, probs)
        n_rows = parts[0].matrix.shape[0]
        given = None
        if uniforms is not None:
            check_rng(rng, args.caller)
            given = args.uniforms(uniforms, n_rows)
            given = given if self.randomized else np.ones_like(given)
        below = np.zeros((n_rows, len(self.classes)), dtype=np.int64)
        for fold, rows in enumerate(parts):
            u = given
            if u is None:
                u = new_uniforms(
                    args, rows.matrix, self.row_key, rng, ids, self.randomized
                )
            scores = all_label_scores(self.score, rows, u)
            own = self.score_folds == fold
            if self.method == "exchangeable":
                below += _positions(scores, self.scores[own])
                continue
            for k in range(len(self.classes)):
                of_class = self.scores[own & (self.score_labels == k)]
                below[:, k] += _positions(scores[:, k], of_class)
        return below

    def _read_folds(self, args: Arguments, probs: Any) -> list[UncheckedProbs]:
        """Return the matrices of all folds, each of the same rows."""
        must = f"{len(self.folds)} matrices of probabilities, one for each fold"
        if isinstance(probs, str | bytes | Set | Mapping):
            args.invalid("probs", must, describe(probs))
        try:
            matrices = list(probs)
        except Exception:  # TypeError as a rule, but the iterator is the user's
            matrices = None
        if matrices is None:
            args.invalid("probs", must, describe(probs))
        if len(matrices) != len(self.folds):
            args.invalid("probs", must, f"{len(matrices)} of them")
        parts = [args.unchecked_new_probs(m, self.classes) for m in matrices]
        lengths = {part.matrix.shape[0] for part in parts}
        if len(lengths) > 1:
            must = "of the same rows for every fold"
            args.invalid("probs", must, f"{sorted(lengths)} rows")
        return parts

    def at(self, alpha: float) -> CrossConformalResult:
        """Return the same fit at another level, as `ConformalResult.at`."""
        level = Arguments("CrossConformalResult.at").alpha(alpha)
        calibration = CalibrationScores(
            scores=self.scores,
            counts=self.class_counts,
            labels=self.score_labels,
            order=np.arange(self.n),
            classes=self.classes,
            score=self.score,
            randomized=self.randomized,
            never_empty=False,
            row_key=self.row_key,
        )
        return fit_cross(calibration, self.folds, self.score_folds, level, self.method)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per class: rows, rank, and what its coverage is at least.

        Compared with all rows, ``coverage >=`` is that of all classes together.
        """
        import pandas as pd

        names = name_array(self.classes)
        return pd.DataFrame(
            {
                "class": pd.Series(names, dtype=names.dtype),
                "n": self.class_counts,
                "rank": self.ranks,
                "coverage >=": self.class_lower,
            }
        )

    def summary(self) -> Summary:
        """Return rows and ranks by class, and what holds."""
        from distfreeuq.conformal.cross_fitted.summary import summarize_cross

        return summarize_cross(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distribution of calibration scores in each fold."""
        from distfreeuq import plots

        return plots.fold_scores(self, ax=ax)


def _positions(scores: FloatArray, ascending: FloatArray) -> IntArray:
    """Return how many of some ascending scores are strictly below each score."""
    found = np.empty(scores.size, dtype=np.int64)
    _bins._assign_bins(
        np.ascontiguousarray(scores).ravel(),
        np.ascontiguousarray(ascending),
        True,
        found,
        threads_for(scores.size),
    )
    return found.reshape(scores.shape)


def fit_cross(
    calibration: CalibrationScores,
    folds: row_groups.Names,
    score_folds: IntArray,
    alpha: float,
    method: str,
) -> CrossConformalResult:
    """Return cross-conformal sets; `score_folds` has the fold of each score (n,)."""
    n_folds, n_classes = len(folds), len(calibration.classes)
    counts = np.bincount(score_folds, minlength=n_folds)
    by_class = np.zeros((n_classes, n_folds), dtype=np.int64)
    np.add.at(by_class, (calibration.labels, score_folds), 1)
    if method == "exchangeable":
        rank = min(conformal_rank(calibration.n, alpha), calibration.n + 1)
        lower = guarantees.coverage_bound(counts, rank)
        ranks, lowers = np.full(n_classes, rank), np.full(n_classes, lower)
        claim = guarantees.all_rows(lower, n_folds)
    else:
        n_own = by_class.sum(axis=1)
        ranks = np.array([min(conformal_rank(int(n), alpha), n + 1) for n in n_own])
        pairs = zip(by_class, ranks.tolist(), strict=True)
        lowers = np.array([guarantees.coverage_bound(row, k) for row, k in pairs])
        claim = guarantees.every_class(lowers, n_folds)
    if isinstance(claim, Guarantee):
        claim = calibration.needing_seed(claim)
    return CrossConformalResult(
        alpha=alpha,
        method=method,
        score=calibration.score,
        randomized=calibration.randomized,
        n=calibration.n,
        folds=folds,
        fold_counts=read_only(counts),
        scores=read_only(calibration.scores),
        score_labels=read_only(calibration.labels),
        score_folds=read_only(score_folds),
        ranks=read_only(ranks.astype(np.int64)),
        class_counts=read_only(calibration.counts),
        class_lower=read_only(lowers),
        classes=calibration.classes,
        row_key=calibration.row_key,
        guarantee=claim,
    )
