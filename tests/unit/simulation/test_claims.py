"""What a simulation claims: nothing; and what its table says."""

from __future__ import annotations

import numpy as np
import pytest

import distfreeuq as dfu
from tests.unit.claims import assert_claims_nothing


@pytest.fixture(scope="module")
def result():
    values = iter([1.0, 2.0, 4.0, 5.0])
    return dfu.simulate(
        "three-gaussians", lambda data, rng: {"x": next(values)}, 4, rng=8
    )


def test_nothing_is_claimed(result):
    assert_claims_nothing(
        result,
        "means estimate expectations, in this scenario alone, with the Monte Carlo "
        "errors given",
    )


def test_columns_are_what_their_headers_say(result):
    page = result.summary().page
    (table,) = page.tables
    row = dict(zip(table.headers, table.rows[0], strict=True))
    # mean 3, squares 4 + 1 + 1 + 4 = 10 over 3
    assert row["quantity"] == "x" and row["n"] == "4" and row["mean"] == "3.0000"
    assert float(row["sd"]) == pytest.approx(np.sqrt(10 / 3), abs=5e-5)
    assert float(row["MC error"]) == pytest.approx(np.sqrt(10 / 12), abs=5e-5)
    assert row["median"] == "3.0000"
    assert float(row["5%"]) < 2.0 and float(row["95%"]) > 4.0
    facts = dict(page.facts)
    assert facts["Replicates"] == "4" and facts["Seed"] == "8"
