from distfreeuq._base.array_types import (
    ByteMatrix,
    FloatArray,
    FloatMatrix,
    IntArray,
    IntMatrix,
)

def _assign_bins(
    values: FloatArray,
    edges: FloatArray,
    closed_right: bool,
    out: IntArray,
    threads: int,
) -> None: ...
def _count_buckets(values: FloatArray, out: IntArray) -> None: ...
def _gather_buckets(
    values: FloatArray, wanted: ByteMatrix, out: FloatArray
) -> None: ...
def _tabulate_scores(
    values: FloatArray,
    labels: IntArray,
    edges: FloatArray,
    dropped: ByteMatrix,
    counts: IntArray,
    totals: FloatMatrix,
    threads: int,
) -> None: ...
def _tabulate_columns(
    probs: FloatMatrix,
    labels: IntArray,
    edges: FloatArray,
    counts: IntArray,
    totals: FloatMatrix,
    threads: int,
) -> None: ...
def _take_rows_of_bins(
    values: FloatArray,
    edges: FloatArray,
    rows: FloatMatrix,
    out: FloatMatrix,
    threads: int,
) -> None: ...
def _mark_on_edges(
    values: FloatArray,
    edges: FloatArray,
    excepted: ByteMatrix,
    marks: ByteMatrix,
    threads: int,
) -> None: ...
def _count_labels(bins: IntArray, labels: IntArray, out: IntMatrix) -> None: ...
def _sum_label_weights(
    bins: IntArray, labels: IntArray, weights: FloatArray, out: FloatMatrix
) -> None: ...
def _assign_cells(
    rows: FloatMatrix,
    column: IntArray,
    threshold: FloatArray,
    child: IntMatrix,
    out: IntArray,
    threads: int,
) -> None: ...
def _sum_cells(
    rows: FloatMatrix,
    cells: IntArray,
    weights: FloatArray,
    totals: FloatMatrix,
    threads: int,
) -> None: ...
