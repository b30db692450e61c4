"""Rows of the table for fits whose rows come in blocks: a function's, or Dask's."""

import importlib.util
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np

import distfreeuq as dfu
from tests.fuzz import fitted, kinds
from tests.fuzz.entry import Entry
from tests.fuzz.judge import difference
from tests.fuzz.kinds import Argument, in_its_own_way, optional, same
from tests.fuzz.samples import VALID, Sample

_HAS_DASK = importlib.util.find_spec("dask") is not None

# What blocks have, and what must be the same as with all rows in memory: where there
# is a name, to the bit.
CONFORMAL = ("probs", "labels")
MAPS = ("logits", "labels", "sample_weight")
FITS: dict[str, tuple[tuple[str, ...], str | None]] = {
    "split_conformal": (CONFORMAL, "thresholds"),
    "label_conditional_conformal": (CONFORMAL, "thresholds"),
    "interpolated_conformal": (CONFORMAL, "thresholds"),
    "clustered_conformal": (CONFORMAL, "thresholds"),
    "covariate_shift_conformal": (CONFORMAL, None),
    "tally": (CONFORMAL, "counts"),
    "bbse": (CONFORMAL, None),
    "rlls": (CONFORMAL, None),
    "temperature_scaling": (MAPS, None),
    "classwise_temperature_scaling": (MAPS, None),
    "vector_scaling": (MAPS, None),
    "platt_scaling": (MAPS, None),
    "dirichlet_scaling": (MAPS, None),
    "beta_calibration": (("probs", *MAPS[1:]), None),
    "isotonic_calibration": (("probs", *MAPS[1:]), None),
    "metrics.accuracy": (CONFORMAL, None),
    "metrics.brier_score": (CONFORMAL, None),
    "metrics.ece": (CONFORMAL, None),
    "metrics.max_ece": (CONFORMAL, None),
    "metrics.nll": (CONFORMAL, None),
}


def rows_in_blocks(
    probs: Any,
    logits: Any,
    labels: Any,
    sample_weight: Any,
    *,
    fit: str,
    cuts: Any,
    form: str,
    compared: bool,
    classes: Any,
) -> Any:
    """Fit to blocks of rows; where that is asked for, to all rows in memory as well."""
    have = {
        "probs": probs,
        "logits": logits,
        "labels": labels,
        "sample_weight": sample_weight,
    }
    names, place = FITS[fit]
    values = {name: have[name] for name in names}
    if sample_weight is None:
        values.pop("sample_weight", None)
    function = attrgetter(fit)(dfu)
    options = {"classes": classes}
    if fit == "tally" or fit.endswith("conformal"):
        options["rng"] = 0
    if fit == "covariate_shift_conformal":
        options["sample_weight"] = sample_weight
    if fit in ("bbse", "rlls"):
        options["probs_target"] = probs
    try:
        found = function(**_in_blocks(values, cuts, form), **options)
    except dfu.InputError as error:
        if "an iterator" in str(error):  # which is read once, and not again
            raise
        if compared and not _is_refused(function, {**values, **options}):
            raise AssertionError("blocks are refused, all rows are not") from None
        raise
    if compared and place is not None:
        whole = function(**values, **options)
        where = difference(getattr(whole, place), getattr(found, place), place)
        if where is not None:
            raise AssertionError(f"blocks give other {where} than all rows")
    return found


def _is_refused(function: Any, arguments: dict[str, Any]) -> bool:
    try:
        function(**arguments)
    except dfu.InputError:
        return True
    return False


def _in_blocks(values: dict[str, Any], cuts: list[int], form: str) -> dict[str, Any]:
    """Return the arguments of a fit to blocks of these rows."""
    first = next(iter(values))
    if form == "dask":
        return {name: _of_dask(value, cuts) for name, value in values.items()}

    def blocks() -> Iterator[Any]:
        pieces = [_pieces(value, cuts) for value in values.values()]
        for block in zip(*pieces, strict=False):
            mapping = dict(zip(values, block, strict=True))
            yield mapping if form == "mapping" else block

    others = dict.fromkeys(values)  # which are in the blocks
    return {**others, first: blocks() if form == "iterator" else blocks}


def _pieces(value: Any, cuts: list[int]) -> list[Any]:
    """Return the pieces of what has rows; another thing is a block by itself."""
    try:
        ends = [0, *cuts, len(value)]
        return [value[a:b] for a, b in pairwise(ends)]
    except Exception:  # a hostile value
        return [value] * (len(cuts) + 1)


def _of_dask(value: Any, cuts: list[int]) -> Any:
    import dask.array

    if not isinstance(value, np.ndarray) or value.dtype == object or not value.ndim:
        return value
    ends = [0, *cuts, len(value)]
    sizes = tuple(b - a for a, b in pairwise(ends))
    chunks = (sizes, *((size,) for size in value.shape[1:]))
    return dask.array.from_array(value, chunks=chunks)


@in_its_own_way
def fit_of_blocks(s: Sample) -> Argument:
    return same(s.r.choice(list(FITS)))


@in_its_own_way
def cuts(s: Sample) -> Argument:
    """Return where blocks end; some have no rows."""
    return same(sorted(s.r.randint(0, s.n) for _ in range(s.r.choice((0, 1, 1, 3)))))


@in_its_own_way
def form_of_blocks(s: Sample) -> Argument:
    forms = ["tuple", "tuple", "tuple", "mapping", "iterator"]
    return same(s.r.choice(forms + ["dask"] * _HAS_DASK))


@in_its_own_way
def is_compared(s: Sample) -> Argument:
    return same(s.spirit == VALID)


def _plain(kind: kinds.Kind) -> kinds.Kind:
    """Return a kind whose valid values are plain arrays, which can be cut."""

    def made(s: Sample) -> Argument:
        return same(kind(s).plain)

    return made


BLOCKS: dict[str, Entry] = {
    "rows in blocks": Entry(
        0.3,
        {
            "probs": _plain(kinds.probs),
            "logits": _plain(kinds.logits),
            "labels": _plain(kinds.labels),
            "sample_weight": optional(_plain(fitted.row_weight)),
            "fit": fit_of_blocks,
            "cuts": cuts,
            "form": form_of_blocks,
            "compared": is_compared,
        },
        call=rows_in_blocks,
        heavy=True,
        refuses="names are of the fit that it calls",
    ),
}
