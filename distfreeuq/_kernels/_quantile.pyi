import numpy as np
import numpy.typing as npt

from distfreeuq._base.array_types import FloatArray, IntArray

def _sort_scores(
    values: FloatArray, sorted_values: FloatArray, order: IntArray
) -> None: ...
def _sort_labelled(
    values: FloatArray,
    labels: npt.NDArray[np.uint8],
    stop: IntArray,
    sorted_values: FloatArray,
    sorted_labels: npt.NDArray[np.uint8],
    threads: int,
) -> None: ...
def _scaled_mass(weights: FloatArray, scale: float) -> float: ...
def _select_quantiles(
    values: FloatArray,
    weights: FloatArray,
    scale: float,
    mass: float,
    needed: FloatArray,
    out: FloatArray,
) -> None: ...
def _select_by_label(
    values: FloatArray, labels: IntArray, ranks: IntArray, out: FloatArray
) -> None: ...
def _is_ascending(values: FloatArray) -> bool: ...
def _mass_of_counts(counts: IntArray, masses: FloatArray) -> float: ...
def _ascending_quantiles(
    values: FloatArray,
    labels: IntArray,
    masses: FloatArray,
    mass: float,
    needed: FloatArray,
    scratch: IntArray,
    out: FloatArray,
) -> None: ...
def _ascending_ranks(
    values: FloatArray,
    labels: IntArray,
    ranks: IntArray,
    scratch: IntArray,
    out: FloatArray,
) -> None: ...
