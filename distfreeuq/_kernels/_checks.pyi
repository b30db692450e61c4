from distfreeuq._base.array_types import FloatMatrix

_OPENMP: bool

def _max_threads() -> int: ...
def _first_bad_row(
    matrix: FloatMatrix, simplex: bool, tolerance: float, threads: int
) -> int: ...
