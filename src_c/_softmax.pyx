"""Losses of scaled softmax probabilities with their derivatives: rows in parallel.

The arithmetic is in softmax_loss.h. Sums are made per block of rows, and the caller adds
the blocks: how many there are does not depend on the number of threads, so neither does
any result.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t, uint8_t

from _common cimport begin_watch, ctrl_c, end_watch, is_pressed


# `const void *` and `void *` are float or double: the C compiler chooses (portability.h).
cdef extern from "softmax_loss.h" nogil:
    enum: LANES
    void find_tops(
        const void *logits, ptrdiff_t K, ptrdiff_t start, ptrdiff_t stop, int64_t *tops,
        double *widest, double *longest)
    void add_nll(
        const void *logits, ptrdiff_t K, const int64_t *labels, const int64_t *tops,
        const double *weights, const int64_t *groups, ptrdiff_t n_groups,
        const double *alphas, const uint8_t *active, ptrdiff_t start, ptrdiff_t stop,
        double *confidence, double *sums)
    void add_brier(
        const void *logits, ptrdiff_t K, const int64_t *labels, const int64_t *tops,
        const double *weights, const int64_t *groups, ptrdiff_t n_groups,
        const double *alphas, const uint8_t *active, ptrdiff_t start, ptrdiff_t stop,
        double *confidence, double *sums)
    void add_brier_slopes(
        const void *logits, ptrdiff_t K, const int64_t *labels, const int64_t *tops,
        const double *weights, const int64_t *groups, double first, ptrdiff_t n_points,
        ptrdiff_t start, ptrdiff_t stop, double *scratch, double *sums)
    void scale_softmax(
        const void *logits, ptrdiff_t K, const int64_t *tops, const int64_t *groups,
        const double *alphas, ptrdiff_t start, ptrdiff_t stop, double *scratch,
        void *out)
    void log_entries(
        const void *entries, double floor, ptrdiff_t start, ptrdiff_t stop, void *out)
    void add_vector_nll(
        const void *logits, ptrdiff_t K, const int64_t *labels, const double *weights,
        const double *scale, const double *bias, ptrdiff_t start, ptrdiff_t stop,
        double *scratch, double *sums)
    void fill_vector_rows(
        const void *logits, ptrdiff_t K, const double *weights, const double *scale,
        const double *bias, ptrdiff_t start, ptrdiff_t stop, double *out, double *sums)
    void affine_softmax(
        const void *logits, ptrdiff_t K, const double *scale, const double *bias,
        ptrdiff_t start, ptrdiff_t stop, double *scratch, void *out)
    void describe_affine(
        const void *logits, ptrdiff_t K, const int64_t *labels, const double *scale,
        const double *bias, ptrdiff_t start, ptrdiff_t stop, double *scratch,
        int64_t *tops, double *confidence, double *losses)


cdef extern from "curves.h" nogil:
    void apply_curves(
        const void *probs, ptrdiff_t K, const double *knots, const double *values,
        const int64_t *ends, ptrdiff_t n_curves, ptrdiff_t start, ptrdiff_t stop,
        double *scratch, void *out)


def _find_tops(
    const floating[:, ::1] logits,
    int64_t[::1] tops,
    double[:, ::1] extremes,
    int threads,
):
    """Column of each row's largest logit; extremes (B, 2): widest range, longest norm^2."""
    cdef ptrdiff_t n = logits.shape[0], K = logits.shape[1], B = extremes.shape[0], b
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(B, nogil=True, num_threads=threads, schedule="static"):
        if not is_pressed(&watch):
            find_tops(
                &logits[0, 0], K, n * b // B, n * (b + 1) // B, &tops[0],
                &extremes[b, 0], &extremes[b, 1])
    end_watch(&watch)


