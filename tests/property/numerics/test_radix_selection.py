"""Order statistics of values in blocks are those of the sorted values, bit for bit."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distfreeuq._numerics.passes import radix_selection as radix
from distfreeuq.binning.uniform_mass import own_mass, own_mass_in_blocks

_VALUES = st.one_of(
    st.floats(allow_nan=False, width=64),
    st.floats(0.0, 1.0, width=32),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, np.inf, -np.inf]),
)


class _Blocks:
    """Blocks that count the passes over them."""

    def __init__(self, blocks):
        self.blocks, self.passes = blocks, 0

    def total(self, function, add_up):
        self.passes += 1
        found = [function(block) for block in self.blocks]
        return add_up([add_up(found[:2]), *found[2:]]) if len(found) > 1 else found[0]


def _sorted_values(values, groups, ranks, wanted):
    """Return values, how many are below and how many are equal: by sorting."""
    for rank, group in zip(ranks, wanted, strict=True):
        own = np.sort(values[groups == group])
        if rank > own.size:
            yield np.inf, 0, 0
        else:
            found = own[rank - 1]
            yield found, (own < found).sum(), (own == found).sum()


@pytest.mark.parametrize("few", [0, 3, 1 << 16])
@given(data=st.data())
def test_they_are_those_of_sorted_values_of_each_group(few, data):
    values = np.array(data.draw(st.lists(_VALUES, max_size=60)), dtype=np.float64)
    n_groups = data.draw(st.integers(1, 4))
    numbers = st.integers(0, n_groups - 1)
    sizes = {"min_size": values.size, "max_size": values.size}
    groups = np.array(data.draw(st.lists(numbers, **sizes)), dtype=np.int64)
    asked = data.draw(st.lists(st.tuples(st.integers(1, 40), numbers), max_size=6))
    ranks = np.array([rank for rank, _ in asked], dtype=np.int64)
    wanted = np.array([group for _, group in asked], dtype=np.int64)
    cuts = sorted(data.draw(st.lists(st.integers(0, values.size), max_size=4)))
    pieces = zip(np.split(values, cuts), np.split(groups, cuts), strict=True)
    one_group = n_groups == 1 and data.draw(st.booleans())
    blocks = _Blocks(
        [radix.GroupedValues(v, None if one_group else g) for v, g in pieces]
    )
    with patch.object(radix, "_FEW", few):
        found = radix.order_statistics(blocks, ranks, None if one_group else wanted)
    expected = list(_sorted_values(values, groups, ranks, wanted))
    assert list(zip(*found, strict=True)) == expected
    assert blocks.passes <= 4


def test_a_single_precision_number_is_the_same_number():
    values = np.array([0.1, 0.7, 0.3], dtype=np.float32)
    found = radix.order_statistics(
        _Blocks([radix.GroupedValues(values)]), np.array([2])
    )
    assert found.values[0] == np.float32(0.3)


def test_ten_ranks_of_a_hundred_thousand_values_take_three_passes():
    values = np.random.default_rng(0).random(100_000)
    blocks = _Blocks([radix.GroupedValues(part) for part in np.split(values, 8)])
    ranks = np.arange(1, 11) * 9_000
    found = radix.order_statistics(blocks, ranks)
    np.testing.assert_array_equal(found.values, np.sort(values)[ranks - 1])
    assert blocks.passes <= 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(data=st.data())
def test_edges_of_equal_mass_are_those_in_memory_bit_for_bit(dtype, data):
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n = data.draw(st.integers(1, 300))
    scores = generator.random(n).astype(dtype)
    if data.draw(st.booleans()):
        scores = scores.round(1)  # ties, zeros and ones among them
    n_bins = data.draw(st.integers(1, 30))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=4)))
    blocks = _Blocks([radix.GroupedValues(part) for part in np.split(scores, cuts)])
    in_blocks, in_memory = (
        *own_mass_in_blocks(blocks, n, n_bins),
        own_mass(scores, n_bins),
    )
    for one, other in (
        (in_blocks.intervals.edges, in_memory.intervals.edges),
        (in_blocks.intervals.strict, in_memory.intervals.strict),
        (in_blocks.dropped, in_memory.dropped),
    ):
        np.testing.assert_array_equal(one, other)
    assert in_blocks.n_boundary == in_memory.n_boundary
