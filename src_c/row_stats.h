/* Assessment of probabilities: what is the same for float and double matrices. */
#ifndef DISTFREEUQ_ROW_STATS_H
#define DISTFREEUQ_ROW_STATS_H

#include <math.h>
#include "lanes.h"

/* PLACE: an integer as wide as REAL, so that a vector of one goes with one of the other. */
#define REAL double
#define PLACE int64_t
#define NAMED(name) name##_f64
#include "row_stats_template.h"
#undef REAL
#undef PLACE
#undef NAMED
#define REAL float
#define PLACE int32_t
#define NAMED(name) name##_f32
#include "row_stats_template.h"
#undef REAL
#undef PLACE
#undef NAMED

#define read_rows(probs, ...) CALL_BY_TYPE(read_rows, probs, __VA_ARGS__)
#define sum_class_gaps(probs, ...) CALL_BY_TYPE(sum_class_gaps, probs, __VA_ARGS__)

#endif
