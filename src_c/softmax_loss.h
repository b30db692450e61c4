/* Losses of scaled softmax probabilities with their derivatives, a row at a time.

   With the logits measured from the row's largest, d_k = z_k - max z <= 0, no exponential
   overflows, adding a constant to a row changes nothing, and the moments
     m_j = sum_k p_k d_k^j   with   p_k = exp(alpha d_k) / sum_l exp(alpha d_l)
   give loss, gradient and curvature in the inverse temperature alpha:
     NLL    log sum_k exp(alpha d_k) - alpha d_y,   m_1 - d_y,   m_2 - m_1^2;
     Brier  sum_k (p_k - e_k)^2, from the same moments and those of p_k^2.
   Sums are in double precision whatever the matrix holds. */
#ifndef DISTFREEUQ_SOFTMAX_LOSS_H
#define DISTFREEUQ_SOFTMAX_LOSS_H

#include <math.h>
#include <string.h>
#include "lanes.h"
#include "portability.h"
#include "vector_exp.h"
#include "vector_log.h"

/* What is summed over the rows of a group. */
enum { SUM_LOSS, SUM_GRADIENT, SUM_CURVATURE, SUM_SQUARED_SCORE, SUM_WRONG, N_SUMS };

/* Sums over the entries of LANES rows, of e_k = exp(alpha d_k) in s and of its square in q,
   times d_k to the power of the name's digit. */
struct moments {
    double s0[LANES], s1[LANES], s2[LANES], q0[LANES], q1[LANES], q2[LANES];
};

/* What these rows add to the sums of their groups, and their largest probabilities. */
struct row_losses {
    double sums[N_SUMS][LANES], confidence[LANES];
};

ALWAYS_INLINE void losses_from_moments(int brier, const struct moments *RESTRICT m,
                                       const double *RESTRICT alpha,
                                       const double *RESTRICT binary_alpha,
                                       const double *RESTRICT d_y,
                                       const double *RESTRICT weight,
                                       struct row_losses *RESTRICT of)
{
    PRAGMA(omp simd)
    for (int r = 0; r < LANES; r++) {
        double inverse = 1.0 / m->s0[r], mean = m->s1[r] * inverse;
        double variance = m->s2[r] * inverse - mean * mean;
        double loss, gradient, curvature;
        if (brier) {
            double p_y = exp2_nonpositive(binary_alpha[r] * d_y[r]) * inverse;
            double away = d_y[r] - mean, square = inverse * inverse;
            double q0 = m->q0[r] * square, q1 = m->q1[r] * square, q2 = m->q2[r] * square;
            loss = (1.0 - p_y) * (1.0 - p_y) + (q0 - p_y * p_y);
            gradient = 2.0 * ((q1 - mean * q0) - p_y * away);
            curvature = 4.0 * (q2 - mean * (2.0 * q1 - mean * q0)) - 2.0 * variance * q0 -
                        2.0 * p_y * (away * away - variance);
        } else {
            loss = log_normal(m->s0[r]) - alpha[r] * d_y[r];
            gradient = mean - d_y[r];
            curvature = variance > 0.0 ? variance : 0.0;
        }
        double w = weight[r], score = w * gradient;
        of->sums[SUM_LOSS][r] = w * loss;
        of->sums[SUM_GRADIENT][r] = score;
        of->sums[SUM_CURVATURE][r] = w * curvature;
        of->sums[SUM_SQUARED_SCORE][r] = score * score;
        of->sums[SUM_WRONG][r] = d_y[r] < 0.0 ? w : 0.0;
        of->confidence[r] = inverse;
    }
}

/* The largest number below x > 0, without a call to the library. */
ALWAYS_INLINE double next_below_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits -= 1;
    memcpy(&x, &bits, sizeof x);
    return x;
}

ALWAYS_INLINE float next_below_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits -= 1;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define REAL double
#define NAMED(name) name##_f64
#include "softmax_loss_template.h"
#undef REAL
#undef NAMED
#define REAL float
#define NAMED(name) name##_f32
#include "softmax_loss_template.h"
#undef REAL
#undef NAMED

#define find_tops(logits, ...) CALL_BY_TYPE(find_tops, logits, __VA_ARGS__)
#define add_nll(logits, ...) CALL_BY_TYPE(add_nll, logits, __VA_ARGS__)
#define add_brier(logits, ...) CALL_BY_TYPE(add_brier, logits, __VA_ARGS__)
#define add_brier_slopes(logits, ...) CALL_BY_TYPE(add_brier_slopes, logits, __VA_ARGS__)
#define scale_softmax(logits, ...) CALL_BY_TYPE(scale_softmax, logits, __VA_ARGS__)
#define add_vector_nll(logits, ...) CALL_BY_TYPE(add_vector_nll, logits, __VA_ARGS__)
#define fill_vector_rows(logits, ...) CALL_BY_TYPE(fill_vector_rows, logits, __VA_ARGS__)
#define affine_softmax(logits, ...) CALL_BY_TYPE(affine_softmax, logits, __VA_ARGS__)
#define describe_affine(logits, ...) CALL_BY_TYPE(describe_affine, logits, __VA_ARGS__)
#define log_entries(entries, ...) CALL_BY_TYPE(log_entries, entries, __VA_ARGS__)

#endif
