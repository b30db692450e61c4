"""Sizes, times and memory as people write them."""

from typing import Any


def describe_size(size: Any) -> str:
    """Return ``n=10k K=1000`` and the like."""
    return " ".join(f"{name}={_count_text(value)}" for name, value in size.items())


def _count_text(value: int) -> str:
    for unit, letter in ((10**6, "M"), (10**3, "k")):
        if value % unit == 0 and value >= (10 * unit if letter == "k" else unit):
            return f"{value // unit}{letter}"
    return str(value)


def seconds_text(seconds: float) -> str:
    """Return a time with three digits and its unit."""
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= 0.9995 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-6:.3g} us"


def bytes_text(size: float) -> str:
    """Return a size in memory."""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"
