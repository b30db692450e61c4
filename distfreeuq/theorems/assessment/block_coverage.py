"""The intervals of measured coverage where rows of a block depend on one another."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.references import BLOCKS_IID, SETS_ASSESSED_ELSEWHERE, WAUDBY_SMITH_2024
from distfreeuq.theorems.assessment.metric_tables import FAMILY
from distfreeuq.theorems.draws import outcome_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

LEVEL = 0.9
# Sets that hold class 0 alone: a row is covered if that is its label.
_FIT = split_conformal([[0.8, 0.2]] * 30, [0] * 30, score="lac")


def draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n_blocks: int,
    spread: float,
    rows: tuple[int, int],
    given: str = "blocks",
) -> dict[str, BoolArray]:
    """Return whether the interval holds the coverage of a random row of a random block.

    A block's coverage is drawn from a beta law of mean 0.9, and its rows are more the
    worse it is covered. `spread` is the correlation of two rows of a block.
    """
    shape = 1.0 / spread - 1.0
    held = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        own = generator.beta(0.9 * shape, 0.1 * shape, n_blocks)
        sizes = np.where(own < 0.9, *rows[::-1])
        covered = generator.random(int(sizes.sum())) < np.repeat(own, sizes)
        blocks = np.repeat(np.arange(n_blocks), sizes)
        if given == "parts":
            blocks = np.arange(blocks.size) // 2
        sets = _FIT.predict([[0.8, 0.2]] * covered.size)
        found = sets.evaluate(
            1 - covered, level=LEVEL, blocks=None if given == "none" else blocks
        )
        held[i] = found.interval[0] <= 0.9 <= found.interval[1]
    return {"held": held}


_HELD = (Claim("held", at_least=LEVEL, tolerance=0.05),)

INTERVALS = Theorem(
    name="block-coverage",
    title="Intervals of coverage hold with rows that depend within blocks",
    reference=f"{WAUDBY_SMITH_2024}, with bets fixed in advance (theory page, 2.5)",
    statement=(
        "P(the interval holds the coverage of a random row of a random block) >= level "
        "at every number of blocks, and of rows in each."
    ),
    assumptions=(BLOCKS_IID, SETS_ASSESSED_ELSEWHERE),
    family=FAMILY,
    designs=outcome_designs.block_designs,
    experiments=(
        Experiment(
            "20 blocks of 5 or 30 rows",
            partial(draw, n_blocks=20, spread=0.3, rows=(5, 30)),
            _HELD,
            batch=150,
        ),
        Experiment(
            "blocks all or none of whose rows are covered",
            partial(draw, n_blocks=30, spread=0.999, rows=(4, 4)),
            _HELD,
            batch=150,
        ),
    ),
    controls=(
        Experiment(
            "rows counted as independent",
            partial(draw, n_blocks=20, spread=0.3, rows=(20, 20), given="none"),
            _HELD,
            batch=150,
        ),
        Experiment(
            "blocks cut into pairs of rows",
            partial(draw, n_blocks=20, spread=0.3, rows=(20, 20), given="parts"),
            _HELD,
            batch=150,
        ),
    ),
)

THEOREMS = (INTERVALS,)
