from distfreeuq._base.array_types import (
    ByteMatrix,
    FloatArray,
    FloatMatrix,
    IntArray,
)

def _read_rows(
    probs: FloatMatrix,
    labels: IntArray,
    tolerance: float,
    hits: ByteMatrix,
    predicted: IntArray,
    confidence: FloatArray,
    of_label: FloatArray,
    brier: FloatArray,
    threads: int,
) -> int: ...
def _sum_bins(
    cells: IntArray,
    confidence: FloatArray,
    hits: ByteMatrix,
    weights: FloatArray,
    out: FloatMatrix,
) -> None: ...
def _sum_class_gaps(
    probs: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    tolerance: float,
    edges: FloatArray,
    out: FloatMatrix,
    threads: int,
) -> int: ...
