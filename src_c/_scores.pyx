"""Scores of nested prediction sets, and the sets themselves: rows in parallel.

The arithmetic is in nested_scores.h; here rows are dealt out to threads. A row's result
depends on that row alone, so neither the batch nor the number of threads can change it.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t, uint8_t

from _common cimport chunk_stop, count_chunks, rows_per_chunk


cdef extern from "nested_scores.h" nogil:
    ctypedef struct nested_score:
        int kind
        double penalty
        double k_reg
        double weight

    void true_label_scores_f32(
        const nested_score *, const float *, ptrdiff_t, const int64_t *, const double *,
        ptrdiff_t, ptrdiff_t, double *)
    void true_label_scores_f64(
        const nested_score *, const double *, ptrdiff_t, const int64_t *, const double *,
        ptrdiff_t, ptrdiff_t, double *)
    int all_label_scores_f32(
        const nested_score *, const float *, ptrdiff_t, const double *,
        ptrdiff_t, ptrdiff_t, double *)
    int all_label_scores_f64(
        const nested_score *, const double *, ptrdiff_t, const double *,
        ptrdiff_t, ptrdiff_t, double *)
    int prediction_sets_f32(
        const nested_score *, const float *, ptrdiff_t, const double *, const double *, int, int,
        ptrdiff_t, ptrdiff_t, uint8_t *, int64_t *)
    int prediction_sets_f64(
        const nested_score *, const double *, ptrdiff_t, const double *, const double *, int, int,
        ptrdiff_t, ptrdiff_t, uint8_t *, int64_t *)


cdef nested_score _unpack(tuple score):
    cdef nested_score s
    s.kind, s.penalty, s.k_reg, s.weight = score
    return s


def _true_label_scores(
    tuple score,
    const floating[:, ::1] probs,
    const int64_t[::1] labels,
    const double[::1] uniforms,
    double[::1] out,
    int threads,
):
    cdef nested_score s = _unpack(score)
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], chunk, start
    cdef ptrdiff_t rows = rows_per_chunk(K)
    if n == 0:
        return
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="static"
    ):
        start = chunk * rows
        if floating is float:
            true_label_scores_f32(
                &s, &probs[0, 0], K, &labels[0], &uniforms[0],
                start, chunk_stop(start, rows, n), &out[0])
        else:
            true_label_scores_f64(
                &s, &probs[0, 0], K, &labels[0], &uniforms[0],
                start, chunk_stop(start, rows, n), &out[0])


def _all_label_scores(
    tuple score,
    const floating[:, ::1] probs,
    const double[::1] uniforms,
    double[:, ::1] out,
    int threads,
):
    cdef nested_score s = _unpack(score)
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], chunk, start
    cdef ptrdiff_t rows = rows_per_chunk(K)
    cdef int failures = 0
    if n == 0:
        return
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="dynamic"
    ):
        start = chunk * rows
        if floating is float:
            failures += all_label_scores_f32(
                &s, &probs[0, 0], K, &uniforms[0],
                start, chunk_stop(start, rows, n), &out[0, 0])
        else:
            failures += all_label_scores_f64(
                &s, &probs[0, 0], K, &uniforms[0],
                start, chunk_stop(start, rows, n), &out[0, 0])
    if failures:
        raise MemoryError("no memory to sort a row of scores")


def _prediction_sets(
    tuple score,
    const floating[:, ::1] probs,
    const double[::1] uniforms,
    const double[::1] thresholds,
    bint one_per_row,
    bint never_empty,
    uint8_t[:, ::1] mask,
    int64_t[::1] sizes,
    int threads,
):
    cdef nested_score s = _unpack(score)
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], chunk, start
    cdef ptrdiff_t rows = rows_per_chunk(K)
    cdef int failures = 0
    if n == 0:
        return
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="dynamic"
    ):
        start = chunk * rows
        if floating is float:
            failures += prediction_sets_f32(
                &s, &probs[0, 0], K, &uniforms[0], &thresholds[0], one_per_row, never_empty,
                start, chunk_stop(start, rows, n), &mask[0, 0], &sizes[0])
        else:
            failures += prediction_sets_f64(
                &s, &probs[0, 0], K, &uniforms[0], &thresholds[0], one_per_row, never_empty,
                start, chunk_stop(start, rows, n), &mask[0, 0], &sizes[0])
    if failures:
        raise MemoryError("no memory to select within a row of probabilities")
