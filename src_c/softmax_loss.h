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
#include "portability.h"
#include "vector_exp.h"

/* What is summed over the rows of a group. */
enum { SUM_LOSS, SUM_GRADIENT, SUM_CURVATURE, SUM_SQUARED_SCORE, SUM_WRONG, N_SUMS };

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

#endif
