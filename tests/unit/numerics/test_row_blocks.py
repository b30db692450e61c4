"""Rows that come in blocks: what is read, and what is refused."""

from itertools import chain

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu
from distfreeuq._base.arguments import Arguments
from distfreeuq._numerics.row_blocks import read_blocks

try:
    import dask.dataframe as dd
except ImportError:  # without pyarrow Dask has no frames
    dd = None

N = 11
PROBS = np.random.default_rng(0).dirichlet([1, 1, 1], size=N)
LABELS = np.arange(N) % 3
NAMES = ("a", "b", "c")


def read(probs, labels=None, **options):
    args = Arguments("fit")
    return read_blocks(args, {"probs": probs, "labels": labels}, **options)


def sizes(block):
    return block.args.block, block.args.start, block.n


def sums(block):
    """Return the sum of rows by label, with whatever is wrong told."""
    classes = range(3)
    rows, labels = block.probs(classes).checked(), block.labels(classes)
    out = np.zeros((3, 3))
    np.add.at(out, labels, rows)
    return out


def in_memory():
    out = np.zeros((3, 3))
    np.add.at(out, LABELS, PROBS)
    return out


def frame():
    return pd.DataFrame(PROBS, columns=list(NAMES))


def generated():
    for start in range(0, N, 4):
        yield PROBS[start : start + 4], LABELS[start : start + 4]


def as_mappings():
    for probs, labels in generated():
        yield {"labels": labels, "probs": probs}


def of_unknown_sizes():
    """Return both, of which Dask does not know the sizes of chunks."""
    probs, labels = da.from_array(PROBS, (4, 3)), da.from_array(LABELS, 4)
    every = da.from_array(np.ones(N, dtype=bool), 4)
    return probs[every], labels[every]


GIVEN = {
    "array": (da.from_array(PROBS, (4, 3)), da.from_array(LABELS, 4)),
    "columns": (da.from_array(PROBS, (4, 2)), da.from_array(LABELS, 4)),
    "misaligned": (da.from_array(PROBS, (4, 3)), da.from_array(LABELS, 3)),
    "one row": (da.from_array(PROBS, (1, 1)), da.from_array(LABELS, 11)),
    "empty": (da.from_array(PROBS, ((4, 0, 7, 0), 3)), da.from_array(LABELS, 4)),
    "labels": (da.from_array(PROBS, (4, 3)), LABELS),
    "list": (da.from_array(PROBS, (4, 3)), LABELS.tolist()),
    "series": (da.from_array(PROBS, (4, 3)), pd.Series(LABELS, index=range(9, 20))),
    "probs": (PROBS, da.from_array(LABELS, 4)),
    "unknown": of_unknown_sizes(),
    "generator": (generated, None),
    "mappings": (as_mappings, None),
    "iterator": (generated(), None),
}
if dd is not None:
    GIVEN["frame"] = (
        dd.from_pandas(pd.DataFrame(PROBS), npartitions=3),
        dd.from_pandas(pd.Series(LABELS), npartitions=3),
    )


@pytest.mark.parametrize("given", GIVEN)
def test_sums_are_those_in_memory(given):
    blocks = read(*GIVEN[given])
    assert blocks.n_columns() == 3
    parts = blocks.map(sums) if given != "iterator" else [blocks.total(sums, sum)]
    np.testing.assert_allclose(sum(parts), in_memory(), atol=1e-15)
    if given != "iterator":
        np.testing.assert_allclose(blocks.total(sums, sum), in_memory(), atol=1e-15)
    assert blocks.has("labels") and not blocks.has("sample_weight")


@pytest.mark.parametrize(
    "scheduler", ["sync", "threads", pytest.param("processes", marks=pytest.mark.slow)]
)
def test_any_scheduler(scheduler):
    with dask.config.set(scheduler=scheduler):
        found = read(*GIVEN["misaligned"]).total(sums, sum)
    np.testing.assert_allclose(found, in_memory(), atol=1e-15)


def test_arrays_in_memory_are_no_blocks(tmp_path):
    np.save(tmp_path / "probs.npy", PROBS)
    assert read(np.load(tmp_path / "probs.npy", mmap_mode="r"), LABELS) is None
    assert read(frame(), LABELS.tolist()) is None
    assert read(None) is None


def test_blocks_know_their_place():
    blocks = read(*GIVEN["empty"])
    assert blocks.n == N
    assert blocks.map(sizes) == [(0, 0, 4), (2, 4, 7)]
    assert read(generated).map(sizes) == [(0, 0, 4), (1, 4, 4), (2, 8, 3)]
    unknown = read(*of_unknown_sizes())
    assert unknown.n is None
    assert unknown.map(sizes) == [(0, None, 4), (1, None, 4), (2, None, 3)]


