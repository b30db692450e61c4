/* Gram matrices of scaled rows, with products in double or in single precision. */
#ifndef DISTFREEUQ_GRAM_H
#define DISTFREEUQ_GRAM_H

#include "portability.h"
#include "tiles.h"

#define WORK double
#define ADD_PRODUCTS add_products_f64
#define REAL double
#define GRAM gram_rows_f64
#include "gram_template.h"
#undef REAL
#undef GRAM
#define REAL float
#define GRAM gram_rows_f32
#include "gram_template.h"
#undef REAL
#undef GRAM
#undef WORK
#undef ADD_PRODUCTS

#define WORK float
#define ADD_PRODUCTS add_products_f32
#define REAL double
#define GRAM gram_rows_single_f64
#include "gram_template.h"
#undef REAL
#undef GRAM
#define REAL float
#define GRAM gram_rows_single_f32
#include "gram_template.h"
#undef REAL
#undef GRAM
#undef WORK
#undef ADD_PRODUCTS

#define gram_rows(rows, ...) CALL_BY_TYPE(gram_rows, rows, __VA_ARGS__)
#define gram_rows_single(rows, ...) CALL_BY_TYPE(gram_rows_single, rows, __VA_ARGS__)

#endif
