"""Order statistics: weighted quantiles by selection (weighted_select.h) or of what is in
order (ascending_quantiles.h), and all of them in order (score_order.h), very many with
their labels (labelled_order.h)."""

from cython.parallel cimport prange
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t

from _common cimport begin_watch, ctrl_c, end_watch, is_pressed


cdef extern from "weighted_select.h" nogil:
    ctypedef struct long_sum:
        double total
        double lost

    ctypedef struct weighted_values:
        const double *values
        const double *weights
        ptrdiff_t n
        double scale
        long_sum before
        double after

    ctypedef struct needs:
        const double *mass
        ptrdiff_t n
        double *quantile

    double scaled_mass(const double *weights, ptrdiff_t n, double scale)
    int select_quantiles(weighted_values sample, needs wanted)
    int select_by_label(
        const double *values, const int64_t *labels, ptrdiff_t n, const int64_t *ranks,
        ptrdiff_t n_labels, double *out)


cdef extern from "ascending_quantiles.h" nogil:
    ctypedef struct labelled_numbers:
        const double *values
        const int64_t *labels
        ptrdiff_t n
        const double *mass
        ptrdiff_t n_labels

    double mass_of_all(const int64_t *count, const double *mass, ptrdiff_t n_labels)
    void ascending_quantiles(
        labelled_numbers x, double after, needs wanted, int64_t *count)
    int is_ascending(const double *values, ptrdiff_t n)
    void ascending_ranks(
        const double *values, const int64_t *labels, ptrdiff_t n, const int64_t *ranks,
        ptrdiff_t n_labels, int64_t *count, double *out)


cdef extern from "score_order.h" nogil:
    int sort_scores(
        const double *values, ptrdiff_t n, double *sorted_values, int64_t *order)


cdef extern from "labelled_order.h" nogil:
    ctypedef struct labelled:
        double *values
        unsigned char *labels
        int width

    void deal_labelled(
        labelled source, labelled dealt, ptrdiff_t n, ptrdiff_t n_cells, int64_t *stop)
    int sort_labelled(labelled x, ptrdiff_t n)


def _sort_labelled(
    const double[::1] values,
    const unsigned char[::1] labels,
    int64_t[::1] stop,
    double[::1] sorted_values,
    unsigned char[::1] sorted_labels,
    int threads,
):
    """The values in ascending order with their labels; equal ones stay in theirs.

    `labels` are the bytes of numbers of 1, 2, 4 or 8 bytes. `stop` is scratch, two
    numbers for each cell into which the values are dealt.
    """
    cdef ptrdiff_t n = values.shape[0], n_cells = stop.shape[0] // 2, k
    cdef int failed = 0
    cdef labelled source, dealt
    if n == 0:
        return
    source.values = <double *> &values[0]  # which is only read
    source.labels = <unsigned char *> &labels[0]
    dealt.values, dealt.labels = &sorted_values[0], &sorted_labels[0]
    source.width = dealt.width = <int> (labels.shape[0] // n)
    cdef ctrl_c watch = begin_watch()
    with nogil:
        deal_labelled(source, dealt, n, n_cells, &stop[0])
    for k in prange(n_cells, nogil=True, num_threads=threads, schedule="dynamic"):
        if not is_pressed(&watch):
            failed += _sort_cell(dealt, &stop[0], k)
    end_watch(&watch)
    if failed:
        raise MemoryError("no memory to sort scores")


cdef inline int _sort_cell(labelled dealt, const int64_t *stop, ptrdiff_t k) noexcept nogil:
    cdef ptrdiff_t first = stop[k - 1] if k > 0 else 0
    dealt.values += first
    dealt.labels += first * dealt.width
    return sort_labelled(dealt, stop[k] - first)


def _sort_scores(const double[::1] values, double[::1] sorted_values, int64_t[::1] order):
    """The values in ascending order, and where each stood; equal ones stay in theirs."""
    cdef ptrdiff_t n = values.shape[0]
    cdef int failed
    if n == 0:
        return
    with nogil:
        failed = sort_scores(&values[0], n, &sorted_values[0], &order[0])
    if failed:
        raise MemoryError("no memory to sort scores")


def _scaled_mass(const double[::1] weights, double scale):
    """Sum of the weights, each divided by `scale`: rounded once."""
    cdef ptrdiff_t n = weights.shape[0]
    return scaled_mass(&weights[0], n, scale) if n > 0 else 0.0


def _select_quantiles(
    const double[::1] values,
    const double[::1] weights,
    double scale,
    double mass,
    const double[::1] needed,
    double[::1] out,
):
    """Smallest value up to which the weights over `scale` add up to what is needed.

    `needed` ascends and is at most `mass`, the scaled mass of all. Values of weight zero
    count for nothing. Tied values pool their mass.
    """
    cdef weighted_values sample
    cdef needs wanted
    cdef int failed
    if needed.shape[0] == 0 or values.shape[0] == 0:
        return
    sample.values = &values[0]
    sample.weights = &weights[0]
    sample.n = values.shape[0]
    sample.scale = scale
    sample.before.total = 0.0
    sample.before.lost = 0.0
    sample.after = mass
    wanted.mass = &needed[0]
    wanted.n = needed.shape[0]
    wanted.quantile = &out[0]
    with nogil:
        failed = select_quantiles(sample, wanted)
    if failed:
        raise MemoryError("no memory to select quantiles")


def _select_by_label(
    const double[::1] values,
    const int64_t[::1] labels,
    const int64_t[::1] ranks,
    double[::1] out,
):
    """The ranks[k]-th smallest of the values with label k; +inf if they are fewer."""
    cdef ptrdiff_t n = values.shape[0], n_labels = ranks.shape[0]
    cdef int failed
    if n_labels == 0:
        return
    with nogil:
        failed = select_by_label(
            &values[0] if n > 0 else NULL, &labels[0] if n > 0 else NULL, n,
            &ranks[0], n_labels, &out[0])
    if failed:
        raise MemoryError("no memory to select within classes")


def _is_ascending(const double[::1] values):
    """Whether no value is less than the one before."""
    return values.shape[0] == 0 or is_ascending(&values[0], values.shape[0]) != 0


def _mass_of_counts(const int64_t[::1] counts, const double[::1] masses):
    """Sum of counts times masses: rounded once."""
    return mass_of_all(&counts[0], &masses[0], counts.shape[0])


def _ascending_quantiles(
    const double[::1] values,
    const int64_t[::1] labels,
    const double[::1] masses,
    double mass,
    const double[::1] needed,
    int64_t[::1] scratch,
    double[::1] out,
):
    """`_select_quantiles` of ascending values, whose masses are those of their labels.

    `scratch` has a number for each label.
    """
    cdef labelled_numbers x
    cdef needs wanted
    if needed.shape[0] == 0 or values.shape[0] == 0:
        return
    x.values, x.labels, x.n = &values[0], &labels[0], values.shape[0]
    x.mass, x.n_labels = &masses[0], masses.shape[0]
    wanted.mass, wanted.n, wanted.quantile = &needed[0], needed.shape[0], &out[0]
    with nogil:
        ascending_quantiles(x, mass, wanted, &scratch[0])


def _ascending_ranks(
    const double[::1] values,
    const int64_t[::1] labels,
    const int64_t[::1] ranks,
    int64_t[::1] scratch,
    double[::1] out,
):
    """`_select_by_label` of ascending values; what is not there stays as it is."""
    if values.shape[0] == 0 or ranks.shape[0] == 0:
        return
    with nogil:
        ascending_ranks(
            &values[0], &labels[0], values.shape[0], &ranks[0], ranks.shape[0],
            &scratch[0], &out[0])
