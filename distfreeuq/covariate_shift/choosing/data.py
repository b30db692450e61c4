"""The candidates among which a calibration is chosen, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import IntArray, RandomState
from distfreeuq._base.arrays import describe
from distfreeuq._base.keyword_options import complete_options
from distfreeuq._base.random_streams import stream
from distfreeuq.covariate_shift.data import ShiftedRows
from distfreeuq.covariate_shift.weighted_calibration import covariate_shift_calibration
from distfreeuq.covariate_shift.weighted_fit import CalibratorRequest, read_request

_SHARED = ("classes", "rng", "progress")


class Candidate(NamedTuple):
    """One way to calibrate.

    Attributes
    ----------
    name : str
    request : CalibratorRequest
    ratio, ratio_options : object
        As `covariate_shift_calibration` takes them.
    own_ratio : bool
        Whether it was given one; otherwise it takes the weights of the scores.
    feature_learning, map_share : object
    """

    name: str
    request: CalibratorRequest
    ratio: Any
    ratio_options: Any
    own_ratio: bool
    feature_learning: Any
    map_share: Any

    @property
    def has_own_weights(self) -> bool:
        """Whether its fits have other weights than the scores."""
        return self.own_ratio or self.learns_features

    @property
    def learns_features(self) -> bool:
        """Whether every fold needs a map of its own."""
        return self.feature_learning is not False


def read_candidates(args: Arguments, given: Any, ratio: Any) -> list[Candidate]:
    """Return candidates from a mapping of options by name, or several calibrators."""
    if isinstance(given, Mapping):
        several = {str(name): options for name, options in given.items()}
    elif isinstance(given, list | tuple):
        several = {_name_of(one): {"calibrator": one} for one in given}
        if len(several) < len(given):
            must = "calibrators of different names (a mapping gives names)"
            args.invalid("candidates", must, ", ".join(several) + ", some twice")
    else:
        must = "a mapping of names to options, or a list of calibrators"
        args.invalid("candidates", must, describe(given))
    if len(several) < 2:
        args.invalid("candidates", "two or more", f"{len(several)}")
    return [_read(args, name, options, ratio) for name, options in several.items()]


def _name_of(calibrator: Any) -> str:
    if isinstance(calibrator, str):
        return calibrator
    return str(getattr(calibrator, "__name__", type(calibrator).__name__))


def _read(args: Arguments, name: str, options: Any, ratio: Any) -> Candidate:
    if not isinstance(options, Mapping):
        must = "a mapping of options of covariate_shift_calibration for each name"
        args.invalid("candidates", must, f"{describe(options)} for {name!r}")
    for taken in _SHARED:
        if taken in options:
            got = f"{name!r} with it"
            args.invalid("candidates", f"options without {taken!r}", got)
    try:
        whole = complete_options(covariate_shift_calibration, options, without=_SHARED)
    except TypeError as error:
        must = "options of covariate_shift_calibration"
        args.invalid("candidates", must, f"{name!r}, for which {error}")
    own = "ratio" in options or bool(options.get("ratio_options"))
    return Candidate(
        name=name,
        request=read_request(
            args,
            **{
                option: whole[option]
                for option in (
                    "calibrator",
                    "loss",
                    "offset",
                    "upper",
                    "calibrator_options",
                )
            },
        ),
        ratio=whole["ratio"] if "ratio" in options else ratio,
        ratio_options=whole["ratio_options"],
        own_ratio=own,
        feature_learning=whole["feature_learning"],
        map_share=whole["map_share"],
    )


def deal_rows(n: int, n_folds: int, rng: RandomState, caller: str) -> IntArray:
    """Return a fold number for each row, as many rows in each as can be."""
    return np.asarray(stream(rng, "split", caller).permutation(n) % n_folds)


def rows_of(rows: ShiftedRows, own: IntArray) -> ShiftedRows:
    """Return some of the source rows, with all of the target."""
    return rows._replace(
        logits=None if rows.logits is None else rows.logits[own],
        codes=rows.codes[own],
        source=None if rows.source is None else rows.source[own],
        kept=rows.kept[own],
    )
