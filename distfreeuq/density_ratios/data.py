"""Features of source and target rows, checked together."""

from __future__ import annotations

from typing import Any

from distfreeuq._base import class_labels
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, Classes, FloatMatrix, IntArray
from distfreeuq._base.arrays import listed, shape_of


def read_samples(
    args: Arguments, source: ArrayLike, target: ArrayLike
) -> tuple[FloatMatrix, FloatMatrix, Classes]:
    """Return source rows, target rows, and the names of their columns."""
    source_rows = args.features(source, "source")
    target_rows = args.features(target, "target")
    d = source_rows.shape[1]
    if target_rows.shape[1] != d:
        must = f"of shape (n, {d}), with the columns of 'source'"
        args.invalid("target", must, shape_of(target_rows))
    for rows, parameter in ((source_rows, "source"), (target_rows, "target")):
        if rows.shape[0] < 2:
            args.invalid(parameter, "of at least two rows", shape_of(rows))
    columns = class_labels.column_names(args, source, "source")
    others = class_labels.column_names(args, target, "target")
    features = columns or others or range(d)
    if others is not None and class_labels.contradict(others, features):
        must = f"with the columns of 'source' in their order, {listed(features)}"
        args.invalid("target", must, listed(others))
    return source_rows, target_rows, features


def read_labels(
    args: Arguments, labels: ArrayLike, classes: Any, n: int
) -> tuple[Classes, IntArray]:
    """Return the classes, as many as are named or seen, and the labels' numbers."""
    if classes is not None:
        try:
            n_classes = len(classes)
        except TypeError:
            n_classes = 0
        names = args.classes(classes, None, n_classes)
    else:
        given = args.array(labels, "labels", "labels")
        whole = given.ndim == 1 and given.size > 0 and given.dtype.kind in "iub"
        if not whole:
            must = "integers 0..K-1, or names that are listed in 'classes'"
            args.invalid(
                "labels", must, shape_of(given) if given.ndim != 1 else "others"
            )
        names = range(max(2, int(given.max()) + 1))
    if len(names) < 2:
        args.invalid("classes", "at least two names", f"{len(names)}")
    return names, args.labels(labels, names, n)
