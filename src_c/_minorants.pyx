"""Isotonic regressions with one more row, for every place where it may stand."""

from libc.stddef cimport ptrdiff_t


cdef extern from "minorants.h" nogil:
    void fit_one_more_hit(
        const double *mass, const double *hits, ptrdiff_t m, double weight,
        double *points, double *hull, double *out)


def _fit_one_more_hit(
    const double[::1] mass,
    const double[::1] hits,
    double weight,
    double[:, ::1] points,
    double[:, ::1] hull,
    double[::1] out,
):
    """The fitted value of one more row of class 1 at or just below each of m groups.

    `points` and `hull` are room for (m + 2, 2) numbers each.
    """
    cdef ptrdiff_t m = mass.shape[0]
    if m == 0:
        return
    with nogil:
        fit_one_more_hit(
            &mass[0], &hits[0], m, weight, &points[0, 0], &hull[0, 0], &out[0])
