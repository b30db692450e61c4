/* Mixtures of classes in rows of probabilities: what is the same for float and double.

   Matrices of probabilities are row-major with K columns. Every function does the rows
   start .. stop-1; those that sum add to a partial sum that belongs to these rows alone, so
   that neither the order nor the number of threads can change a bit. `row_weight` counts a
   row several times or not at all, as the bootstrap does. */
#ifndef DISTFREEUQ_MIXTURE_H
#define DISTFREEUQ_MIXTURE_H

#include <float.h>
#include <math.h>
#include <string.h>
#include "lanes.h"
#include "portability.h"
#include "vector_exp.h"
#include "vector_log.h"

#define SMALLEST_DENSITY 1e-300

ALWAYS_INLINE double sum_of_lanes(const double *lanes)
{
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6]))
           + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/* PLACE: an integer as wide as REAL, so that a vector of one goes with one of the other. */
#define REAL double
#define PLACE int64_t
#define NAMED(name) name##_f64
#include "mixture_template.h"
#undef REAL
#undef PLACE
#undef NAMED
#define REAL float
#define PLACE int32_t
#define NAMED(name) name##_f32
#include "mixture_template.h"
#undef REAL
#undef PLACE
#undef NAMED

#define predict_rows(probs, ...) CALL_BY_TYPE(predict_rows, probs, __VA_ARGS__)
#define reweight_rows(probs, ...) CALL_BY_TYPE(reweight_rows, probs, __VA_ARGS__)
#define sum_by_class(probs, ...) CALL_BY_TYPE(sum_by_class, probs, __VA_ARGS__)
#define mixture_likelihood(probs, ...) CALL_BY_TYPE(mixture_likelihood, probs, __VA_ARGS__)
#define scale_rows(probs, ...) CALL_BY_TYPE(scale_rows, probs, __VA_ARGS__)
#define scaled_likelihood(probs, ...) CALL_BY_TYPE(scaled_likelihood, probs, __VA_ARGS__)

#endif
