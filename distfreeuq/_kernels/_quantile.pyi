from distfreeuq._typing import FloatArray

def _scaled_mass(weights: FloatArray, scale: float) -> float: ...
def _select_quantiles(
    values: FloatArray,
    weights: FloatArray,
    scale: float,
    mass: float,
    needed: FloatArray,
    out: FloatArray,
) -> None: ...
