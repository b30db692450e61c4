"""Scores of nested prediction sets, and the sets themselves: rows in parallel.

The arithmetic is in nested_scores.h; here rows are dealt out to threads. A row's result
depends on that row alone, so neither the batch nor the number of threads can change it.

Rows are checked in the same read of the matrix: each function returns the first that is no
probability vector within the tolerance, or -1, in which case alone its outputs are
meaningful.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t, uint8_t

from _common cimport (
    begin_watch, chunk_stop, count_chunks, ctrl_c, end_watch, is_pressed, rows_per_chunk)


# `const void *` and `void *` are float or double: the C compiler chooses (portability.h).
cdef extern from "nested_scores.h" nogil:
    enum:
        ALL_GOOD
        NO_MEMORY

    ctypedef struct nested_score:
        int kind
        double penalty
        double k_reg
        double weight

    ptrdiff_t true_label_scores(
        const void *probs, ptrdiff_t K, double tolerance, const nested_score *score,
        const int64_t *labels, const double *uniforms, ptrdiff_t start, ptrdiff_t stop,
        double *out)
    ptrdiff_t all_label_scores(
        const void *probs, ptrdiff_t K, double tolerance, const nested_score *score,
        const double *uniforms, ptrdiff_t start, ptrdiff_t stop, double *out)
    ptrdiff_t prediction_sets(
        const void *probs, ptrdiff_t K, double tolerance, const nested_score *score,
        const double *uniforms, const double *thresholds, int one_per_row,
        int never_empty, ptrdiff_t start, ptrdiff_t stop, uint8_t *mask, int64_t *sizes)


cdef nested_score _unpack(tuple score):
    cdef nested_score s
    s.kind, s.penalty, s.k_reg, s.weight = score
    return s


cdef ptrdiff_t _first_found(ptrdiff_t first, ptrdiff_t n) except? -2:
    """The lowest of what the threads found among n rows: out of memory, a row, or -1."""
    if first == NO_MEMORY:
        raise MemoryError("no memory to select within a row of probabilities")
    return first if first < n else -1


def _true_label_scores(
    tuple score,
    const floating[:, ::1] probs,
    double tolerance,
    const int64_t[::1] labels,
    const double[::1] uniforms,
    double[::1] out,
    int threads,
):
    cdef nested_score s = _unpack(score)
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], chunk, start, stop, found
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
            found = true_label_scores(
                &probs[0, 0], K, tolerance, &s, &labels[0], &uniforms[0], start, stop,
                &out[0])
            if found != ALL_GOOD:
                with gil:
                    shared_first[0] = min(shared_first[0], found)
    end_watch(&watch)
    return _first_found(first, n)


def _all_label_scores(
    tuple score,
    const floating[:, ::1] probs,
    double tolerance,
    const double[::1] uniforms,
    double[:, ::1] out,
    int threads,
):
    cdef nested_score s = _unpack(score)
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], chunk, start, stop, found
    cdef ptrdiff_t rows = rows_per_chunk(K), first = n
    cdef ptrdiff_t *shared_first = &first
    if n == 0:
        return -1
    cdef ctrl_c watch = begin_watch()
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="dynamic"
    ):
        if not is_pressed(&watch):
            start = chunk * rows
            stop = chunk_stop(start, rows, n)
            found = all_label_scores(
                &probs[0, 0], K, tolerance, &s, &uniforms[0], start, stop, &out[0, 0])
            if found != ALL_GOOD:
                with gil:
                    shared_first[0] = min(shared_first[0], found)
    end_watch(&watch)
    return _first_found(first, n)


def _prediction_sets(
    tuple score,
    const floating[:, ::1] probs,
    double tolerance,
    const double[::1] uniforms,
    const double[::1] thresholds,
    bint one_per_row,
    bint never_empty,
    uint8_t[:, ::1] mask,
    int64_t[::1] sizes,
    int threads,
):
    cdef nested_score s = _unpack(score)
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], chunk, start, stop, found
    cdef ptrdiff_t rows = rows_per_chunk(K), first = n
    cdef ptrdiff_t *shared_first = &first
    if n == 0:
        return -1
    cdef ctrl_c watch = begin_watch()
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="dynamic"
    ):
        if not is_pressed(&watch):
            start = chunk * rows
            stop = chunk_stop(start, rows, n)
            found = prediction_sets(
                &probs[0, 0], K, tolerance, &s, &uniforms[0], &thresholds[0],
                one_per_row, never_empty, start, stop, &mask[0, 0], &sizes[0])
            if found != ALL_GOOD:
                with gil:
                    shared_first[0] = min(shared_first[0], found)
    end_watch(&watch)
    return _first_found(first, n)
