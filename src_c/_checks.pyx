"""The one compiled pass that looks at every number a user hands over."""

from cython cimport floating
from cython.parallel cimport prange
from libc.stddef cimport ptrdiff_t

from _common cimport (
    begin_watch, chunk_stop, count_chunks, ctrl_c, end_watch, is_pressed, max_threads,
    rows_per_chunk)


# `const void *` and `void *` are float or double: the C compiler chooses (portability.h).
cdef extern from "row_checks.h" nogil:
    ptrdiff_t first_non_simplex_row(
        const void *matrix, ptrdiff_t K, double tolerance, ptrdiff_t start,
        ptrdiff_t stop)
    ptrdiff_t first_non_finite_row(
        const void *matrix, ptrdiff_t K, ptrdiff_t start, ptrdiff_t stop)


cdef extern from "portability.h" nogil:
    enum:
        WITH_OPENMP

_OPENMP = bool(WITH_OPENMP)


def _max_threads():
    """Threads that OpenMP would use by itself; 1 if built without it."""
    return max_threads()


cdef inline ptrdiff_t _first_bad_in_chunk(
    const floating *matrix, ptrdiff_t K, bint simplex, double tolerance,
    ptrdiff_t start, ptrdiff_t stop
) noexcept nogil:
    if simplex:
        return first_non_simplex_row(matrix, K, tolerance, start, stop)
    return first_non_finite_row(matrix, K, start, stop)


def _first_bad_row(
    const floating[:, ::1] matrix, bint simplex, double tolerance, int threads
):
    """First row that is no probability vector (simplex) or holds a non-finite entry; or -1."""
    cdef ptrdiff_t n = matrix.shape[0], K = matrix.shape[1], chunk, start, bad
    cdef ptrdiff_t rows = rows_per_chunk(K)
    cdef ptrdiff_t first = n
    cdef ptrdiff_t *shared_first = &first  # through a pointer, or prange makes it private
    if n == 0 or K == 0:
        return -1
    cdef ctrl_c watch = begin_watch()
    for chunk in prange(
        count_chunks(n, rows), nogil=True, num_threads=threads, schedule="static"
    ):
        if not is_pressed(&watch):
            start = chunk * rows
            bad = _first_bad_in_chunk(
                &matrix[0, 0], K, simplex, tolerance, start, chunk_stop(start, rows, n))
            if bad >= 0:
                with gil:
                    shared_first[0] = min(shared_first[0], bad)
    end_watch(&watch)
    return first if first < n else -1
