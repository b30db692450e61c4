/* Label shift: what is the same for float and double matrices.

   Matrices of probabilities are row-major with K columns. Every function does the rows
   start .. stop-1; those that sum add to a partial sum that belongs to these rows alone, so
   that neither the order nor the number of threads can change a bit. `row_weight` counts a
   row several times or not at all, as the bootstrap does. */
#ifndef DISTFREEUQ_LABEL_SHIFT_H
#define DISTFREEUQ_LABEL_SHIFT_H

#include <math.h>
#include <string.h>
#include "portability.h"
#include "vector_exp.h"

#define SMALLEST_DENSITY 1e-300

/* Sums that must not depend on the width of the vectors are taken in so many lanes. Up to
   MAX_TURNED columns, the lanes are rows: a loop over three columns costs more than what
   it does. */
enum { LANES = 8, MAX_TURNED = 24 };

ALWAYS_INLINE double sum_of_lanes(const double *lanes)
{
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6]))
           + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/* log(x) of a positive normal number, to about one unit in the last place: no call, no
   branch, no table. x = 2^e m with m in [sqrt(1/2), sqrt(2)); log(m) by the odd series in
   s = (m - 1) / (m + 1), coefficients as in fdlibm's e_log.c (error below 2^-58). */
ALWAYS_INLINE double log_normal(double x)
{
    const uint64_t root_half = 0x3FE6A09E667F3BCDu, one = 0x3FF0000000000000u;
    const double two_to_52 = 0x1p52;
    uint64_t bits, exponent_bits, mantissa_bits, as_number;
    double m, e;
    memcpy(&bits, &x, sizeof bits);
    exponent_bits = (bits - root_half + one) >> 52; /* e + 1023 */
    mantissa_bits = bits - (exponent_bits << 52) + one;
    memcpy(&m, &mantissa_bits, sizeof m);
    /* an integer below 2^52 in the low bits of 2^52 is a number, converted by subtraction */
    as_number = exponent_bits | 0x4330000000000000u;
    memcpy(&e, &as_number, sizeof e);
    e = (e - two_to_52) - 1023.0;

    double f = m - 1.0, s = f / (2.0 + f), z = s * s, w = z * z, half_f2 = 0.5 * f * f;
    double even = w * (3.999999999940941908e-01
                       + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double odd = z * (6.666666666666735130e-01
                      + w * (2.857142874366239149e-01
                             + w * (1.818357216161805012e-01
                                    + w * 1.479819860511658591e-01)));
    double high = e * 6.93147180369123816490e-01, low = e * 1.90821492927058770002e-10;
    return high - ((half_f2 - (s * (half_f2 + even + odd) + low)) - f);
}

#define REAL double
#define PLACE int64_t
#define NAMED(name) name##_f64
#include "label_shift_template.h"
#define WORK double
#define GRAM gram_rows_f64
#include "label_shift_gram.h"
#undef WORK
#undef GRAM
#define WORK float
#define GRAM gram_rows_single_f64
#include "label_shift_gram.h"
#undef WORK
#undef GRAM
#undef REAL
#undef PLACE
#undef NAMED
#define REAL float
#define PLACE int32_t
#define NAMED(name) name##_f32
#include "label_shift_template.h"
#define WORK double
#define GRAM gram_rows_f32
#include "label_shift_gram.h"
#undef WORK
#undef GRAM
#define WORK float
#define GRAM gram_rows_single_f32
#include "label_shift_gram.h"
#undef WORK
#undef GRAM
#undef REAL
#undef PLACE
#undef NAMED

#endif
