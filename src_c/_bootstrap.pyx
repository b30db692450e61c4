"""Bootstrap: rows drawn with replacement, and sums over them in many samples at once.

All metrics come from sums that are linear in the rows' weights, so that a sample is a vector
of weights, and sixteen samples are sixteen vectors that share every read of the data.
"""

from cython cimport floating
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t


# `const void *` and `void *` are float or double: the C compiler chooses (portability.h).
cdef extern from "bootstrap.h" nogil:
    int SAMPLES
    void sum_cells_of_samples(
        const int64_t *first, const int32_t *cells, const double *values,
        const double *base, const uint16_t *counts, ptrdiff_t n, double *sums)
    void sum_columns_of_samples(
        const void *probs, ptrdiff_t K, const double *base, const uint16_t *counts,
        ptrdiff_t n, double *totals)

_SAMPLES = SAMPLES


def _count_draws(const uint32_t[::1] words, uint16_t[::1] out):
    """out[i]: how often row i was drawn.

    A word of 32 random bits draws row floor(word n / 2^32): uniform but for n / 2^32. No row
    among more than 65535 is drawn that often.
    """
    cdef ptrdiff_t i
    cdef uint64_t n = out.shape[0]
    with nogil:
        for i in range(out.shape[0]):
            out[i] = 0
        for i in range(words.shape[0]):
            out[(words[i] * n) >> 32] += 1


def _sum_cells_of_samples(
    const int64_t[::1] first,
    const int32_t[::1] cells,
    const double[::1] values,
    const double[::1] weights,
    const uint16_t[:, ::1] counts,
    double[:, ::1] out,
):
    """Add to out (C, 16) the sums of w_i counts[s, i] A[i, c] over the rows of sparse A."""
    if cells.shape[0] > 0:
        with nogil:
            sum_cells_of_samples(&first[0], &cells[0], &values[0], &weights[0], &counts[0, 0],
                                 weights.shape[0], &out[0, 0])


def _sum_columns_of_samples(
    const floating[:, ::1] probs,
    const double[::1] weights,
    const uint16_t[:, ::1] counts,
    double[:, ::1] out,
):
    """Add to out (K, 16) the sums of w_i counts[s, i] probs[i, k] over the rows."""
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1]
    if n == 0:
        return
    with nogil:
        sum_columns_of_samples(&probs[0, 0], K, &weights[0], &counts[0, 0], n,
                                   &out[0, 0])
