"""What learnt features claim: nothing; and how their table reads two accuracies."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from distfreeuq.feature_learning.summary import _reading
from tests.unit.claims import assert_claims_nothing
from tests.unit.feature_learning.test_learning import fit, shifted


def test_nothing_is_claimed():
    assert_claims_nothing(
        fit(shifted(n_source=80, n_target=80), n_epochs=4),
        "features that look alike in source and target can still mean different "
        "labels; that the label given the features has the same law in both is an "
        "assumption, and unlabelled rows cannot check it",
    )


TOLD = "source and target are told apart in psi(x) as well as in x: "
READINGS = [
    (0.9, 0.55, 0.6, "no difference of source and target is found in psi(x)."),
    (0.9, 0.45, 0.6, "no difference of source and target is found in psi(x)."),
    (
        0.9,
        0.85,
        0.6,
        f"{TOLD}the training fooled its own discriminator, not a fresh one.",
    ),
    (0.9, 0.85, 0.1, f"{TOLD}the features did not learn to hide the difference."),
    (
        0.9,
        0.7,
        0.6,
        "source and target are harder to tell apart in psi(x) than in x, "
        "but not impossible: weights still have work to do.",
    ),
]


@pytest.mark.parametrize(("before", "after", "loss", "text"), READINGS)
def test_readings(before, after, loss, text):
    result = SimpleNamespace(
        n_tested=100,
        accuracy_before=before,
        accuracy_after=after,
        discriminator_loss=np.array([0.7, loss]),
    )
    assert _reading(result) == text
