/* Is a row a probability vector? For every kernel that reads rows, to ask on its way. */
#ifndef DISTFREEUQ_SIMPLEX_ROWS_H
#define DISTFREEUQ_SIMPLEX_ROWS_H

#include <math.h>
#include "portability.h"

/* Rows of at most FEW_COLUMNS entries are done BLOCK_ROWS at a time, a lane each. */
enum { BLOCK_ROWS = 16, FEW_COLUMNS = 32 };

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
