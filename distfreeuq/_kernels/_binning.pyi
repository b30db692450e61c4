from distfreeuq._typing import FloatArray, FloatMatrix, IntArray, IntMatrix

def _assign_bins(
    values: FloatArray,
    edges: FloatArray,
    closed_right: bool,
    out: IntArray,
    threads: int,
) -> None: ...
def _count_labels(bins: IntArray, labels: IntArray, out: IntMatrix) -> None: ...
def _sum_label_weights(
    bins: IntArray, labels: IntArray, weights: FloatArray, out: FloatMatrix
) -> None: ...
