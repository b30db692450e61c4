/* Numbers as integers of the same order. */
#ifndef DISTFREEUQ_ORDERED_KEY_H
#define DISTFREEUQ_ORDERED_KEY_H

#include <string.h>
#include "portability.h"

/* An integer that is ordered as the values are; 0 and -0 have the same. */
ALWAYS_INLINE uint64_t key_of(double value)
{
    const uint64_t sign = (uint64_t)1 << 63;
    double x = value + 0.0;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}

#endif
