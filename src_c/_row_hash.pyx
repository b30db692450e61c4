"""Uniforms that belong to the rows: a keyed hash of each, the same in any batch."""

from cython cimport floating
from cython.parallel cimport prange
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint64_t

from _common cimport (
    begin_watch, chunk_stop, count_chunks, ctrl_c, end_watch, is_pressed, rows_per_chunk)


# `const void *` is float or double: the C compiler chooses (portability.h).
cdef extern from "row_hash.h" nogil:
    void column_keys(uint64_t key, uint64_t *keys, ptrdiff_t n)
    void hash_rows(const void *probs, ptrdiff_t K, const uint64_t *keys,
                   ptrdiff_t start, ptrdiff_t stop, double *out)


cdef inline void _hash_chunk(
    const floating *probs, ptrdiff_t K, const uint64_t *keys, ptrdiff_t start,
    ptrdiff_t stop, double *out
) noexcept nogil:
    hash_rows(probs, K, keys, start, stop, out)


def _hash_rows(
    const floating[:, ::1] probs,
    uint64_t key,
    uint64_t[::1] keys,
    double[::1] out,
    int threads,
):
    """out[i] in [0, 1): a function of row i and the key alone. `keys`: K + 1, scratch."""
    cdef ptrdiff_t n = probs.shape[0], K = probs.shape[1], chunk, start
    cdef ptrdiff_t rows = rows_per_chunk(K)
    if n == 0 or K == 0:
        return
    column_keys(key, &keys[0], K + 1)
    cdef ctrl_c watch = begin_watch()
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="static"
    ):
        if not is_pressed(&watch):
            start = chunk * rows
            _hash_chunk(
                &probs[0, 0], K, &keys[0], start, chunk_stop(start, rows, n), &out[0])
    end_watch(&watch)
