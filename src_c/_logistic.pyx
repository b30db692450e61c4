"""Logistic regression, of many classes and of two: rows in parallel.

The arithmetic is in linear_softmax.h and logistic_loss.h.

Sums are made per block of rows, and the caller adds the blocks: how many there are does not
depend on the number of threads, so neither does any result.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t

from _common cimport begin_watch, chunk_stop, ctrl_c, end_watch, is_pressed


# `const void *` and `void *` are float or double: the C compiler chooses (portability.h).
cdef extern from "linear_softmax.h" nogil:
    enum:
        PRODUCT_ROWS

    int add_linear_nll(
        const void *logits, ptrdiff_t K, const int64_t *labels, const double *weights,
        const double *coef, const double *bias, ptrdiff_t start, ptrdiff_t stop,
        double *sums)
    int add_linear_products(
        const void *logits, ptrdiff_t K, const int64_t *labels, const double *weights,
        const double *coef, const double *bias, int scores, ptrdiff_t start,
        ptrdiff_t stop, double *sums)
    int linear_softmax(
        const void *logits, ptrdiff_t K, const double *coef, const double *bias,
        ptrdiff_t start, ptrdiff_t stop, void *out)


cdef extern from "logistic_loss.h" nogil:
    void add_logistic_losses(
        const double *design, ptrdiff_t p, const double *targets, const double *weights,
        ptrdiff_t r, const double *parameters, ptrdiff_t start, ptrdiff_t stop,
        double *sums)


def _sum_linear_nll(
    const floating[:, ::1] logits,
    const int64_t[::1] labels,
    const double[::1] weights,
    const double[:, ::1] coef,
    const double[::1] bias,
    double[:, ::1] sums,
    int threads,
):
    """Add to sums (B, 1 + K (K + 1)) the NLL of softmax(coef z + bias), and its gradient in
    the rows (coef_k, bias_k)."""
    cdef ptrdiff_t n = logits.shape[0], K = logits.shape[1], B = sums.shape[0], b
    cdef int failures = 0
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(B, nogil=True, num_threads=threads, schedule="dynamic"):
        if not is_pressed(&watch):
            failures += add_linear_nll(
                &logits[0, 0], K, &labels[0], &weights[0], &coef[0, 0], &bias[0],
                n * b // B, n * (b + 1) // B, &sums[b, 0])
    end_watch(&watch)
    if failures:
        raise MemoryError("no memory for a block of rows")


cdef ptrdiff_t _rows_per_look(ptrdiff_t n_products):
    """Rows between two looks at Ctrl-C: some milliseconds, if a row has so many products.

    A multiple of the rows that are summed at a time, so that the sums stay the same.
    """
    return PRODUCT_ROWS * max(1, (1 << 22) // (n_products * PRODUCT_ROWS))


def _sum_linear_products(
    bint scores,
    const floating[:, ::1] logits,
    const int64_t[::1] labels,
    const double[::1] weights,
    const double[:, ::1] coef,
    const double[::1] bias,
    double[:, :, ::1] sums,
    int threads,
):
    """Add to sums (B, K (K + 1) / 2, (K + 1) (K + 2) / 2) what the Hessian is made of.

    With `scores`, twice as many rows: the second half for the products of the summands of
    the gradient. Pairs of classes by pairs of features, as linear_softmax_template.h says.
    """
    cdef ptrdiff_t n = logits.shape[0], K = logits.shape[1], B = sums.shape[0], b
    cdef ptrdiff_t first, last, step = _rows_per_look(sums.shape[1] * sums.shape[2])
    cdef int failures = 0
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(B, nogil=True, num_threads=threads, schedule="dynamic"):
        first = n * b // B
        while first < n * (b + 1) // B and not is_pressed(&watch):
            last = chunk_stop(first, step, n * (b + 1) // B)
            failures += add_linear_products(
                &logits[0, 0], K, &labels[0], &weights[0], &coef[0, 0], &bias[0], scores,
                first, last, &sums[b, 0, 0])
            first = last
    end_watch(&watch)
    if failures:
        raise MemoryError("no memory for a block of rows")


def _linear_softmax(
    const floating[:, ::1] logits,
    const double[:, ::1] coef,
    const double[::1] bias,
    floating[:, ::1] out,
    ptrdiff_t blocks,
    int threads,
):
    """Probabilities softmax(coef z + bias)."""
    cdef ptrdiff_t n = logits.shape[0], K = logits.shape[1], b
    cdef int failures = 0
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(blocks, nogil=True, num_threads=threads, schedule="static"):
        if not is_pressed(&watch):
            failures += linear_softmax(
                &logits[0, 0], K, &coef[0, 0], &bias[0], n * b // blocks,
                n * (b + 1) // blocks, &out[0, 0])
    end_watch(&watch)
    if failures:
        raise MemoryError("no memory for a row of scores")


def _sum_logistic_losses(
    const double[:, ::1] design,
    const double[::1] targets,
    const double[:, ::1] weights,
    const double[:, ::1] parameters,
    double[:, :, ::1] sums,
    int threads,
):
    """Add to sums (B, r, 1 + p) losses and gradients of logistic regressions on one matrix.

    Each of r weightings (n, r) of the rows has parameters of its own, (r, p).
    """
    cdef ptrdiff_t n = design.shape[0], p = design.shape[1], B = sums.shape[0], b
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(B, nogil=True, num_threads=threads, schedule="dynamic"):
        if not is_pressed(&watch):
            add_logistic_losses(
                &design[0, 0], p, &targets[0], &weights[0, 0], parameters.shape[0],
                &parameters[0, 0], n * b // B, n * (b + 1) // B, &sums[b, 0, 0])
    end_watch(&watch)
