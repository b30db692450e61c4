from distfreeuq._typing import FloatArray

def _cumulative_mass(weights: FloatArray, out: FloatArray) -> None: ...
def _search_quantiles(
    values: FloatArray,
    cumulative: FloatArray,
    levels: FloatArray,
    atoms: FloatArray,
    out: FloatArray,
) -> None: ...
