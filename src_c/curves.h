/* Piecewise linear curves, one per class, applied to probabilities. */
#ifndef DISTFREEUQ_CURVES_H
#define DISTFREEUQ_CURVES_H

#include <float.h>
#include "portability.h"

/* The curve through n points at x: linear between them, constant beyond the first and last. */
ALWAYS_INLINE double interpolate(const double *knots, const double *values, ptrdiff_t n,
                                 double x)
{
    ptrdiff_t j = 0;
    if (x < knots[0])
        return values[0];
    if (x >= knots[n - 1])
        return values[n - 1];
    for (ptrdiff_t left = n; left > 1;) { /* knots[j] <= x; a move, not a branch, per halving */
        ptrdiff_t half = left / 2;
        j += knots[j + half] <= x ? half : 0;
        left -= half;
    }
    double rise = values[j + 1] - values[j], run = knots[j + 1] - knots[j];
    double slope = rise / run;
    if (slope <= DBL_MAX)
        return slope * (x - knots[j]) + values[j];
    /* Knots a subnormal distance apart: the slope overflows, the share of the way does not.
       A processor that flushes subnormals to zero sees no distance at all. */
    return run > 0.0 ? rise * ((x - knots[j]) / run) + values[j] : values[j];
}

#define REAL double
#define NAMED(name) name##_f64
#include "curves_template.h"
#undef REAL
#undef NAMED
#define REAL float
#define NAMED(name) name##_f32
#include "curves_template.h"
#undef REAL
#undef NAMED

#define apply_curves(probs, ...) CALL_BY_TYPE(apply_curves, probs, __VA_ARGS__)

#endif
