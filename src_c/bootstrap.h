/* Sums over rows for many bootstrap samples at once: what is the same for float and double
   matrices. */
#ifndef DISTFREEUQ_BOOTSTRAP_H
#define DISTFREEUQ_BOOTSTRAP_H

#include "lanes.h"
#include "portability.h"

/* A sample in every lane; the weights of ROWS_AT_ONCE rows (4 KiB) stay in the cache. */
enum { SAMPLES = LANES, ROWS_AT_ONCE = 32 };

/* weight[i][s] = base[i] * counts[s][i] for rows start .. stop-1, at most ROWS_AT_ONCE. */
ALWAYS_INLINE void take_weights(const double *RESTRICT base, const uint16_t *RESTRICT counts,
                                ptrdiff_t n, ptrdiff_t start, ptrdiff_t stop,
                                double weight[ROWS_AT_ONCE][SAMPLES])
{
    for (ptrdiff_t s = 0; s < SAMPLES; s++)
        for (ptrdiff_t i = start; i < stop; i++)
            weight[i - start][s] = base[i] * (double)counts[s * n + i];
}

/* Adds A' W to sums, where W is weight[i][s] as above.

     first    in       (n + 1,), row i of the sparse A has the entries first[i] .. first[i+1]-1
     cells    in       cell of each entry, its column in A
     values   in       value of each entry
     base     in       (n,), weights of the rows
     counts   in       (SAMPLES, n), how often a sample drew a row
     n        in       number of rows
     sums     in, out  (C, SAMPLES) */
VECTOR_CLONES
static void sum_cells_of_samples(const int64_t *first, const int32_t *cells,
                                 const double *values, const double *base,
                                 const uint16_t *counts, ptrdiff_t n, double *sums)
{
    double weight[ROWS_AT_ONCE][SAMPLES];
    for (ptrdiff_t start = 0; start < n; start += ROWS_AT_ONCE) {
        const ptrdiff_t stop = start + ROWS_AT_ONCE < n ? start + ROWS_AT_ONCE : n;
        take_weights(base, counts, n, start, stop, weight);
        for (ptrdiff_t i = start; i < stop; i++) {
            const double *RESTRICT w = weight[i - start];
            for (int64_t e = first[i]; e < first[i + 1]; e++) {
                double *RESTRICT out = sums + (ptrdiff_t)cells[e] * SAMPLES;
                const double value = values[e];
                PRAGMA(omp simd)
                for (int s = 0; s < SAMPLES; s++)
                    out[s] += value * w[s];
            }
        }
    }
}

#define REAL double
#define NAMED(name) name##_f64
#include "bootstrap_template.h"
#undef REAL
#undef NAMED
#define REAL float
#define NAMED(name) name##_f32
#include "bootstrap_template.h"
#undef REAL
#undef NAMED

#define sum_columns_of_samples(probs, ...) \
    CALL_BY_TYPE(sum_columns_of_samples, probs, __VA_ARGS__)

#endif
