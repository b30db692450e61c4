/* Bets on a stream of p-values, which are independent uniforms while nothing has moved.

   A bet is a density f on (0, 1): capital c becomes c f(p). There are E of them:

       0         cash: f = 1
       1 .. 4    powers, e p^(e - 1) with e = 1/4, 1/2, 3/4, 7/8: small p
       5 .. 8    the same of 1 - p: large p
       9 .. 12   slopes, 1 + s (p - 1/2) with s = -1, -2, 1, 2
       13 ..     histograms of past p-values: a piece's share of them times the number of
                 pieces, every piece with `prior` p-values before there are any; older
                 p-values count less by a factor for each that came after them

   Capital lies in pools. After each p-value every pool gives a share of its capital back
   and spreads it over the bets as in the beginning, so that a change that comes late is
   bet on soon: a fixed share, or 1 / (t + 1) after the t-th p-value for pools with share 0.
   Each bet is fixed before its p-value is seen, and spreading neither makes capital nor
   loses any: the sum over all pools is a martingale.

   Beside them runs, for each bet, how much it would have made since the row at which that
   is most (CUSUM, Page 1954): the estimate of when something moved. */
#ifndef DISTFREEUQ_BETS_H
#define DISTFREEUQ_BETS_H

#include <math.h>
#include "portability.h"

enum { POWERS = 4, FIRST_SLOPE = 9, FIRST_HISTOGRAM = 13, MOST_BETS = 64 };

typedef struct {
    ptrdiff_t n_pools, n_bets;
    const double *start;      /* n_bets: how capital is spread, sum one */
    const double *shares;     /* n_pools */
    double *capital;          /* n_pools x n_bets */
    double log_scale;         /* capital is in units of exp(log_scale) */
    double *since_best;       /* n_bets: CUSUM, at least one */
    int64_t *best_start;      /* n_bets: p-values before that of the CUSUM's first bet */
    /* histograms: n_bets - FIRST_HISTOGRAM of them */
    const int64_t *pieces;
    const double *growth;     /* weight of a p-value over that of the one before */
    const double *prior;
    double *weight;           /* of the next p-value */
    double *counts;           /* histograms x most_pieces */
    double *totals;
    ptrdiff_t most_pieces;
} bets;

#define TOO_LARGE 1e100

ALWAYS_INLINE void power_bets(double p, double *f)
{
    const double root = sqrt(p), fourth = sqrt(root), eighth = sqrt(fourth);
    f[0] = 0.25 / (root * fourth);
    f[1] = 0.5 / root;
    f[2] = 0.75 / fourth;
    f[3] = 0.875 / eighth;
}

ALWAYS_INLINE void slope_bets(double p, double q, double *f)
{
    const double half = 0.5 * (q - p);
    f[0] = 1.0 + half;
    f[1] = 2.0 * q;
    f[2] = 1.0 - half;
    f[3] = 2.0 * p;
}

ALWAYS_INLINE ptrdiff_t piece_of(double p, int64_t pieces)
{
    const ptrdiff_t piece = (ptrdiff_t)(p * (double)pieces);
    return piece < pieces ? piece : (ptrdiff_t)pieces - 1;
}

ALWAYS_INLINE void histogram_bets(bets *b, double p, double *f)
{
    const ptrdiff_t n = b->n_bets - FIRST_HISTOGRAM;
    for (ptrdiff_t h = 0; h < n; h++) {
        const double pieces = (double)b->pieces[h], unit = b->prior[h] * b->weight[h];
        double *counts = b->counts + h * b->most_pieces;
        const ptrdiff_t piece = piece_of(p, b->pieces[h]);
        f[h] = pieces * (counts[piece] + unit) / (b->totals[h] + pieces * unit);
        counts[piece] += b->weight[h];
        b->totals[h] += b->weight[h];
        b->weight[h] *= b->growth[h];
        if (b->weight[h] > TOO_LARGE) {
            const double scale = 1.0 / b->weight[h];
            for (ptrdiff_t j = 0; j < b->pieces[h]; j++)
                counts[j] *= scale;
            b->totals[h] *= scale;
            b->weight[h] = 1.0;
        }
    }
}

/* Multiply the capital by what the bets made, and return its sum. Four strands, or each
   addition would wait for the one before: 0.50 -> 0.38 us per row of all that is here. */
ALWAYS_INLINE double settle(double *RESTRICT capital, const double *f, ptrdiff_t n_bets)
{
    double strand[4] = {0.0, 0.0, 0.0, 0.0}, sum = 0.0;
    ptrdiff_t e = 0;
    for (; e + 4 <= n_bets; e += 4)
        for (int lane = 0; lane < 4; lane++) {
            capital[e + lane] *= f[e + lane];
            strand[lane] += capital[e + lane];
        }
    for (; e < n_bets; e++) {
        capital[e] *= f[e];
        sum += capital[e];
    }
    return sum + ((strand[0] + strand[1]) + (strand[2] + strand[3]));
}

/* Bet on p-values one after the other; `before` of them have been bet on. log_wealth[i] is
   the logarithm of all capital after p[i]; it was 0 in the beginning. */
VECTOR_CLONES
static void bet(
    bets *b, const double *RESTRICT p, const double *RESTRICT q, ptrdiff_t n,
    int64_t before, double *RESTRICT log_wealth)
{
    double f[MOST_BETS];
    const ptrdiff_t n_bets = b->n_bets;
    double *RESTRICT since_best = b->since_best;
    int64_t *RESTRICT best_start = b->best_start;
    f[0] = 1.0;
    for (ptrdiff_t i = 0; i < n; i++) {
        power_bets(p[i], f + 1);
        power_bets(q[i], f + 1 + POWERS);
        slope_bets(p[i], q[i], f + FIRST_SLOPE);
        histogram_bets(b, p[i], f + FIRST_HISTOGRAM);
        const double later = (double)(before + i + 2);
        double all = 0.0;
        for (ptrdiff_t pool = 0; pool < b->n_pools; pool++) {
            double *capital = b->capital + pool * n_bets;
            const double share = b->shares[pool] > 0.0 ? b->shares[pool] : 1.0 / later;
            const double sum = settle(capital, f, n_bets);
            const double given = share * sum, kept = 1.0 - share;
            for (ptrdiff_t e = 0; e < n_bets; e++)
                capital[e] = kept * capital[e] + given * b->start[e];
            all += sum;
        }
        log_wealth[i] = log(all) + b->log_scale;
        if (all > TOO_LARGE || all < 1.0 / TOO_LARGE) {
            for (ptrdiff_t j = 0; j < b->n_pools * n_bets; j++)
                b->capital[j] /= all;
            b->log_scale += log(all);
        }
        for (ptrdiff_t e = 0; e < n_bets; e++) {
            const int fresh = since_best[e] <= 1.0;
            best_start[e] = fresh ? before + i : best_start[e];
            const double since = fresh ? 1.0 : since_best[e];
            since_best[e] = since < TOO_LARGE ? since * f[e] : since;
        }
    }
}

#endif
