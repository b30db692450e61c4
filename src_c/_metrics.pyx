"""Assessment: one read of a matrix of probabilities, then sums in bins.

Sums over rows are taken in blocks, as many as the output has room for, so that they do not
depend on the number of threads.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t, uint8_t

from _common cimport chunk_stop, count_chunks, rows_per_chunk


cdef extern from "metrics.h" nogil:
    ptrdiff_t read_rows_f32(
        const float *, ptrdiff_t, const int64_t *, double, ptrdiff_t, ptrdiff_t,
        int64_t *, float *, float *, double *)
    ptrdiff_t read_rows_f64(
        const double *, ptrdiff_t, const int64_t *, double, ptrdiff_t, ptrdiff_t,
        int64_t *, double *, double *, double *)
    void sum_class_bins_f32(const float *, ptrdiff_t, const int64_t *, const double *,
                            const float *, ptrdiff_t, ptrdiff_t, ptrdiff_t, double *)
    void sum_class_bins_f64(const double *, ptrdiff_t, const int64_t *, const double *,
                            const double *, ptrdiff_t, ptrdiff_t, ptrdiff_t, double *)


def _read_rows(
    const floating[:, ::1] probs,
    const int64_t[::1] labels,
    double tolerance,
    int64_t[::1] predicted,
    floating[::1] confidence,
    floating[::1] of_label,
    double[::1] brier,
    int threads,
):
    """Predicted class, its probability, the label's, and the Brier score of each row.

    `brier` may be of length 0: then it is left out. Rows are checked on the way: returns
    the first that is no probability vector within the tolerance, or -1, in which case
    alone the outputs are meaningful.
    """
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], chunk, start, stop, bad
    cdef ptrdiff_t first = n
    cdef ptrdiff_t *shared_first = &first  # through a pointer, or prange makes it private
    cdef ptrdiff_t rows = rows_per_chunk(K)
    cdef double *squares = &brier[0] if brier.shape[0] > 0 else NULL
    if n == 0:
        return -1
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="static"
    ):
        start = chunk * rows
        stop = chunk_stop(start, rows, n)
        if floating is float:
            bad = read_rows_f32(
                &probs[0, 0], K, &labels[0], tolerance, start, stop, &predicted[0],
                &confidence[0], &of_label[0], squares)
        else:
            bad = read_rows_f64(
                &probs[0, 0], K, &labels[0], tolerance, start, stop, &predicted[0],
                &confidence[0], &of_label[0], squares)
        if bad >= 0:
            with gil:
                shared_first[0] = min(shared_first[0], bad)
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


def _sum_class_bins(
    const floating[:, ::1] probs,
    const int64_t[::1] labels,
    const double[::1] weights,
    const floating[::1] edges,
    double[:, :, :, ::1] out,
    int threads,
):
    """Add to out[b] block b's sums (3, M, K) of w, w p_k and w 1{k is the label}.

    Bins are right-closed; `edges` are the interior ones, ascending. Weights in the first bin
    are not added: they are what the other bins leave of all.
    """
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], b, n_blocks = out.shape[0]
    cdef ptrdiff_t n_edges = edges.shape[0]
    cdef const floating *first_edge = &edges[0] if n_edges > 0 else NULL
    if n == 0:
        return
    for b in prange(n_blocks, nogil=True, num_threads=threads, schedule="static"):
        if floating is float:
            sum_class_bins_f32(&probs[0, 0], K, &labels[0], &weights[0], first_edge, n_edges,
                               b * n // n_blocks, (b + 1) * n // n_blocks, &out[b, 0, 0, 0])
        else:
            sum_class_bins_f64(&probs[0, 0], K, &labels[0], &weights[0], first_edge, n_edges,
                               b * n // n_blocks, (b + 1) * n // n_blocks, &out[b, 0, 0, 0])