def _sum_temperature_losses(
    bint brier,
    const floating[:, ::1] logits,
    const int64_t[::1] labels,
    const int64_t[::1] tops,
    const double[::1] weights,
    const int64_t[::1] groups,
    const double[::1] alphas,
    const uint8_t[::1] active,
    double[::1] confidence,
    double[:, :, ::1] sums,
    int threads,
):
    """Add to sums (B, G, 5) loss, gradient and curvature in alphas (G,), squared scores,
    and the weight of misclassified rows.

    An empty `confidence` is left alone; one as long as the rows receives their largest
    probabilities.
    """
    cdef ptrdiff_t n = logits.shape[0], K = logits.shape[1], B = sums.shape[0], b
    cdef ptrdiff_t G = alphas.shape[0]
    cdef double *largest = &confidence[0] if confidence.shape[0] > 0 else NULL
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(B, nogil=True, num_threads=threads, schedule="dynamic"):
        if not is_pressed(&watch):
            if brier:
                add_brier(
                    &logits[0, 0], K, &labels[0], &tops[0], &weights[0], &groups[0],
                    G, &alphas[0], &active[0], n * b // B, n * (b + 1) // B, largest,
                    &sums[b, 0, 0])
            else:
                add_nll(
                    &logits[0, 0], K, &labels[0], &tops[0], &weights[0], &groups[0],
                    G, &alphas[0], &active[0], n * b // B, n * (b + 1) // B, largest,
                    &sums[b, 0, 0])
    end_watch(&watch)


def _sum_brier_slopes(
    const floating[:, ::1] logits,
    const int64_t[::1] labels,
    const int64_t[::1] tops,
    const double[::1] weights,
    const int64_t[::1] groups,
    double first,
    double[:, ::1] scratch,
    double[:, :, ::1] sums,
    int threads,
):
    """Add to sums (B, G, J) the Brier score's derivative at alphas first * 2^(j / 2).

    To about ten digits, by repeated squaring; scratch (B, 2 * _lanes() * K).
    """
    cdef ptrdiff_t n = logits.shape[0], K = logits.shape[1], B = sums.shape[0], b
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(B, nogil=True, num_threads=threads, schedule="dynamic"):
        if not is_pressed(&watch):
            add_brier_slopes(
                &logits[0, 0], K, &labels[0], &tops[0], &weights[0], &groups[0], first,
                sums.shape[2], n * b // B, n * (b + 1) // B, &scratch[b, 0],
                &sums[b, 0, 0])
    end_watch(&watch)


def _lanes():
    """Rows that are worked on side by side."""
    return LANES


