"""Numbers as text that stays true: bounds rounded outwards, edges told apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

# Digits at which any two doubles differ.
_MAX_DIGITS = 17
# In units of the last digit printed: what rounding in 1 - 0.1 may amount to.
_SLACK = Decimal("1e-9")


def lower(bound: float, digits: int = 4) -> str:
    """Return a lower bound, rounded down: what is printed must be true.

    Examples
    --------
    >>> from distfreeuq._base.rounding import interval, lower, upper
    >>> lower(2 / 3), upper(2 / 3), lower(1 - 0.1), upper(0.00001234)
    ('0.6666', '0.6667', '0.9000', '1.3e-05')
    >>> interval(0.12345, 0.98761)
    '[0.1234, 0.9877]'
    """
    return _rounded(bound, digits, ROUND_FLOOR)


def upper(bound: float, digits: int = 4) -> str:
    """Return an upper bound or a radius, rounded up."""
    return _rounded(bound, digits, ROUND_CEILING)


def interval(low: float, high: float, digits: int = 4) -> str:
    """Return an interval that holds the exact one: its ends are rounded outwards.

    A dash where there is none.
    """
    if math.isnan(low) or math.isnan(high):
        return "-"
    return f"[{lower(low, digits)}, {upper(high, digits)}]"


def _rounded(bound: float, digits: int, rounding: str) -> str:
    """Return a bound as `number` prints it, but rounded in one direction."""
    if not math.isfinite(bound):
        return f"{bound:g}"
    exact = Decimal(float(bound))
    scientific = bound != 0 and not 10.0**-digits <= abs(bound) < 1e6
    # as many digits as `number` shows there
    kept = digits if abs(bound) >= 1e6 else 2
    unit = exact.adjusted() - kept + 1 if scientific else -digits
    step = Decimal(1).scaleb(unit)
    slack = _SLACK * step
    exact += slack if rounding == ROUND_FLOOR else -slack
    # the context's precision does not limit what scaleb and to_integral_value do
    whole = int((exact / step).to_integral_value(rounding=rounding))
    value = Decimal(whole).scaleb(unit)
    if whole == 0 or not scientific:
        return f"{abs(value) if whole == 0 else value:.{digits}f}"
    if abs(bound) >= 1e6:
        return f"{float(value):.{digits}g}"
    return f"{float(value):.1e}"


def distinct_numbers(values: Sequence[float], digits: int = 4) -> list[str]:
    """Return ascending numbers as text, each with enough digits to tell it from others.

    Examples
    --------
    >>> from distfreeuq._base.rounding import distinct_numbers
    >>> distinct_numbers([0.0, 0.25, 0.99997, 0.999983, 1.0])
    ['0', '0.25', '0.99997', '0.99998', '1']
    """
    kept = [digits] * len(values)
    texts = [f"{value:.{digits}g}" for value in values]
    alike = [i for i in range(len(values) - 1) if _look_alike(values, texts, i, i + 1)]
    while alike:
        for j in {j for i in alike for j in (i, i + 1)}:
            kept[j] += 1
            texts[j] = f"{values[j]:.{kept[j]}g}"
        alike = [
            i
            for i in range(len(values) - 1)
            if _look_alike(values, texts, i, i + 1) and kept[i] < _MAX_DIGITS
        ]
    return texts


def _look_alike(values: Sequence[float], texts: list[str], i: int, j: int) -> bool:
    return values[i] != values[j] and float(texts[i]) >= float(texts[j])
