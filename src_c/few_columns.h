/* Rows of few columns, several side by side.

   A loop along a short row spends most of its time before and after: on folding vectors
   of sums and maxima into one number, and on the columns that fill no vector. So short rows
   are taken BLOCK_ROWS at a time, a row in every lane of a vector:

       for (ptrdiff_t k = 0; k < K; k++)
           PRAGMA(omp simd)
           for (int l = 0; l < lanes; l++)
               sum[l] += rows[l * K + k];

   with `sum` an array of BLOCK_ROWS, which the compiler keeps in registers, and `lanes` a
   constant after inlining. A row's columns are then added in their order whatever the lane,
   so that neither the clone nor the place of a row among others changes a bit. */
#ifndef DISTFREEUQ_FEW_COLUMNS_H
#define DISTFREEUQ_FEW_COLUMNS_H

#include "portability.h"

enum {
    BLOCK_ROWS = 16, /* two vectors of doubles, or four */
    FEW_COLUMNS = 40 /* beyond, loops along the row are about as fast (measured) */
};

/* First row of the block of BLOCK_ROWS rows that is due at row i < stop: the last block ends
   with the rows, and takes some of them twice. For stop - start >= BLOCK_ROWS. */
ALWAYS_INLINE ptrdiff_t block_at(ptrdiff_t i, ptrdiff_t stop)
{
    return i + BLOCK_ROWS <= stop ? i : stop - BLOCK_ROWS;
}

#endif
