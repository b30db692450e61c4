"""Rows that come in blocks: Dask's collections, and functions that return blocks.

How a fit reads them, before it reads arrays::

    blocks = read_blocks(args, {"probs": probs, "labels": labels})
    if blocks is not None:
        names = blocks.classes(classes)
        counts = blocks.total(partial(count_rows, names), add_up)

    def count_rows(names, block):  # of the module: tasks are pickled
        rows = block.probs(names)  # unchecked, as of `Arguments`
        labels = block.labels(names)
        ...

- `read_blocks` returns None where everything is an array in memory (a memory map is).
- `blocks.map(function)` returns what the function made of each block, in the order of
  the blocks; `blocks.total(function, add_up)` adds these up, several at a time and in
  an order that only the number of blocks decides. Each call is one pass over all rows.
  What a function returns is held by the client: let it be small.
- `block.args` are `Arguments` whose errors count rows from the first of all.
  `block["sample_weight"]` is what the block has for a parameter, as it came (an array,
  a Series or a DataFrame), or None.
- With Dask a block is one task, its kernels use one thread, all tasks are one call of
  `dask.compute` on the scheduler of the user's choice, and nothing of a block is kept
  when its task has ended. Those who want chunks kept between passes persist them.
- Methods that predict are lazy with Dask's rows if they are decorated, ``@lazy``.
- Blocks without rows are left out, unless there are no others: `map` then makes one of
  no rows, so that a fit says what it says of no rows.
- An iterator can be read once: fits of several passes say `again=True`, and it is
  refused.
"""

from distfreeuq._numerics.row_blocks.block import Block
from distfreeuq._numerics.row_blocks.iterated import values_of_block
from distfreeuq._numerics.row_blocks.lazy_rows import lazy
from distfreeuq._numerics.row_blocks.reading import (
    RowBlocks,
    is_in_blocks,
    is_iterated,
    read_blocks,
    refuse_blocks,
)

__all__ = [
    "Block",
    "RowBlocks",
    "is_in_blocks",
    "is_iterated",
    "lazy",
    "read_blocks",
    "refuse_blocks",
    "values_of_block",
]
