import numpy as np
import numpy.typing as npt

from distfreeuq._base.array_types import FloatArray, FloatMatrix

def _start_searches(
    low: float, high: float, bracket: FloatMatrix, state: FloatMatrix
) -> None: ...
def _continue_searches(
    low: float,
    high: float,
    last_step: float,
    longest_last: float,
    guess: FloatArray,
    x: FloatArray,
    sums: FloatMatrix,
    state: FloatMatrix,
    todo: npt.NDArray[np.uint8],
) -> int: ...
