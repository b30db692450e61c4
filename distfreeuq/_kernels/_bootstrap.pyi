import numpy as np
import numpy.typing as npt

from distfreeuq._base.array_types import (
    CountMatrix,
    FloatArray,
    FloatMatrix,
    IndexArray,
    IntArray,
)

_SAMPLES: int

def _count_draws(words: npt.NDArray[np.uint32], out: CountMatrix) -> None: ...
def _sum_cells_of_samples(
    first: IntArray,
    cells: IndexArray,
    values: FloatArray,
    weights: FloatArray,
    counts: CountMatrix,
    out: FloatMatrix,
) -> None: ...
def _sum_columns_of_samples(
    probs: FloatMatrix,
    weights: FloatArray,
    counts: CountMatrix,
    out: FloatMatrix,
) -> None: ...
