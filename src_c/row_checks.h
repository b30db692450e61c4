/* Is every row of a matrix what it must be? One read of the matrix. */
#ifndef DISTFREEUQ_ROW_CHECKS_H
#define DISTFREEUQ_ROW_CHECKS_H

#include <float.h>
#include <math.h>
#include "portability.h"
#include "simplex_rows.h"

#define REAL double
#define NAMED(name) name##_f64
#include "row_checks_template.h"
#undef REAL
#undef NAMED
#define REAL float
#define NAMED(name) name##_f32
#include "row_checks_template.h"
#undef REAL
#undef NAMED

#define first_non_simplex_row(matrix, ...) \
    CALL_BY_TYPE(first_non_simplex_row, matrix, __VA_ARGS__)
#define first_non_finite_row(matrix, ...) \
    CALL_BY_TYPE(first_non_finite_row, matrix, __VA_ARGS__)

#endif
