/* Is a row a probability vector? For every kernel that reads rows, to ask on its way. */
#ifndef DISTFREEUQ_SIMPLEX_ROWS_H
#define DISTFREEUQ_SIMPLEX_ROWS_H

#include <math.h>
#include "lanes.h"
#include "portability.h"

/* Do the sums and the smallest entries of a block of rows fit probability vectors? */
ALWAYS_INLINE int all_simplex(const double *sum, const double *smallest, double tolerance)
{
    int n_good = 0;
    for (int r = 0; r < LANES; r++)
        n_good += (fabs(sum[r] - 1.0) <= tolerance) & (smallest[r] >= 0.0);
    return n_good == LANES;
}

#define REAL double
#define NAMED(name) name##_f64
#include "simplex_rows_template.h"
#undef REAL
#undef NAMED
#define REAL float
#define NAMED(name) name##_f32
#include "simplex_rows_template.h"
#undef REAL
#undef NAMED

#endif
