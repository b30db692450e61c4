"""Rows are held out at random, folds are whole, and groups are never split."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq._base.arguments import Arguments

pytest.importorskip("sklearn", "1.6", reason="estimators need scikit-learn 1.6")

from distfreeuq.estimators.held_out_rows import hold_out, read_cv

ARGS = Arguments("ConformalClassifier.fit")
CODES = np.arange(20) % 3


def test_a_share_is_held_out():
    rows = hold_out(ARGS, 0.25, CODES, None, 0)
    ((train, held),) = rows.splits
    assert sorted([*train, *held]) == list(range(20))
    assert held.size == 5 and not rows.crossed and not rows.one_per_group


def test_folds_hold_every_row_out_once():
    rows = hold_out(ARGS, 3, CODES, None, 0)
    assert sorted(np.concatenate([held for _, held in rows.splits])) == list(range(20))
    for train, held in rows.splits:
        assert sorted([*train, *held]) == list(range(20))
    assert rows.crossed


def test_prefit_holds_all_rows_out():
    ((train, held),) = hold_out(ARGS, "prefit", CODES, None, 0).splits
    assert train.size == 0 and held.tolist() == list(range(20))


def test_training_goes_on_until_it_has_two_classes():
    codes = np.zeros(40, dtype=int)
    codes[7] = 1
    for seed in range(20):
        ((train, held),) = hold_out(ARGS, 0.9, codes, None, seed).splits
        assert 7 in train
        # and not a row longer than that takes
        more = hold_out(ARGS, 0.9, np.arange(40), None, seed).splits[0][0]
        assert set(more) <= set(train) and train.size + held.size == 40


@pytest.mark.parametrize("cv", [0.5, 4, "prefit"])
def test_groups_stay_together_and_give_one_row_each(cv):
    groups = np.repeat(np.arange(12), np.arange(1, 13))
    codes = np.arange(groups.size) % 3
    rows = hold_out(ARGS, cv, codes, groups, 3)
    for train, held in rows.splits:
        assert not set(groups[train]) & set(groups[held])
        assert len(set(groups[held])) == held.size
    assert rows.one_per_group


def test_the_row_of_a_group_is_drawn_at_random():
    groups = np.repeat([0, 1], [3, 3])
    drawn = [
        int(hold_out(ARGS, "prefit", np.arange(6), groups, seed).splits[0][1][0])
        for seed in range(300)
    ]
    assert np.bincount(drawn).min() > 60


@pytest.mark.parametrize("cv", [0.0, 1.0, 1, 0, -2, "fitted", None, True, [3], np.nan])
def test_what_is_no_way_to_hold_rows_out_is_refused(cv):
    with pytest.raises(dfu.InputError, match="'cv' parameter of ConformalClassifier"):
        read_cv(ARGS, cv)
