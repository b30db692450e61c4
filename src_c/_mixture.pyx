"""Sums by class, mixture likelihoods and their calibration, by rows of probabilities.

The arithmetic is in mixture.h; here rows are dealt out to threads. Sums are over blocks of
rows, one partial sum each, as many as the caller gives; the caller adds them in their order,
so that the number of threads changes nothing.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t

from _common cimport (
    begin_watch, chunk_stop, count_chunks, ctrl_c, end_watch, is_pressed, rows_per_chunk)


# `const void *` and `void *` are float or double: the C compiler chooses (portability.h).
cdef extern from "mixture.h" nogil:
    ptrdiff_t predict_rows(
        const void *probs, ptrdiff_t K, double tolerance, ptrdiff_t start,
        ptrdiff_t stop, int64_t *predicted)
    ptrdiff_t reweight_rows(
        const void *probs, ptrdiff_t K, const double *factors, double tolerance,
        ptrdiff_t start, ptrdiff_t stop, void *out)
    void sum_by_class(
        const void *probs, ptrdiff_t K, const int64_t *labels, const double *row_weight,
        ptrdiff_t start, ptrdiff_t stop, double *sums)
    void mixture_likelihood(
        const void *probs, ptrdiff_t K, const double *row_weight,
        const double *class_weight, ptrdiff_t start, ptrdiff_t stop, double *density,
        double *sums)
    int scale_rows(
        const void *probs, ptrdiff_t K, double slope, const double *bias, double floor,
        ptrdiff_t start, ptrdiff_t stop, void *out)
    int scaled_likelihood(
        const void *probs, ptrdiff_t K, const int64_t *labels, const double *row_weight,
        double slope, const double *bias, double floor, ptrdiff_t start, ptrdiff_t stop,
        double *by_slope, double *sums)


def _predict_rows(
    const floating[:, ::1] probs, double tolerance, int64_t[::1] predicted, int threads
):
    """Column of each row's largest entry, the first one if several tie.

    Rows are checked on the way: returns the first that is no probability vector within
    the tolerance, or -1, in which case alone the output is meaningful.
    """
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], chunk, start, stop, bad
    cdef ptrdiff_t rows = rows_per_chunk(K), first = n
    cdef ptrdiff_t *shared_first = &first  # through a pointer, or prange makes it private
    if n == 0:
        return -1
    cdef ctrl_c watch = begin_watch()
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="static"
    ):
        if not is_pressed(&watch):
            start = chunk * rows
            stop = chunk_stop(start, rows, n)
            bad = predict_rows(&probs[0, 0], K, tolerance, start, stop, &predicted[0])
            if bad >= 0:
                with gil:
                    shared_first[0] = min(shared_first[0], bad)
    end_watch(&watch)
    return first if first < n else -1


def _reweight_rows(
    const floating[:, ::1] probs,
    const double[::1] factors,
    double tolerance,
    floating[:, ::1] out,
    int threads,
):
    """factors * row / their sum by rows; a row without such a sum stays as it is.

    Rows are checked on the way, as by `_predict_rows`.
    """
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], chunk, start, stop, bad
    cdef ptrdiff_t rows = rows_per_chunk(K), first = n
    cdef ptrdiff_t *shared_first = &first  # through a pointer, or prange makes it private
    if n == 0:
        return -1
    cdef ctrl_c watch = begin_watch()
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="static"
    ):
        if not is_pressed(&watch):
            start = chunk * rows
            stop = chunk_stop(start, rows, n)
            bad = reweight_rows(
                &probs[0, 0], K, &factors[0], tolerance, start, stop, &out[0, 0])
            if bad >= 0:
                with gil:
                    shared_first[0] = min(shared_first[0], bad)
    end_watch(&watch)
    return first if first < n else -1


def _sum_by_class(
    const floating[:, ::1] probs,
    const int64_t[::1] labels,
    const double[::1] row_weight,
    double[:, :, ::1] partial,
    int threads,
):
    """Add to partial[b, y] the weighted rows of block b with label y.

    `labels` may be of length 0: then all are 0; `row_weight` too: then every row counts
    once.
    """
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], blocks = partial.shape[0], b
    cdef const int64_t *classes = &labels[0] if labels.shape[0] > 0 else NULL
    cdef const double *weights = &row_weight[0] if row_weight.shape[0] > 0 else NULL
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(blocks, nogil=True, num_threads=threads, schedule="dynamic"):
        if not is_pressed(&watch):
            sum_by_class(
                &probs[0, 0], K, classes, weights,
                n * b // blocks, n * (b + 1) // blocks, &partial[b, 0, 0])
    end_watch(&watch)


def _mixture_likelihood(
    const floating[:, ::1] probs,
    const double[::1] row_weight,
    const double[::1] class_weight,
    double[::1] density,
    double[:, ::1] partial,
    int threads,
):
    """Densities d = probs @ class_weight; add to partial[b] the sums of block b.

    Columns 0..K-1: weight * probs / d; column K: weight * log(d); column K + 1: the weight
    of the rows with d = 0, which the other columns leave out. `row_weight` may be of
    length 0: then every row counts once.
    """
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], blocks = partial.shape[0], b
    cdef const double *weights = &row_weight[0] if row_weight.shape[0] > 0 else NULL
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(blocks, nogil=True, num_threads=threads, schedule="dynamic"):
        if not is_pressed(&watch):
            mixture_likelihood(
                &probs[0, 0], K, weights, &class_weight[0],
                n * b // blocks, n * (b + 1) // blocks, &density[0], &partial[b, 0])
    end_watch(&watch)


def _scale_rows(
    const floating[:, ::1] probs,
    double slope,
    const double[::1] bias,
    double floor,
    floating[:, ::1] out,
    int threads,
):
    """softmax(slope * log(max(probs, floor)) + bias) by rows."""
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], chunk, start
    cdef ptrdiff_t rows = rows_per_chunk(K)
    cdef int failures = 0
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="dynamic"
    ):
        if not is_pressed(&watch):
            start = chunk * rows
            failures += scale_rows(
                &probs[0, 0], K, slope, &bias[0], floor,
                start, chunk_stop(start, rows, n), &out[0, 0])
    end_watch(&watch)
    if failures:
        raise MemoryError("no memory to scale a row of probabilities")


def _scaled_likelihood(
    const floating[:, ::1] probs,
    const int64_t[::1] labels,
    const double[::1] row_weight,
    double slope,
    const double[::1] bias,
    double floor,
    double[::1] by_slope,
    double[:, ::1] partial,
    int threads,
):
    """Loss of the labels under softmax(slope * log(max(probs, floor)) + bias).

    Add to partial[b] the sums of block b: columns 0..K-1 the negative log-likelihood's
    derivatives by the bias, K by the slope, K + 1 itself, K + 2 .. 2K + 1 its second
    derivatives by bias and slope, 2K + 2 by the slope twice. by_slope holds each row's
    derivative by the slope.
    """
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], blocks = partial.shape[0], b
    cdef int failures = 0
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(blocks, nogil=True, num_threads=threads, schedule="dynamic"):
        if not is_pressed(&watch):
            failures += scaled_likelihood(
                &probs[0, 0], K, &labels[0], &row_weight[0], slope, &bias[0], floor,
                n * b // blocks, n * (b + 1) // blocks, &by_slope[0],
                &partial[b, 0])
    end_watch(&watch)
    if failures:
        raise MemoryError("no memory to scale a row of probabilities")
