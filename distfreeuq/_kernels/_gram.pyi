import numpy as np
import numpy.typing as npt

from distfreeuq._base.array_types import FloatArray, FloatMatrix

def _gram_rows(
    probs: FloatMatrix,
    row_scale: FloatArray,
    single: bool,
    partial: npt.NDArray[np.float64],
    threads: int,
) -> None: ...
