"""The compiled core, built from src_c/.

Kernels never raise on bad input; they report the first invalid row.
"""

from importlib import import_module

from distfreeuq._kernels._waiting import short_waits

FAMILIES = (
    "_bins",
    "_bootstrap",
    "_checks",
    "_gram",
    "_logistic",
    "_mixture",
    "_quantile",
    "_root_search",
    "_row_hash",
    "_row_stats",
    "_scores",
    "_softmax",
)

try:
    with short_waits():
        for family in FAMILIES:
            import_module(f"{__name__}.{family}")
except ImportError as error:
    raise ImportError(
        "distfreeuq's compiled core is missing or was built for another Python. "
        "Build it from the checkout with:  python -m pip install -e ."
    ) from error
