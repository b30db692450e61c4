"""Bins of the unit interval and cells of the simplex: which one a row falls into.

Places in the unit interval are looked up in a table of equal buckets: bucket
floor(value * size), with a size that is a power of two, so that the product is exact and a
value in a lower bucket is smaller, whatever the rounding. Without the table, by searching all
edges, in nanoseconds per value (n = 100,000, one thread, min of 60):

    edges         14            199           9999
    assign        1.0 -> 3.8    1.5 -> 9.7    7.2 -> 24
    tabulate      2.4 -> 7.3    2.3 -> 13     8.7 -> 30
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint8_t

from _common cimport (
    begin_watch, chunk_stop, count_chunks, ctrl_c, end_watch, is_pressed, rows_per_chunk)

cdef enum:
    TABLE_SIZE = 4096  # buckets of the table of edges: 16 KiB, half of a level-1 cache

# `const void *` and `void *` are float or double: the C compiler chooses (portability.h).
cdef extern from "cell_sums.h" nogil:
    void sum_cells(
        const void *rows, ptrdiff_t K, const int64_t *cells, const double *weights,
        ptrdiff_t start, ptrdiff_t stop, double *totals)


cdef inline ptrdiff_t _bucket(floating value, ptrdiff_t size) noexcept nogil:
    """Bucket of a value; below 0 the first, from 1 on (and for NaN) the last."""
    cdef double place = <double>value * size
    place = place if place < size - 1 else size - 1
    return <ptrdiff_t>(place if place > 0.0 else 0.0)


cdef inline int64_t _edges_below(
    const floating *edges, ptrdiff_t n_edges, floating value, bint closed_right
) noexcept nogil:
    """Number of edges below the value; an edge equal to it counts in left-closed bins.

    The search has no branch on the data: its trip count depends on n_edges alone.
    """
    cdef ptrdiff_t low = 0, remaining = n_edges, half
    cdef floating edge
    if n_edges == 0:
        return 0
    while remaining > 1:
        half = remaining // 2
        edge = edges[low + half - 1]
        low += half * (edge < value if closed_right else edge <= value)
        remaining -= half
    edge = edges[low]
    return low + (edge < value if closed_right else edge <= value)


cdef inline void _fill_table(
    const floating *edges, ptrdiff_t n_edges, int32_t *first
) noexcept nogil:
    """first[j]: number of edges in the buckets before j; j = 0 .. TABLE_SIZE."""
    cdef ptrdiff_t j = 0, e
    for e in range(n_edges):
        while j <= _bucket(edges[e], TABLE_SIZE):
            first[j] = <int32_t>e
            j += 1
    while j <= TABLE_SIZE:
        first[j] = <int32_t>n_edges
        j += 1


cdef inline int64_t _look_up(
    const floating *edges, const int32_t *first, floating value, bint closed_right
) noexcept nogil:
    """Number of edges below the value: only those in its own bucket are searched."""
    cdef ptrdiff_t j = _bucket(value, TABLE_SIZE)
    cdef int64_t low = first[j]
    if first[j + 1] == low:
        return low
    return low + _edges_below(edges + low, first[j + 1] - low, value, closed_right)


def _assign_bins(
    const floating[::1] values,
    const floating[::1] edges,
    bint closed_right,
    int64_t[::1] out,
    int threads,
):
    """Bin 0 .. len(edges) of each value; `edges` are the interior ones, ascending.

    Right-closed: bin m is (edges[m-1], edges[m]]. Left-closed: [edges[m-1], edges[m]).
    """
    cdef ptrdiff_t i, n = values.shape[0], n_edges = edges.shape[0]
    cdef const floating *first_edge = &edges[0] if n_edges > 0 else NULL
    cdef int32_t[TABLE_SIZE + 1] table
    cdef const int32_t *first = table
    if n < TABLE_SIZE:  # too few values for a table to pay
        for i in range(n):
            out[i] = _edges_below(first_edge, n_edges, values[i], closed_right)
        return
    _fill_table(first_edge, n_edges, table)
    cdef ptrdiff_t chunk, rows = rows_per_chunk(1)
    cdef ctrl_c watch = begin_watch()
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="static"
    ):
        if not is_pressed(&watch):
            for i in range(chunk * rows, chunk_stop(chunk * rows, rows, n)):
                out[i] = _look_up(first_edge, first, values[i], closed_right)
    end_watch(&watch)


# Scores are often a column of a matrix: the kernels below take them as they lie.


def _count_buckets(const floating[:] values, int64_t[::1] out):
    """Add to out[j] the number of values in bucket j of len(out), a power of two."""
    cdef ptrdiff_t i, size = out.shape[0]
    with nogil:
        for i in range(values.shape[0]):
            out[_bucket(values[i], size)] += 1


def _gather_buckets(
    const floating[:] values, const uint8_t[::1] wanted, floating[::1] out
):
    """Copy to `out`, in their order, the values in buckets that are wanted.

    `out` has room for one value more than there are: every value is written, and the
    place is taken only if it is wanted, which spares a branch.
    """
    cdef ptrdiff_t i, size = wanted.shape[0], place = 0
    with nogil:
        for i in range(values.shape[0]):
            out[place] = values[i]
            place += wanted[_bucket(values[i], size)]


cdef inline void _tabulate_block(
    const floating *value, ptrdiff_t stride, const int64_t *labels, ptrdiff_t n,
    const floating *edges, ptrdiff_t n_edges, const int32_t *first,
    const uint8_t *dropped, int64_t *counts, ptrdiff_t n_labels, double *totals
) noexcept nogil:
    cdef ptrdiff_t i
    cdef int64_t m
    for i in range(n):
        m = _look_up(edges, first, value[0], True)
        if not (m < n_edges and edges[m] == value[0] and dropped[m]):
            counts[m * n_labels + labels[i]] += 1
            totals[m] += value[0]
        value += stride


def _tabulate_scores(
    const floating[:] values,
    const int64_t[::1] labels,
    const floating[::1] edges,
    const uint8_t[::1] dropped,
    int64_t[:, :, ::1] counts,
    double[:, ::1] totals,
    int threads,
):
    """Add to counts[b, m, k] block b's rows of right-closed bin m with label k, and to
    totals[b, m] their values. A value that equals a dropped edge is in no bin.

    The blocks are as many as the outputs have room for: sums over them do not depend on
    the number of threads.
    """
    cdef ptrdiff_t n = values.shape[0], n_edges = edges.shape[0], b, start
    cdef ptrdiff_t n_blocks = counts.shape[0], n_labels = counts.shape[2]
    cdef const floating *first_edge = &edges[0] if n_edges > 0 else NULL
    cdef const uint8_t *first_dropped = &dropped[0] if n_edges > 0 else NULL
    cdef int32_t[TABLE_SIZE + 1] table
    cdef const int32_t *first = table
    if n == 0:
        return
    _fill_table(first_edge, n_edges, table)
    cdef ctrl_c watch = begin_watch()
    for b in prange(n_blocks, nogil=True, num_threads=threads, schedule="static"):
        if not is_pressed(&watch):
            start = b * n // n_blocks
            _tabulate_block(
                &values[start], values.strides[0] // <ptrdiff_t>sizeof(floating),
                &labels[start], (b + 1) * n // n_blocks - start,
                first_edge, n_edges, first, first_dropped,
                &counts[b, 0, 0], n_labels, &totals[b, 0])
    end_watch(&watch)


cdef inline void _tabulate_rows(
    const floating *row, const int64_t *labels, ptrdiff_t n, ptrdiff_t K,
    const floating *edges, const int32_t *first, int64_t *counts, double *totals
) noexcept nogil:
    cdef ptrdiff_t i, k, cell
    for i in range(n):
        for k in range(K):
            cell = _look_up(edges, first, row[k], True) * K + k
            counts[cell * K + labels[i]] += 1
            totals[cell] += row[k]
        row += K


def _tabulate_columns(
    const floating[:, ::1] probs,
    const int64_t[::1] labels,
    const floating[::1] edges,
    int64_t[:, :, :, ::1] counts,
    double[:, :, ::1] totals,
    int threads,
):
    """Add to counts[b, m, k, y] block b's rows of label y whose entry k is in
    right-closed bin m, and to totals[b, m, k] these entries; blocks as in
    `_tabulate_scores`. All columns have the same bins, and the matrix is read once.
    """
    cdef ptrdiff_t n = probs.shape[0], n_edges = edges.shape[0], b, start
    cdef ptrdiff_t n_blocks = counts.shape[0], K = probs.shape[1]
    cdef const floating *first_edge = &edges[0] if n_edges > 0 else NULL
    cdef int32_t[TABLE_SIZE + 1] table
    cdef const int32_t *first = table
    if n == 0:
        return
    _fill_table(first_edge, n_edges, table)
    cdef ctrl_c watch = begin_watch()
    for b in prange(n_blocks, nogil=True, num_threads=threads, schedule="static"):
        if not is_pressed(&watch):
            start = b * n // n_blocks
            _tabulate_rows(&probs[start, 0], &labels[start], (b + 1) * n // n_blocks - start,
                           K, first_edge, first, &counts[b, 0, 0, 0], &totals[b, 0, 0])
    end_watch(&watch)


cdef inline void _take_block(
    const floating *value, ptrdiff_t stride, ptrdiff_t n,
    const floating *edges, const int32_t *first,
    const floating *rows, ptrdiff_t K, floating *out
) noexcept nogil:
    cdef ptrdiff_t i, k
    cdef const floating *row
    for i in range(n):
        row = rows + K * _look_up(edges, first, value[0], True)
        for k in range(K):
            out[k] = row[k]
        value += stride
        out += K


def _take_rows_of_bins(
    const floating[:] values,
    const floating[::1] edges,
    const floating[:, ::1] rows,
    floating[:, ::1] out,
    int threads,
):
    """Copy to out[i] the row of `rows` of the right-closed bin of each value."""
    cdef ptrdiff_t n = values.shape[0], n_edges = edges.shape[0], K = rows.shape[1]
    cdef ptrdiff_t b, start
    cdef const floating *first_edge = &edges[0] if n_edges > 0 else NULL
    cdef int32_t[TABLE_SIZE + 1] table
    cdef const int32_t *first = table
    if n == 0:
        return
    _fill_table(first_edge, n_edges, table)
    for b in prange(threads, nogil=True, num_threads=threads, schedule="static"):
        start = b * n // threads
        # By far the most common, and the compiler unrolls the copy. Without this:
        # 1.19 -> 1.43 ns per value at 14 edges (n = 100,000, min of 60).
        if K == 2:
            _take_block(
                &values[start], values.strides[0] // <ptrdiff_t>sizeof(floating),
                (b + 1) * n // threads - start, first_edge, first, &rows[0, 0], 2,
                &out[start, 0])
        else:
            _take_block(
                &values[start], values.strides[0] // <ptrdiff_t>sizeof(floating),
                (b + 1) * n // threads - start, first_edge, first, &rows[0, 0], K,
                &out[start, 0])


def _mark_on_edges(
    const floating[:] values,
    const floating[::1] edges,
    const uint8_t[::1] excepted,
    uint8_t[::1] marks,
    int threads,
):
    """Set marks[i] to 1 where a value is an excepted edge, and leave the other marks.

    Of equal edges the first counts.
    """
    cdef ptrdiff_t i, n = values.shape[0], n_edges = edges.shape[0]
    cdef int64_t m
    cdef int32_t[TABLE_SIZE + 1] table
    cdef const int32_t *first = table
    if n == 0 or n_edges == 0:
        return
    _fill_table(&edges[0], n_edges, table)
    for i in prange(n, nogil=True, num_threads=threads, schedule="static"):
        m = _look_up(&edges[0], first, values[i], True)
        if m < n_edges and edges[m] == values[i] and excepted[m]:
            marks[i] = 1


def _count_labels(const int64_t[::1] bins, const int64_t[::1] labels, int64_t[:, ::1] out):
    """Add to out[m, k] the number of rows in bin m with label k; negative bins are none."""
    cdef ptrdiff_t i
    with nogil:
        for i in range(bins.shape[0]):
            if bins[i] >= 0:
                out[bins[i], labels[i]] += 1


def _sum_label_weights(
    const int64_t[::1] bins,
    const int64_t[::1] labels,
    const double[::1] weights,
    double[:, ::1] out,
):
    """Add to out[m, k] the weights of the rows in bin m with label k; as `_count_labels`."""
    cdef ptrdiff_t i
    with nogil:
        for i in range(bins.shape[0]):
            if bins[i] >= 0:
                out[bins[i], labels[i]] += weights[i]


def _assign_cells(
    const floating[:, ::1] rows,
    const int64_t[::1] column,
    const floating[::1] threshold,
    const int64_t[:, ::1] child,
    int64_t[::1] out,
    int threads,
):
    """Cell of each row by a tree of splits, from node 0 downwards.

    At node j a row goes to child[j, 0] if its entry in column[j] is at most threshold[j],
    else to child[j, 1]: a node if that is not negative, else the cell -1 - child.
    """
    cdef ptrdiff_t i, n = rows.shape[0]
    cdef int64_t node, last = column.shape[0] - 1
    for i in prange(n, nogil=True, num_threads=threads, schedule="static"):
        node = 0 if last >= 0 else -1
        while node >= 0:
            node = child[node, rows[i, column[node]] > threshold[node]]
        out[i] = -1 - node


def _sum_cells(
    const floating[:, ::1] rows,
    const int64_t[::1] cells,
    const double[::1] weights,
    double[:, :, ::1] totals,
    int threads,
):
    """Add to totals[b, m] the weighted rows of block b in cell m; negative cells are none.

    The blocks are as many as the output has room for: sums over them do not depend on the
    number of threads.
    """
    cdef ptrdiff_t n = rows.shape[0], K = rows.shape[1], b, start, stop
    cdef ptrdiff_t n_blocks = totals.shape[0]
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(n_blocks, nogil=True, num_threads=threads, schedule="static"):
        if not is_pressed(&watch):
            start = b * n // n_blocks
            stop = (b + 1) * n // n_blocks
            sum_cells(
                &rows[0, 0], K, &cells[0], &weights[0], start, stop, &totals[b, 0, 0])
    end_watch(&watch)
