from distfreeuq._base.array_types import ByteMatrix, FloatArray, FloatMatrix, IntArray

_Score = tuple[int, float, float, float]

def _true_label_scores(
    score: _Score,
    probs: FloatMatrix,
    tolerance: float,
    labels: IntArray,
    uniforms: FloatArray,
    out: FloatArray,
    threads: int,
) -> int: ...
def _all_label_scores(
    score: _Score,
    probs: FloatMatrix,
    tolerance: float,
    uniforms: FloatArray,
    out: FloatMatrix,
    threads: int,
) -> int: ...
def _prediction_sets(
    score: _Score,
    probs: FloatMatrix,
    tolerance: float,
    uniforms: FloatArray,
    thresholds: FloatArray,
    one_per_row: bool,
    never_empty: bool,
    mask: ByteMatrix,
    sizes: IntArray,
    threads: int,
) -> int: ...
