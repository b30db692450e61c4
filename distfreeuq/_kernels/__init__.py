"""The compiled core, built from src_c/.

Kernels never raise on bad input; they report the first invalid row. Before anything
else uses them, some compute what is known already (_self_check.py).
"""

from importlib import import_module

from distfreeuq._kernels._waiting import short_waits

FAMILIES = (
    "_bins",
    "_bootstrap",
    "_checks",
    "_gram",
    "_logistic",
    "_minorants",
    "_mixture",
    "_quantile",
    "_root_search",
    "_row_hash",
    "_row_stats",
    "_scores",
    "_softmax",
    "_streams",
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

wrong = import_module(f"{__name__}._self_check").wrong_kernels()
if wrong:
    raise ImportError(
        f"distfreeuq's compiled core computes wrongly: {', '.join(wrong)} did not give "
        "the answers that are known. Most likely the compiler that built it is at "
        "fault. Build it with another one (CC=clang), or with less optimization: "
        "DISTFREEUQ_DEBUG=1 python -m pip install --no-cache-dir --force-reinstall "
        "--no-binary distfreeuq distfreeuq"
    )
