"""A threshold for each cluster of classes whose scores look alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    FloatArray,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.random_streams import stream
from distfreeuq._base.stored_state import State, integers, maybe, require
from distfreeuq._numerics.quantiles import smallest_sample
from distfreeuq.conformal.data import (
    CalibrationScores,
    calibration_scores,
    warn_small,
)
from distfreeuq.conformal.many_classes import guarantees
from distfreeuq.conformal.many_classes.class_quantiles import (
    order_statistics,
    ranks_by_count,
)
from distfreeuq.conformal.p_values import weighted_p_values
from distfreeuq.conformal.results import ClassThresholdResult
from distfreeuq.conformal.scores.nested_score import ScoreLike

if TYPE_CHECKING:
    import pandas as pd

_LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)
"""The quantiles of a class's scores by which it is compared with others."""
_STEPS = 100


@register("clustered-conformal")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClusteredConformalResult(ClassThresholdResult):
    """Sets by a threshold for each cluster of classes.

    Attributes
    ----------
    cluster : ndarray (K,)
        Each class's cluster; 0 is that of the classes with too few rows to compare.
    score_labels : ndarray (n,) or None
        The labels of `scores`, as column numbers; None where those are. `scores`, `n`
        and `class_counts` are those of the rows that gave the thresholds; the others
        gave the clusters.

    The other attributes are those of every `ConformalResult`.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet(np.ones(6), size=3000)
    >>> labels = [rng.choice(6, p=row) for row in probs]
    >>> fit = dfu.clustered_conformal(probs, labels, n_clusters=2, rng=1)
    >>> fit.n, np.unique(fit.cluster).size
    (1500, 2)
    """

    cluster: IntArray
    score_labels: IntArray | None

    _state: ClassVar[State] = {
        "cluster": integers("K"),
        "score_labels": maybe(integers("n", below="K")),
    }
    _of_rows: ClassVar[tuple[str, ...]] = ("score_labels",)
    _new_row: ClassVar[str] = "a new row"

    def _validate_state(self) -> None:
        ClassThresholdResult._validate_state(self)
        require(
            self.cluster.max() <= self.cluster.size, "no more clusters than classes"
        )

    def at(self, alpha: float) -> ClusteredConformalResult:
        """Return the same fit at another level, as `ConformalResult.at`."""
        level = Arguments("ClusteredConformalResult.at").alpha(alpha)
        calibration = self._calibration(self._kept_labels(self.score_labels, "at"))
        return fit_clustered(calibration, self.cluster, level)

    def _p_values_of(self, scores: FloatMatrix) -> FloatMatrix:
        p = np.empty(scores.shape)
        calibration = self._kept_scores("p_values")
        of_rows = self.cluster[self._kept_labels(self.score_labels, "p_values")]
        for c in np.unique(self.cluster):
            own = calibration[of_rows == c]
            columns = self.cluster == c
            p[:, columns] = weighted_p_values(
                scores[:, columns], own, np.ones(own.size), 1.0
            )
        return p

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("Clusters of classes", str(np.unique(self.cluster).size)),
            ("Classes too rare to compare", str(int((self.cluster == 0).sum()))),
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return a row per class: rows, cluster, threshold, always in the set."""
        frame = ClassThresholdResult.to_frame(self)
        frame.insert(2, "cluster", self.cluster)
        return frame


def clustered_conformal(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    alpha: float = 0.1,
    n_clusters: int | None = None,
    split: float = 0.5,
    score: ScoreLike = "aps",
    randomized: bool = True,
    never_empty: bool = False,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
    ids: ArrayLike | None = None,
) -> ClusteredConformalResult:
    """Prediction sets by clusters of classes that have too few rows each.

    Parameters
    ----------
    probs, labels, score, randomized, never_empty, classes, rng, ids
        As in `split_conformal`. `rng` splits the rows too.
    alpha : float, default 0.1
        Miscoverage level in (0, 1).
    n_clusters : int, optional
        By default a quarter of the rows that a class has in the middle, 2 to 10.
    split : float, default 0.5
        Share of the rows that choose the clusters; the others give the thresholds.

    Returns
    -------
    ClusteredConformalResult
        With ``.cluster`` by class.

    Notes
    -----
    On one part of the rows, drawn at random, classes with at least 1/alpha - 1 rows are
    described by quantiles of their scores and clustered by k-means; the others make a
    cluster of their own. On the other part each cluster gets the conformal threshold of
    its rows [1]_. Given the first part, a cluster is a fixed set of classes, so that
    coverage given that Y is one of them is at least 1 - alpha. Of a single class
    nothing is claimed.

    References
    ----------
    .. [1] Ding, Angelopoulos, Bates, Jordan and Tibshirani (2023), "Class-conditional
       conformal prediction with many classes", NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet(np.ones(6), size=600)
    >>> labels = [rng.choice(6, p=row) for row in probs]
    >>> dfu.clustered_conformal(probs, labels, rng=1)
    <ClusteredConformalResult aps alpha=0.1 n=300 K=6>
    """
    args = Arguments("clustered_conformal")
    calibration = calibration_scores(
        args,
        probs,
        labels,
        score=score,
        randomized=randomized,
        never_empty=never_empty,
        classes=classes,
        rng=rng,
        ids=ids,
    )
    alpha = args.alpha(alpha)
    split = args.probability(split, "split")
    if n_clusters is not None:
        n_clusters = args.count(n_clusters, "n_clusters", low=1)
    if calibration.score.knows_labels:
        must = "one that does not count the labels of both parts of the rows"
        args.invalid("score", must, "PAS() without class_prior")
    generator = stream(rng, "split", args.caller)
    n_first = round(split * calibration.n)
    first = np.zeros(calibration.n, dtype=np.bool_)
    # by the user's rows, and not by the order of their scores
    first[generator.permutation(calibration.n)[:n_first]] = True
    choosing = first[calibration.order]
    cluster = cluster_classes(calibration.some(choosing), alpha, n_clusters)
    return fit_clustered(calibration.some(~choosing), cluster, alpha)


def fit_clustered(
    calibration: CalibrationScores, cluster: IntArray, alpha: float
) -> ClusteredConformalResult:
    """Return the sets of fixed clusters (K,)."""
    of_rows = cluster[calibration.labels]
    counts = np.bincount(of_rows, minlength=int(cluster.max()) + 1)
    of_clusters = order_statistics(
        calibration.scores, of_rows, counts, ranks_by_count(counts, alpha)
    )
    thresholds = of_clusters[cluster]
    always = int(np.isinf(thresholds).sum())
    if always:
        warn_small(
            f"too few calibration rows of clusters with {always} classes: every set "
            f"will hold them. At least {smallest_sample(alpha)} rows of a cluster are "
            f"needed for alpha={alpha:g}."
        )
    return ClusteredConformalResult(
        title="Clustered conformal prediction sets",
        thresholds=read_only(thresholds),
        alpha=alpha,
        confidence=None,
        guarantee=calibration.needing_seed(guarantees.every_cluster(alpha)),
        further=(),
        cluster=read_only(cluster),
        score_labels=read_only(calibration.labels),
        **calibration.fields(),
    )


def cluster_classes(
    calibration: CalibrationScores, alpha: float, n_clusters: int | None
) -> IntArray:
    """Return a cluster for each class (K,): 0 for rare ones, 1 on for the others."""
    counts = calibration.counts
    common = np.flatnonzero(counts >= smallest_sample(alpha))
    cluster = np.zeros(counts.size, dtype=np.int64)
    if not common.size:
        return cluster
    if n_clusters is None:
        n_clusters = int(np.clip(np.median(counts[common]) // 4, 2, 10))
    quantiles = np.stack(
        [
            order_statistics(
                calibration.scores,
                calibration.labels,
                counts,
                np.maximum(np.ceil(level * counts), 1).astype(np.int64),
            )[common]
            for level in _LEVELS
        ],
        axis=1,
    )
    weights = counts[common].astype(np.float64)
    cluster[common] = 1 + k_means(quantiles, weights, min(n_clusters, common.size))
    return cluster


def k_means(points: FloatMatrix, weights: FloatArray, n_clusters: int) -> IntArray:
    """Return a cluster 0..n_clusters-1 for each point, by Lloyd's algorithm.

    It starts at points of evenly spaced ranks in the order of their sums, so that
    nothing is drawn.
    """
    # distances are compared only, and squares of any scores can be taken
    points = points / (np.abs(points).max(initial=0.0) or 1.0)
    order = np.argsort(points.sum(axis=1), kind="stable")
    places = (np.arange(n_clusters) + 0.5) / n_clusters * len(points)
    centers = points[order[places.astype(np.int64)]]
    nearest = np.full(len(points), -1)
    for _ in range(_STEPS):
        distances = ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
        found = distances.argmin(axis=1)
        if np.array_equal(found, nearest):
            break
        nearest = found
        mass = np.bincount(nearest, weights=weights, minlength=n_clusters)
        for d in range(points.shape[1]):
            total = np.bincount(
                nearest, weights=weights * points[:, d], minlength=n_clusters
            )
            moved = np.divide(total, mass, out=centers[:, d].copy(), where=mass > 0.0)
            centers[:, d] = moved
    return nearest
