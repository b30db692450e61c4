"""Weighted empirical quantiles with an atom at +inf.

One rule decides every rank: the quantile is the smallest value whose cumulative mass is at
least ``level * total - 1e-12 * total``, where the total includes the atom. The slack makes
0.1, 1 - 0.9 and 1/3 give the rank a person means.
"""

from libc.math cimport INFINITY, fabs
from libc.stddef cimport ptrdiff_t

cdef double SLACK = 1e-12


def _cumulative_mass(const double[::1] weights, double[::1] out):
    """Running sums, compensated (Neumaier) so that a hundred million terms lose nothing."""
    cdef ptrdiff_t i
    cdef double total = 0.0, lost = 0.0, w, new
    with nogil:
        for i in range(weights.shape[0]):
            w = weights[i]
            new = total + w
            if fabs(total) >= fabs(w):
                lost += (total - new) + w
            else:
                lost += (w - new) + total
            total = new
            out[i] = total + lost


def _search_quantiles(
    const double[::1] values,
    const double[::1] cumulative,
    const double[::1] levels,
    const double[::1] atoms,
    double[::1] out,
):
    """Quantile j has level levels[j] and atom atoms[j]; values ascend.

    Tied values pool their mass by themselves: the first index at which the mass suffices
    has the tied value, wherever within the tie it stands.
    """
    cdef ptrdiff_t n = values.shape[0], j, low, len_, half
    cdef double mass, total, needed
    with nogil:
        mass = cumulative[n - 1] if n > 0 else 0.0
        for j in range(levels.shape[0]):
            total = mass + atoms[j]
            needed = levels[j] * total - SLACK * total
            if n == 0 or total == 0.0 or not (mass >= needed):
                out[j] = INFINITY
                continue
            low = 0
            len_ = n
            while len_ > 0:
                half = len_ // 2
                if cumulative[low + half] < needed:
                    low += half + 1
                    len_ -= half + 1
                else:
                    len_ = half
            out[j] = values[low]
