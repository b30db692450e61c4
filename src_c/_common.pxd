# What every kernel family shares.

from libc.stddef cimport ptrdiff_t

cdef extern from "portability.h" nogil:
    int max_threads()


cdef inline ptrdiff_t rows_per_chunk(ptrdiff_t n_columns) noexcept nogil:
    """Rows that one thread takes at a time: about 256 KiB of doubles, so that scheduling
    costs nothing and a chunk's rows stay in the cache."""
    cdef ptrdiff_t rows = 32768 // (n_columns if n_columns > 0 else 1)
    return rows if rows > 0 else 1


cdef inline ptrdiff_t count_chunks(ptrdiff_t n_rows, ptrdiff_t rows) noexcept nogil:
    return (n_rows + rows - 1) // rows


cdef inline ptrdiff_t chunk_stop(ptrdiff_t start, ptrdiff_t rows, ptrdiff_t n_rows) noexcept nogil:
    return start + rows if start + rows < n_rows else n_rows
