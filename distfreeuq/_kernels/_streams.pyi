from distfreeuq._base.array_types import FloatArray, FloatMatrix, IndexArray, IntArray

def _rank_in_line(
    cells: IndexArray,
    uniforms: FloatArray,
    counts: IntArray,
    tree: IntArray,
    line: int,
    p: FloatArray,
    q: FloatArray,
) -> None: ...
def _bet(
    p: FloatArray,
    q: FloatArray,
    before: int,
    start: FloatArray,
    shares: FloatArray,
    capital: FloatMatrix,
    log_scale: float,
    since_best: FloatArray,
    best_start: IntArray,
    pieces: IntArray,
    growth: FloatArray,
    prior: FloatArray,
    weight: FloatArray,
    counts: FloatMatrix,
    totals: FloatArray,
    log_wealth: FloatArray,
) -> float: ...
