import numpy as np
import numpy.typing as npt

from distfreeuq._base.array_types import FloatArray, FloatMatrix

def _hash_rows(
    probs: FloatMatrix,
    key: int,
    keys: npt.NDArray[np.uint64],
    out: FloatArray,
    threads: int,
) -> None: ...
