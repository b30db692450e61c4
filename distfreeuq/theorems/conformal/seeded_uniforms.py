"""A theorem on uniforms that belong to the rows: coverage given the seed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    BoolArray,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._base.random_streams import stream
from distfreeuq._base.row_uniforms import RowKey, hashed_uniforms
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.references import (
    CHOSEN_ELSEWHERE,
    EXCHANGEABLE,
    HASHED_UNIFORMS,
    SEED_ELSEWHERE,
)
from distfreeuq.theorems.conformal.split_coverage import (
    FAMILY,
    certain,
    covers,
    overconfident,
)
from distfreeuq.theorems.draws.calibration_draws import Rows
from distfreeuq.theorems.draws.row_designs import seeded_designs
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

ALPHA = 0.1
N = 40
SEED = 56
"""One whose first number is large: as the uniform of every call it loses coverage."""

OUTPUTS = np.array(
    [
        [0.98, 0.01, 0.01],
        [0.02, 0.96, 0.02],
        [0.05, 0.05, 0.90],
        [0.60, 0.30, 0.10],
        [0.90, 0.09, 0.01],
    ]
)


def five_outputs(
    generator: np.random.Generator, size: int
) -> tuple[FloatMatrix, IntArray]:
    """Return a tree of five leaves, its probabilities right."""
    probs = OUTPUTS[generator.integers(len(OUTPUTS), size=size)]
    position = np.cumsum(probs, axis=1)
    point = generator.random(size)
    labels: IntArray = (position[:, :-1] <= point[:, None]).sum(axis=1)
    return probs, labels


# ---------------------------------------------------------------------------- the draws

Uniform = Callable[[FloatMatrix], FloatArray]


def one_stream_per_call(row: FloatMatrix) -> FloatArray:
    """Return the first number of the seed's stream, the same in every call."""
    return np.asarray(stream(SEED, "predict", "predict").random(len(row)))


def row_by_row(
    generator: np.random.Generator,
    n_draws: int,
    *,
    rows: Rows,
    uniform: Uniform | None = None,
    hashed: bool = True,
    new_seeds: bool = False,
) -> dict[str, BoolArray]:
    """Fit with one seed in all draws; each predicts one row in a call of its own.

    Parameters
    ----------
    generator, n_draws, rows
        As everywhere.
    uniform : callable, optional
        What breaks the sets: the new row's uniform in place of the fit's hash.
    hashed : bool
        Otherwise the calibration rows' uniforms are drawn from the seed's stream.
    new_seeds : bool
        A seed of its own for every draw.
    """
    probs, labels = rows(generator, n_draws * (N + 1))
    probs, labels = probs.reshape(n_draws, N + 1, -1), labels.reshape(n_draws, N + 1)
    covered = np.empty(n_draws, dtype=np.bool_)
    seeds = generator.integers(2**62, size=n_draws) if new_seeds else [SEED] * n_draws
    for i, seed in enumerate(seeds):
        rng = int(seed) if hashed else stream(int(seed), "fit", "fit")
        fit = split_conformal(probs[i, :N], labels[i, :N], alpha=ALPHA, rng=rng)
        row = probs[i, N:]
        u = None if uniform is None else uniform(row)
        covered[i] = fit.predict(row, uniforms=u).mask[0, labels[i, N]]
    return {"covered": covered}


def with_another_key(
    generator: np.random.Generator, n_draws: int, *, rows: Rows
) -> dict[str, BoolArray]:
    """Hash new rows under a key that is not the fit's."""
    args = Arguments("predict")

    def uniform(row: FloatMatrix) -> FloatArray:
        key = RowKey(int(generator.integers(2**63)), by_id=False)
        return hashed_uniforms(args, row, key, None)

    return row_by_row(generator, n_draws, rows=rows, uniform=uniform, new_seeds=True)


def with_uniforms_drawn_anew(
    generator: np.random.Generator, n_draws: int, *, rows: Rows
) -> dict[str, BoolArray]:
    """Hash the calibration rows alone."""
    return row_by_row(
        generator,
        n_draws,
        rows=rows,
        uniform=lambda row: generator.random(len(row)),
        new_seeds=True,
    )


# ------------------------------------------------------------------------- the theorems

SEEDED = Theorem(
    name="seeded-coverage",
    title="Sets of single calls with one seed cover",
    reference=HASHED_UNIFORMS,
    statement=(
        "P(Y in C(X)) >= 1 - alpha given the seed, if a row's uniform is a hash of the "
        "row under one key in calibration and prediction; also where rows repeat."
    ),
    assumptions=(EXCHANGEABLE, CHOSEN_ELSEWHERE, SEED_ELSEWHERE),
    family=FAMILY,
    designs=seeded_designs,
    experiments=tuple(
        Experiment(
            f"public: {name}, one row per call",
            partial(row_by_row, rows=rows),
            covers(ALPHA, 0.02),
            batch=1000,
        )
        for name, rows in (
            ("over-confident classifier", overconfident),
            ("five distinct outputs", five_outputs),
            ("one distinct output", certain),
        )
    ),
    controls=(
        *(
            Experiment(
                f"one stream per call, {name}",
                partial(
                    row_by_row, rows=rows, uniform=one_stream_per_call, hashed=False
                ),
                covers(ALPHA, 0.02),
                batch=1000,
            )
            for name, rows in (
                ("over-confident classifier", overconfident),
                ("five distinct outputs", five_outputs),
            )
        ),
        Experiment(
            "another key in prediction, one distinct output",
            partial(with_another_key, rows=certain),
            covers(ALPHA, 0.02),
            batch=1000,
        ),
        Experiment(
            "hash in calibration alone, one distinct output",
            partial(with_uniforms_drawn_anew, rows=certain),
            covers(ALPHA, 0.02),
            batch=1000,
        ),
    ),
)

THEOREMS = (SEEDED,)
