"""Bundles of classes with similar statistics: groups that have enough rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, Classes, FloatArray, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.class_labels import name_array
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, column_names, floats, integers, text
from distfreeuq._numerics.row_blocks import refuse_blocks
from distfreeuq._numerics.sample_weights import divide
from distfreeuq.calibration.data import read_new_logits, read_weights
from distfreeuq.calibration.rows.calibration_rows import describe_rows

if TYPE_CHECKING:
    import pandas as pd

STATISTICS = ("size", "confidence", "accuracy", "gap")


@register("class-bundles")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClassBundles:
    """Which bundle each class is in: a rule for `groupwise_calibration`.

    Calling it with logits or probabilities gives the bundle of each row's predicted
    class.

    Attributes
    ----------
    bundle : ndarray (K,)
        Number of each class's bundle, 0 for the smallest statistics.
    statistic : ndarray (K,)
        What they are sorted by; NaN for a class that is never predicted, if it is a
        statistic of predictions.
    rows : ndarray (K,)
        Weight of the rows predicted as each class.
    by : str
        The statistic's name.
    classes : sequence

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs = [[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7]] * 4
    >>> bundles = dfu.class_bundles(probs, [0, 1, 2] * 4, by="confidence")
    >>> bundles
    <ClassBundles 3 classes in 2 by confidence>
    >>> bundles.bundle.tolist(), bundles([[3.0, 2.0, 1.0]]).tolist()
    ([0, 1, 1], [0])
    """

    bundle: IntArray
    statistic: FloatArray
    rows: FloatArray
    by: str
    classes: Classes

    _state: ClassVar[State] = {
        "classes": column_names("K"),
        "bundle": integers("K", below="K"),
        "statistic": floats("K"),
        "rows": floats("K", low=0.0, nan=False),
        "by": text(*STATISTICS),
    }

    def __repr__(self) -> str:
        """Return one line."""
        n_bundles = int(self.bundle.max()) + 1
        return f"<ClassBundles {len(self.classes)} classes in {n_bundles} by {self.by}>"

    def __call__(self, logits: ArrayLike) -> IntArray:
        """Return the bundle of each row's predicted class, shape (n,)."""
        args = Arguments("ClassBundles")
        matrix = read_new_logits(
            args, logits, self.classes, may_be_probs=True, may_mask=True
        )
        return np.asarray(self.bundle[describe_rows(matrix)[0]])

    def to_frame(self) -> pd.DataFrame:
        """Return a row per class: class, bundle, statistic and rows."""
        import pandas as pd

        return pd.DataFrame(
            {
                "class": name_array(self.classes),
                "bundle": self.bundle,
                "statistic": self.statistic,
                "rows": self.rows,
            }
        )


_INSTEAD = "Give arrays of a sample: the bundles are needed, and not the rows."


def class_bundles(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    n_bundles: int = 2,
    by: str = "size",
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
) -> ClassBundles:
    """Bundle classes of similar size, confidence or accuracy.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        A classifier's probabilities, on rows other than those that the bundles will be
        calibrated on.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`.
    n_bundles : int, default 2
        At most so many bundles; fewer if a few classes have most of the rows.
    by : {"size", "confidence", "accuracy", "gap"}, default "size"
        What the classes of a bundle have in common: rows labelled so, or, of the rows
        predicted so, mean confidence, accuracy, or confidence less accuracy.
    sample_weight : array_like (n,), optional
    classes : sequence, optional
        Class names by column.

    Returns
    -------
    ClassBundles
        For ``groupwise_calibration(..., groups=bundles)``.

    Notes
    -----
    Zhao, Chen and Oymak (2020), section 4.1: where classes have few rows each, those of
    similar statistics are calibrated together. Classes are sorted by the statistic and
    cut where the bundles have about as many predicted rows each. Classes that are never
    predicted come last.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(0.0, 3.0, (4000, 20))
    >>> sharper = logits * np.where(logits.argmax(axis=1) < 10, 1.0, 2.0)[:, None]
    >>> labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    >>> probs = np.exp(sharper) / np.exp(sharper).sum(axis=1, keepdims=True)
    >>> bundles = dfu.class_bundles(probs[:2000], labels[:2000], by="gap")
    >>> bundles.bundle.tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    >>> fit = dfu.groupwise_calibration(
    ...     "temperature", sharper[2000:], labels[2000:], groups=bundles)
    >>> [round(one.temperature, 1) for one in fit.fits]
    [1.1, 1.9]
    """
    args = Arguments("class_bundles")
    refuse_blocks(args, {"probs": probs, "labels": labels}, _INSTEAD)
    matrix, names = args.probs(probs, classes=classes)
    n, n_classes = matrix.shape
    if n == 0:
        args.invalid("probs", "of at least one row", "none")
    codes = args.labels(labels, names, n)
    n_bundles = args.count(n_bundles, "n_bundles", low=1)
    by = args.choice(by, "by", STATISTICS)
    given = read_weights(args, sample_weight, n)
    weights = np.ones(n) if given is None else given / given.max()
    tops = describe_rows(matrix)[0]
    predicted = np.bincount(tops, weights, n_classes)
    confidence = np.bincount(tops, weights * matrix[np.arange(n), tops], n_classes)
    right = np.bincount(tops, weights * (tops == codes), n_classes)
    statistic = {
        "size": np.bincount(codes, weights, n_classes),
        "confidence": divide(confidence, predicted),
        "accuracy": divide(right, predicted),
        "gap": divide(confidence - right, predicted),
    }[by]
    order = np.argsort(statistic, kind="stable")  # NaN last
    bundle = np.empty(n_classes, dtype=np.int64)
    mass = predicted[order]
    middle = np.cumsum(mass) - 0.5 * mass
    cut = np.minimum((middle / mass.sum() * n_bundles).astype(np.int64), n_bundles - 1)
    bundle[order] = np.unique(cut, return_inverse=True)[1]
    scale = 1.0 if given is None else float(given.max())
    return ClassBundles(
        bundle=read_only(bundle),
        statistic=read_only(statistic * (scale if by == "size" else 1.0)),
        rows=read_only(predicted * scale),
        by=by,
        classes=names,
    )
