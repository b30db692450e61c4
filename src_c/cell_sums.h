/* Sums of matrix rows by cell. */
#ifndef DISTFREEUQ_CELL_SUMS_H
#define DISTFREEUQ_CELL_SUMS_H

#include "portability.h"

#define REAL double
#define NAMED(name) name##_f64
#include "cell_sums_template.h"
#undef REAL
#undef NAMED
#define REAL float
#define NAMED(name) name##_f32
#include "cell_sums_template.h"
#undef REAL
#undef NAMED

#define sum_cells(rows, ...) CALL_BY_TYPE(sum_cells, rows, __VA_ARGS__)

#endif
