/* One uniform for each row of a matrix: a keyed hash of its entries.

   NH, the universal hash of UMAC (Black et al., 1999): halves of every entry's 64 bits are
   added to halves of the column's key and multiplied, and the products added. Two different
   rows have the same sum for at most one in 2^32 keys. The sum is then mixed by the
   finaliser of SplitMix64, which is one-to-one, and its upper 53 bits are the uniform.

   Entries are doubles, whatever the matrix holds, and -0 is hashed as 0. */
#ifndef DISTFREEUQ_ROW_HASH_H
#define DISTFREEUQ_ROW_HASH_H

#include <string.h>
#include "portability.h"

/* Weyl's sequence of SplitMix64: 2^64 over the golden ratio. */
#define GOLDEN 0x9E3779B97F4A7C15ULL

ALWAYS_INLINE uint64_t mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

/* keys[0 .. n-1], from the fit's own. */
static void column_keys(uint64_t key, uint64_t *RESTRICT keys, ptrdiff_t n)
{
    for (ptrdiff_t k = 0; k < n; k++)
        keys[k] = mixed(key + (uint64_t)(k + 1) * GOLDEN);
}

ALWAYS_INLINE uint64_t product_of_halves(double entry, uint64_t key)
{
    uint64_t bits;
    const double unsigned_zero = entry + 0.0;
    memcpy(&bits, &unsigned_zero, sizeof bits);
    const uint64_t low = (bits + key) & 0xFFFFFFFFULL;
    const uint64_t high = ((bits >> 32) + (key >> 32)) & 0xFFFFFFFFULL;
    return low * high;
}

ALWAYS_INLINE double as_uniform(uint64_t sum, uint64_t key)
{
    return (double)(mixed(sum ^ key) >> 11) * (1.0 / 9007199254740992.0); /* 2^-53 */
}

#define REAL double
#define NAMED(name) name##_f64
#include "row_hash_template.h"
#undef REAL
#undef NAMED
#define REAL float
#define NAMED(name) name##_f32
#include "row_hash_template.h"
#undef REAL
#undef NAMED

#define hash_rows(probs, ...) CALL_BY_TYPE(hash_rows, probs, __VA_ARGS__)

#endif
