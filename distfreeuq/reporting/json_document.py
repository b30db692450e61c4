"""A report for programs."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from distfreeuq._base.layout import Page
from distfreeuq._version import __version__
from distfreeuq.guarantees import Guarantee, NoGuarantee

if TYPE_CHECKING:
    import pandas as pd

    from distfreeuq.label_shift.results import LabelShiftResult
    from distfreeuq.reporting.results import Report

FORMAT = 1
"""The number of the layout; it grows where a name is dropped or changes its meaning."""


def as_document(made: Report) -> dict[str, Any]:
    """Return texts, numbers, lists and dictionaries of them."""
    shift, fit, sets, rate = made.shift, made.fit, made.sets, made.performance
    return {
        "format": FORMAT,
        "distfreeuq": __version__,
        "title": made.title,
        "rows": {"source": shift.n, "target": shift.m},
        "classes": [str(name) for name in shift.classes],
        "warnings": list(made.warnings),
        "tests": {
            "equal_class_proportions": plain(asdict(shift.test())),
            "label_shift": _fit(shift),
        },
        "weights": {
            "method": shift.method,
            "by_class": _records(shift.to_frame()),
            "guarantee": _claim(shift.guarantee),
        },
        "prediction_sets": {
            "procedure": fit.procedure,
            "reason": fit.reason,
            "by_class": _records(fit.to_frame()),
            "mean_size": float(sets.sizes.mean()),
            "empty": int((sets.sizes == 0).sum()),
            "guarantee": _claim(fit.guarantee),
        },
        "coverage": None if made.coverage is None else _coverage(made),
        "performance": {
            "estimates": _records(rate.to_frame()),
            "guarantees": [_claim(one) for one in rate.guarantees],
        },
        "sections": [
            {
                "name": part.name,
                "title": part.title,
                "pages": [_page(page) for page in part.pages],
            }
            for part in made.sections
        ],
        "bibtex": made.bibtex,
    }


def _coverage(made: Report) -> dict[str, Any]:
    result = made.coverage
    assert result is not None
    return {
        "rows": result.n,
        "coverage": float(result.coverage),
        "interval": plain(list(result.interval)),
        "guarantee": _claim(result.guarantee),
    }


def _page(page: Page) -> dict[str, Any]:
    return {
        "title": page.title,
        "facts": [list(fact) for fact in page.facts],
        "tables": [
            {"headers": list(one.headers), "rows": [list(row) for row in one.rows]}
            for one in page.tables
        ],
        "notes": [list(note) for note in page.notes],
    }


def _fit(shift: LabelShiftResult) -> Any:
    """Return the test of fit; None where there are no counts to make it of."""
    if shift.output_cells is None:
        return None
    return plain(asdict(shift.goodness_of_fit()))


def _claim(claim: Guarantee | NoGuarantee) -> dict[str, Any]:
    if isinstance(claim, NoGuarantee):
        return {"statement": None, "reason": claim.reason}
    told: dict[str, Any] = plain(asdict(claim))
    return told


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {str(name): plain(value) for name, value in row.items()}
        for row in frame.to_dict(orient="records")
    ]


def plain(value: Any) -> Any:
    """Return what JSON has: None for NaN, texts for infinite numbers and for names.

    Examples
    --------
    >>> from distfreeuq.reporting.json_document import plain
    >>> plain([1.5, float("nan"), float("inf"), True, ("a", None)])
    [1.5, None, 'inf', True, ['a', None]]
    """
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)
