"""A shift of three overlapping classes, for every file of this folder."""

import numpy as np
import pytest

from tests.unit.label_shift.three_classes import draw


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    probs, labels = draw(rng, 900, [0.4, 0.4, 0.2])
    target, _ = draw(rng, 700, [0.1, 0.2, 0.7])
    return probs, labels, target
