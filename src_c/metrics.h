/* Assessment of probabilities: what is the same for float and double matrices. */
#ifndef DISTFREEUQ_METRICS_H
#define DISTFREEUQ_METRICS_H

#include <math.h>
#include "few_columns.h"

enum { STRANDS = 16 }; /* sums side by side along a long row */

/* PLACE: an integer as wide as REAL, so that a vector of one goes with one of the other. */
#define REAL double
#define PLACE int64_t
#define NAMED(name) name##_f64
#include "metrics_template.h"
#undef REAL
#undef PLACE
#undef NAMED
#define REAL float
#define PLACE int32_t
#define NAMED(name) name##_f32
#include "metrics_template.h"
#undef REAL
#undef PLACE
#undef NAMED

#endif
