"""The compiled core, built from src_c/. It refuses nothing: callers do."""

from distfreeuq._kernels._waiting import short_waits

try:
    with short_waits():
        from distfreeuq._kernels import (
            _bins,
            _bootstrap,
            _checks,
            _logistic,
            _mixture,
            _quantile,
            _root_search,
            _row_hash,
            _row_stats,
            _scores,
            _softmax,
        )
except ImportError as error:
    raise ImportError(
        "distfreeuq's compiled core is missing or was built for another Python. "
        "Build it from the checkout with:  python -m pip install -e ."
    ) from error

__all__ = [
    "_bins",
    "_bootstrap",
    "_checks",
    "_logistic",
    "_mixture",
    "_quantile",
    "_root_search",
    "_row_hash",
    "_row_stats",
    "_scores",
    "_softmax",
]