def test_sums_are_added_in_an_order_of_their_own():
    many = read(da.from_array(PROBS, (1, 3)))
    places = many.total(
        lambda block: [block.args.block], lambda found: list(chain(*found))
    )
    assert places == list(range(N))


def test_no_rows_are_one_block_of_none():
    for probs, labels in (
        (da.zeros((0, 3)), da.zeros(0, dtype=int)),
        (lambda: [(PROBS[:0], LABELS[:0])], None),
    ):
        assert read(probs, labels).map(sizes) == [(0, 0, 0)]
        assert read(probs, labels).total(sums, sum).sum() == 0


@pytest.mark.skipif(dd is None, reason="it needs pyarrow")
def test_names_of_a_frame_s_columns_are_the_classes():
    named = dd.from_pandas(frame(), npartitions=2)
    assert read(named).classes(None) == NAMES
    with pytest.raises(dfu.InputError, match="frame's columns in the frame's order"):
        read(named).classes(["b", "a", "c"])


def test_names_of_columns_are_the_classes():
    assert read(lambda: [frame()]).classes(None) == NAMES
    assert read(GIVEN["array"][0]).classes(None) == range(3)
    assert read(GIVEN["array"][0]).classes(NAMES) == NAMES
    assert read(GIVEN["array"][0][:, 0]).classes(None) == range(2)


def test_blocks_of_other_columns_are_refused():
    other = frame()[["b", "a", "c"]]
    blocks = read(lambda: [frame(), other])
    names = blocks.classes(None)
    with pytest.raises(dfu.InputError, match=r"fit's order.* in block 1 instead"):
        blocks.map(lambda block: block.probs(names).checked().sum())


def test_features_and_weights_are_checked():
    rows = {"features": da.from_array(PROBS, (4, 3)), "sample_weight": LABELS}
    blocks = read_blocks(Arguments("fit"), rows)
    found = blocks.map(lambda block: float(block.features()[:, 0] @ block.weights()))
    np.testing.assert_allclose(sum(found), PROBS[:, 0] @ LABELS)


def test_errors_name_the_row_among_all():
    bad = PROBS.copy()
    bad[9] = 0.5
    for given in (da.from_array(bad, (4, 3)), lambda: [bad[:7], bad[7:]]):
        with pytest.raises(dfu.InputError, match=r"'probs'.* sum of 1\.5 at row 9"):
            read(given).map(lambda block: block.probs(range(3)).checked().sum())
    wrong = LABELS.copy()
    wrong[10] = 3
    with pytest.raises(dfu.InputError, match=r"'labels' .* 3 at row 10 instead"):
        read(da.from_array(PROBS, (4, 3)), wrong).map(sums)
    probs, labels = of_unknown_sizes()
    with pytest.raises(dfu.InputError, match="at row 2 in block 2 instead"):
        read(probs, labels + 3 * (labels == 1)).map(
            lambda block: block.labels(range(4)).sum() if block.args.block == 2 else 0
        )


@pytest.mark.parametrize(
    ("probs", "labels", "message"),
    [
        (GIVEN["array"][0], LABELS[:9], "'labels' .* of length 11, as 'probs' is"),
        (GIVEN["array"][0], da.zeros(9), "'labels' .* of length 11"),
        (of_unknown_sizes()[0], LABELS, r"compute_chunk_sizes\(\)"),
        (of_unknown_sizes()[0], da.from_array(LABELS, 2), "cut into 6 blocks of rows"),
        (of_unknown_sizes()[0], da.from_array(LABELS, 5), "'labels' .* of length [43]"),
        (generated, LABELS, "'labels' .* None where 'probs' is blocks"),
        (lambda: 3, None, "a function that returns blocks"),
        (lambda: [], None, "of one block at least"),
        (lambda: [(1, 2, 3)], None, "a tuple of 3"),
        (lambda: [{"labels": LABELS}], None, "blocks with 'probs', 'labels' at most"),
        (lambda: [(PROBS, LABELS), PROBS], None, "blocks with probs, labels each"),
        (lambda: [(PROBS, LABELS[:3])], None, "'labels' .* of length 11"),
        (lambda: [PROBS], None, "'labels' .* given for every row"),
        (GIVEN["array"][0], iter(LABELS), "'labels' .* of Dask"),
        (None, GIVEN["array"][1], "'probs' .* given"),
    ],
)
def test_what_does_not_fit_is_refused(probs, labels, message):
    with pytest.raises(dfu.InputError, match=message):
        read(probs, labels).map(sums)


def test_iterators_are_read_once():
    blocks = read(generated())
    blocks.map(sizes)
    with pytest.raises(dfu.InputError, match="returns the blocks anew"):
        blocks.map(sizes)
    with pytest.raises(dfu.InputError, match="Give the function that makes"):
        read(generated(), again=True)


def test_a_bar_counts_blocks(capsys):
    read(generated, progress=True).map(sizes)
    assert "3it" in capsys.readouterr().err
