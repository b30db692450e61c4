/* A logarithm that the vectoriser takes apart: no call, no branch, no table. */
#ifndef DISTFREEUQ_VECTOR_LOG_H
#define DISTFREEUQ_VECTOR_LOG_H

#include <string.h>
#include "portability.h"

/* log(x) for positive normal x, within one unit in the last place.

   x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), and with s = f / (2 + f)
     log(1 + f) = 2 s + s R(s^2) = f - f^2/2 + s (f^2/2 + R),
   the reduction and the polynomial R of FreeBSD's e_log.c (Sun Microsystems, 1993), without
   its branches. */
ALWAYS_INLINE double log_normal(double x)
{
    const uint64_t root_half = 0x3fe6a09e00000000u, one = 0x3ff0000000000000u;
    uint64_t bits, exponent;
    double m, k;
    memcpy(&bits, &x, sizeof bits);
    bits += one - root_half;
    exponent = (bits >> 52) | 0x4330000000000000u; /* k + 1023 + 2^52, as a double's bits */
    bits = (bits & 0x000fffffffffffffu) + root_half;
    memcpy(&m, &bits, sizeof m);
    memcpy(&k, &exponent, sizeof k);
    k -= 0x1p52 + 1023.0;

    double f = m - 1.0, half_square = 0.5 * f * f, s = f / (2.0 + f);
    double z = s * s, w = z * z;
    double even = w * (0x1.999999997fa04p-2 +
                       w * (0x1.c71c51d8e78afp-3 + w * 0x1.39a09d078c69fp-3));
    double odd = z * (0x1.5555555555593p-1 +
                      w * (0x1.2492494229359p-2 +
                           w * (0x1.7466496cb03dep-3 + w * 0x1.2f112df3e5244p-3)));
    double rest = s * (half_square + (odd + even)) + k * 0x1.a39ef35793c76p-33;
    return ((rest - half_square) + f) + k * 0x1.62e42fee00000p-1; /* ln 2, in two parts */
}

#endif
