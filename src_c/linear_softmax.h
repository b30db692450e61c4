/* Multinomial logistic regression: probabilities softmax(coef z + bias) of rows z, the loss of
   the labels, and its derivatives in all coefficients.

   Rows are taken in blocks that stay in the cache. Their probabilities are computed side by
   side, one row per lane; sums of products over the rows of a block are made in tiles. */
#ifndef DISTFREEUQ_LINEAR_SOFTMAX_H
#define DISTFREEUQ_LINEAR_SOFTMAX_H

#include "lanes.h"
#include "portability.h"
#include "tiles.h"
#include "vector_exp.h"
#include "vector_log.h"

enum { PRODUCT_ROWS = 64 }; /* whose products are made while they are in the cache */

/* scores[k] = bias_k + sum_j coef_kj z_j, with rows in lanes: z and scores (K, lanes). */
ALWAYS_INLINE void map_lanes(const double *RESTRICT z, ptrdiff_t K,
                             const double *RESTRICT coef, const double *RESTRICT bias,
                             double *RESTRICT scores)
{
    enum { AT_ONCE = 4 };
    for (ptrdiff_t first = 0; first < K; first += AT_ONCE) {
        double sum[AT_ONCE][LANES];
        ptrdiff_t of[AT_ONCE];
        for (int a = 0; a < AT_ONCE; a++) {
            of[a] = first + a < K ? first + a : K - 1;
            for (int r = 0; r < LANES; r++)
                sum[a][r] = bias[of[a]];
        }
        for (ptrdiff_t j = 0; j < K; j++)
            for (int a = 0; a < AT_ONCE; a++) {
                double c = coef[of[a] * K + j];
                PRAGMA(omp simd)
                for (int r = 0; r < LANES; r++)
                    sum[a][r] += c * z[j * LANES + r];
            }
        for (int a = 0; a < AT_ONCE; a++)
            for (int r = 0; r < LANES; r++)
                scores[of[a] * LANES + r] = sum[a][r];
    }
}

/* scores (K, lanes) become probabilities; `away` is each row's score of its label, measured
   from the largest, and `log_sum` the logarithm of the exponentials' sum. */
ALWAYS_INLINE void normalise_lanes(double *RESTRICT scores, ptrdiff_t K,
                                   const int64_t *RESTRICT label, double *RESTRICT away,
                                   double *RESTRICT log_sum)
{
    double top[LANES], sum[LANES] = {0}, inverse[LANES];
    for (int r = 0; r < LANES; r++)
        top[r] = scores[r];
    for (ptrdiff_t k = 1; k < K; k++) {
        PRAGMA(omp simd)
        for (int r = 0; r < LANES; r++) {
            double u = scores[k * LANES + r];
            top[r] = u > top[r] ? u : top[r];
        }
    }
    for (int r = 0; r < LANES; r++)
        away[r] = scores[label[r] * LANES + r] - top[r];
    for (ptrdiff_t k = 0; k < K; k++) {
        PRAGMA(omp simd)
        for (int r = 0; r < LANES; r++) {
            double u = scores[k * LANES + r] - top[r];
            double e = exp2_nonpositive(u * ONE_OVER_LN_2);
            scores[k * LANES + r] = e;
            sum[r] += e;
        }
    }
    PRAGMA(omp simd)
    for (int r = 0; r < LANES; r++) {
        inverse[r] = 1.0 / sum[r];
        log_sum[r] = log_normal(sum[r]);
    }
    for (ptrdiff_t k = 0; k < K; k++) {
        PRAGMA(omp simd)
        for (int r = 0; r < LANES; r++)
            scores[k * LANES + r] *= inverse[r];
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

#define add_linear_nll(logits, ...) CALL_BY_TYPE(add_linear_nll, logits, __VA_ARGS__)
#define add_linear_products(logits, ...) CALL_BY_TYPE(add_linear_products, logits, __VA_ARGS__)
#define linear_softmax(logits, ...) CALL_BY_TYPE(linear_softmax, logits, __VA_ARGS__)

#endif
