import numpy as np
import numpy.typing as npt

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray

_PartialSums = npt.NDArray[np.float64]

def _predict_rows(
    probs: FloatMatrix, tolerance: float, predicted: IntArray, threads: int
) -> int: ...
def _reweight_rows(
    probs: FloatMatrix,
    factors: FloatArray,
    tolerance: float,
    out: FloatMatrix,
    threads: int,
) -> int: ...
def _sum_by_class(
    probs: FloatMatrix,
    labels: IntArray,
    row_weight: FloatArray,
    partial: _PartialSums,
    threads: int,
) -> None: ...
def _mixture_likelihood(
    probs: FloatMatrix,
    row_weight: FloatArray,
    class_weight: FloatArray,
    density: FloatArray,
    partial: _PartialSums,
    threads: int,
) -> None: ...
def _scale_rows(
    probs: FloatMatrix,
    slope: float,
    bias: FloatArray,
    floor: float,
    out: FloatMatrix,
    threads: int,
) -> None: ...
def _scaled_likelihood(
    probs: FloatMatrix,
    labels: IntArray,
    row_weight: FloatArray,
    slope: float,
    bias: FloatArray,
    floor: float,
    by_slope: FloatArray,
    partial: _PartialSums,
    threads: int,
) -> None: ...
