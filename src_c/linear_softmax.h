/* Multinomial logistic regression: probabilities softmax(coef z + bias) of rows z, the loss of
   the labels, and its derivatives in all coefficients.

   Rows are taken in blocks that stay in the cache. Their probabilities are computed side by
   side, one row per lane; sums of products over the rows of a block are made in tiles that stay
   in registers. No library of linear algebra is called: its threads would wait actively for
   work, on the cores that the threads of the caller need. */
#ifndef DISTFREEUQ_LINEAR_SOFTMAX_H
#define DISTFREEUQ_LINEAR_SOFTMAX_H

#include "portability.h"
#include "vector_exp.h"
#include "vector_log.h"

enum { ROWS_SIDE_BY_SIDE = 16, BLOCK_ROWS = 64, TILE_HEIGHT = 4, TILE_WIDTH = 8 };

ALWAYS_INLINE ptrdiff_t in_tiles(ptrdiff_t width)
{
    return (width + TILE_WIDTH - 1) / TILE_WIDTH * TILE_WIDTH;
}

/* sums (p, q) += left' right over the rows of two matrices, whose rows are padded to whole
   tiles. */
ALWAYS_INLINE void add_products(const double *left, ptrdiff_t p, const double *right,
                                ptrdiff_t q, ptrdiff_t n_rows, double *sums)
{
    ptrdiff_t left_width = in_tiles(p), right_width = in_tiles(q);
    for (ptrdiff_t i = 0; i < p; i += TILE_HEIGHT)
        for (ptrdiff_t j = 0; j < q; j += TILE_WIDTH) {
            double tile[TILE_HEIGHT][TILE_WIDTH] = {{0}};
            const double *RESTRICT l = left + i, *RESTRICT r = right + j;
            for (ptrdiff_t row = 0; row < n_rows; row++, l += left_width, r += right_width)
                for (int a = 0; a < TILE_HEIGHT; a++) {
                    PRAGMA(omp simd)
                    for (int b = 0; b < TILE_WIDTH; b++)
                        tile[a][b] += l[a] * r[b];
                }
            ptrdiff_t last_i = i + TILE_HEIGHT < p ? i + TILE_HEIGHT : p;
            ptrdiff_t last_j = j + TILE_WIDTH < q ? j + TILE_WIDTH : q;
            for (ptrdiff_t a = i; a < last_i; a++)
                for (ptrdiff_t b = j; b < last_j; b++)
                    sums[a * q + b] += tile[a - i][b - j];
        }
}

/* scores[k] = bias_k + sum_j coef_kj z_j, with rows in lanes: z and scores (K, lanes). */
ALWAYS_INLINE void map_lanes(const double *RESTRICT z, ptrdiff_t K,
                             const double *RESTRICT coef, const double *RESTRICT bias,
                             double *RESTRICT scores)
{
    enum { AT_ONCE = 4 };
    for (ptrdiff_t first = 0; first < K; first += AT_ONCE) {
        double sum[AT_ONCE][ROWS_SIDE_BY_SIDE];
        ptrdiff_t of[AT_ONCE];
        for (int a = 0; a < AT_ONCE; a++) {
            of[a] = first + a < K ? first + a : K - 1;
            for (int r = 0; r < ROWS_SIDE_BY_SIDE; r++)
                sum[a][r] = bias[of[a]];
        }
        for (ptrdiff_t j = 0; j < K; j++)
            for (int a = 0; a < AT_ONCE; a++) {
                double c = coef[of[a] * K + j];
                PRAGMA(omp simd)
                for (int r = 0; r < ROWS_SIDE_BY_SIDE; r++)
                    sum[a][r] += c * z[j * ROWS_SIDE_BY_SIDE + r];
            }
        for (int a = 0; a < AT_ONCE; a++)
            for (int r = 0; r < ROWS_SIDE_BY_SIDE; r++)
                scores[of[a] * ROWS_SIDE_BY_SIDE + r] = sum[a][r];
    }
}

/* scores (K, lanes) become probabilities; `away` is each row's score of its label, measured
   from the largest, and `log_sum` the logarithm of the exponentials' sum. */
ALWAYS_INLINE void normalise_lanes(double *RESTRICT scores, ptrdiff_t K,
                                   const int64_t *RESTRICT label, double *RESTRICT away,
                                   double *RESTRICT log_sum)
{
    double top[ROWS_SIDE_BY_SIDE], sum[ROWS_SIDE_BY_SIDE] = {0}, inverse[ROWS_SIDE_BY_SIDE];
    for (int r = 0; r < ROWS_SIDE_BY_SIDE; r++)
        top[r] = scores[r];
    for (ptrdiff_t k = 1; k < K; k++) {
        PRAGMA(omp simd)
        for (int r = 0; r < ROWS_SIDE_BY_SIDE; r++) {
            double u = scores[k * ROWS_SIDE_BY_SIDE + r];
            top[r] = u > top[r] ? u : top[r];
        }
    }
    for (int r = 0; r < ROWS_SIDE_BY_SIDE; r++)
        away[r] = scores[label[r] * ROWS_SIDE_BY_SIDE + r] - top[r];
    for (ptrdiff_t k = 0; k < K; k++) {
        PRAGMA(omp simd)
        for (int r = 0; r < ROWS_SIDE_BY_SIDE; r++) {
            double u = scores[k * ROWS_SIDE_BY_SIDE + r] - top[r];
            double e = exp2_nonpositive(u * ONE_OVER_LN_2);
            scores[k * ROWS_SIDE_BY_SIDE + r] = e;
            sum[r] += e;
        }
    }
    PRAGMA(omp simd)
    for (int r = 0; r < ROWS_SIDE_BY_SIDE; r++) {
        inverse[r] = 1.0 / sum[r];
        log_sum[r] = log_normal(sum[r]);
    }
    for (ptrdiff_t k = 0; k < K; k++) {
        PRAGMA(omp simd)
        for (int r = 0; r < ROWS_SIDE_BY_SIDE; r++)
            scores[k * ROWS_SIDE_BY_SIDE + r] *= inverse[r];
    }
}

#define REAL double
#define NAMED(name) name##_f64
#include "linear_softmax_template.h"
#undef REAL
#undef NAMED
#define REAL float
#define NAMED(name) name##_f32
#include "linear_softmax_template.h"
#undef REAL
#undef NAMED

#endif