def _scale_softmax(
    const floating[:, ::1] logits,
    const int64_t[::1] tops,
    const int64_t[::1] groups,
    const double[::1] alphas,
    double[:, ::1] scratch,
    floating[:, ::1] out,
    int threads,
):
    """Probabilities softmax(alphas[group] * logits), decisions kept; scratch (B, K)."""
    cdef ptrdiff_t n = logits.shape[0], K = logits.shape[1], B = scratch.shape[0], b
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(B, nogil=True, num_threads=threads, schedule="static"):
        if not is_pressed(&watch):
            scale_softmax(
                &logits[0, 0], K, &tops[0], &groups[0], &alphas[0],
                n * b // B, n * (b + 1) // B, &scratch[b, 0], &out[0, 0])
    end_watch(&watch)


def _sum_vector_nll(
    const floating[:, ::1] logits,
    const int64_t[::1] labels,
    const double[::1] weights,
    const double[::1] scale,
    const double[::1] bias,
    double[:, ::1] scratch,
    double[:, ::1] sums,
    int threads,
):
    """Add to sums (B, 1 + 2K) the NLL and its gradient in scale and bias; scratch (B, K)."""
    cdef ptrdiff_t n = logits.shape[0], K = logits.shape[1], B = sums.shape[0], b
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(B, nogil=True, num_threads=threads, schedule="dynamic"):
        if not is_pressed(&watch):
            add_vector_nll(
                &logits[0, 0], K, &labels[0], &weights[0], &scale[0], &bias[0],
                n * b // B, n * (b + 1) // B, &scratch[b, 0], &sums[b, 0])
    end_watch(&watch)


def _fill_vector_rows(
    const floating[:, ::1] logits,
    const double[::1] weights,
    const double[::1] scale,
    const double[::1] bias,
    double[:, ::1] out,
    double[:, ::1] sums,
    int threads,
):
    """Rows (p * logits, p) of the probabilities p = softmax(scale * logits + bias).

    Adds to sums (B, 3K) the weighted sums of p * logits^2, p * logits and p.
    """
    cdef ptrdiff_t n = logits.shape[0], K = logits.shape[1], B = sums.shape[0], b
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(B, nogil=True, num_threads=threads, schedule="static"):
        if not is_pressed(&watch):
            fill_vector_rows(
                &logits[0, 0], K, &weights[0], &scale[0], &bias[0],
                n * b // B, n * (b + 1) // B, &out[0, 0], &sums[b, 0])
    end_watch(&watch)


def _affine_softmax(
    const floating[:, ::1] logits,
    const double[::1] scale,
    const double[::1] bias,
    double[:, ::1] scratch,
    floating[:, ::1] out,
    int threads,
):
    """Probabilities softmax(scale * logits + bias); scratch (B, K)."""
    cdef ptrdiff_t n = logits.shape[0], K = logits.shape[1], B = scratch.shape[0], b
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(B, nogil=True, num_threads=threads, schedule="static"):
        if not is_pressed(&watch):
            affine_softmax(
                &logits[0, 0], K, &scale[0], &bias[0],
                n * b // B, n * (b + 1) // B, &scratch[b, 0], &out[0, 0])
    end_watch(&watch)


def _describe_affine(
    const floating[:, ::1] logits,
    const int64_t[::1] labels,
    const double[::1] scale,
    const double[::1] bias,
    double[:, ::1] scratch,
    int64_t[::1] tops,
    double[::1] confidence,
    double[::1] losses,
    int threads,
):
    """Most likely column, its probability and the label's NLL, of softmax(scale * logits
    + bias); scratch (B, K)."""
    cdef ptrdiff_t n = logits.shape[0], K = logits.shape[1], B = scratch.shape[0], b
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(B, nogil=True, num_threads=threads, schedule="dynamic"):
        if not is_pressed(&watch):
            describe_affine(
                &logits[0, 0], K, &labels[0], &scale[0], &bias[0], n * b // B,
                n * (b + 1) // B, &scratch[b, 0], &tops[0], &confidence[0], &losses[0])
    end_watch(&watch)


def _log_entries(
    const floating[:, ::1] matrix,
    double floor,
    floating[:, ::1] out,
    ptrdiff_t blocks,
    int threads,
):
    """Logarithms of the entries, smaller ones raised to `floor`, a positive normal number."""
    cdef ptrdiff_t size = matrix.shape[0] * matrix.shape[1], b
    if size == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(blocks, nogil=True, num_threads=threads, schedule="static"):
        if not is_pressed(&watch):
            log_entries(
                &matrix[0, 0], floor, size * b // blocks, size * (b + 1) // blocks,
                &out[0, 0])
    end_watch(&watch)


def _apply_curves(
    const floating[:, ::1] probs,
    const double[::1] knots,
    const double[::1] values,
    const int64_t[::1] ends,
    double[:, ::1] scratch,
    floating[:, ::1] out,
    int threads,
):
    """Piecewise linear curves at each column, rows divided by their sum; scratch (B, K).

    Curve c has the points ends[c] .. ends[c + 1] - 1; a single one is that of column 1.
    """
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], B = scratch.shape[0], b
    cdef ptrdiff_t n_curves = ends.shape[0] - 1
    if n == 0:
        return
    cdef ctrl_c watch = begin_watch()
    for b in prange(B, nogil=True, num_threads=threads, schedule="static"):
        if not is_pressed(&watch):
            apply_curves(
                &probs[0, 0], K, &knots[0], &values[0], &ends[0], n_curves, n * b // B,
                n * (b + 1) // B, &scratch[b, 0], &out[0, 0])
    end_watch(&watch)
