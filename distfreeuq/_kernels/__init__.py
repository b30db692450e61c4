"""The compiled core, built from src_c/. It refuses nothing: callers do."""

from distfreeuq._kernels._waiting import short_waits

try:
    with short_waits():
        from distfreeuq._kernels import (
            _binning,
            _bootstrap,
            _checks,
            _label_shift,
            _linear,
            _metrics,
            _quantile,
            _scaling,
            _scores,
            _search,
        )
except ImportError as error:
    raise ImportError(
        "distfreeuq's compiled core is missing or was built for another Python. "
        "Build it from the checkout with:  python -m pip install -e ."
    ) from error

__all__ = [
    "_binning",
    "_bootstrap",
    "_checks",
    "_label_shift",
    "_linear",
    "_metrics",
    "_quantile",
    "_scaling",
    "_scores",
    "_search",
]
