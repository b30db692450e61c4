# What every kernel family shares.

from libc.stddef cimport ptrdiff_t

cdef extern from "portability.h" nogil:
    int max_threads()

cdef extern from "ctrl_c.h" nogil:
    ctypedef struct ctrl_c:
        double due
        int pressed

    int time_to_ask(ctrl_c *watch)

cdef extern from *:
    int PyErr_CheckSignals()  # without `except`: the exception waits for `end_watch`


cdef inline ptrdiff_t rows_per_chunk(ptrdiff_t n_columns) noexcept nogil:
    """Rows that one thread takes at a time: about 256 KiB of doubles, so that scheduling
    costs nothing and a chunk's rows stay in the cache."""
    cdef ptrdiff_t rows = 32768 // (n_columns if n_columns > 0 else 1)
    return rows if rows > 0 else 1


cdef inline ptrdiff_t count_chunks(ptrdiff_t n_rows, ptrdiff_t rows) noexcept nogil:
    return (n_rows + rows - 1) // rows


cdef inline ptrdiff_t chunk_stop(ptrdiff_t start, ptrdiff_t rows, ptrdiff_t n_rows) noexcept nogil:
    return start + rows if start + rows < n_rows else n_rows


# Ctrl-C ends a kernel between two blocks of rows. Before each block the threads look whether
# it was pressed; one of them asks Python, which needs its lock, ten times a second. No
# exception crosses the parallel loop: every thread would have to take Python's lock for it.
#
#     cdef ctrl_c watch = begin_watch()
#     for b in prange(...):
#         if not is_pressed(&watch):
#             ...
#     end_watch(&watch)


cdef inline ctrl_c begin_watch() noexcept nogil:
    cdef ctrl_c watch
    watch.due = 0.0
    watch.pressed = 0
    return watch


cdef inline bint is_pressed(ctrl_c *watch) noexcept nogil:
    if time_to_ask(watch):
        with gil:
            if PyErr_CheckSignals() != 0:
                watch.pressed = 1
    return watch.pressed


cdef inline int end_watch(ctrl_c *watch) except -1:
    """Let the exception go on its way that Python raised when it was asked."""
    return -1 if watch.pressed else 0
