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

from _common cimport chunk_stop, count_chunks, rows_per_chunk


cdef extern from "nested_scores.h" nogil:
    enum:
        ALL_GOOD
        NO_MEMORY

    ctypedef struct nested_score:
        int kind
        double penalty
        double k_reg
        double weight

    ptrdiff_t true_label_scores_f32(
        const nested_score *, const float *, ptrdiff_t, double, const int64_t *,
        const double *, ptrdiff_t, ptrdiff_t, double *)
    ptrdiff_t true_label_scores_f64(
        const nested_score *, const double *, ptrdiff_t, double, const int64_t *,
        const double *, ptrdiff_t, ptrdiff_t, double *)
    ptrdiff_t all_label_scores_f32(
        const nested_score *, const float *, ptrdiff_t, double, const double *,
        ptrdiff_t, ptrdiff_t, double *)
    ptrdiff_t all_label_scores_f64(
        const nested_score *, const double *, ptrdiff_t, double, const double *,
        ptrdiff_t, ptrdiff_t, double *)
    ptrdiff_t prediction_sets_f32(
        const nested_score *, const float *, ptrdiff_t, double, const double *,
        const double *, int, int, ptrdiff_t, ptrdiff_t, uint8_t *, int64_t *)
    ptrdiff_t prediction_sets_f64(
        const nested_score *, const double *, ptrdiff_t, double, const double *,
        const double *, int, int, ptrdiff_t, ptrdiff_t, uint8_t *, int64_t *)


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
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="static"
    ):
        start = chunk * rows
        stop = chunk_stop(start, rows, n)
        if floating is float:
            found = true_label_scores_f32(
                &s, &probs[0, 0], K, tolerance, &labels[0], &uniforms[0], start, stop,
                &out[0])
        else:
            found = true_label_scores_f64(
                &s, &probs[0, 0], K, tolerance, &labels[0], &uniforms[0], start, stop,
                &out[0])
        if found != ALL_GOOD:
            with gil:
                shared_first[0] = min(shared_first[0], found)
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
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="dynamic"
    ):
        start = chunk * rows
        stop = chunk_stop(start, rows, n)
        if floating is float:
            found = all_label_scores_f32(
                &s, &probs[0, 0], K, tolerance, &uniforms[0], start, stop, &out[0, 0])
        else:
            found = all_label_scores_f64(
                &s, &probs[0, 0], K, tolerance, &uniforms[0], start, stop, &out[0, 0])
        if found != ALL_GOOD:
            with gil:
                shared_first[0] = min(shared_first[0], found)
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
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="dynamic"
    ):
        start = chunk * rows
        stop = chunk_stop(start, rows, n)
        if floating is float:
            found = prediction_sets_f32(
                &s, &probs[0, 0], K, tolerance, &uniforms[0], &thresholds[0],
                one_per_row, never_empty, start, stop, &mask[0, 0], &sizes[0])
        else:
            found = prediction_sets_f64(
                &s, &probs[0, 0], K, tolerance, &uniforms[0], &thresholds[0],
                one_per_row, never_empty, start, stop, &mask[0, 0], &sizes[0])
        if found != ALL_GOOD:
            with gil:
                shared_first[0] = min(shared_first[0], found)
    return _first_found(first, n)
