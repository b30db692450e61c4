/* Assessment of probabilities: what is the same for float and double matrices. */
#ifndef DISTFREEUQ_METRICS_H
#define DISTFREEUQ_METRICS_H

#include "portability.h"

#define REAL double
#define NAMED(name) name##_f64
#include "metrics_template.h"
#undef REAL
#undef NAMED
#define REAL float
#define NAMED(name) name##_f32
#include "metrics_template.h"
#undef REAL
#undef NAMED

#endif
