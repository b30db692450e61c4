"""Coverage in blocks of dependent rows, and of several methods side by side."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import bounds
from tests.unit.conformal.test_sets import sets_of

# row by row: the label 0 is covered, 1 is not
SETS = sets_of([[1, 0]] * 8)
LABELS = [0, 1, 0, 0, 0, 0, 1, 0]
BLOCKS = ["a", "a", "a", "a", "b", "b", "c", "c"]
SHARES = [0.75, 1.0, 0.5]


def test_every_block_counts_the_same():
    result = SETS.evaluate(LABELS, blocks=BLOCKS)
    assert (result.blocks, result.n, result.n_covered) == (3, 8, 6)
    assert result.coverage == pytest.approx(0.75)
    expected = bounds.betting_interval(SHARES, 0.05)
    np.testing.assert_allclose(result.interval, expected, atol=1e-9)
    # wider than that of independent rows, and in the summary
    plain = SETS.evaluate(LABELS).interval
    assert result.interval[1] - result.interval[0] > plain[1] - plain[0]
    assert "Blocks:" in str(result) and "random block" in str(result)


def test_strata_by_block_by_hand():
    groups = [1, 1, 2, 2, 1, 1, 2, 2]
    frame = SETS.evaluate(LABELS, blocks=BLOCKS, groups=groups, level=0.9).to_frame()
    frame = frame.set_index(["stratum", "value"])
    assert frame["blocks"].to_dict() == {
        ("all", ""): 3, ("class", 0): 3, ("class", 1): 2, ("size", 1): 3,
        ("group", 1): 2, ("group", 2): 2,
    }  # fmt: skip
    assert frame["coverage"].tolist() == pytest.approx(
        [0.75, 1.0, 0.0, 0.75, 0.75, 0.75]
    )
    low, high = bounds.betting_interval([0.5, 1.0], 0.1)
    row = frame.loc[("group", 1)]
    assert (row["low"], row["high"]) == pytest.approx((low, high), abs=1e-9)


def test_blocks_of_one_row_are_rows():
    result = SETS.evaluate(LABELS, blocks=range(8))
    assert result.coverage == 0.75
    hits = [1 - label for label in LABELS]
    expected = bounds.betting_interval(hits, 0.05)
    np.testing.assert_allclose(result.interval, expected, atol=1e-9)


def test_blocks_may_be_named_in_any_order_and_one_block_tells_little():
    again = SETS[::-1].evaluate(LABELS[::-1], blocks=BLOCKS[::-1])
    np.testing.assert_array_equal(
        again.interval, SETS.evaluate(LABELS, blocks=BLOCKS).interval
    )
    low, high = SETS.evaluate(LABELS, blocks=["one"] * 8).interval
    assert low < 0.1 and high > 0.99


def test_no_rows_have_no_blocks():
    result = SETS[:0].evaluate([], blocks=[])
    assert result.blocks == 0 and np.isnan(result.coverage)
    assert result.interval.tolist() == [0.0, 1.0]
    assert "-" in str(result)


def test_a_block_for_every_row():
    with pytest.raises(dfu.InputError, match=r"'blocks' .* 8 blocks, one per row"):
        SETS.evaluate(LABELS, blocks=["a"])
    with pytest.raises(dfu.InputError, match=r"missing\. Got None at row 1"):
        SETS.evaluate(LABELS, blocks=["a", None, *"bcdefg"])


def test_files_keep_blocks(tmp_path):
    result = SETS.evaluate(LABELS, blocks=BLOCKS)
    result.save(tmp_path / "coverage.npz")
    assert str(dfu.load(tmp_path / "coverage.npz")) == str(result)


# ------------------------------------------------------------------------ several sets


def test_a_line_for_each_method(tmp_path):
    two = {"none": SETS, "every label": sets_of([[1, 1]] * 8)}
    table = dfu.coverage_table(two, LABELS)
    for name, found in zip(table.methods, table.achieved, strict=True):
        assert str(found) == str(two[name].evaluate(LABELS))
    frame = table.to_frame().set_index("method")
    assert frame["worst_class"].to_dict() == {"none": 0.0, "every label": 1.0}
    assert frame["mean_size"].to_dict() == {"none": 1.0, "every label": 2.0}
    assert (
        frame["holds"].tolist() == ["none", "none"] and frame["promised"].isna().all()
    )
    assert "none: nothing, as made by hand" in " ".join(str(table).split())
    table.save(tmp_path / "table.npz")
    assert str(dfu.load(tmp_path / "table.npz")) == str(table)
    assert [text.get_text() for text in table.plot().get_yticklabels()] == list(two)


def test_promises_are_those_of_the_fits():
    probs, labels = np.array([[0.8, 0.2], [0.3, 0.7]] * 40), [0, 1] * 40
    shift = dfu.label_weights([0.5, 0.5], [0.3, 0.7])
    fits = {
        "split": dfu.split_conformal(probs, labels, score="lac"),
        "weighted": dfu.label_shift_conformal(probs, labels, shift, score="lac"),
    }
    table = dfu.coverage_table(
        {name: fit.predict(probs) for name, fit in fits.items()}, labels, level=0.8
    )
    assert table.promised == tuple(fit.guarantee for fit in fits.values())
    frame = table.to_frame()
    assert frame["promised"].tolist() == [0.9, 0.9]
    text = " ".join(str(table).split())
    assert "80% interval" in text
    assert "It needs: the calibration rows and the new row are exchangeable" in text


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ({}, "'sets' .* a mapping of method names to PredictionSets"),
        ([SETS], "'sets' .* a mapping of method names to PredictionSets"),
        ({"a": 1}, "Got 1 for 'a'"),
        ({1: SETS}, "the names texts. Got 1"),
        ({"a": SETS, "b": SETS[:2]}, "same rows and classes. Got 8 rows .* 2 of 0, 1"),
        ({"a": SETS, "b": sets_of([[1, 0]] * 8, "xy")}, "of 'x', 'y' for 'b'"),
    ],
)
def test_what_cannot_be_compared_is_refused(sets, message):
    with pytest.raises(dfu.InputError, match=message):
        dfu.coverage_table(sets, LABELS)
