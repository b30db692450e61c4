"""Small parts of ``python -m tests.reliability``: damage, forgery and kills."""

import os

import pytest

from tests.reliability import damage, kills
from tests.reliability.forging import FILES

TALLIES = [path for path in FILES if path.stem.startswith("tally")]
GOOD_OF_DAMAGE = {"refused", "same result"}
GOOD_OF_FORGERY = {"refused", "taken, harmless"}


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_damaged_file_is_refused_or_as_it_was(path):
    counts = damage.damage_bytes(path, every=499)
    assert counts.keys() <= GOOD_OF_DAMAGE
    assert counts["refused"] > 0.5 * counts.total()


@pytest.mark.parametrize("path", TALLIES, ids=[path.stem for path in TALLIES])
def test_a_damaged_text_is_refused_or_as_it_was(path):
    counts = damage.damage_text(path, every=101)
    assert counts.keys() <= GOOD_OF_DAMAGE
    assert counts["refused"] > 0.5 * counts.total()


def test_a_damaged_journal_is_refused_or_gives_the_same_table():
    counts = damage.damage_journal(3, every=37)
    assert counts.keys() <= GOOD_OF_DAMAGE
    assert counts["refused"] > 0.5 * counts.total()


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_forged_file_is_refused_or_harmless(path):
    counts = damage.forge_file(path, every=150, start=7)
    assert counts.keys() <= GOOD_OF_FORGERY
    assert counts["refused"] > 0.3 * counts.total()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_killed_save_leaves_a_whole_file_and_nothing_else():
    counts = kills.kill_while_saving(5)
    assert counts["whole file"] == counts["killed"] == 5
    assert counts["files left over"] == 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_killed_study_gives_the_same_table():
    counts = kills.kill_while_simulating(5, n_rep=60)
    assert counts["killed"] == 5
    assert counts["table right"] == counts["studies"] > 0
    assert counts["file wrong"] == 0
