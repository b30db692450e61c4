"""Streams: where rows stand in a growing line (line_ranks.h), and bets on it (bets.h)."""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t


cdef extern from "line_ranks.h" nogil:
    void rank_in_line(
        const int32_t *cells, const double *uniforms, ptrdiff_t n, int64_t *counts,
        int64_t *tree, ptrdiff_t n_cells, int64_t line, double *p, double *q)


cdef extern from "bets.h" nogil:
    ctypedef struct bets:
        ptrdiff_t n_pools
        ptrdiff_t n_bets
        const double *start
        const double *shares
        double *capital
        double log_scale
        double *since_best
        int64_t *best_start
        const int64_t *pieces
        const double *growth
        const double *prior
        double *weight
        double *counts
        double *totals
        ptrdiff_t most_pieces

    void bet(bets *b, const double *p, const double *q, ptrdiff_t n, int64_t before,
             double *log_wealth)


def _rank_in_line(
    const int32_t[::1] cells,
    const double[::1] uniforms,
    int64_t[::1] counts,
    int64_t[::1] tree,
    int64_t line,
    double[::1] p,
    double[::1] q,
):
    """p[i] and q[i] = 1 - p[i] of rows that join a line of `line` rows one by one.

    `counts` are the line's rows by cell, and are added to; `tree` is scratch of its size.
    """
    cdef ptrdiff_t n = cells.shape[0]
    if n == 0:
        return
    with nogil:
        rank_in_line(&cells[0], &uniforms[0], n, &counts[0], &tree[0], counts.shape[0],
                     line, &p[0], &q[0])


def _bet(
    const double[::1] p,
    const double[::1] q,
    int64_t before,
    const double[::1] start,
    const double[::1] shares,
    double[:, ::1] capital,
    double log_scale,
    double[::1] since_best,
    int64_t[::1] best_start,
    const int64_t[::1] pieces,
    const double[::1] growth,
    const double[::1] prior,
    double[::1] weight,
    double[:, ::1] counts,
    double[::1] totals,
    double[::1] log_wealth,
):
    """Bet on p-values; returns the new `log_scale`. What is not const is changed.

    Thirteen bets come before the histograms, of which there is one at least; at most 64 in all.
    """
    cdef ptrdiff_t n = p.shape[0]
    cdef bets b
    if n == 0:
        return log_scale
    b.n_pools = capital.shape[0]
    b.n_bets = capital.shape[1]
    b.start = &start[0]
    b.shares = &shares[0]
    b.capital = &capital[0, 0]
    b.log_scale = log_scale
    b.since_best = &since_best[0]
    b.best_start = &best_start[0]
    b.pieces = &pieces[0]
    b.growth = &growth[0]
    b.prior = &prior[0]
    b.weight = &weight[0]
    b.counts = &counts[0, 0]
    b.totals = &totals[0]
    b.most_pieces = counts.shape[1]
    with nogil:
        bet(&b, &p[0], &q[0], n, before, &log_wealth[0])
    return b.log_scale
