"""What learnt features claim: nothing; and how their table reads two areas."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from distfreeuq.density_ratios.diagnostics import Auc
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


TOLD = "source and target are told apart in psi(x) about as well as in x: "
NONE = (
    "no difference of source and target is found in psi(x), on rows that the map was "
    "trained on; an AUC up to {} is not excluded."
)
READINGS = [
    ((0.88, 0.93), (0.45, 0.55), 0.6, NONE.format("0.550")),
    ((0.88, 0.93), (0.499, 0.7), 0.6, NONE.format("0.700")),
    (
        (0.88, 0.93),
        (0.81, 0.89),
        0.6,
        f"{TOLD}the training fooled its own discriminator, not a fresh one.",
    ),
    (
        (0.88, 0.93),
        (0.81, 0.89),
        0.1,
        f"{TOLD}the features did not learn to hide the difference.",
    ),
    (
        (0.88, 0.93),
        (0.7, 0.8),
        0.6,
        "source and target are harder to tell apart in psi(x) than in x, "
        "but not impossible: weights still have work to do.",
    ),
    (
        None,
        None,
        0.6,
        "the discriminators of this early file were trained as long as the map, "
        "which can be too short: nothing is concluded from them. Fit again.",
    ),
]


@pytest.mark.parametrize(("before", "after", "loss", "text"), READINGS)
def test_readings(before, after, loss, text):
    result = SimpleNamespace(
        auc_before=None if before is None else Auc(0.9, *before),
        auc_after=None if after is None else Auc(0.85, *after),
        discriminator_loss=np.array([0.7, loss]),
    )
    assert _reading(result) == text
