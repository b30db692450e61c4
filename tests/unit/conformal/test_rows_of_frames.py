"""Sets of a DataFrame's rows keep its index, in frames, files, JSON and parts."""

import json

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu
from tests.unit.argument_data import LABELS, PLAIN, PROBS, N

INDEXES = {
    "integers": np.arange(N)[::-1] + 5,
    "texts": [f"patient {i}" for i in range(N)],
    "pairs": pd.MultiIndex.from_product([["a", "b"], range(N)])[:N],
}


@pytest.mark.parametrize("kind", INDEXES)
def test_joins_find_their_own_row(kind, tmp_path):
    frame = pd.DataFrame(PROBS, index=INDEXES[kind])
    sets = PLAIN.predict(frame)
    assert sets.to_frame().index.equals(frame.index)
    shuffled = frame.sample(frac=1, random_state=0)
    joined = shuffled.join(sets.to_frame()["size"])
    right = pd.Series(PLAIN.predict(PROBS).sizes, index=frame.index)
    assert joined["size"].equals(right.loc[shuffled.index].rename("size"))
    part = sets[2:5]
    assert part.to_frame().index.equals(frame.index[2:5])
    sets.save(tmp_path / "sets.npz")
    again = dfu.load(tmp_path / "sets.npz")
    assert again.to_frame().equals(sets.to_frame())


def test_binary_series_and_groups_keep_theirs():
    score = pd.Series([0.2, 0.7, 0.9], index=["x", "y", "z"])
    fit = dfu.split_conformal([0.3, 0.6] * 20, [0, 1] * 20, rng=0)
    assert fit.predict(score).to_frame().index.tolist() == ["x", "y", "z"]
    groups = np.arange(N) % 2
    by_group = dfu.split_conformal(PROBS, LABELS, groups=groups, rng=0, alpha=0.4)
    frame = pd.DataFrame(PROBS, index=INDEXES["texts"])
    sets = by_group.predict(frame, groups)
    assert sets.to_frame().index.equals(frame.index)


def test_an_index_that_counts_rows_is_no_name():
    assert PLAIN.predict(pd.DataFrame(PROBS)).index is None
    assert PLAIN.predict(PROBS).to_frame().index.equals(pd.RangeIndex(N))


def test_dates_name_rows_but_are_in_no_file(tmp_path):
    dates = pd.date_range("2024-01-01", periods=N, tz="UTC")
    sets = PLAIN.predict(pd.DataFrame(PROBS, index=dates))
    assert sets.to_frame().index.equals(dates)
    assert json.loads(sets.to_json())["sets"][1]["row"].startswith("2024-01-02")
    with pytest.raises(dfu.InputError, match="'self' parameter of save"):
        sets.save(tmp_path / "sets.npz")


def test_lists_and_json_are_plain():
    sets = PLAIN.predict(pd.DataFrame(PROBS, index=INDEXES["integers"]))
    assert sets.to_list() == [labels.tolist() for labels in sets.labels()]
    content = json.loads(sets.to_json())
    assert content["nominal"] == 0.9
    assert content["sets"][0] == {"row": N + 4, "labels": sets.to_list()[0]}
    empty = PLAIN.predict(PROBS[:0])
    assert empty.to_list() == [] and json.loads(empty.to_json())["sets"] == []
