/* Logistic regressions on one matrix: losses and gradients of several weightings of its rows,
   each at parameters of its own, in one read. */
#ifndef DISTFREEUQ_LOGISTIC_LOSS_H
#define DISTFREEUQ_LOGISTIC_LOSS_H

#include <math.h>
#include "lanes.h"
#include "portability.h"
#include "vector_exp.h"
#include "vector_log.h"

/* Adds, for each of r weightings of the rows with parameters of its own, the weighted loss
     log(1 + exp(v)) - t v   with   v = row . parameters
   and its gradient.

     design       in       (n, p), row by row
     targets      in       (n,), t in [0, 1]
     weights      in       (n, r)
     parameters   in       (r, p)
     start, stop  in       the rows that are done: start .. stop-1
     sums         in, out  (r, 1 + p) */
VECTOR_CLONES
static void add_logistic_losses(const double *design, ptrdiff_t p, const double *targets,
                                const double *weights, ptrdiff_t r, const double *parameters,
                                ptrdiff_t start, ptrdiff_t stop, double *sums)
{
    double log_odds[LANES] = {0}, residual[LANES], loss[LANES];
    double target[LANES] = {0}, weight[LANES];
    for (ptrdiff_t first = start; first < stop; first += LANES) {
        int n_rows = stop - first < LANES ? (int)(stop - first) : LANES;
        const double *rows = design + first * p;
        prefetch_ahead(rows, (size_t)(n_rows * p) * sizeof(double));
        for (ptrdiff_t j = 0; j < r; j++) {
            const double *RESTRICT theta = parameters + j * p;
            double *RESTRICT gradient = sums + j * (1 + p) + 1;
            for (int i = 0; i < LANES; i++)
                weight[i] = 0.0;
            for (int i = 0; i < n_rows; i++) {
                const double *RESTRICT row = rows + i * p;
                double v = 0.0;
                PRAGMA(omp simd reduction(+ : v))
                for (ptrdiff_t k = 0; k < p; k++)
                    v += row[k] * theta[k];
                log_odds[i] = v;
                target[i] = targets[first + i];
                weight[i] = weights[(first + i) * r + j];
            }
            PRAGMA(omp simd)
            for (int i = 0; i < LANES; i++) {
                double v = log_odds[i], e = exp_nonpositive(-fabs(v));
                double inverse = 1.0 / (1.0 + e), positive = v > 0.0 ? v : 0.0;
                loss[i] = weight[i] * (positive + log_normal(1.0 + e) - target[i] * v);
                residual[i] = weight[i] * ((v > 0.0 ? inverse : e * inverse) - target[i]);
            }
            for (int i = 0; i < n_rows; i++) {
                const double *RESTRICT row = rows + i * p;
                double of_row = residual[i];
                gradient[-1] += loss[i];
                PRAGMA(omp simd)
                for (ptrdiff_t k = 0; k < p; k++)
                    gradient[k] += of_row * row[k];
            }
        }
    }
}

#endif
