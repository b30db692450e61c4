/* An exponential that the vectoriser takes apart: no call, no branch, no table. */
#ifndef DISTFREEUQ_VECTOR_EXP_H
#define DISTFREEUQ_VECTOR_EXP_H

#include <string.h>
#include "portability.h"

/* exp(x) for x <= 0, to about one unit in the last place; 0 below -708, where the result
   would lose its last digits to underflow.

   x = k ln 2 + r with |r| <= ln(2)/2, and exp(r) = 1 + r + r^2 q(r). The coefficients of q
   are its Chebyshev expansion on that interval, truncated at 1.7e-17. Adding 1.5 * 2^52
   rounds to an integer and leaves k in the low bits of the sum, where it is picked up as
   an exponent. */
ALWAYS_INLINE double exp_nonpositive(double x)
{
    const double shift = 0x1.8p52, smallest = -708.0;
    double z = x > smallest ? x : smallest;
    double shifted = z * 0x1.71547652b82fep+0 + shift; /* 1 / ln 2 */
    double k = shifted - shift;
    double r = (z - k * 0x1.62e42fefa0000p-1) - k * 0x1.cf79abc9e3b3ap-40; /* ln 2 */
    double r2 = r * r, r4 = r2 * r2;
    double q01 = 0x1.0000000000001p-1 + r * 0x1.5555555555557p-3;
    double q23 = 0x1.5555555553d62p-5 + r * 0x1.11111111100dbp-7;
    double q45 = 0x1.6c16c1788c0eep-10 + r * 0x1.a01a01abe824dp-13;
    double q67 = 0x1.a019b90c7771cp-16 + r * 0x1.71de02312a642p-19;
    double q89 = 0x1.2891861bf46efp-22 + r * 0x1.af4dea43cc39ep-26;
    double q = (q01 + r2 * q23) + r4 * ((q45 + r2 * q67) + r4 * q89);
    double exp_r = 1.0 + (r + r2 * q);

    uint64_t bits;
    double power;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023u) << 52;
    memcpy(&power, &bits, sizeof power);
    return x > smallest ? exp_r * power : 0.0;
}

/* 2^y for y <= 0; below -1021 it stays at 2^-1021, which no sum with a 1 in it notices.

   Without the reduction by ln 2: a caller that has the factor 1 / ln 2 in a scale already
   saves a tenth of the work. 2^f = 1 + f (ln 2 + f q(f)) for |f| <= 1/2, q as above. */
#define ONE_OVER_LN_2 0x1.71547652b82fep+0
ALWAYS_INLINE double exp2_nonpositive(double y)
{
    const double shift = 0x1.8p52, smallest = -1021.0;
    double z = y > smallest ? y : smallest;
    double shifted = z + shift;
    double f = z - (shifted - shift);
    double f2 = f * f, f4 = f2 * f2;
    double q01 = 0x1.ebfbdff82c590p-3 + f * 0x1.c6b08d704a0c2p-5;
    double q23 = 0x1.3b2ab6fba385ap-7 + f * 0x1.5d87fe78a5271p-10;
    double q45 = 0x1.430913037a288p-13 + f * 0x1.ffcbfc671037fp-17;
    double q67 = 0x1.62bfe45a278cap-20 + f * 0x1.b524fadedc2dfp-24;
    double q89 = 0x1.e5ea04f79ffe0p-28 + f * 0x1.e9d40cb3618d5p-32;
    double q = (q01 + f2 * q23) + f4 * ((q45 + f2 * q67) + f4 * q89);
    double power_f = 1.0 + f * (0x1.62e42fefa39efp-1 + f * q);

    uint64_t bits;
    double power;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023u) << 52;
    memcpy(&power, &bits, sizeof power);
    return power_f * power;
}

#endif
