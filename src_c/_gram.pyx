"""Gram matrices of scaled rows, by blocks of rows.

The arithmetic is in gram.h. Sums are over blocks of rows, one partial sum each, as many as
the caller gives; the caller adds them in their order, so that the number of threads changes
nothing.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.stddef cimport ptrdiff_t

from _common cimport begin_watch, ctrl_c, end_watch, is_pressed


# `const void *` and `void *` are float or double: the C compiler chooses (portability.h).
cdef extern from "gram.h" nogil:
    int gram_rows(
        const void *rows, ptrdiff_t K, const double *row_scale, ptrdiff_t start,
        ptrdiff_t stop, double *sums)
    int gram_rows_single(
        const void *rows, ptrdiff_t K, const double *row_scale, ptrdiff_t start,
        ptrdiff_t stop, double *sums)


def _gram_rows(
    const floating[:, ::1] probs,
    const double[::1] row_scale,
    bint single,
    double[:, :, ::1] partial,
    int threads,
):
    """Add to partial[b], which is symmetric, row_scale^2 probs' probs of block b's rows.

    `single` multiplies in single precision, for callers who need six digits. `row_scale`
    may be of length 0: then it is one for every row.
    """
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], blocks = partial.shape[0], b
    cdef const double *scale = &row_scale[0] if row_scale.shape[0] > 0 else NULL
    cdef int failures = 0
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(blocks, nogil=True, num_threads=threads, schedule="dynamic"):
        if not is_pressed(&watch):
            if single:
                failures += gram_rows_single(
                    &probs[0, 0], K, scale, n * b // blocks, n * (b + 1) // blocks,
                    &partial[b, 0, 0])
            else:
                failures += gram_rows(
                    &probs[0, 0], K, scale, n * b // blocks, n * (b + 1) // blocks,
                    &partial[b, 0, 0])
    end_watch(&watch)
    if failures:
        raise MemoryError("no memory for a block of rows")
