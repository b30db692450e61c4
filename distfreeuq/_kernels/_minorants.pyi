from distfreeuq._base.array_types import FloatArray, FloatMatrix

def _fit_one_more_hit(
    mass: FloatArray,
    hits: FloatArray,
    weight: float,
    points: FloatMatrix,
    hull: FloatMatrix,
    out: FloatArray,
) -> None: ...
