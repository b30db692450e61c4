"""Bins of the unit interval, and how many labels fall into each."""

from cython cimport floating
from cython.parallel cimport prange
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t


cdef inline int64_t _edges_below(
    const floating *edges, ptrdiff_t n_edges, floating value, bint closed_right
) noexcept nogil:
    """Number of edges below the value; an edge equal to it counts in left-closed bins.

    The search has no branch on the data: its trip count depends on n_edges alone.
    """
    cdef ptrdiff_t low = 0, remaining = n_edges, half
    cdef floating edge
    if n_edges == 0:
        return 0
    while remaining > 1:
        half = remaining // 2
        edge = edges[low + half - 1]
        low += half * (edge < value if closed_right else edge <= value)
        remaining -= half
    edge = edges[low]
    return low + (edge < value if closed_right else edge <= value)


def _assign_bins(
    const floating[::1] values,
    const floating[::1] edges,
    bint closed_right,
    int64_t[::1] out,
    int threads,
):
    """Bin 0 .. len(edges) of each value; `edges` are the interior ones, ascending.

    Right-closed: bin m is (edges[m-1], edges[m]]. Left-closed: [edges[m-1], edges[m]).
    """
    cdef ptrdiff_t i, n = values.shape[0], n_edges = edges.shape[0]
    cdef const floating *first_edge = &edges[0] if n_edges > 0 else NULL
    for i in prange(n, nogil=True, num_threads=threads, schedule="static"):
        out[i] = _edges_below(first_edge, n_edges, values[i], closed_right)


def _count_labels(const int64_t[::1] bins, const int64_t[::1] labels, int64_t[:, ::1] out):
    """Add to out[m, k] the number of rows in bin m with label k."""
    cdef ptrdiff_t i
    with nogil:
        for i in range(bins.shape[0]):
            out[bins[i], labels[i]] += 1


def _sum_label_weights(
    const int64_t[::1] bins,
    const int64_t[::1] labels,
    const double[::1] weights,
    double[:, ::1] out,
):
    """Add to out[m, k] the weights of the rows in bin m with label k."""
    cdef ptrdiff_t i
    with nogil:
        for i in range(bins.shape[0]):
            out[bins[i], labels[i]] += weights[i]
