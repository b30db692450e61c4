"""Theorem on cells of the simplex: their rows are draws from them, if others choose."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from distfreeuq._base.array_types import BoolArray, FloatMatrix
from distfreeuq.binning.histogram import histogram_binning
from distfreeuq.binning.simplex import SimplexCells
from distfreeuq.references import CALIBRATION_IID, FITTED_ELSEWHERE
from distfreeuq.theorems.binning.bin_rows import are_uniform, at_levels
from distfreeuq.theorems.binning.source_bins import FAMILY
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

FRESH = 400
"""Rows of each draw that a cell's own rows are compared with."""


def rows(generator: np.random.Generator, n: int, n_classes: int) -> FloatMatrix:
    """Return sparse probability vectors, as those of good classifiers are."""
    probs: FloatMatrix = generator.dirichlet(np.full(n_classes, 0.05), size=n)
    return probs


def exchangeable_labels(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n_classes: int,
    choose: str,
    n: int = 80,
    n_cells: int = 8,
    side: int = 1,
    edge_counted: bool = False,
) -> dict[str, BoolArray]:
    """Compare a cell's rows with fresh rows of that cell, by an exact test.

    The label is the most likely class, and the class looked at is that of the cell's
    last split: given how many rows have it, those inside are hypergeometric, and the
    randomised p-value is uniform. `choose` says what chooses the classes of the splits:
    "schedule", "other rows" and "split" are valid, the "own rows" are not. The cell is
    on the lower or upper `side` of its last split; `edge_counted` counts the rows on
    the boundary, of which the lower side would have one.
    """
    p_values = np.empty(n_draws)
    for i in range(n_draws):
        probs = rows(generator, n, n_classes)
        chosen: dict[str, dict[str, Any]] = {
            "schedule": {"coordinates": generator.permutation(n_classes)},
            "other rows": {"partition_on": rows(generator, n, n_classes)},
            "split": {"split": 0.5},
            "own rows": {"partition_on": probs},
        }
        fit = histogram_binning(
            probs, probs.argmax(axis=1), n_bins=n_cells, rng=generator, **chosen[choose]
        )
        cells = fit.partition
        assert isinstance(cells, SimplexCells)
        last = int(generator.choice(np.flatnonzero((cells.child < 0).all(axis=1))))
        cell, label = -1 - cells.child[last, side], cells.column[last]
        fresh = rows(generator, FRESH, n_classes)
        outside = fresh[fit.assign(fresh) == cell].argmax(axis=1) == label
        inside, size = int(fit.counts[cell, label]), int(fit.bin_counts[cell])
        if edge_counted:
            own = probs[fit.assign(probs) == cell].argmax(axis=1) == label
            inside, size = int(own.sum()), own.size
        counts = size + outside.size, inside + int(outside.sum()), size
        above, below = stats.hypergeom.sf([inside - 1, inside], *counts)
        p_values[i] = below + generator.random() * (above - below)
    return at_levels(p_values)


FEW_ROWS: dict[str, Any] = {
    "n_classes": 3,
    "choose": "schedule",
    "n": 8,
    "n_cells": 3,
    "side": 0,
}
"""Few rows, so that one row more in a cell is seen."""

SIMPLEX = Theorem(
    name="simplex-cell-rows",
    title="Rows of cells cut at their own order statistics are draws from the cell",
    reference="statistically equivalent blocks; theory page, 2.2",
    statement=(
        "If the coordinate and the rank of every split are fixed in advance or chosen "
        "from other rows, the rows inside each cell are i.i.d. from it given the "
        "boundaries: exchangeable with fresh rows of the cell."
    ),
    assumptions=(
        CALIBRATION_IID,
        FITTED_ELSEWHERE,
        "coordinates do not depend on the rows counted",
    ),
    family=FAMILY,
    unsearched="it compares laws; what is promised of such cells is binning-bound",
    experiments=(
        *(
            Experiment(
                f"coordinates by {choose}, K = {n_classes}",
                partial(exchangeable_labels, n_classes=n_classes, choose=choose),
                are_uniform(0.18),
                batch=50,
            )
            for choose in ("schedule", "other rows", "split")
            for n_classes in (3, 50)
        ),
        Experiment(
            "few rows: n = 8, 3 cells",
            partial(exchangeable_labels, **FEW_ROWS),
            are_uniform(0.12),
            batch=50,
        ),
    ),
    controls=(
        Experiment(
            "rows on the boundary counted",
            partial(exchangeable_labels, **FEW_ROWS, edge_counted=True),
            are_uniform(0.12),
            batch=50,
        ),
        Experiment(
            "coordinates from the rows' own spread",
            partial(exchangeable_labels, n_classes=50, choose="own rows"),
            are_uniform(0.18),
            batch=50,
        ),
    ),
)

THEOREMS = (SIMPLEX,)
