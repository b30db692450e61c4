"""A small calibration sample, its plain fit, and the one form of refusal."""

import re
from typing import Any

import numpy as np
import pytest

import distfreeuq as dfu

N = 30
_rng = np.random.default_rng(1)
PROBS = _rng.dirichlet([1, 1, 1], size=N)
LABELS = _rng.integers(0, 3, N)
UNIFORMS = _rng.random(N)
# Sums of sixteenths are exact in every float type.
SIXTEENTHS = _rng.multinomial(16, [0.5, 0.3, 0.2], size=N) / 16
for _shared in (PROBS, LABELS, UNIFORMS, SIXTEENTHS):
    _shared.flags.writeable = False  # no call may change its input

PLAIN = dfu.split_conformal(PROBS, LABELS, rng=0)


def refused(parameter: str, must: str, got: str) -> Any:
    """Expect an InputError with this message, then a hint at most."""
    text = rf"The '{parameter}' parameter of [\w.]+ must be {re.escape(must)}\. "
    return pytest.raises(
        dfu.InputError, match=f"^{text}Got {re.escape(got)} instead\\.( [A-Z].+)?$"
    )
