import numpy as np
import numpy.typing as npt

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray

def _find_tops(
    logits: FloatMatrix, tops: IntArray, extremes: FloatMatrix, threads: int
) -> None: ...
def _sum_temperature_losses(
    brier: bool,
    logits: FloatMatrix,
    labels: IntArray,
    tops: IntArray,
    weights: FloatArray,
    groups: IntArray,
    alphas: FloatArray,
    active: npt.NDArray[np.uint8],
    confidence: FloatArray,
    sums: FloatArray,
    threads: int,
) -> None: ...
def _sum_brier_slopes(
    logits: FloatMatrix,
    labels: IntArray,
    tops: IntArray,
    weights: FloatArray,
    groups: IntArray,
    first: float,
    scratch: FloatMatrix,
    sums: FloatArray,
    threads: int,
) -> None: ...
def _lanes() -> int: ...
def _scale_softmax(
    logits: FloatMatrix,
    tops: IntArray,
    groups: IntArray,
    alphas: FloatArray,
    scratch: FloatMatrix,
    out: FloatMatrix,
    threads: int,
) -> None: ...
def _sum_vector_nll(
    logits: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    scale: FloatArray,
    bias: FloatArray,
    scratch: FloatMatrix,
    sums: FloatMatrix,
    threads: int,
) -> None: ...
def _fill_vector_rows(
    logits: FloatMatrix,
    weights: FloatArray,
    scale: FloatArray,
    bias: FloatArray,
    out: FloatMatrix,
    sums: FloatMatrix,
    threads: int,
) -> None: ...
def _affine_softmax(
    logits: FloatMatrix,
    scale: FloatArray,
    bias: FloatArray,
    scratch: FloatMatrix,
    out: FloatMatrix,
    threads: int,
) -> None: ...
def _describe_affine(
    logits: FloatMatrix,
    labels: IntArray,
    scale: FloatArray,
    bias: FloatArray,
    scratch: FloatMatrix,
    tops: IntArray,
    confidence: FloatArray,
    losses: FloatArray,
    threads: int,
) -> None: ...
def _log_entries(
    matrix: FloatMatrix, floor: float, out: FloatMatrix, blocks: int, threads: int
) -> None: ...
def _apply_curves(
    probs: FloatMatrix,
    knots: FloatArray,
    values: FloatArray,
    ends: IntArray,
    scratch: FloatMatrix,
    out: FloatMatrix,
    threads: int,
) -> None: ...
