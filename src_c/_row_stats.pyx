"""Statistics of rows of probabilities, in one read, and sums of them in bins.

The arithmetic is in row_stats.h.

Sums over rows are taken in blocks, as many as the output has room for, so that they do not
depend on the number of threads.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t, uint8_t

from _common cimport (
    begin_watch, chunk_stop, count_chunks, ctrl_c, end_watch, is_pressed, rows_per_chunk)


# `const void *` and `void *` are float or double: the C compiler chooses (portability.h).
cdef extern from "row_stats.h" nogil:
    ptrdiff_t read_rows(
        const void *probs, ptrdiff_t K, const int64_t *labels, double tolerance,
        ptrdiff_t start, ptrdiff_t stop, uint8_t *hits, int64_t *predicted,
        void *confidence, void *of_label, double *brier)
    ptrdiff_t sum_class_gaps(
        const void *probs, ptrdiff_t K, const int64_t *labels, const double *weights,
        double tolerance, const void *edges, ptrdiff_t n_edges, ptrdiff_t start,
        ptrdiff_t stop, double *gaps)


def _read_rows(
    const floating[:, ::1] probs,
    const int64_t[::1] labels,
    double tolerance,
    uint8_t[::1] hits,
    int64_t[::1] predicted,
    floating[::1] confidence,
    floating[::1] of_label,
    double[::1] brier,
    int threads,
):
    """For each row: whether the predicted class is the label, that class, its
    probability, the label's, and the Brier score.

    Outputs other than `hits` may be of length 0: then they are left out. Rows are checked
    on the way: returns the first that is no probability vector within the tolerance, or
    -1, in which case alone the outputs are meaningful.
    """
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], chunk, start, stop, bad
    cdef ptrdiff_t first = n
    cdef ptrdiff_t *shared_first = &first  # through a pointer, or prange makes it private
    cdef ptrdiff_t rows = rows_per_chunk(K)
    cdef int64_t *to_predicted = &predicted[0] if predicted.shape[0] > 0 else NULL
    cdef floating *to_confidence = &confidence[0] if confidence.shape[0] > 0 else NULL
    cdef floating *to_of_label = &of_label[0] if of_label.shape[0] > 0 else NULL
    cdef double *to_brier = &brier[0] if brier.shape[0] > 0 else NULL
    if n == 0:
        return -1
    cdef ctrl_c watch = begin_watch()
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="static"
    ):
        if not is_pressed(&watch):
            start = chunk * rows
            stop = chunk_stop(start, rows, n)
            bad = read_rows(
                &probs[0, 0], K, &labels[0], tolerance, start, stop, &hits[0], to_predicted,
                to_confidence, to_of_label, to_brier)
            if bad >= 0:
                with gil:
                    shared_first[0] = min(shared_first[0], bad)
    end_watch(&watch)
    return first if first < n else -1


def _sum_bins(
    const int64_t[::1] cells,
    const floating[::1] confidence,
    const uint8_t[::1] hits,
    const double[::1] weights,
    double[:, ::1] out,
):
    """Add to out[cell] the sums of w, w c, w z, w^2 and w (c - z)^2, z = 1 for a hit."""
    cdef ptrdiff_t i
    cdef double w, c, z, gap
    cdef double *sums
    if out.shape[0] == 0:
        return
    with nogil:
        for i in range(cells.shape[0]):
            w = weights[i]
            c = <double>confidence[i]
            z = <double>hits[i]
            gap = c - z
            sums = &out[cells[i], 0]
            sums[0] += w
            sums[1] += w * c
            sums[2] += w * z
            sums[3] += w * w
            sums[4] += w * (gap * gap)


def _sum_class_gaps(
    const floating[:, ::1] probs,
    const int64_t[::1] labels,
    const double[::1] weights,
    double tolerance,
    const floating[::1] edges,
    double[:, :, ::1] out,
    int threads,
):
    """Add to out[b] block b's sums (M, K) of w (p_k - 1{k is the label}) by bin of p_k.

    Bins are right-closed; `edges` are the interior ones, ascending. Rows are checked on the
    way, and the first that is no probability vector is returned, as by `_read_rows`.
    """
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], b, n_blocks = out.shape[0], bad
    cdef ptrdiff_t n_edges = edges.shape[0], first = n
    cdef ptrdiff_t *shared_first = &first
    cdef const floating *first_edge = &edges[0] if n_edges > 0 else NULL
    if n == 0:
        return -1
    cdef ctrl_c watch = begin_watch()
    for b in prange(n_blocks, nogil=True, num_threads=threads, schedule="static"):
        if not is_pressed(&watch):
            bad = sum_class_gaps(
                &probs[0, 0], K, &labels[0], &weights[0], tolerance, first_edge, n_edges,
                b * n // n_blocks, (b + 1) * n // n_blocks, &out[b, 0, 0])
            if bad >= 0:
                with gil:
                    shared_first[0] = min(shared_first[0], bad)
    end_watch(&watch)
    return first if first < n else -1
